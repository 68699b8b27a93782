//! `GET /teams/{team}/channels/{channel}`.

use serde_json::json;
use vedette_tests::Service;

use super::slack;

#[tokio::test]
async fn a_new_channel_has_delivered_nothing() {
    let (service, owner) = Service::with_team().await;
    let client = service.client(&owner);
    let mut shown = client.get(&slack(&client, owner.team).await).await.body["data"].clone();
    shown["uuid"].take();
    assert_eq!(
        shown,
        json!({
            "uuid": null,
            "name": "Operations",
            "kind": "slack",
            "to": "https://hooks.slack.com/…",
            "has_secret": true,
            "events": [],
            "tools": [],
            "severities": [],
            "state": "on",
            "confirmed_at": "2026-11-20T09:54:00+00:00",
            "disabled": null,
            "last_test": null,
            "delivered_at": null,
            "failures": [],
            "waiting": [],
            "created_at": "2026-11-20T09:54:00+00:00",
            "updated_at": "2026-11-20T09:54:00+00:00",
        })
    );
}
