//! `POST /teams/{team}/status-pages/{status_page}/incidents`.

use serde_json::{Value, json};
use uuid::Uuid;

use super::{arranged, delays, post};
use crate::support::assert_invalid;

#[tokio::test]
async fn an_incident_has_what_was_written() {
    let (service, owner, path) = arranged().await;
    let answer = post(&service, &owner, &path, &delays()).await;
    insta::assert_snapshot!(answer.shown(), @r#"
    201 {
      "data": {
        "components": [],
        "created_at": "2026-11-20T09:54:00+00:00",
        "impact": "minor",
        "next_update_by": null,
        "resolved_at": null,
        "started_at": "2026-11-20T09:54:00+00:00",
        "status": "investigating",
        "title": "Orders are delayed",
        "updated_at": "2026-11-20T09:54:00+00:00",
        "updates": [
          {
            "at": "2026-11-20T09:54:00+00:00",
            "status": "investigating",
            "text": "We are looking into it."
          }
        ],
        "uuid": "01a1f860-8ec0-7000-8000-000000000006"
      }
    }
    "#);
    let place = format!("https://monitor.test/api/v1{path}/{}", answer.data("uuid"));
    assert_eq!(answer.header("location"), place);
    let whole = json!({
        "title": "Orders are delayed",
        "impact": "major",
        "components": [],
        "started_at": "2026-11-20T10:40:00+01:00",
        "next_update_by": "2026-11-20T10:30:00Z",
        "status": "identified",
        "text": "The cause is a release.\nWe roll it back.",
    });
    let answer = post(&service, &owner, &path, &whole).await;
    insta::assert_snapshot!(answer.shown(), @r#"
    201 {
      "data": {
        "components": [],
        "created_at": "2026-11-20T09:54:00+00:00",
        "impact": "major",
        "next_update_by": "2026-11-20T10:30:00+00:00",
        "resolved_at": null,
        "started_at": "2026-11-20T09:40:00+00:00",
        "status": "identified",
        "title": "Orders are delayed",
        "updated_at": "2026-11-20T09:54:00+00:00",
        "updates": [
          {
            "at": "2026-11-20T09:54:00+00:00",
            "status": "identified",
            "text": "The cause is a release.\nWe roll it back."
          }
        ],
        "uuid": "01a1f860-8ec0-7000-8000-000000000007"
      }
    }
    "#);
}

#[tokio::test]
async fn invalid_incidents_are_refused_and_change_nothing() {
    let (service, owner, path) = arranged().await;
    let with = |field: &str, value: Value| {
        let mut body = delays();
        body[field] = value;
        body
    };
    let unknown = Uuid::from_u128(7);
    for (field, value, at, message) in [
        ("title", json!(" "), "title", "The title field is required."),
        (
            "title",
            json!("x".repeat(201)),
            "title",
            "The title field must not be longer than 200 characters.",
        ),
        ("text", Value::Null, "text", "The text field is required."),
        (
            "text",
            json!("x".repeat(1_001)),
            "text",
            "The text field must not be longer than 1000 characters.",
        ),
        (
            "impact",
            json!("huge"),
            "impact",
            "The impact field must be one of none, minor, major, critical.",
        ),
        (
            "status",
            json!("open"),
            "status",
            "The status field must be one of investigating, identified, monitoring, resolved.",
        ),
        (
            "components",
            json!([unknown]),
            "components",
            "The incident concerns a component that the status page does not have.",
        ),
        (
            "started_at",
            json!("yesterday"),
            "started_at",
            "The started_at field must be a date and time with a UTC offset, such as 2026-11-24T02:46:00+01:00.",
        ),
        ("color", json!("red"), "color", "The color field is not known."),
    ] {
        assert_invalid(&post(&service, &owner, &path, &with(field, value)).await, at, message);
    }
    assert_eq!(service.client(&owner).get(&path).await.body["data"], json!([]));
}
