//! `PATCH /teams/{team}/heartbeats/{heartbeat}`: what was sent changes, and nothing else.

use serde_json::{Value, json};
use vedette_tests::Service;

use super::{added, audited, frequent, ping};
use crate::support::assert_invalid;

#[tokio::test]
async fn a_heartbeat_changes_in_what_was_sent() {
    let (service, owner) = Service::with_team().await;
    let (heartbeat, _) = added(&service, &owner, &frequent("Backup")).await;
    let client = service.client(&owner);
    let mut expected = client.get(&heartbeat).await.body;
    for (sent, shown) in [
        (json!({ "name": " Night " }), json!({ "name": "Night" })),
        (json!({ "slug": "night" }), json!({ "slug": "night" })),
        (json!({ "slug": null }), json!({})),
        (json!({ "notes": "Wiki" }), json!({ "notes": "Wiki" })),
        (json!({ "notes": null }), json!({ "notes": null })),
        (json!({ "tags": ["B", "a"] }), json!({ "tags": ["a", "b"] })),
        (json!({ "period_minutes": 10 }), json!({ "period_minutes": 10 })),
        (
            json!({ "cron": "@hourly" }),
            json!({ "cron": "@hourly", "time_zone": "UTC", "period_minutes": null }),
        ),
        (json!({ "time_zone": "Europe/Berlin" }), json!({ "time_zone": "Europe/Berlin" })),
        (json!({ "cron": "0 1 * * *" }), json!({ "cron": "0 1 * * *" })),
        (
            json!({ "period_minutes": 5 }),
            json!({ "cron": null, "time_zone": null, "period_minutes": 5 }),
        ),
        (json!({ "period_minutes": 5, "cron": null, "time_zone": null }), json!({})),
        // The zone that the cron expression had is forgotten.
        (
            json!({ "cron": "@daily" }),
            json!({ "cron": "@daily", "time_zone": "UTC", "period_minutes": null }),
        ),
        (
            json!({ "period_minutes": 5, "time_zone": null }),
            json!({ "cron": null, "time_zone": null, "period_minutes": 5 }),
        ),
        (json!({ "grace_minutes": 2 }), json!({ "grace_minutes": 2 })),
        (json!({ "longest_run_minutes": 9 }), json!({ "longest_run_minutes": 9 })),
        (json!({ "longest_run_minutes": null }), json!({ "longest_run_minutes": null })),
        (json!({ "failure_keywords": "ERROR" }), json!({ "failure_keywords": "ERROR" })),
        (json!({ "failure_keywords": null }), json!({ "failure_keywords": null })),
        (json!({ "paused": true }), json!({ "paused": true, "state": "paused" })),
        (json!({ "paused": false }), json!({ "paused": false, "state": "new" })),
    ] {
        service.advance_minutes(1);
        let answer = client.patch(&heartbeat, &sent).await;
        for (field, value) in shown.as_object().expect("fields") {
            expected["data"][field] = value.clone();
            expected["data"]["updated_at"] = answer.body["data"]["updated_at"].clone();
        }
        assert_eq!((answer.status, &answer.body), (200, &expected), "{sent}");
        assert_eq!(client.get(&heartbeat).await.body, expected, "{sent}");
    }
    let log = audited(&service, &owner).await;
    assert_eq!((log.len(), &log[0], &log[1]), (20, &json!("added"), &json!("edited")));
    assert_eq!(log[18..], [json!("paused"), json!("resumed")]);
}

#[tokio::test]
async fn invalid_changes_are_refused_and_change_nothing() {
    let (service, owner) = Service::with_team().await;
    added(&service, &owner, &frequent("Other")).await;
    let (heartbeat, _) = added(&service, &owner, &frequent("Backup")).await;
    let client = service.client(&owner);
    let before = client.get(&heartbeat).await.body;
    for (body, field, message) in [
        (
            json!({ "grace_minutes": 0 }),
            "grace_minutes",
            "The grace_minutes field must be at least 1.",
        ),
        (json!({ "paused": 1 }), "paused", "The paused field must be true or false."),
        (json!({ "slug": "other" }), "slug", "The slug is taken by another heartbeat of the team."),
        (
            json!({ "cron": "@daily", "period_minutes": 5 }),
            "cron",
            "The cron field cannot be combined with period_minutes.",
        ),
        (
            json!({ "time_zone": "Europe/Berlin" }),
            "time_zone",
            "The time_zone field can be chosen only with a cron expression.",
        ),
        (
            json!({ "period_minutes": 10, "time_zone": "Europe/Berlin" }),
            "time_zone",
            "The time_zone field can be chosen only with a cron expression.",
        ),
        (
            json!({ "ping_uuid": "5bf66975-d4c7-4bf5-bcc8-b8d8a82ea278" }),
            "ping_uuid",
            "The ping_uuid field can be chosen only for a new heartbeat.",
        ),
        (json!({ "uuid": "1" }), "uuid", "The uuid field is not known."),
    ] {
        assert_invalid(&client.patch(&heartbeat, &body).await, field, message);
    }
    assert_eq!(client.get(&heartbeat).await.body, before);
}

#[tokio::test]
async fn a_slug_that_was_given_up_is_free() {
    let (service, owner) = Service::with_team().await;
    let (first, _) = added(&service, &owner, &frequent("Backup")).await;
    let client = service.client(&owner);
    assert_eq!(client.patch(&first, &json!({ "slug": "old" })).await.status, 200);
    let (second, _) = added(&service, &owner, &frequent("Backup")).await;
    assert_eq!(client.patch(&first, &json!({ "slug": "backup" })).await.status, 422);
    // Another name changes no slug, whether or not there is one.
    let (third, _) = added(&service, &owner, &frequent("Backup")).await;
    for (heartbeat, slug) in [(&first, "old"), (&third, "")] {
        let renamed = client.patch(heartbeat, &json!({ "name": "Restore" })).await;
        assert_eq!((renamed.status, renamed.data("slug")), (200, slug.to_owned()));
    }
    assert_eq!(client.delete(&second).await.status, 204);
    assert_eq!(client.patch(&first, &json!({ "slug": "backup" })).await.status, 200);
}

#[tokio::test]
async fn another_schedule_counts_from_the_last_ping() {
    let (service, owner) = Service::with_team().await;
    let (heartbeat, key) = added(&service, &owner, &frequent("Backup")).await;
    ping(&service, &key, "").await;
    service.advance_minutes(2);
    let client = service.client(&owner);
    let expected = async |body: Value| {
        let answer = client.patch(&heartbeat, &body).await;
        (answer.data("expected_at"), answer.data("deadline"))
    };
    let at = |time: &str| format!("2026-11-20T{time}+00:00");
    assert_eq!(expected(json!({ "period_minutes": 60 })).await, (at("10:54:00"), at("10:55:00")));
    assert_eq!(
        expected(json!({ "cron": "0 12 * * *", "time_zone": "Europe/Berlin" })).await,
        (at("11:00:00"), at("11:01:00"))
    );
}
