//! No answer has a secret of a channel, even if the receiver repeats what it was sent.

use std::sync::Arc;

use serde_json::{Value, json};
use vedette_domain::alerts::channel::ChannelKind;
use vedette_domain::id::ChannelId;
use vedette_domain::message::Message;
use vedette_notifier::send::{MailConfig, MailTransport, Sender};
use vedette_probe::ssrf_guard::SsrfGuard;
use vedette_runtime::Destination;
use vedette_store::ChannelRef;
use vedette_testkit::channels::SecretDestination;
use vedette_testkit::{ApiResponse, Client, Member, WebServer, loopback};
use vedette_tests::Service;

/// Asserts that an answer has none of the secrets, in its headers or its body.
#[track_caller]
fn assert_without(secrets: &[String], answer: &ApiResponse) {
    let shown = format!("{:?} {}", answer.headers, answer.body);
    for secret in secrets {
        assert!(!shown.contains(secret), "{secret}: {shown}");
    }
}

/// Sends what waits with real requests to receivers on this machine.
async fn send(service: &Service) {
    let mail = MailConfig::read(&|_| None, MailTransport::Folder("mail".into()));
    let guard = SsrfGuard::new(loopback()).expect("a guard");
    let sender = Sender::new(Arc::new(guard), mail.expect("a configuration"));
    for (message, _) in service.test.queue.drain(Destination::Alerts) {
        let Message::Alert(message) = message else { panic!("{message:?}") };
        vedette_notifier::handle(&service.test.app, &sender, &message).await.expect("sent");
    }
}

/// Adds a channel. Returns its answer without the signing key, which is shown only there, and everything that is secret
/// about the channel.
async fn add(
    service: &Service,
    owner: &Member,
    body: &Value,
    mut secrets: Vec<String>,
) -> (ApiResponse, Vec<String>) {
    let client = service.client(owner);
    let mut added = client.post(&format!("/teams/{}/channels", owner.team), body).await;
    assert_eq!(added.status, 201, "{added:?}");
    let fields = added.body["data"].as_object_mut().expect("a channel");
    if let Some(key) = fields.remove("signing_key") {
        let key = key.as_str().and_then(|key| key.strip_prefix("whsec_")).expect("a key");
        secrets.push(key.to_owned());
    }
    let id = ChannelId::parse(&added.data("uuid")).expect("an id");
    let stored = service.test.app.store.channel(ChannelRef { team: owner.team, id }).await;
    secrets.push(stored.expect("read").expect("a channel").key.reveal().to_owned());
    (added, secrets)
}

/// What all routes answer about a channel.
async fn answers(
    client: &Client<'_>,
    (list, path): (&str, &str),
    again: &Value,
) -> [ApiResponse; 9] {
    let post = async |verb: &str| client.post(&format!("{path}/{verb}"), &json!({})).await;
    [
        client.get(list).await,
        client.get(path).await,
        client.patch(path, &json!({ "severities": ["critical"] })).await,
        // Refused, because the URL is taken or a field is not known.
        client.post(list, again).await,
        client.patch(path, again).await,
        post("resend").await,
        post("disable").await,
        post("test").await,
        post("enable").await,
    ]
}

#[tokio::test]
async fn a_receiver_that_repeats_secrets_does_not_bring_them_into_an_answer() {
    let (service, owner) = Service::with_team().await;
    let client = service.client(&owner);
    let list = format!("/teams/{}/channels", owner.team);
    let receiver = WebServer::start().await;
    receiver.answer(500);
    let kinds = ChannelKind::ALL.into_iter().filter(|kind| *kind != ChannelKind::Email);
    for kind in kinds {
        let SecretDestination { path, secret, token } = SecretDestination::new(kind, 7);
        let url = format!("{}/{path}", receiver.url);
        let mut body = json!({ "kind": kind.as_str(), "url": url });
        let mut secrets = vec![secret];
        if let Some(token) = token {
            body["token"] = json!(token);
            secrets.push(token.to_owned());
        }
        let sent = secrets.clone();
        let (added, secrets) = add(&service, &owner, &body, secrets).await;
        assert_without(&secrets, &added);
        let path = format!("{list}/{}", added.data("uuid"));

        for secret in sent {
            receiver.say(&format!("unknown: {secret}"));
            let requests = receiver.requests();
            client.post(&format!("{path}/test"), &json!({})).await;
            send(&service).await;
            assert_eq!(receiver.requests(), requests + 1, "{kind}");
            let tested = client.get(&path).await;
            let why = &tested.body["data"]["last_test"]["failed"];
            assert!(why.as_str().is_some_and(|why| why.contains("500")), "{kind}: {tested:?}");
            assert_without(&secrets, &tested);
        }
        for answer in answers(&client, (&list, &path), &body).await {
            assert_without(&secrets, &answer);
        }
        let log = client.get(&format!("/teams/{}/audit-log", owner.team)).await;
        assert_without(&secrets, &log);
        assert_without(&secrets, &client.delete(&path).await);
    }
}

#[tokio::test]
async fn no_answer_has_the_key_in_the_links_of_an_email() {
    let (service, owner) = Service::with_team().await;
    let client = service.client(&owner);
    let list = format!("/teams/{}/channels", owner.team);
    let body = json!({ "kind": "email", "address": "ops@example.com" });
    let (added, secrets) = add(&service, &owner, &body, Vec::new()).await;
    assert_without(&secrets, &added);
    let path = format!("{list}/{}", added.data("uuid"));
    for answer in answers(&client, (&list, &path), &body).await {
        assert_without(&secrets, &answer);
    }
    let log = client.get(&format!("/teams/{}/audit-log", owner.team)).await;
    assert_without(&secrets, &log);
}
