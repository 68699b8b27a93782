//! `GET /teams/{team}/invitations`: pending invitations.

use serde_json::json;
use vedette_tests::Service;

#[tokio::test]
async fn pending_invitations_are_listed() {
    let (service, owner) = Service::with_team().await;
    let client = service.client(&owner);
    let path = format!("/teams/{}/invitations", owner.team);
    assert_eq!(client.get(&path).await.body["data"], json!([]));
    let bob = json!({ "email": "bob@example.com", "name": "Bob", "role": "member" });
    let invited = client.post(&path, &bob).await;
    let listed = client.get(&path).await;
    let mut expected = invited.body["data"].clone();
    expected.as_object_mut().expect("an invitation").remove("link");
    assert_eq!(listed.body["data"], json!([expected]));
}
