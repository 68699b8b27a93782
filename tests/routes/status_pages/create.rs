//! `POST /teams/{team}/status-pages`: what a status page is, who may create one, and how many there may be.

use serde_json::{Value, json};
use vedette_domain::accounts::plan::Plan;
use vedette_testkit::new_team;
use vedette_tests::Service;

use super::{added, path, post};
use crate::support::{assert_invalid, new_site};

#[tokio::test]
async fn a_page_has_what_was_asked_for() {
    let (service, owner) = Service::with_team().await;
    let site = new_site(&service, &owner, "https://shop.example").await;
    let body = json!({
        "slug": "meridian",
        "name": "Meridian Goods",
        "message": "First line.\r\nSecond line.",
        "maintenance_names": true,
        "groups": [
            { "components": [{ "name": "Shop", "site": site, "response_time": true }] },
            { "name": "Behind it", "components": [{ "name": "Stock", "site": site }] },
        ],
    });
    let answer = post(&service, &owner, &body).await;
    insta::assert_snapshot!(answer.shown(), @r#"
    201 {
      "data": {
        "created_at": "2026-11-20T09:54:00+00:00",
        "groups": [
          {
            "components": [
              {
                "name": "Shop",
                "response_time": true,
                "site": "00000000-0000-4000-8000-000000000004",
                "uuid": "00000000-0000-4000-8000-000000000007"
              }
            ],
            "name": null
          },
          {
            "components": [
              {
                "name": "Stock",
                "response_time": false,
                "site": "00000000-0000-4000-8000-000000000004",
                "uuid": "00000000-0000-4000-8000-000000000008"
              }
            ],
            "name": "Behind it"
          }
        ],
        "maintenance_names": true,
        "message": "First line.\nSecond line.",
        "name": "Meridian Goods",
        "slug": "meridian",
        "subscriptions": false,
        "unlisted": false,
        "updated_at": "2026-11-20T09:54:00+00:00",
        "url": "https://monitor.test/status/meridian",
        "uuid": "00000000-0000-4000-8000-000000000005"
      }
    }
    "#);
    let place = format!("https://monitor.test/api/v1{}/{}", path(&owner), answer.data("uuid"));
    assert_eq!(answer.header("location"), place);
}

#[tokio::test]
async fn a_component_shows_a_heartbeat() {
    let (service, owner) = Service::with_team().await;
    let heartbeats = format!("/teams/{}/heartbeats", owner.team);
    let added = service.client(&owner).post(&heartbeats, &json!({ "name": "Backup" })).await;
    let component = json!({ "name": "Backups", "heartbeat": added.data("uuid") });
    let groups = json!([{ "components": [component] }]);
    let body = json!({ "slug": "meridian", "name": "Meridian", "groups": groups });
    let answer = post(&service, &owner, &body).await;
    let shown = json!({
        "uuid": answer.body["data"]["groups"][0]["components"][0]["uuid"],
        "name": "Backups",
        "site": null,
        "heartbeat": added.data("uuid"),
        "response_time": false,
    });
    let groups = json!([{ "name": null, "components": [shown] }]);
    assert_eq!((answer.status, &answer.body["data"]["groups"]), (201, &groups));
    // What was read can be sent back.
    let page = format!("{}/{}", path(&owner), answer.data("uuid"));
    let saved = service.client(&owner).patch(&page, &json!({ "groups": groups })).await;
    assert_eq!((saved.status, &saved.body), (200, &answer.body));
}

#[tokio::test]
async fn an_unlisted_page_has_a_secret_address() {
    let (service, owner) = Service::with_team().await;
    let body = json!({ "slug": "meridian", "name": "Meridian", "unlisted": true });
    let answer = post(&service, &owner, &body).await;
    insta::assert_snapshot!(answer.shown(), @r#"
    201 {
      "data": {
        "created_at": "2026-11-20T09:54:00+00:00",
        "groups": [],
        "maintenance_names": false,
        "message": null,
        "name": "Meridian",
        "slug": "meridian",
        "subscriptions": false,
        "unlisted": true,
        "updated_at": "2026-11-20T09:54:00+00:00",
        "url": "https://monitor.test/status/00000000000000000000000000000005",
        "uuid": "00000000-0000-4000-8000-000000000004"
      }
    }
    "#);
}

#[tokio::test]
async fn invalid_pages_are_refused_and_change_nothing() {
    let (service, owner) = Service::with_team().await;
    let other = new_team(&service.test, Plan::Agency).await;
    let foreign = new_site(&service, &other, "https://other.example").await;
    added(&service, &other, "taken").await;
    let with = |field: &str, value: Value| {
        let mut body = json!({ "slug": "meridian", "name": "Meridian" });
        body[field] = value;
        body
    };
    let component = |name: &str| json!({ "name": name, "site": foreign });
    let group = |components: Vec<Value>| json!([{ "components": components }]);
    for (field, value, at, message) in [
        ("slug", Value::Null, "slug", "The slug field is required."),
        (
            "slug",
            json!("Meridian"),
            "slug",
            "The slug field must consist of lowercase letters, digits and single hyphens between them.",
        ),
        ("slug", json!("ab"), "slug", "The slug field must have 3 to 30 characters."),
        ("slug", json!("a".repeat(31)), "slug", "The slug field must have 3 to 30 characters."),
        ("slug", json!("taken"), "slug", "The slug is taken."),
        ("name", json!(""), "name", "The name field is required."),
        (
            "name",
            json!("x".repeat(101)),
            "name",
            "The name field must not be longer than 100 characters.",
        ),
        (
            "message",
            json!("a\u{202e}b"),
            "message",
            "The message field must not contain control characters other than line breaks, or characters that change the direction of text.",
        ),
        ("unlisted", json!("yes"), "unlisted", "The unlisted field must be true or false."),
        ("domain", json!("x"), "domain", "The domain field is not known."),
        ("groups", json!({}), "groups", "The groups field must be an array."),
        (
            "groups",
            json!([{ "name": "Shop" }]),
            "groups.0.components",
            "The groups.0.components field is required.",
        ),
        (
            "groups",
            group(vec![json!({ "name": "Shop" })]),
            "groups.0.components.0.site",
            "The groups.0.components.0.site field is required without heartbeat.",
        ),
        (
            "groups",
            group(vec![json!({ "name": "Shop", "site": "shop" })]),
            "groups.0.components.0.site",
            "The groups.0.components.0.site field must be a uuid.",
        ),
        (
            "groups",
            group(vec![json!({ "name": "Shop", "site": foreign, "heartbeat": foreign })]),
            "groups.0.components.0.heartbeat",
            "The groups.0.components.0.heartbeat field cannot be combined with site.",
        ),
        (
            "groups",
            group(vec![json!({ "name": "Job", "heartbeat": foreign, "response_time": true })]),
            "groups.0.components.0.response_time",
            "The groups.0.components.0.response_time field is for sites; a heartbeat has no response time.",
        ),
        (
            "groups",
            group(vec![json!({ "name": "Job", "heartbeat": foreign })]),
            "groups",
            "The status page shows a heartbeat that the team does not have.",
        ),
        (
            "groups",
            group(vec![component("Shop")]),
            "groups",
            "The status page shows a site that the team does not have.",
        ),
        (
            "groups",
            group(vec![json!({ "name": "Shop", "site": foreign, "uuid": foreign })]),
            "groups",
            "The status page names a component that it does not have, or names it twice.",
        ),
        (
            "groups",
            json!([
                { "components": vec![component("Shop"); 26] },
                { "components": vec![component("Shop"); 25] },
            ]),
            "groups",
            "The groups field must not have more than 50 components.",
        ),
    ] {
        assert_invalid(&post(&service, &owner, &with(field, value)).await, at, message);
    }
    let listed = service.client(&owner).get(&path(&owner)).await;
    assert_eq!(listed.body["data"], json!([]));
}

#[tokio::test]
async fn a_team_has_five_pages_at_most() {
    let (service, owner) = Service::with_team().await;
    for number in 0..5 {
        added(&service, &owner, &format!("page-{number}")).await;
    }
    let body = json!({ "slug": "one-more", "name": "Meridian" });
    let refused = post(&service, &owner, &body).await;
    assert_invalid(&refused, "status_page", "A team has at most 5 status pages.");
}
