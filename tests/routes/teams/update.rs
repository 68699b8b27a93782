//! `PATCH /teams/{team}`: an owner renames a team.

use serde_json::json;
use vedette_domain::accounts::account::{Role, Scope};
use vedette_domain::accounts::audit::AuditEvent;
use vedette_testkit::member_of;
use vedette_tests::Service;

use crate::support::assert_invalid;

#[tokio::test]
async fn an_owner_renames_a_team_and_the_audit_log_says_so() {
    let (service, owner) = Service::with_team().await;
    let client = service.client(&owner);
    let path = format!("/teams/{}", owner.team);
    service.advance_minutes(1);
    let renamed = client.patch(&path, &json!({ "name": " Shop " })).await;
    assert_eq!((renamed.status, renamed.data("name")), (200, "Shop".to_owned()));
    assert_eq!(client.get(&path).await.body, renamed.body);
    let log = service.test.app.store.audit_log(owner.team, None, 10).await.expect("read");
    let events: Vec<_> = log.entries.into_iter().map(|entry| entry.event).collect();
    assert_eq!(events, [AuditEvent::team_name("Observers", "Shop")]);
    assert_invalid(&client.patch(&path, &json!({})).await, "name", "The name field is required.");
}

#[tokio::test]
async fn admins_do_not_rename_teams() {
    let (service, owner) = Service::with_team().await;
    let admin = member_of(&service.test, owner.team, Role::Admin, &Scope::ALL).await;
    let path = format!("/teams/{}", owner.team);
    let refused = service.client(&admin).patch(&path, &json!({ "name": "Shop" })).await;
    assert_eq!(refused.status, 403, "{refused:?}");
}
