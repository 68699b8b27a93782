//! `DELETE /teams/{team}/status-pages/{status_page}/incidents/{incident}`.

use super::{arranged, written};
use crate::support::assert_not_found;

#[tokio::test]
async fn an_incident_is_deleted() {
    let (service, owner, path) = arranged().await;
    let client = service.client(&owner);
    let incident = written(&service, &owner, &path).await;
    assert_eq!(client.delete(&incident).await.shown(), "204 null");
    assert_not_found(&client.get(&incident).await);
    assert_not_found(&client.delete(&incident).await);
}
