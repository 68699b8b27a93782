//! `DELETE /teams/{team}/maintenance-windows/{window}`.

use vedette_tests::Service;

use super::{added, weekly};
use crate::support::assert_not_found;

#[tokio::test]
async fn a_window_is_removed_and_leaves_nothing_in_the_table() {
    let (service, owner) = Service::with_team().await;
    let client = service.client(&owner);
    let [one, other] =
        [added(&service, &owner, &weekly()).await, added(&service, &owner, &weekly()).await];
    assert_eq!(client.delete(&one).await.shown(), "204 null");
    assert_not_found(&client.get(&one).await);
    assert_not_found(&client.delete(&one).await);
    assert_eq!(client.get(&other).await.status, 200);
    assert_eq!(client.delete(&other).await.status, 204);
    let (store, now) = (&service.test.app.store, service.test.now());
    let team = store.team(owner.team, now).await.expect("read").expect("a team").team;
    assert!(team.windows.is_empty());
    assert_eq!(team.windows_rev, 4, "so that no write is lost");
}
