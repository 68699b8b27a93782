//! `DELETE /teams/{team}/members/{user}`: removing a member, and leaving.

use vedette_domain::accounts::account::Role;
use vedette_domain::accounts::audit::AuditEvent;
use vedette_domain::accounts::plan::Plan;
use vedette_testkit::new_team;
use vedette_tests::Service;

use crate::support::{assert_not_found, assert_refused, assert_role_required, colleague, suspend};

#[tokio::test]
async fn a_removed_member_loses_the_team_and_the_audit_log_says_so() {
    let (service, owner) = Service::with_team().await;
    let admin = colleague(&service, &owner, Role::Admin).await;
    let viewer = colleague(&service, &owner, Role::Viewer).await;
    let path = |user| format!("/teams/{}/members/{user}", owner.team);
    let why = "Only an owner can add, change or remove owners.";
    assert_refused(&service.client(&admin).delete(&path(owner.user)).await, 403, why);
    assert_role_required(&service.client(&viewer).delete(&path(admin.user)).await);
    assert_eq!(service.client(&admin).delete(&path(viewer.user)).await.status, 204);
    assert_not_found(&service.client(&viewer).get(&format!("/teams/{}", owner.team)).await);
    assert_not_found(&service.client(&admin).delete(&path(viewer.user)).await);
    let log = service.test.app.store.audit_log(owner.team, None, 1).await.expect("read");
    let removed = AuditEvent::MemberRemoved { user: viewer.user, role: Role::Viewer };
    assert_eq!(log.entries[0].event, removed);
    let stranger = new_team(&service.test, Plan::Agency).await;
    assert_not_found(&service.client(&owner).delete(&path(stranger.user)).await);
}

#[tokio::test]
async fn everybody_may_leave_but_the_last_owner() {
    let (service, owner) = Service::with_team().await;
    let path = |user| format!("/teams/{}/members/{user}", owner.team);
    let viewer = colleague(&service, &owner, Role::Viewer).await;
    let other = colleague(&service, &owner, Role::Owner).await;
    assert_eq!(service.client(&other).delete(&path(other.user)).await.status, 204);
    let refused = service.client(&owner).delete(&path(owner.user)).await;
    assert_eq!(refused.status, 422, "{refused:?}");
    let why = refused.body["errors"]["role"][0].as_str().expect("a reason");
    assert!(
        why.ends_with("is the team's last owner; make another member an owner first."),
        "{why}"
    );
    suspend(&service, &owner).await;
    assert_eq!(service.client(&viewer).delete(&path(viewer.user)).await.status, 204);
}
