//! `POST /teams/{team}/channels/{channel}/resend`: sends what waits for a channel.

use serde_json::json;
use vedette_tests::Service;

use super::slack;

#[tokio::test]
async fn what_waits_is_sent_unless_the_channel_is_disabled() {
    let (service, owner) = Service::with_team().await;
    let client = service.client(&owner);
    let path = slack(&client, owner.team).await;
    assert_eq!(client.post(&format!("{path}/resend"), &json!({})).await.status, 200);
    client.post(&format!("{path}/disable"), &json!({})).await;
    let refused = client.post(&format!("{path}/resend"), &json!({})).await;
    assert!(refused.status == 422 && refused.shown().contains("disabled by"), "{refused:?}");
}
