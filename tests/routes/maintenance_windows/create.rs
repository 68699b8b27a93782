//! `POST /teams/{team}/maintenance-windows`: what is a window, who may add one, and how many there may be.

use serde_json::{Value, json};
use vedette_domain::accounts::plan::Plan;
use vedette_testkit::new_team;
use vedette_tests::Service;

use super::{path, post, weekly};
use crate::support::{assert_invalid, new_site};

#[tokio::test]
async fn a_window_has_what_was_asked_for() {
    let (service, owner) = Service::with_team().await;
    let site = new_site(&service, &owner, "https://shop.example").await;
    let mut body = weekly();
    body["sites"] = json!([site, site]);
    let answer = post(&service, &owner, &body).await;
    insta::assert_snapshot!(answer.shown(), @r#"
    201 {
      "data": {
        "active_until": null,
        "duration_minutes": 90,
        "name": "Updates",
        "next_starts_at": "2026-11-22T01:00:00+00:00",
        "recurrence": "FREQ=WEEKLY;BYDAY=SU",
        "sites": ["00000000-0000-4000-8000-000000000004"],
        "starts_at": "2026-11-22T02:00:00",
        "time_zone": "Europe/Berlin",
        "uuid": "00000000-0000-4000-8000-000000000005"
      }
    }
    "#);
    let place = format!("https://monitor.test/api/v1{}/{}", path(&owner), answer.data("uuid"));
    assert_eq!(answer.header("location"), place);
}

#[tokio::test]
async fn a_window_without_a_start_starts_now_and_is_for_all_sites() {
    let (service, owner) = Service::with_team().await;
    let zone = json!({ "time_zone": "Asia/Kathmandu" });
    service.client(&owner).patch(&format!("/teams/{}/time-zone", owner.team), &zone).await;
    let answer = post(&service, &owner, &json!({ "duration_minutes": 30 })).await;
    insta::assert_snapshot!(answer.shown(), @r#"
    201 {
      "data": {
        "active_until": "2026-11-20T10:24:00+00:00",
        "duration_minutes": 30,
        "name": "Maintenance",
        "next_starts_at": null,
        "recurrence": null,
        "sites": null,
        "starts_at": "2026-11-20T15:39:00",
        "time_zone": "Asia/Kathmandu",
        "uuid": "00000000-0000-4000-8000-000000000004"
      }
    }
    "#);
}

#[tokio::test]
async fn a_window_is_for_the_sites_that_a_selector_matches() {
    let (service, owner) = Service::with_team().await;
    let body = json!({ "selector": "Env:prod,!legacy", "sites": null, "duration_minutes": 30 });
    let answer = post(&service, &owner, &body).await;
    insta::assert_snapshot!(answer.shown(), @r#"
    201 {
      "data": {
        "active_until": "2026-11-20T10:24:00+00:00",
        "duration_minutes": 30,
        "name": "Maintenance",
        "next_starts_at": null,
        "recurrence": null,
        "selector": "env:prod, !legacy",
        "sites": null,
        "starts_at": "2026-11-20T09:54:00",
        "time_zone": "UTC",
        "uuid": "00000000-0000-4000-8000-000000000004"
      }
    }
    "#);
    for none in [json!(null), json!(" ")] {
        let body = json!({ "selector": none, "duration_minutes": 30 });
        let answer = post(&service, &owner, &body).await;
        assert_eq!((answer.status, answer.body["data"].get("selector")), (201, None), "{answer:?}");
    }
}

#[tokio::test]
async fn a_window_has_no_selector_beside_sites() {
    let (service, owner) = Service::with_team().await;
    let site = new_site(&service, &owner, "https://shop.example").await;
    let body = json!({ "selector": "env:prod", "sites": [site], "duration_minutes": 30 });
    let message =
        "A maintenance window can have sites or a selector, but not both. Clear one of them.";
    assert_invalid(&post(&service, &owner, &body).await, "selector", message);
}

#[tokio::test]
async fn invalid_windows_are_refused_and_change_nothing() {
    let (service, owner) = Service::with_team().await;
    let other = new_team(&service.test, Plan::Agency).await;
    let foreign = new_site(&service, &other, "https://other.example").await;
    let with = |field: &str, value: Value| {
        let mut body = weekly();
        body[field] = value;
        body
    };
    let too_long = "x".repeat(101);
    let many: Vec<String> = vec![foreign.to_string(); 101];
    for (field, value, message) in [
        ("name", json!(too_long), "The name field must not be longer than 100 characters."),
        (
            "name",
            json!("a\nb"),
            "The name field must not contain control characters or characters that change the direction of text.",
        ),
        ("sites", json!([]), "The sites field must have at least 1 item."),
        ("sites", json!("all"), "The sites field must be an array."),
        ("sites", json!(many), "The sites field must not have more than 100 items."),
        (
            "sites",
            json!([foreign]),
            "The maintenance window names a site that the team does not have.",
        ),
        (
            "selector",
            json!("env=prod"),
            "The selector field must be a selector such as env:prod, team in (shop,web), !legacy.",
        ),
        (
            "starts_at",
            json!("2026-11-22"),
            "The starts_at field must be a local time from 2000 to 2199, such as 2026-11-29T02:00.",
        ),
        (
            "starts_at",
            json!("2026-11-22T02:00Z"),
            "The starts_at field must be a local time from 2000 to 2199, such as 2026-11-29T02:00.",
        ),
        (
            "starts_at",
            json!("2026-11-23T02:00"),
            "The maintenance window must start on a day of its recurrence.",
        ),
        (
            "time_zone",
            json!("Europe/Atlantis"),
            "The time_zone field must be an IANA time zone name, such as Europe/Berlin.",
        ),
        ("duration_minutes", json!(0), "The duration_minutes field must be at least 1."),
        (
            "duration_minutes",
            json!(10_081),
            "The duration_minutes field must not be greater than 10080.",
        ),
        ("duration_minutes", Value::Null, "The duration_minutes field is required."),
        (
            "recurrence",
            json!("FREQ=YEARLY"),
            "The recurrence field must have FREQ=DAILY, FREQ=WEEKLY or FREQ=MONTHLY.",
        ),
        (
            "recurrence",
            json!("FREQ=WEEKLY;COUNT=3"),
            "The recurrence field must only have FREQ, INTERVAL, BYDAY, BYMONTHDAY and UNTIL.",
        ),
        (
            "recurrence",
            json!("FREQ=WEEKLY;UNTIL=20261121T000000Z"),
            "The maintenance window would already be over. Choose a later start.",
        ),
        ("duration", json!(30), "The duration field is not known."),
    ] {
        let field_of = match message {
            "The maintenance window would already be over. Choose a later start." => "starts_at",
            _ => field,
        };
        assert_invalid(&post(&service, &owner, &with(field, value)).await, field_of, message);
    }
    let over = json!({ "starts_at": "2026-11-20T09:00", "duration_minutes": 54 });
    let message = "The maintenance window would already be over. Choose a later start.";
    assert_invalid(&post(&service, &owner, &over).await, "starts_at", message);
    let listed = service.client(&owner).get(&path(&owner)).await;
    assert_eq!(listed.body, json!({ "data": [] }));
}

#[tokio::test]
async fn a_team_has_fifty_windows_and_those_that_are_over_do_not_count() {
    let (service, owner) = Service::with_team().await;
    for _ in 0..49 {
        assert_eq!(post(&service, &owner, &weekly()).await.status, 201);
    }
    assert_eq!(post(&service, &owner, &json!({ "duration_minutes": 1 })).await.status, 201);
    let message =
        "A team has at most 50 maintenance windows that are active or planned. Remove one first.";
    assert_invalid(&post(&service, &owner, &weekly()).await, "window", message);
    service.advance_minutes(1);
    assert_eq!(post(&service, &owner, &weekly()).await.status, 201);
}

#[tokio::test]
async fn two_windows_that_are_added_at_once_are_both_there() {
    let (service, owner) = Service::with_team().await;
    let (one, other) = (weekly(), weekly());
    let both =
        futures::future::join(post(&service, &owner, &one), post(&service, &owner, &other)).await;
    assert_eq!((both.0.status, both.1.status), (201, 201));
    let listed = service.client(&owner).get(&path(&owner)).await;
    assert_eq!(listed.body["data"].as_array().map(Vec::len), Some(2));
}
