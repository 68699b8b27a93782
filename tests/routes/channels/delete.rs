//! `DELETE /teams/{team}/channels/{channel}`: deletes a channel.

use vedette_tests::Service;

use super::slack;
use crate::support::assert_not_found;

#[tokio::test]
async fn a_deleted_channel_is_gone() {
    let (service, owner) = Service::with_team().await;
    let client = service.client(&owner);
    let path = slack(&client, owner.team).await;
    assert_eq!(client.delete(&path).await.status, 204);
    assert_not_found(&client.delete(&path).await);
    assert_not_found(&client.get(&path).await);
}
