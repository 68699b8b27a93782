//! `POST /teams/{team}/configuration`: what a document changes, and what is refused.

use serde_json::{Map, Value, json};
use vedette_tests::Service;

use super::{apply, export, order};
use crate::support::assert_invalid;

fn sites(count: usize) -> Value {
    let site = |number: usize| json!({ "key": format!("s{number}"), "url": format!("https://s{number}.example") });
    (0..count).map(site).collect()
}

#[tokio::test]
async fn a_dry_run_shows_each_field_and_changes_nothing() {
    let (service, owner) = Service::with_team().await;
    let document = json!({
        "name": "shop",
        "sites": [{ "key": "home", "url": "https://Shop.example/", "tags": ["Env:prod"] }],
        "channels": [{ "key": "ops", "kind": "email", "address": "ops@shop.example", "selector": "env:prod" }],
    });
    let planned = order(&service, &owner, &json!({ "document": document, "dry_run": true })).await;
    insta::assert_snapshot!(planned.shown(), @r#"
    200 {
      "data": {
        "changes": [
          {
            "action": "create",
            "adopted": false,
            "fields": [
              { "after": "ops@shop.example", "field": "address" },
              { "after": "email", "field": "kind" },
              { "after": "ops@shop.example", "field": "name" },
              { "after": "env:prod", "field": "selector" }
            ],
            "key": "ops",
            "kind": "channel",
            "name": "ops@shop.example"
          },
          {
            "action": "create",
            "adopted": false,
            "fields": [
              { "after": ["env:prod"], "field": "tags" },
              { "after": "https://shop.example", "field": "url" }
            ],
            "key": "home",
            "kind": "site",
            "name": "shop.example"
          }
        ],
        "document": "shop",
        "effects": {
          "channels": [{ "channel": "ops@shop.example", "gains": ["shop.example"], "loses": [] }],
          "checks_per_month": { "after": 9424, "before": 0 }
        },
        "left": 2,
        "left_over": []
      }
    }
    "#);
    assert_eq!(export(&service, &owner).await.as_object().map(Map::len), Some(2));
}

#[tokio::test]
async fn objects_say_which_document_manages_them() {
    let (service, owner) = Service::with_team().await;
    let client = service.client(&owner);
    let path = format!("/teams/{}/sites", owner.team);
    let by_hand = client.post(&path, &json!({ "url": "https://shop.example" })).await;
    assert_eq!(by_hand.body["data"].get("managed_by"), None);
    let document =
        json!({ "name": "shop", "sites": [{ "key": "home", "url": "https://shop.example" }] });
    let made = apply(&service, &owner, &document).await;
    assert_eq!(made.body["data"]["changes"][0]["action"], "adopt");
    let site = client.get(&path).await.body["data"][0].clone();
    assert_eq!(site["managed_by"], json!({ "document": "shop", "key": "home" }));
    assert_eq!(site["uuid"], by_hand.body["data"]["uuid"]);
    // People may still change it, and the next plan shows that.
    let change = json!({ "url": "https://shop.example", "name": "Home" });
    let changed =
        client.patch(&format!("/sites/{}", site["uuid"].as_str().expect("an id")), &change).await;
    assert_eq!(changed.body["data"]["managed_by"], site["managed_by"]);
    let planned = order(&service, &owner, &json!({ "document": document, "dry_run": true })).await;
    assert_eq!(
        planned.body["data"]["changes"][0]["fields"],
        json!([{ "field": "name", "before": "Home" }])
    );
    // Another document must not take it.
    let other =
        json!({ "name": "web", "sites": [{ "key": "home", "url": "https://shop.example" }] });
    let why = "The document.sites.0.key field matches a site managed by the document shop.";
    assert_invalid(&apply(&service, &owner, &other).await, "document.sites.0.key", why);
}

#[tokio::test]
async fn what_is_wrong_is_refused_at_its_place_and_changes_nothing() {
    let (service, owner) = Service::with_team().await;
    let required = "The document field must be an object.";
    for body in [json!({}), json!({ "document": [] })] {
        assert_invalid(&order(&service, &owner, &body).await, "document", required);
    }
    let body = json!({ "document": { "name": "shop" }, "dry": true, "prune_max": -1 });
    let refused = order(&service, &owner, &body).await;
    assert_eq!(
        refused.body["errors"],
        json!({
            "dry": ["The dry field is not known."],
            "prune_max": ["The prune_max field must be at least 0."],
        })
    );
    let document = json!({
        "name": "shop",
        "sites": [{ "key": "a", "url": "https://a.example" }, { "key": "b", "url": "shop" }],
    });
    let why = "The document.sites.1.url must start with http:// or https://.";
    let refused = apply(&service, &owner, &document).await;
    assert_eq!(refused.status, 422, "{} {why}", refused.body);
    assert!(refused.body["errors"].get("document.sites.1.url").is_some(), "{}", refused.body);
    assert_eq!(export(&service, &owner).await.get("sites"), None);
}

#[tokio::test]
async fn many_changes_take_several_requests_and_exclude_other_documents() {
    let (service, owner) = Service::with_team().await;
    let document = json!({ "name": "shop", "sites": sites(120) });
    let first = apply(&service, &owner, &document).await;
    assert_eq!((first.status, &first.body["data"]["left"]), (200, &json!(20)), "{}", first.body);
    assert_eq!(first.body["data"]["changes"].as_array().map(Vec::len), Some(100));
    let other = json!({ "name": "web", "groups": [{ "key": "g", "name": "G", "selector": "a" }] });
    let busy = apply(&service, &owner, &other).await;
    insta::assert_snapshot!(busy.shown(), @r#"409 { "message": "A document is being applied to this team. Try again in a minute." }"#);
    let lease = &first.body["data"]["lease"];
    let rest = order(&service, &owner, &json!({ "document": document, "lease": lease })).await;
    assert_eq!(rest.body["data"]["left"], json!(0));
    assert_eq!(rest.body["data"].get("lease"), None);
    assert_eq!(apply(&service, &owner, &other).await.status, 200);
    // The first of them went away: after a minute, another continues.
    let more = json!({ "name": "shop", "sites": sites(230) });
    assert_eq!(apply(&service, &owner, &more).await.body["data"]["left"], json!(10));
    assert_eq!(apply(&service, &owner, &more).await.status, 409);
    service.advance_minutes(1);
    service.advance_minutes(1);
    assert_eq!(apply(&service, &owner, &more).await.body["data"]["left"], json!(0));
    let path = format!("/teams/{}/configuration?name=shop", owner.team);
    let exported = service.client(&owner).get(&path).await;
    assert_eq!(exported.body["data"]["sites"].as_array().map(Vec::len), Some(230));
}

#[tokio::test]
async fn pruning_deletes_what_the_document_no_longer_has() {
    let (service, owner) = Service::with_team().await;
    let document = |count: usize| json!({ "name": "shop", "sites": sites(count) });
    apply(&service, &owner, &document(6)).await;
    let kept = apply(&service, &owner, &document(4)).await;
    assert_eq!(kept.body["data"]["left_over"].as_array().map(Vec::len), Some(2));
    let prune = |count: usize| json!({ "document": document(count), "prune": true });
    let why = "The request would delete 4 objects, such as s2.example, s3.example, s4.example, s5.example. The limit is 3. To \
               delete more, set prune_max (--prune-max).";
    assert_invalid(&order(&service, &owner, &prune(2)).await, "prune", why);
    let pruned = order(&service, &owner, &prune(3)).await;
    let deleted = pruned.body["data"]["changes"].as_array().expect("changes");
    assert!(deleted.iter().all(|change| change["action"] == "delete"), "{}", pruned.body);
    assert_eq!(deleted.len(), 3);
    let mut all = prune(0);
    all["prune_max"] = json!(3);
    assert_eq!(order(&service, &owner, &all).await.status, 200);
    assert_eq!(export(&service, &owner).await.get("sites"), None);
}

#[tokio::test]
async fn a_new_webhook_shows_its_signing_key_once() {
    let (service, owner) = Service::with_team().await;
    let document = json!({
        "name": "shop",
        "channels": [{ "key": "ops", "kind": "webhook", "name": "Ops", "url": "https://ops.example.com/hook" }],
    });
    let made = apply(&service, &owner, &document).await;
    let keys = &made.body["data"]["signing_keys"];
    assert_eq!(keys[0]["channel"], "Ops");
    assert!(keys[0]["signing_key"].as_str().is_some_and(|key| key.starts_with("whsec_")), "{keys}");
    let again = apply(&service, &owner, &document).await;
    assert_eq!(again.body["data"]["changes"], json!([]));
    assert_eq!(again.body["data"].get("signing_keys"), None);
}

#[tokio::test]
async fn each_kind_of_object_is_created_changed_and_deleted() {
    let (service, owner) = Service::with_team().await;
    let document = |step: usize| {
        let name = format!("Name {step}");
        let zone = ["Europe/Berlin", "UTC"][step];
        let tag = ["env:prod", "env:test"][step];
        json!({
            "name": "shop",
            "settings": {
                "time_zone": zone,
                "monitoring_settings": {
                    "quiet_time": { "enabled": step == 0, "starts_at": "20:00", "ends_at": "06:00" },
                },
            },
            "sites": [{
                "key": "home",
                "url": format!("https://shop.example/{step}"),
                "tags": [tag],
                "expectations": { "expectations": [{ "kind": "response_time", "max_ms": 500 + step }] },
            }],
            "channels": [{
                "key": "ops", "kind": "slack", "name": name,
                "url": format!("https://hooks.slack.com/services/T/B/{step}"),
            }],
            "groups": [{ "key": "group", "name": name, "selector": "env" }],
            "maintenance_windows": [{
                "key": "window", "name": name, "starts_at": "2027-01-04T02:00", "duration_minutes": 30 + step,
                "sites": ["home"],
            }],
            "status_pages": [{
                "key": "page", "name": name, "slug": format!("shop-{step}"), "unlisted": step == 1,
                "groups": [{ "components": [{ "name": name, "site": "home", "hidden": step == 1 }] }],
            }],
        })
    };
    for (step, action) in [(0, "create"), (1, "update")] {
        let made = apply(&service, &owner, &document(step)).await;
        assert_eq!((made.status, &made.body["data"]["left"]), (200, &json!(0)), "{}", made.body);
        let changes = made.body["data"]["changes"].as_array().expect("changes");
        let of_objects: Vec<_> =
            changes.iter().filter(|change| change["kind"] != "settings").collect();
        assert!(of_objects.iter().all(|change| change["action"] == action), "{}", made.body);
        assert_eq!((changes.len(), of_objects.len()), (7, 5), "{}", made.body);
        let again = apply(&service, &owner, &document(step)).await;
        assert_eq!(again.body["data"]["changes"], json!([]));
    }
    let empty = json!({
        "name": "shop",
        "sites": [],
        "channels": [],
        "groups": [],
        "maintenance_windows": [],
        "status_pages": [],
    });
    let nothing = json!({ "document": empty, "prune": true, "prune_max": 5 });
    let pruned = order(&service, &owner, &nothing).await;
    let kinds = pruned.body["data"]["changes"].as_array().expect("changes").iter();
    let kinds: Vec<_> = kinds.map(|change| change["kind"].as_str().expect("a kind")).collect();
    assert_eq!(kinds, ["status_page", "maintenance_window", "group", "site", "channel"]);
    assert_eq!(export(&service, &owner).await.as_object().map(Map::len), Some(2));
}

#[tokio::test]
async fn a_window_that_somebody_ended_does_not_start_again() {
    let (service, owner) = Service::with_team().await;
    let start = service.test.now().strftime("%Y-%m-%dT%H:%M").to_string();
    let window = |key: &str, minutes: u32| {
        json!({
            "key": key, "name": key, "starts_at": start, "duration_minutes": minutes,
            "time_zone": "UTC",
        })
    };
    let document = |minutes| {
        let mut daily = window("daily", 60);
        daily["recurrence"] = "FREQ=DAILY".into();
        json!({ "name": "shop", "maintenance_windows": [window("once", minutes), daily] })
    };
    let made = apply(&service, &owner, &document(60)).await;
    assert_eq!(made.body["data"]["changes"].as_array().map(Vec::len), Some(2), "{}", made.body);
    let list = format!("/teams/{}/maintenance-windows", owner.team);
    service.test.advance(jiff::SignedDuration::from_mins(5));
    let windows = service.client(&owner).get(&list).await;
    for window in windows.body["data"].as_array().expect("windows") {
        let id = window["uuid"].as_str().expect("an id");
        let ended = service.client(&owner).post(&format!("{list}/{id}/end"), &json!({})).await;
        assert_eq!(ended.status, 200, "{}", ended.body);
    }
    service.test.advance(jiff::SignedDuration::from_mins(5));
    let again = apply(&service, &owner, &document(60)).await;
    assert_eq!(again.body["data"]["changes"], json!([]));
    // A longer one is another one.
    let longer = apply(&service, &owner, &document(90)).await;
    let changes = longer.body["data"]["changes"].as_array().expect("changes");
    let changes: Vec<_> = changes.iter().map(|of| (&of["action"], &of["key"])).collect();
    assert_eq!(changes, [(&json!("create"), &json!("once"))]);
}
