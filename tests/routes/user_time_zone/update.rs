//! `PATCH /me/time-zone`: what is a zone, and that nothing else of the user changes.

use serde_json::{Value, json};
use vedette_domain::accounts::account::Role;
use vedette_domain::accounts::account::Scope;
use vedette_testkit::member_of;
use vedette_tests::Service;

use super::{PATH, get, patch};
use crate::support::assert_invalid;

#[tokio::test]
async fn a_zone_is_chosen_in_any_case_and_given_up_again() {
    let (service, owner) = Service::with_team().await;
    let me = service.client(&owner).get("/me").await;
    for (sent, chosen) in [
        (json!("Europe/Berlin"), json!("Europe/Berlin")),
        (json!(" america/new_york "), json!("America/New_York")),
        (json!("utc"), json!("UTC")),
        (Value::Null, Value::Null),
        (Value::Null, Value::Null),
    ] {
        let answer = patch(&service, &owner, &json!({ "time_zone": sent })).await;
        let expected = json!({ "data": { "time_zone": chosen } });
        assert_eq!((answer.status, &answer.body), (200, &expected));
        assert_eq!(get(&service, &owner).await.body, expected);
    }
    assert_eq!(service.client(&owner).get("/me").await.body, me.body);
}

#[tokio::test]
async fn invalid_zones_are_refused_and_change_nothing() {
    let (service, owner) = Service::with_team().await;
    patch(&service, &owner, &json!({ "time_zone": "Europe/Berlin" })).await;
    let before = service.test.table.dump().await;
    let unknown = "The time_zone field must be an IANA time zone name, such as Europe/Berlin.";
    for (body, message) in [
        (json!({ "time_zone": "Europe/Atlantis" }), unknown),
        (json!({ "time_zone": "+02:00" }), unknown),
        (json!({}), "The time_zone field is required."),
        (json!({ "time_zone": 2 }), "The time_zone field must be a string."),
    ] {
        assert_invalid(&patch(&service, &owner, &body).await, "time_zone", message);
    }
    let user = |(pk, _): &&(String, String)| pk.starts_with("U#") || pk.starts_with("E#");
    let after = service.test.table.dump().await;
    for key in before.keys().filter(user) {
        assert_eq!(before[key], after[key]);
    }
}

#[tokio::test]
async fn a_token_that_may_only_read_changes_nothing() {
    let (service, owner) = Service::with_team().await;
    let reader = member_of(&service.test, owner.team, Role::Owner, &[Scope::TeamsRead]).await;
    let client = service.client(&reader);
    assert_eq!(client.get(PATH).await.status, 200);
    assert_eq!(client.patch(PATH, &json!({ "time_zone": "UTC" })).await.status, 403);
}
