//! `DELETE /teams/{team}/invitations/{invitation}`: withdraws an invitation.

use serde_json::json;
use vedette_tests::Service;

use crate::support::assert_not_found;

#[tokio::test]
async fn a_withdrawn_invitation_is_gone_and_its_seat_is_free() {
    let (service, owner) = Service::with_team().await;
    let client = service.client(&owner);
    let path = format!("/teams/{}/invitations", owner.team);
    let bob = json!({ "email": "bob@example.com", "role": "member" });
    let id = client.post(&path, &bob).await.data("id");
    assert_eq!(client.delete(&format!("{path}/{id}")).await.status, 204);
    assert_not_found(&client.delete(&format!("{path}/{id}")).await);
    assert_eq!(client.get(&path).await.body["data"], json!([]));
    assert_eq!(client.post(&path, &bob).await.status, 201, "the address is free");
}
