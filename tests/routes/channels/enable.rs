//! `POST /teams/{team}/channels/{channel}/enable`: enables a channel again.

use serde_json::json;
use vedette_tests::Service;

use super::slack;
use crate::support::assert_invalid;

#[tokio::test]
async fn a_disabled_channel_is_enabled_and_an_enabled_one_stays_so() {
    let (service, owner) = Service::with_team().await;
    let client = service.client(&owner);
    let path = slack(&client, owner.team).await;
    client.post(&format!("{path}/disable"), &json!({})).await;
    let refused = client.post(&format!("{path}/test"), &json!({})).await;
    assert_eq!(refused.status, 422, "{refused:?}");
    for _ in 0..2 {
        let enabled = client.post(&format!("{path}/enable"), &json!({})).await;
        assert_eq!((enabled.status, &enabled.body["data"]["state"]), (200, &json!("on")));
    }
    let unknown = format!("/teams/{}/channels/{}", owner.team, owner.team);
    assert_eq!(client.post(&format!("{unknown}/enable"), &json!({})).await.status, 404);
    let unconfirmed = json!({ "kind": "email", "address": "ops@example.com" });
    let added = client.post(&format!("/teams/{}/channels", owner.team), &unconfirmed).await;
    let path = format!("/teams/{}/channels/{}", owner.team, added.data("uuid"));
    let tested = client.post(&format!("{path}/test"), &json!({})).await;
    let why = "ops@example.com is not confirmed yet: its recipient must follow the link in the confirmation email.";
    assert_invalid(&tested, "channel", why);
}
