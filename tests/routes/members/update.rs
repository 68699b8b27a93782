//! `PATCH /teams/{team}/members/{user}`: another role for a member.

use serde_json::json;
use vedette_domain::accounts::account::Role;
use vedette_domain::accounts::audit::AuditEvent;
use vedette_domain::accounts::plan::Plan;
use vedette_testkit::new_team;
use vedette_tests::Service;

use crate::support::{assert_invalid, assert_not_found, assert_refused, colleague};

#[tokio::test]
async fn a_member_gets_another_role_and_the_audit_log_says_so() {
    let (service, owner) = Service::with_team().await;
    let member = colleague(&service, &owner, Role::Member).await;
    let path = format!("/teams/{}/members/{}", owner.team, member.user);
    let client = service.client(&owner);
    let changed = client.patch(&path, &json!({ "role": "admin" })).await;
    assert_eq!((changed.status, changed.data("role")), (200, "admin".to_owned()));
    let place = service.test.app.store.membership(member.user, owner.team).await.expect("read");
    assert_eq!(place.map(|place| place.role), Some(Role::Admin));
    let log = service.test.app.store.audit_log(owner.team, None, 1).await.expect("read");
    let (before, after) = (Role::Member, Role::Admin);
    assert_eq!(
        log.entries[0].event,
        AuditEvent::MemberChanged { user: member.user, before, after }
    );
    for (body, why) in [
        (json!({}), "The role field is required."),
        (json!({ "role": "king" }), "The role field must be one of viewer, member, admin, owner."),
    ] {
        assert_invalid(&client.patch(&path, &body).await, "role", why);
    }
}

#[tokio::test]
async fn only_owners_manage_owners_and_a_team_keeps_one() {
    let (service, owner) = Service::with_team().await;
    let admin = colleague(&service, &owner, Role::Admin).await;
    let path = |user| format!("/teams/{}/members/{user}", owner.team);
    let [to_owner, to_admin] = ["owner", "admin"].map(|role| json!({ "role": role }));
    let why = "Only an owner can add, change or remove owners.";
    let theirs = service.client(&admin);
    assert_refused(&theirs.patch(&path(owner.user), &to_admin).await, 403, why);
    assert_refused(&theirs.patch(&path(admin.user), &to_owner).await, 403, why);
    let own = service.client(&owner);
    let refused = own.patch(&path(owner.user), &to_admin).await;
    assert_eq!(refused.status, 422, "{refused:?}");
    let why = refused.body["errors"]["role"][0].as_str().expect("a reason");
    assert!(
        why.ends_with("is the team's last owner; make another member an owner first."),
        "{why}"
    );
    assert_eq!(own.patch(&path(admin.user), &to_owner).await.status, 200);
    assert_eq!(own.patch(&path(owner.user), &to_admin).await.status, 200);
    let stranger = new_team(&service.test, Plan::Agency).await;
    assert_not_found(&theirs.patch(&path(stranger.user), &to_admin).await);
}
