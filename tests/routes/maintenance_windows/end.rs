//! `POST /teams/{team}/maintenance-windows/{window}/end`: the active instance is over, and the next one comes.

use std::time::Duration;

use serde_json::json;
use vedette_domain::message::{AlertMessage, Message};
use vedette_runtime::Destination;
use vedette_tests::Service;

use super::{added, weekly};
use crate::support::{assert_invalid, assert_not_found};

#[tokio::test]
async fn a_window_that_takes_place_once_is_gone_and_another_comes_again() {
    let (service, owner) = Service::with_team().await;
    let client = service.client(&owner);
    let once = added(&service, &owner, &json!({ "duration_minutes": 60 })).await;
    service.test.queue.drain(Destination::Alerts);
    service.advance_minutes(1);
    let ended = client.post(&format!("{once}/end"), &json!({})).await;
    assert_eq!((ended.status, &ended.body["data"]["active_until"]), (200, &json!(null)));
    assert_not_found(&client.get(&once).await);
    // Reminders that waited for the end may be due.
    let sent = service.test.queue.drain(Destination::Alerts);
    assert_eq!(sent, [(Message::Alert(AlertMessage::Team(owner.team)), Duration::ZERO)]);

    let daily = json!({ "starts_at": "2026-11-20T09:30", "duration_minutes": 60, "recurrence": "FREQ=DAILY" });
    let daily = added(&service, &owner, &daily).await;
    assert_eq!(client.get(&daily).await.data("active_until"), "2026-11-20T10:30:00+00:00");
    let ended = client.post(&format!("{daily}/end"), &json!({})).await;
    assert_eq!(ended.body["data"]["active_until"], json!(null));
    assert_eq!(ended.data("next_starts_at"), "2026-11-21T09:30:00+00:00");
    service.advance_minutes(24 * 60);
    assert_eq!(client.get(&daily).await.data("active_until"), "2026-11-21T10:30:00+00:00");
}

#[tokio::test]
async fn only_an_active_window_can_be_ended() {
    let (service, owner) = Service::with_team().await;
    let window = added(&service, &owner, &weekly()).await;
    let message = "The maintenance window is not active.";
    let answer = service.client(&owner).post(&format!("{window}/end"), &json!({})).await;
    assert_invalid(&answer, "window", message);
}
