//! `DELETE /teams/{team}/members/{user}`: removes a member, or leaves the team.

use vedette_domain::accounts::account::{Role, Scope};
use vedette_testkit::member_of;
use vedette_tests::Service;

use crate::support::assert_role_required;

#[tokio::test]
async fn admins_remove_members_and_anybody_leaves() {
    let (service, owner) = Service::with_team().await;
    let scopes = [Scope::MembersWrite];
    let viewer = member_of(&service.test, owner.team, Role::Viewer, &scopes).await;
    let member = member_of(&service.test, owner.team, Role::Member, &[]).await;
    let path = |user| format!("/teams/{}/members/{user}", owner.team);
    let theirs = service.client(&viewer);
    assert_role_required(&theirs.delete(&path(member.user)).await);
    assert_eq!(theirs.delete(&path(viewer.user)).await.status, 204);
    let client = service.client(&owner);
    assert_eq!(client.delete(&path(member.user)).await.status, 204);
    assert_eq!(client.delete(&path(member.user)).await.status, 404, "only once");
    let last = client.delete(&path(owner.user)).await;
    assert!(last.status == 422 && last.shown().contains("last owner"), "{last:?}");
    let members = service.test.app.store.members(owner.team).await.expect("read");
    assert_eq!(members.iter().map(|row| row.user).collect::<Vec<_>>(), [owner.user]);
}
