//! `POST /issues/{issue}/snooze`: nobody is reminded of an issue for a while.

use jiff::SignedDuration;
use serde_json::json;
use vedette_domain::accounts::audit::IssueDecision;
use vedette_tests::Service;

use super::{decisions, opened};
use crate::support::assert_invalid;

#[tokio::test]
async fn a_snooze_is_shown_until_it_is_ended() {
    let (service, owner) = Service::with_team().await;
    let (issue, _target) = opened(&service, &owner).await;
    let client = service.client(&owner);
    let path = format!("/issues/{issue}/snooze");
    let until = service.test.now() + SignedDuration::from_hours(8);
    let snoozed = client.post(&path, &json!({ "until": until })).await;
    assert_eq!(
        (snoozed.status, snoozed.data("snoozed_until")),
        (200, "2026-11-20T17:54:00+00:00".to_owned())
    );
    let ended = client.post(&path, &json!({ "until": null })).await;
    assert_eq!((ended.status, ended.body["data"].get("snoozed_until")), (200, None));
    let expected = [IssueDecision::Snoozed(until), IssueDecision::Unsnoozed];
    assert_eq!(decisions(&service, &owner).await, expected);
}

#[tokio::test]
async fn a_snooze_ends_in_the_future_and_is_for_an_active_issue() {
    let (service, owner) = Service::with_team().await;
    let (issue, _target) = opened(&service, &owner).await;
    let client = service.client(&owner);
    let path = format!("/issues/{issue}/snooze");
    let refusals = [
        (json!({}), "The until field is required."),
        (json!({ "until": service.test.now() }), "The until field must be in the future."),
        (
            json!({ "until": "tomorrow" }),
            "The until field must be a date and time with a UTC offset, such as 2026-11-24T02:46:00+01:00.",
        ),
    ];
    for (body, why) in refusals {
        assert_invalid(&client.post(&path, &body).await, "until", why);
    }
    client.post(&format!("/issues/{issue}/resolve"), &json!({})).await;
    let late = client.post(&path, &json!({ "until": "2026-11-21T00:00:00Z" })).await;
    assert_invalid(&late, "issue", "An issue that is resolved cannot be snoozed.");
}
