//! `PUT /teams/{team}/ping-key`: gives a team another ping key, random or chosen.

use serde_json::json;
use vedette_domain::accounts::plan::Plan;
use vedette_testkit::new_team;
use vedette_tests::Service;

use super::{path, put};
use crate::heartbeats::{added, frequent};
use crate::support::assert_invalid;

/// The key of a project at Healthchecks.
const KEY: &str = "fqOOd6-F4MMNuCEnzTU01w";

#[tokio::test]
async fn the_addresses_with_the_key_before_no_longer_work() {
    let (service, owner) = Service::with_team().await;
    let random = put(&service, &owner, &json!({})).await;
    insta::assert_snapshot!(random.shown(), @r#"
    200 {
      "data": {
        "ping_key": "AAAAAAAAAAAAAAAAAAAABA",
        "ping_url": "https://monitor.test/ping/AAAAAAAAAAAAAAAAAAAABA"
      }
    }
    "#);
    added(&service, &owner, &frequent("Backup")).await;
    let first = format!("{}/backup", random.data("ping_key"));
    assert_eq!(service.ping(&first).await.status, 200);
    for body in [json!({ "ping_key": KEY }), json!({ "ping_key": format!(" {KEY} ") })] {
        service.advance_minutes(1);
        assert_eq!(put(&service, &owner, &body).await.data("ping_key"), KEY);
        assert_eq!(service.ping(&format!("{KEY}/backup")).await.status, 200);
        assert_eq!(service.ping(&first).await.status, 404);
    }
    service.advance_minutes(1);
    let again = put(&service, &owner, &json!({ "ping_key": null })).await;
    assert_ne!(again.data("ping_key"), random.data("ping_key"));
    assert_eq!(service.ping(&format!("{KEY}/backup")).await.status, 404);
    let log = service.client(&owner).get(&format!("/teams/{}/audit-log", owner.team)).await;
    let replaced = log.shown_whole().matches("ping_key_replaced").count();
    assert_eq!(replaced, 3, "the same key is no change");
    assert!(!log.shown_whole().contains(KEY), "{log:?}");
}

#[tokio::test]
async fn invalid_keys_and_those_of_other_teams_are_refused_and_change_nothing() {
    let (service, owner) = Service::with_team().await;
    let stranger = new_team(&service.test, Plan::Starter).await;
    put(&service, &stranger, &json!({ "ping_key": KEY })).await;
    let before = put(&service, &owner, &json!({})).await.body;
    let long = "a".repeat(65);
    for key in ["short", "a/aaaaaaaaaaaaaaaaaaaaaa", &long] {
        let refused = put(&service, &owner, &json!({ "ping_key": key })).await;
        let message = "The ping_key field must consist of 20 to 64 letters, digits, hyphens and underscores, and must not be a UUID.";
        assert_invalid(&refused, "ping_key", message);
    }
    for (body, field, message) in [
        (json!({ "ping_key": KEY }), "ping_key", "The ping_key is taken."),
        (json!({ "ping_key": 5 }), "ping_key", "The ping_key field must be a string."),
        (json!({ "key": KEY }), "key", "The key field is not known."),
    ] {
        assert_invalid(&put(&service, &owner, &body).await, field, message);
    }
    assert_eq!(service.client(&owner).get(&path(&owner)).await.body, before);
}
