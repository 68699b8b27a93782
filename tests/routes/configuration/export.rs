//! `GET /teams/{team}/configuration`: a document of everything that a team has.

use serde_json::{Map, json};
use vedette_tests::Service;

use super::{apply, export};
use crate::support::assert_invalid;

#[tokio::test]
async fn an_empty_team_has_only_settings() {
    let (service, owner) = Service::with_team().await;
    let document = export(&service, &owner).await;
    assert_eq!(document["settings"], json!({ "monitoring_settings": {}, "time_zone": "UTC" }));
    assert_eq!(document.as_object().map(Map::len), Some(2));
}

#[tokio::test]
async fn secrets_are_references_and_an_export_changes_nothing() {
    let (service, owner) = Service::with_team().await;
    let document = json!({
        "name": "shop",
        "sites": [{
            "key": "home",
            "url": "https://shop.example",
            "objective": { "percentage": 99.95, "period": "month", "counts_maintenance": true },
            "monitoring_settings": { "request_header": { "name": "x-key", "value": "s3cret" } },
        }],
        "heartbeats": [
            { "key": "dump", "name": "Dump", "cron": "30 2 * * *", "grace_minutes": 30 },
            { "key": "sync", "name": "Sync", "slug": "s", "period_minutes": 5, "failure_keywords": "ERROR" },
        ],
        "channels": [
            { "key": "ops", "kind": "slack", "name": "Ops", "url": "https://hooks.slack.com/services/T/B/s3cret" },
            { "key": "push", "kind": "ntfy", "name": "Push", "url": "https://ntfy.sh/s3cret", "token": "tk_s3cret" },
        ],
        "groups": [{ "key": "prod", "name": "Production", "selector": "env:prod", "objective": { "percentage": 99.0, "period": "30_days" } }],
        "maintenance_windows": [{
            "key": "nightly",
            "name": "Nightly",
            "starts_at": "2027-01-04T02:00",
            "duration_minutes": 30,
            "recurrence": "FREQ=DAILY",
            "sites": ["home"],
        }],
        "status_pages": [{
            "key": "public",
            "name": "Shop",
            "slug": "shop-status",
            "groups": [{ "components": [{ "name": "Shop", "site": "https://shop.example" }] }],
        }],
    });
    let made = apply(&service, &owner, &document).await;
    assert_eq!((made.status, &made.body["data"]["left"]), (200, &json!(0)), "{}", made.body);
    let exported = export(&service, &owner).await;
    assert!(!exported.to_string().contains("s3cret"), "{exported}");
    for list in ["sites", "groups"] {
        assert_eq!(exported[list][0]["objective"], document[list][0]["objective"], "{list}");
    }
    insta::assert_snapshot!(serde_json::to_string_pretty(&exported["channels"]).expect("JSON"), @r#"
    [
      {
        "key": "ops",
        "kind": "slack",
        "name": "Ops",
        "url": {
          "env": "VEDETTE_OPS_URL"
        }
      },
      {
        "key": "push",
        "kind": "ntfy",
        "name": "Push",
        "token": {
          "env": "VEDETTE_PUSH_TOKEN"
        },
        "url": {
          "env": "VEDETTE_PUSH_URL"
        }
      }
    ]
    "#);
    assert_eq!(exported["maintenance_windows"][0]["sites"], json!(["home"]));
    let mut heartbeats = document["heartbeats"].clone();
    heartbeats[0]["time_zone"] = "UTC".into();
    let mut listed = exported["heartbeats"].as_array().expect("a list").clone();
    listed.sort_by_key(|heartbeat| heartbeat["key"].to_string());
    assert_eq!(json!(listed), heartbeats);
    assert_eq!(
        exported["status_pages"][0]["groups"],
        json!([{ "components": [{ "name": "Shop", "site": "home" }] }])
    );
    let header = "/sites/0/monitoring_settings/request_header/value";
    assert_eq!(exported.pointer(header), Some(&json!({ "env": "VEDETTE_HOME_HEADER" })));
    let again = apply(&service, &owner, &exported).await;
    assert_eq!(again.body["data"]["changes"], json!([]));
}

#[tokio::test]
async fn the_name_of_the_document_can_be_chosen() {
    let (service, owner) = Service::with_team().await;
    let client = service.client(&owner);
    let path = format!("/teams/{}/configuration", owner.team);
    let named = client.get(&format!("{path}?name=web.shop")).await;
    assert_eq!(named.body["data"]["name"], "web.shop");
    let why = "The name field must begin with a letter or a digit, and consist of letters, digits, dots, hyphens and \
               underscores.";
    assert_invalid(&client.get(&format!("{path}?name=-a")).await, "name", why);
}
