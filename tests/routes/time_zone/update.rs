//! `PATCH /teams/{team}/time-zone`: what is a zone, who may choose one, and what follows.

use std::time::Duration;

use serde_json::{Value, json};
use vedette_domain::message::{AlertMessage, Message};
use vedette_runtime::Destination;
use vedette_tests::Service;

use super::{get, patch};
use crate::support::assert_invalid;

#[tokio::test]
async fn a_zone_is_chosen_in_any_case_and_given_up_again() {
    let (service, owner) = Service::with_team().await;
    for (sent, chosen) in [
        (json!("Europe/Berlin"), "Europe/Berlin"),
        (json!(" america/new_york "), "America/New_York"),
        (json!("Etc/GMT+12"), "Etc/GMT+12"),
        (json!("UTC"), "UTC"),
        (json!("Asia/Kathmandu"), "Asia/Kathmandu"),
        (Value::Null, "UTC"),
    ] {
        // Fields that are not known are ignored.
        let answer = patch(&service, &owner, &json!({ "time_zone": sent, "zone": 5 })).await;
        assert_eq!(
            (answer.status, &answer.body),
            (200, &json!({ "data": { "time_zone": chosen } }))
        );
        assert_eq!(get(&service, &owner, owner.team).await.body, answer.body);
    }
}

#[tokio::test]
async fn invalid_zones_are_refused_and_change_nothing() {
    let (service, owner) = Service::with_team().await;
    patch(&service, &owner, &json!({ "time_zone": "Europe/Berlin" })).await;
    let unknown = "The time_zone field must be an IANA time zone name, such as Europe/Berlin.";
    for name in ["Europe/Atlantis", "CEST", "+02:00", "Etc/Unknown", "../../etc/localtime"] {
        let answer = patch(&service, &owner, &json!({ "time_zone": name })).await;
        assert_invalid(&answer, "time_zone", unknown);
    }
    for (body, message) in [
        (json!({}), "The time_zone field is required."),
        (json!({ "time_zone": 2 }), "The time_zone field must be a string."),
        (
            json!({ "time_zone": "A".repeat(65) }),
            "The time_zone field must not be longer than 64 characters.",
        ),
    ] {
        assert_invalid(&patch(&service, &owner, &body).await, "time_zone", message);
    }
    let kept = get(&service, &owner, owner.team).await;
    assert_eq!(kept.body, json!({ "data": { "time_zone": "Europe/Berlin" } }));
}

#[tokio::test]
async fn alerts_follow_a_zone_that_is_another_one() {
    let (service, owner) = Service::with_team().await;
    let sent = || service.test.queue.drain(Destination::Alerts);
    let berlin = json!({ "time_zone": "Europe/Berlin" });
    patch(&service, &owner, &berlin).await;
    assert_eq!(sent(), [(Message::Alert(AlertMessage::Team(owner.team)), Duration::ZERO)]);
    patch(&service, &owner, &berlin).await;
    assert!(sent().is_empty(), "the same zone changes nothing");
}
