//! `POST /teams/{team}/invitations`: invites an address.

use serde_json::json;
use vedette_domain::accounts::account::Role;
use vedette_domain::accounts::audit::AuditEvent;
use vedette_domain::accounts::mail_limits::INVITATIONS_OF_TEAM;
use vedette_domain::accounts::plan::Plan;
use vedette_domain::accounts::session::SessionSecret;
use vedette_domain::message::{MailRequest, Message};
use vedette_runtime::Destination;
use vedette_testkit::new_team;
use vedette_tests::Service;

use crate::support::{assert_invalid, rows};

#[tokio::test]
async fn without_email_the_answer_alone_has_the_link() {
    let (service, owner) = Service::with_team().await;
    let client = service.client(&owner);
    let path = format!("/teams/{}/invitations", owner.team);
    let grace = json!({ "email": "grace@example.com", "role": "member" });
    let invited = client.post(&path, &grace).await;
    assert_eq!(invited.status, 201, "{invited:?}");
    let (hash, url) = (invited.data("hash"), invited.data("url"));
    assert_eq!(invited.header("location"), format!("https://monitor.test/api/v1{path}/{hash}"));
    let secret = url.strip_prefix("https://monitor.test/join/").expect("a page of the service");
    let secret_hash = SessionSecret::parse(secret).expect("a secret").hash();
    assert_eq!(secret_hash.0, hash);
    let stored = service.test.app.store.invitation(&secret_hash).await.expect("read");
    let stored = stored.expect("an invitation");
    assert_eq!((&*stored.name, stored.role), ("grace@example.com", Role::Member));
    assert!(!client.get(&path).await.shown().contains(secret));
    assert_eq!(service.test.queue.drain(Destination::Mailer), []);
    let log = service.test.app.store.audit_log(owner.team, None, 1).await.expect("read");
    let (email, role) = ("grace@example.com".to_owned(), Role::Member);
    assert_eq!(log.entries[0].event, AuditEvent::Invited { email, role });
}

#[tokio::test]
async fn with_email_only_the_recipient_of_the_address_gets_a_link() {
    let (mut service, owner) = Service::with_team().await;
    service.test.app.service.sends_mail = true;
    let path = format!("/teams/{}/invitations", owner.team);
    let body = json!({ "email": "grace@example.com", "name": "Grace", "role": "admin" });
    let invited = service.client(&owner).post(&path, &body).await;
    assert_eq!(invited.status, 201, "{invited:?}");
    assert!(invited.body["data"]["url"].is_null() && invited.body["data"]["unsent"].is_null());
    let hash = invited.data("hash");
    let [(Message::Mail(asked), _)] = &service.test.queue.drain(Destination::Mailer)[..] else {
        panic!("one email")
    };
    let MailRequest::Invitation { invitation, .. } = asked else { panic!("{asked:?}") };
    assert_eq!(invitation.0, hash);
    service.write(asked).await;
    let mails = service.receivers.take_mails();
    assert_eq!((mails.len(), &*mails[0].to), (1, "grace@example.com"));
}

#[tokio::test]
async fn an_invitation_whose_email_is_not_sent_says_so_and_exists() {
    let (mut service, owner) = Service::with_team().await;
    service.test.app.service.sends_mail = true;
    let (subject, limit) = (format!("invited#{}", owner.team), INVITATIONS_OF_TEAM);
    for _ in 0..limit.times {
        let counted = service.test.app.store.count(&subject, limit.window, service.test.now());
        counted.await.expect("counted");
    }
    let (client, path) = (service.client(&owner), format!("/teams/{}/invitations", owner.team));
    let body = json!({ "email": "grace@example.com", "role": "viewer" });
    let invited = client.post(&path, &body).await;
    assert_eq!(invited.status, 201, "{invited:?}");
    let why = "grace@example.com is invited, but the team has sent all the invitations that it may send \
               in a day; send it again tomorrow.";
    assert_eq!(
        (invited.data("unsent").as_str(), &invited.body["data"]["url"]),
        (why, &json!(null))
    );
    assert_eq!(rows(&client.get(&path).await).len(), 1);
    assert_eq!(service.test.queue.drain(Destination::Mailer), []);
}

#[tokio::test]
async fn members_and_invited_people_are_not_invited_again_and_seats_are_limited() {
    let service = Service::start().await;
    let owner = new_team(&service.test, Plan::Starter).await;
    let (client, path) = (service.client(&owner), format!("/teams/{}/invitations", owner.team));
    let invite = async |email: &str, role: &str| {
        client.post(&path, &json!({ "email": email, "role": role })).await
    };
    let account = service.test.app.store.account(owner.user).await.expect("read");
    let own = account.expect("a user").user.email;
    let again = invite(&own, "viewer").await;
    assert_eq!(again.status, 422, "{again:?}");
    assert_eq!(invite("grace@example.com", "viewer").await.status, 201);
    let again = invite("Grace+x@example.com", "admin").await;
    assert_invalid(&again, "email", "Grace+x@example.com is already invited.");
    assert_eq!(invite("alan@example.com", "viewer").await.status, 201);
    let full = "The starter plan has 3 seats, and all are taken; remove a member or withdraw an \
                invitation first.";
    assert_invalid(&invite("bob@example.com", "viewer").await, "email", full);
    let why = "The email field must be an address such as ada@example.com.";
    assert_invalid(&invite("bob", "viewer").await, "email", why);
    let why = "The role field must be one of viewer, member, admin.";
    assert_invalid(&invite("bob@example.com", "owner").await, "role", why);
}
