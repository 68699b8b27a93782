//! `PATCH /teams/{team}/channels/{channel}`: changes a channel's name, and which alerts it gets.

use serde_json::json;
use vedette_tests::Service;

use super::slack;
use crate::support::assert_invalid;

#[tokio::test]
async fn what_is_omitted_stays_as_it_is() {
    let (service, owner) = Service::with_team().await;
    let client = service.client(&owner);
    let path = slack(&client, owner.team).await;
    let body = json!({ "severities": ["critical"], "events": ["opened", "resolved"] });
    let changed = client.patch(&path, &body).await;
    assert_eq!(changed.status, 200, "{changed:?}");
    let renamed = client.patch(&path, &json!({ "name": "Night shift", "events": [] })).await;
    let data = &renamed.body["data"];
    assert_eq!(
        (&data["name"], &data["severities"], &data["events"]),
        (&json!("Night shift"), &json!(["critical"]), &json!([]))
    );
    let wrong = client.patch(&path, &json!({ "tools": ["ping"] })).await;
    assert!(wrong.status == 422 && wrong.body["errors"]["tools.0"].is_array(), "{wrong:?}");
    let unknown = client.patch(&path, &json!({ "url": "https://ntfy.sh/x" })).await;
    assert_invalid(&unknown, "url", "The url field is not known.");
}
