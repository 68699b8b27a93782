//! `DELETE /teams/{team}/status-pages/{status_page}`.

use vedette_tests::Service;

use super::added;
use crate::support::assert_not_found;

#[tokio::test]
async fn a_page_is_deleted_and_the_team_has_room_for_another() {
    let (service, owner) = Service::with_team().await;
    let client = service.client(&owner);
    let [one, other] =
        [added(&service, &owner, "one").await, added(&service, &owner, "other").await];
    assert_eq!(client.delete(&one).await.shown(), "204 null");
    assert_not_found(&client.get(&one).await);
    assert_not_found(&client.delete(&one).await);
    let (store, now) = (&service.test.app.store, service.test.now());
    let team = store.team(owner.team, now).await.expect("read").expect("a team").team;
    assert_eq!(team.status_pages.len(), 1);
    assert_eq!(client.delete(&other).await.status, 204);
    let team = store.team(owner.team, now).await.expect("read").expect("a team").team;
    assert!(team.status_pages.is_empty());
    added(&service, &owner, "one").await;
}
