//! `POST /teams/{team}/invitations`: invites somebody to a team.

use serde_json::json;
use vedette_domain::accounts::account::{Role, Scope};
use vedette_testkit::member_of;
use vedette_tests::Service;

use crate::support::assert_invalid;

#[tokio::test]
async fn without_mail_the_answer_has_the_link() {
    let (service, owner) = Service::with_team().await;
    let client = service.client(&owner);
    let path = format!("/teams/{}/invitations", owner.team);
    let bob = json!({ "email": "bob@example.com", "role": "member" });
    let invited = client.post(&path, &bob).await;
    assert_eq!((invited.status, &invited.body["data"]["name"]), (201, &json!("bob@example.com")));
    let link = invited.data("link");
    assert!(link.starts_with("https://monitor.test/join/"), "{link}");
    let listed = client.get(&path).await;
    let secret = link.rsplit('/').next().expect("a secret");
    assert!(!listed.shown().contains(secret), "{listed:?}");
    let again = client.post(&path, &bob).await;
    assert_invalid(&again, "email", "bob@example.com is already invited.");
}

#[tokio::test]
async fn with_mail_only_the_recipient_gets_the_link() {
    let (mut service, owner) = Service::with_team().await;
    service.test.app.service.sends_mail = true;
    let path = format!("/teams/{}/invitations", owner.team);
    let cleo = json!({ "email": "cleo@example.com", "name": "Cleo", "role": "viewer" });
    let invited = service.client(&owner).post(&path, &cleo).await;
    assert_eq!(invited.status, 201, "{invited:?}");
    let data = invited.body["data"].as_object().expect("an invitation");
    assert!(!data.contains_key("link") && !data.contains_key("not_sent"), "{data:?}");
}

#[tokio::test]
async fn what_the_page_refuses_is_refused() {
    let (service, owner) = Service::with_team().await;
    let admin = member_of(&service.test, owner.team, Role::Admin, &[Scope::MembersWrite]).await;
    let client = service.client(&admin);
    let path = format!("/teams/{}/invitations", owner.team);
    for (body, field, why) in [
        (
            json!({ "email": "bob", "role": "member" }),
            "email",
            "The email field must be an address such as ada@example.com.",
        ),
        (
            json!({ "email": "bob@example.com", "role": "owner" }),
            "role",
            "The role field must be one of viewer, member, admin.",
        ),
        (json!({ "email": "bob@example.com" }), "role", "The role field is required."),
    ] {
        assert_invalid(&client.post(&path, &body).await, field, why);
    }
}
