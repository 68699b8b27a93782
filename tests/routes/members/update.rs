//! `PATCH /teams/{team}/members/{user}`: gives a member another role.

use serde_json::json;
use vedette_domain::accounts::account::{Role, Scope};
use vedette_domain::accounts::plan::Plan;
use vedette_testkit::{member_of, new_team};
use vedette_tests::Service;

use crate::support::{assert_invalid, assert_not_found, assert_refused};

#[tokio::test]
async fn roles_change_but_a_team_keeps_an_owner() {
    let (service, owner) = Service::with_team().await;
    let member = member_of(&service.test, owner.team, Role::Member, &[]).await;
    let client = service.client(&owner);
    let path = |user| format!("/teams/{}/members/{user}", owner.team);
    let own = client.patch(&path(owner.user), &json!({ "role": "admin" })).await;
    assert!(own.shown().contains("is the team's last owner"), "{own:?}");
    let changed = client.patch(&path(member.user), &json!({ "role": "owner" })).await;
    assert_eq!((changed.status, &changed.body["data"]["role"]), (200, &json!("owner")));
    assert_eq!(client.patch(&path(owner.user), &json!({ "role": "admin" })).await.status, 200);
    let log = service.test.app.store.audit_log(owner.team, None, 10).await.expect("read");
    assert_eq!(log.entries.len(), 2);
}

#[tokio::test]
async fn only_owners_make_owners_and_strangers_are_not_found() {
    let (service, owner) = Service::with_team().await;
    let scopes = [Scope::MembersWrite];
    let admin = member_of(&service.test, owner.team, Role::Admin, &scopes).await;
    let client = service.client(&admin);
    let path = |user| format!("/teams/{}/members/{user}", owner.team);
    let why = "Only an owner can add, change or remove owners.";
    assert_refused(&client.patch(&path(admin.user), &json!({ "role": "owner" })).await, 403, why);
    assert_refused(&client.patch(&path(owner.user), &json!({ "role": "viewer" })).await, 403, why);
    let wrong = client.patch(&path(admin.user), &json!({ "role": "root" })).await;
    assert_invalid(&wrong, "role", "The role field must be one of viewer, member, admin, owner.");
    let stranger = new_team(&service.test, Plan::Agency).await;
    assert_not_found(&client.patch(&path(stranger.user), &json!({ "role": "viewer" })).await);
}
