//! `DELETE /teams/{team}/maintenance-calendar`: the address no longer works.

use serde_json::json;
use vedette_tests::Service;

use super::path;

#[tokio::test]
async fn an_address_is_revoked_however_often() {
    let (service, owner) = Service::with_team().await;
    let client = service.client(&owner);
    client.post(&path(&owner), &json!({})).await;
    assert!(client.get(&path(&owner)).await.body["data"]["url"].is_string());
    for _ in 0..2 {
        assert_eq!(client.delete(&path(&owner)).await.status, 204);
        assert_eq!(client.get(&path(&owner)).await.body["data"]["url"], json!(null));
    }
}
