//! `DELETE /me/tokens/{token}`: a token stops working at once.

use serde_json::json;
use vedette_domain::accounts::account::{Role, Scope};
use vedette_domain::accounts::audit::AuditEvent;
use vedette_testkit::member_of;
use vedette_tests::Service;

use crate::support::{assert_not_found, bearer};

#[tokio::test]
async fn a_revoked_token_does_not_work_and_the_audit_log_says_so() {
    let (service, owner) = Service::with_team().await;
    let client = service.client(&owner);
    let made = client.post("/me/tokens", &json!({ "name": "Deploy" })).await;
    let (secret, hash) = (made.data("secret"), made.data("hash"));
    service.advance_minutes(1);
    assert_eq!(client.delete(&format!("/me/tokens/{hash}")).await.status, 204);
    let theirs = service.client_with(Some(&bearer(&secret)));
    assert_eq!(theirs.get("/teams").await.status, 401);
    assert_not_found(&client.delete(&format!("/me/tokens/{hash}")).await);
    let log = service.test.app.store.audit_log(owner.team, None, 10).await.expect("read");
    let said = &log.entries[0].event;
    assert!(
        matches!(said, AuditEvent::TokenRevoked { user, .. } if *user == owner.user),
        "{said:?}"
    );
}

#[tokio::test]
async fn tokens_of_others_are_not_found() {
    let (service, owner) = Service::with_team().await;
    let made = service.client(&owner).post("/me/tokens", &json!({ "name": "Deploy" })).await;
    let member = member_of(&service.test, owner.team, Role::Owner, &[Scope::TokensWrite]).await;
    let client = service.client(&member);
    assert_not_found(&client.delete(&format!("/me/tokens/{}", made.data("hash"))).await);
    assert_not_found(&client.delete("/me/tokens/unknown").await);
}
