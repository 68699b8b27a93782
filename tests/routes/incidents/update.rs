//! `PATCH /teams/{team}/status-pages/{status_page}/incidents/{incident}`.

use serde_json::json;

use super::{arranged, written};
use crate::support::assert_invalid;

#[tokio::test]
async fn a_text_adds_an_update_and_other_fields_change_the_incident() {
    let (service, owner, path) = arranged().await;
    let client = service.client(&owner);
    let incident = written(&service, &owner, &path).await;
    service.advance_minutes(5);
    let body = json!({ "text": "The cause is a release.", "status": "identified" });
    assert_eq!(client.patch(&incident, &body).await.status, 200);
    service.advance_minutes(5);
    let body = json!({ "text": "It is rolled back.", "status": "resolved", "impact": "major" });
    let answer = client.patch(&incident, &body).await;
    insta::assert_snapshot!(answer.shown(), @r#"
    200 {
      "data": {
        "components": [],
        "created_at": "2026-11-20T09:54:00+00:00",
        "impact": "major",
        "next_update_by": null,
        "resolved_at": "2026-11-20T10:04:00+00:00",
        "started_at": "2026-11-20T09:54:00+00:00",
        "status": "resolved",
        "title": "Orders are delayed",
        "updated_at": "2026-11-20T10:04:00+00:00",
        "updates": [
          {
            "at": "2026-11-20T09:54:00+00:00",
            "status": "investigating",
            "text": "We are looking into it."
          },
          {
            "at": "2026-11-20T09:59:00+00:00",
            "status": "identified",
            "text": "The cause is a release."
          },
          { "at": "2026-11-20T10:04:00+00:00", "status": "resolved", "text": "It is rolled back." }
        ],
        "uuid": "01a1f860-8ec0-7000-8000-000000000006"
      }
    }
    "#);
    let before = client.get(&incident).await.body;
    for (body, field, message) in [
        (json!({ "status": "monitoring" }), "text", "The text field is required with a status."),
        (json!({ "title": null }), "title", "The title field must not be empty."),
        (json!({ "text": "" }), "text", "The text field must not be empty."),
    ] {
        assert_invalid(&client.patch(&incident, &body).await, field, message);
    }
    assert_eq!(client.patch(&incident, &json!({})).await.body, before);
}

#[tokio::test]
async fn an_incident_has_fifty_updates_at_most() {
    let (service, owner, path) = arranged().await;
    let client = service.client(&owner);
    let incident = written(&service, &owner, &path).await;
    for _ in 1..50 {
        let added = client.patch(&incident, &json!({ "text": "Still looking." })).await;
        assert_eq!(added.status, 200);
    }
    let refused = client.patch(&incident, &json!({ "text": "One more." })).await;
    assert_invalid(&refused, "text", "An incident has at most 50 updates.");
}
