//! `GET /teams/{team}/invitations`: who has not answered yet.

use serde_json::json;
use vedette_domain::accounts::account::Role;
use vedette_store::Audit;
use vedette_tests::Service;

use crate::support::{colleague, rows};

#[tokio::test]
async fn invitations_are_listed_until_they_expire_with_whether_they_are_valid() {
    let (service, owner) = Service::with_team().await;
    let admin = colleague(&service, &owner, Role::Admin).await;
    let path = format!("/teams/{}/invitations", owner.team);
    let grace = json!({ "email": "grace@example.com", "name": "Grace", "role": "viewer" });
    let invited = service.client(&admin).post(&path, &grace).await;
    let client = service.client(&owner);
    let mut listed = rows(&client.get(&path).await);
    assert_eq!(listed[0]["hash"], invited.data("hash"));
    listed[0]["hash"] = "<hash>".into();
    insta::assert_json_snapshot!(listed, @r#"
    [
      {
        "created_at": "2026-11-20T09:54:00+00:00",
        "email": "grace@example.com",
        "expires_at": "2026-11-27T09:54:00+00:00",
        "hash": "<hash>",
        "is_valid": true,
        "role": "viewer"
      }
    ]
    "#);
    let removed =
        service.test.app.store.remove_member(owner.team, admin.user, Role::Admin, Audit::None);
    removed.await.expect("removed");
    assert_eq!(rows(&client.get(&path).await)[0]["is_valid"], false, "its sender has left");
    service.advance_minutes(7 * 24 * 60);
    assert!(rows(&client.get(&path).await).is_empty());
}
