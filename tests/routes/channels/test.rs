//! `POST /teams/{team}/channels/{channel}/test`: queues a test message.

use serde_json::json;
use vedette_tests::Service;

use super::slack;

#[tokio::test]
async fn a_test_waits_to_be_sent() {
    let (service, owner) = Service::with_team().await;
    let client = service.client(&owner);
    let path = slack(&client, owner.team).await;
    let tested = client.post(&format!("{path}/test"), &json!({})).await;
    assert_eq!(tested.status, 200, "{tested:?}");
    let waiting = &tested.body["data"]["waiting"];
    assert_eq!(waiting.as_array().map(Vec::len), Some(1), "{waiting}");
    let again = client.post(&format!("{path}/test"), &json!({})).await;
    assert_eq!(&again.body["data"]["waiting"], waiting, "one at a time");
}
