//! `DELETE /teams/{team}/invitations/{invitation}`: an invitation stops working at once.

use serde_json::json;
use vedette_domain::accounts::audit::AuditEvent;
use vedette_domain::accounts::session::SessionHash;
use vedette_tests::Service;

use crate::support::{assert_not_found, rows};

#[tokio::test]
async fn a_withdrawn_invitation_is_gone_and_the_audit_log_says_so() {
    let (service, owner) = Service::with_team().await;
    let (client, path) = (service.client(&owner), format!("/teams/{}/invitations", owner.team));
    let grace = json!({ "email": "grace@example.com", "role": "viewer" });
    let hash = client.post(&path, &grace).await.data("hash");
    service.advance_minutes(1);
    assert_eq!(client.delete(&format!("{path}/{hash}")).await.status, 204);
    assert!(rows(&client.get(&path).await).is_empty());
    let stored = service.test.app.store.invitation(&SessionHash(hash.clone())).await;
    assert_eq!(stored.expect("read"), None);
    assert_not_found(&client.delete(&format!("{path}/{hash}")).await);
    let log = service.test.app.store.audit_log(owner.team, None, 1).await.expect("read");
    let email = "grace@example.com".to_owned();
    assert_eq!(log.entries[0].event, AuditEvent::InvitationWithdrawn { email });
}
