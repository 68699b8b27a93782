//! `PATCH /teams/{team}/maintenance-windows/{window}`: what was sent changes, and nothing else.

use serde_json::json;
use vedette_tests::Service;

use super::{added, weekly};
use crate::support::{assert_invalid, assert_not_found, new_site};

#[tokio::test]
async fn a_window_changes_in_what_was_sent() {
    let (service, owner) = Service::with_team().await;
    let site = new_site(&service, &owner, "https://shop.example").await;
    let window = added(&service, &owner, &weekly()).await;
    let client = service.client(&owner);
    let mut expected = client.get(&window).await.body;
    for (field, sent, shown) in [
        ("name", json!(" Patches "), json!("Patches")),
        ("sites", json!([site]), json!([site])),
        ("duration_minutes", json!(120), json!(120)),
        ("starts_at", json!("2026-11-29T03:30"), json!("2026-11-29T03:30:00")),
        ("time_zone", json!("utc"), json!("UTC")),
        ("recurrence", json!("freq=daily"), json!("FREQ=DAILY")),
        ("recurrence", json!(null), json!(null)),
        ("sites", json!(null), json!(null)),
    ] {
        let answer = client.patch(&window, &json!({ field: sent })).await;
        expected["data"][field] = shown;
        expected["data"]["next_starts_at"] = answer.body["data"]["next_starts_at"].clone();
        assert_eq!((answer.status, &answer.body), (200, &expected), "{field}");
        assert_eq!(client.get(&window).await.body, expected);
    }
    assert_eq!(expected["data"]["next_starts_at"], "2026-11-29T03:30:00+00:00");
}

#[tokio::test]
async fn a_selector_replaces_sites_if_they_are_cleared() {
    let (service, owner) = Service::with_team().await;
    let site = new_site(&service, &owner, "https://shop.example").await;
    let window = added(&service, &owner, &weekly()).await;
    let client = service.client(&owner);
    let both =
        "A maintenance window can have sites or a selector, but not both. Clear one of them.";
    for (body, shown) in [
        (json!({ "selector": "env:prod" }), Some((json!(null), Some("env:prod")))),
        (json!({ "sites": [site] }), None),
        (json!({ "sites": [site], "selector": "" }), Some((json!([site]), None))),
        (json!({ "selector": "env" }), None),
        (json!({ "sites": null, "selector": "env" }), Some((json!(null), Some("env")))),
        (json!({ "name": "Patches" }), Some((json!(null), Some("env")))),
        (json!({ "selector": null }), Some((json!(null), None))),
    ] {
        let answer = client.patch(&window, &body).await;
        let Some((sites, selector)) = shown else {
            assert_invalid(&answer, "selector", both);
            continue;
        };
        let data = client.get(&window).await.body["data"].clone();
        assert_eq!((answer.status, &answer.body["data"]), (200, &data), "{body}");
        let found = data.get("selector").map(|selector| selector.as_str().expect("a text"));
        assert_eq!((&data["sites"], found), (&sites, selector), "{body}");
    }
}

#[tokio::test]
async fn a_site_that_is_gone_does_not_keep_a_window_from_changing() {
    let (service, owner) = Service::with_team().await;
    let site = new_site(&service, &owner, "https://shop.example").await;
    let mut body = weekly();
    body["sites"] = json!([site]);
    let window = added(&service, &owner, &body).await;
    let client = service.client(&owner);
    assert_eq!(client.delete(&format!("/sites/{site}")).await.status, 204);
    assert_eq!(client.patch(&window, &json!({ "duration_minutes": 5 })).await.status, 200);
}

#[tokio::test]
async fn invalid_changes_are_refused_and_change_nothing() {
    let (service, owner) = Service::with_team().await;
    let window = added(&service, &owner, &weekly()).await;
    let client = service.client(&owner);
    let before = client.get(&window).await.body;
    for (body, field, message) in [
        (
            json!({ "duration_minutes": null }),
            "duration_minutes",
            "The duration_minutes field must not be empty.",
        ),
        (
            json!({ "recurrence": "FREQ=WEEKLY;BYDAY=MO" }),
            "starts_at",
            "The maintenance window must start on a day of its recurrence.",
        ),
        (
            json!({ "recurrence": null, "starts_at": "2026-11-01T02:00" }),
            "starts_at",
            "The maintenance window would already be over. Choose a later start.",
        ),
        (json!({ "uuid": "1" }), "uuid", "The uuid field is not known."),
    ] {
        assert_invalid(&client.patch(&window, &body).await, field, message);
    }
    assert_eq!(client.get(&window).await.body, before);
}

#[tokio::test]
async fn a_window_that_is_over_cannot_be_changed() {
    let (service, owner) = Service::with_team().await;
    let window = added(&service, &owner, &json!({ "duration_minutes": 5 })).await;
    let longer = json!({ "duration_minutes": 10 });
    service.advance_minutes(5);
    assert_not_found(&service.client(&owner).patch(&window, &longer).await);
}
