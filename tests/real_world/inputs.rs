//! What operators and teams enter.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use vedette_domain::alerts::channel::slack::Slack;
use vedette_domain::alerts::channel::{SecretUrl, Target};
use vedette_domain::alerts::{Alert, AlertKind};
use vedette_notifier::send::{
    MailConfig, MailTransport, OutgoingMessage, SendOutcome, SendReason, Sender,
};
use vedette_probe::ssrf_guard::{Outbound, SsrfGuard};
use vedette_testkit::loopback;
use vedette_tests::Service;

/// Reads the configuration of a mail server.
fn smtp(url: &str) -> Result<MailConfig, String> {
    let read = |name: &str| match name {
        "VEDETTE_SMTP" => Some(url.to_owned()),
        "VEDETTE_MAIL_FROM" => Some("alerts@vedette.test".to_owned()),
        _ => None,
    };
    MailConfig::read(&read, MailTransport::Folder("mail".into())).map_err(|error| error.to_string())
}

#[test]
fn a_password_that_cuts_the_url_of_a_mail_server_is_refused() {
    for url in [
        "smtp://ada:7/secret@127.0.0.1:2525",
        "smtps://ada:7?secret@mail.test",
        "smtp://ada:7#secret@mail.test:587",
        "smtp://ada:pa/secret@mail.test",
        "smtp://mail.test/inbox",
        "smtps://mail.test?tls=no",
        "smtp://mail.test#1",
    ] {
        let error = smtp(url).err().unwrap_or_default();
        let said = "VEDETTE_SMTP: must be smtp://USER:PASSWORD@HOST:PORT";
        assert!(error.starts_with(said), "{url}: {error}");
        assert!(error.contains("write / as %2F, ? as %3F and # as %23"), "{url}: {error}");
        assert!(!error.contains("secret"), "{error}");
    }
    for url in [
        "smtp://ada:7%2Fsecret@127.0.0.1:2525",
        "smtps://ada%40mail.test:%3F%23%25@mail.test",
        "smtp://mail.test/",
    ] {
        assert!(smtp(url).is_ok(), "{url}");
    }
}

#[tokio::test]
async fn an_incident_cannot_start_in_the_future() {
    let (service, owner) = Service::with_team().await;
    let pages = format!("/teams/{}/status-pages", owner.team);
    let page = json!({ "slug": "meridian", "name": "Meridian", "groups": [] });
    let page = service.client(&owner).post(&pages, &page).await;
    let incidents = format!("{pages}/{}/incidents", page.data("uuid"));
    let incident =
        |started_at: &str| json!({ "title": "Slow", "text": "We look.", "started_at": started_at });
    // The clock shows 2026-11-20T09:54:00Z.
    let mut last = String::new();
    for (started_at, status) in [
        ("2026-11-20T09:54:00Z", 201),
        ("2026-11-20T10:53:59+01:00", 201),
        ("2026-11-20T09:54:01Z", 422),
        ("2026-11-20T10:54:00-01:00", 422),
        ("2036-01-01T00:00:00Z", 422),
    ] {
        let answer = service.client(&owner).post(&incidents, &incident(started_at)).await;
        assert_eq!(answer.status, status, "{started_at}: {answer:?}");
        if status == 201 {
            last = format!("{incidents}/{}", answer.data("uuid"));
            continue;
        }
        let why = "An incident cannot start in the future. Announce planned work as maintenance.";
        assert_eq!(answer.body["errors"], json!({ "started_at": [why] }));
        let moved = json!({ "started_at": started_at });
        assert_eq!(service.client(&owner).patch(&last, &moved).await.status, 422, "{started_at}");
    }
}

/// The outcome of an alert to a channel for Slack at a host, whose answers have this body.
async fn sent_to(host: &str, body: &'static str) -> SendOutcome {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let mut request = Vec::new();
        while !request.ends_with(b"}") {
            stream.read_buf(&mut request).await.expect("a request");
        }
        let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        stream.write_all(answer.as_bytes()).await.expect("an answer");
    });
    let detour = format!("{host}:80:{address}").parse().expect("a detour");
    let guard = SsrfGuard::new(Outbound { connect_to: vec![detour], ..loopback() });
    let mail = MailConfig::read(&|_| None, MailTransport::Folder("mail".into()));
    let sender = Sender::new(Arc::new(guard.expect("a guard")), mail.expect("a configuration"));
    let url = SecretUrl::new(format!("http://{host}/services/T/B/x"));
    let now: Timestamp = "2026-11-21T12:01:00Z".parse().expect("a timestamp");
    let alert = Alert {
        kind: AlertKind::Test,
        state: "TEST".to_owned(),
        name: "Example Shop".to_owned(),
        lines: vec!["It works.".to_owned()],
        facts: Vec::new(),
        severity: None,
        site_url: None,
        respond: None,
        link: None,
        runbook: None,
        thread: None,
        at: now,
    };
    let message = OutgoingMessage::Alert {
        alert,
        id: "1".to_owned(),
        openings: Vec::new(),
        unsubscribe_url: None,
    };
    sender.send(&Target::Slack(Slack { url }), &message, SendReason::Due, now).await
}

#[tokio::test]
async fn slack_has_a_message_if_it_says_ok() {
    let retry = |why: &str| SendOutcome::Retry { after: None, why: why.to_owned() };
    for (host, body, expected) in [
        ("hooks.slack.com", "ok", SendOutcome::DELIVERED),
        ("hooks.slack.com", "ok\n", SendOutcome::DELIVERED),
        ("hooks.slack.com", "", retry("HTTP 200 without \"ok\"")),
        ("hooks.slack.com", "<p>Sign in</p>", retry("HTTP 200 without \"ok\"")),
        ("hooks.slack.com", "no_service", retry("HTTP 200 without \"ok\": no_service")),
        ("hooks.slack.com", "okay", retry("HTTP 200 without \"ok\": okay")),
        ("hooks.slack-gov.com", "posted", retry("HTTP 200 without \"ok\": posted")),
        // Another server that accepts Slack's messages.
        ("chat.example.com", "{}", SendOutcome::DELIVERED),
    ] {
        assert_eq!(sent_to(host, body).await, expected, "{host}: {body}");
    }
}
