//! `GET /teams/{team}/channels`: a team's channels with their deliveries.

use serde_json::json;
use vedette_tests::Service;

use super::slack;

#[tokio::test]
async fn channels_are_listed_as_each_is_shown() {
    let (service, owner) = Service::with_team().await;
    let client = service.client(&owner);
    let first = slack(&client, owner.team).await;
    service.advance_minutes(1);
    let path = format!("/teams/{}/channels", owner.team);
    let email = json!({ "kind": "email", "address": "ops@example.com" });
    let second = client.post(&path, &email).await;
    assert_eq!(second.body["data"]["state"], "unconfirmed");
    let each = [
        client.get(&first).await.body["data"].clone(),
        client.get(&format!("{path}/{}", second.data("uuid"))).await.body["data"].clone(),
    ];
    assert_eq!(client.get(&path).await.body["data"], json!(each));
}
