//! Sends messages to real servers on loopback, and tests how their answers are read.

mod signature;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_types::SdkConfig;
use aws_types::region::Region;
use jiff::SignedDuration;
use lettre::transport::smtp::client::{Tls, TlsParameters};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;
use url::Url;
use vedette_domain::alerts::channel::discord::Discord;
use vedette_domain::alerts::channel::google_chat::GoogleChat;
use vedette_domain::alerts::channel::mattermost::Mattermost;
use vedette_domain::alerts::channel::ntfy::Ntfy;
use vedette_domain::alerts::channel::slack::Slack;
use vedette_domain::alerts::channel::teams::Teams;
use vedette_domain::alerts::channel::webhook::{self, Webhook};
use vedette_domain::alerts::channel::{
    ChannelKind, SecretUrl, SigningKey, SigningKeys, SnapshotAlert,
};
use vedette_domain::alerts::{Alert, AlertKind};
use vedette_domain::validation::Fields;
use vedette_probe::ssrf_guard::Outbound;

use super::smtp::SmtpServer;
use super::*;

/// What a server received before it answered.
type Seen = Arc<Mutex<Vec<String>>>;

fn keep(seen: &Seen, text: String) {
    seen.lock().expect("no panic").push(text);
}

/// A server that records what it receives.
struct Server {
    address: SocketAddr,
    seen: Seen,
    task: AbortHandle,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    async fn start<F: Future<Output = io::Result<()>> + Send>(
        serve: impl Fn(TcpStream, Seen) -> F + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let seen = Seen::default();
        let kept = Arc::clone(&seen);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                // A client that disconnects ends its connection, not the server.
                let _ = serve(stream, Arc::clone(&kept)).await;
            }
        });
        Self { address, seen, task: task.abort_handle() }
    }

    /// Answers every request with these bytes.
    async fn http(answer: impl Into<Vec<u8>>) -> Self {
        let answer = answer.into();
        Self::start(move |stream, seen| request(stream, seen, answer.clone())).await
    }

    /// Sends these bytes, and then nothing.
    async fn that_says(words: &'static [u8]) -> Self {
        Self::start(move |mut stream, _| async move {
            stream.write_all(words).await?;
            // Until the client has read enough.
            stream.read_to_end(&mut Vec::new()).await.map(drop)
        })
        .await
    }

    fn seen(&self) -> Vec<String> {
        self.seen.lock().expect("no panic").clone()
    }

    fn url(&self) -> SecretUrl {
        SecretUrl::new(format!("http://{}/hooks/s3cr3t-path?sig=s3cr3t-query", self.address))
    }
}

/// Reads a request, records it, and answers it.
async fn request(stream: TcpStream, seen: Seen, answer: Vec<u8>) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if stream.read_line(&mut head).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let length = length.and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    keep(&seen, head + &String::from_utf8_lossy(&body));
    stream.write_all(&answer).await
}

fn answer(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n{body}", body.len())
}

fn now() -> Timestamp {
    "2026-11-21T12:01:00Z".parse().expect("a timestamp")
}

fn sender(mail: MailTransport) -> Sender {
    let guard =
        Outbound { allow: vec!["127.0.0.0/8".parse().expect("a network")], ..Outbound::default() };
    let from = |name: &str| (name == "VEDETTE_MAIL_FROM").then(|| "alerts@vedette.test".to_owned());
    let mail = MailConfig::read(&from, mail).expect("a configuration");
    Sender::new(Arc::new(SsrfGuard::new(guard).expect("a guard")), mail)
}

fn http_sender() -> Sender {
    sender(MailTransport::Folder("mail".into()))
}

fn alert() -> OutgoingMessage {
    let alert = Alert {
        kind: AlertKind::Test,
        state: "TEST".to_owned(),
        name: "Example Shop".to_owned(),
        lines: vec!["It works.".to_owned()],
        facts: Vec::new(),
        severity: None,
        site_url: None,
        link: None,
        respond: None,
        runbook: None,
        thread: None,
        at: now(),
    };
    OutgoingMessage::Alert {
        alert,
        id: "test-1".to_owned(),
        openings: Vec::new(),
        unsubscribe_url: None,
    }
}

fn event() -> OutgoingMessage {
    OutgoingMessage::Event { id: "msg_1".to_owned(), body: b"{}".to_vec() }
}

fn snapshot() -> OutgoingMessage {
    let at = |text: &str| text.parse::<Timestamp>().expect("a timestamp");
    let alert = SnapshotAlert {
        labels: [("alertname".to_owned(), "StatusDown".to_owned())].into(),
        annotations: BTreeMap::new(),
        starts_at: at("2026-11-21T12:00:00Z"),
        ends_at: Some(at("2026-11-21T12:15:00Z")),
        url: None,
    };
    OutgoingMessage::Snapshot { alerts: vec![alert] }
}

fn tested() -> OutgoingMessage {
    let data = serde_json::json!({ "channel": { "name": "On call" } });
    OutgoingMessage::Event {
        id: "test-1".to_owned(),
        body: webhook::body(webhook::TEST, now(), data),
    }
}

fn keys() -> SigningKeys {
    let current = SigningKey::from_random([7; SigningKey::BYTES]);
    SigningKeys { current, previous: None }
}

fn webhook(url: SecretUrl) -> Target {
    Target::Webhook(Webhook { url, keys: keys() })
}

fn email() -> Target {
    Target::Email { address: "ada@example.com".to_owned() }
}

fn retry(after: Option<u64>, why: &str) -> SendOutcome {
    SendOutcome::Retry { after: after.map(Duration::from_secs), why: why.to_owned() }
}

fn ntfy(url: SecretUrl) -> Target {
    let server = Url::parse(url.reveal()).expect("a URL");
    let url = SecretUrl::new(server.join("/s3cr3t-topic").expect("a URL").as_str());
    Target::Ntfy(Ntfy { url, token: None })
}

/// A target that somebody enters, at the server of a URL.
fn entered(kind: ChannelKind, server: &SecretUrl, place: &str) -> Target {
    let server = Url::parse(server.reveal()).expect("a URL").origin().ascii_serialization();
    let texts = serde_json::json!({ "url": format!("{server}/{place}"), "token": "s3cr3t-token" });
    let fields = Fields::texts(texts.as_object().expect("an object"));
    let Ok(read) = kind.read(&fields, || -> Result<_, Infallible> { panic!("it signs nothing") });
    read.expect("a target").0
}

/// A channel of this kind whose messages are posted to a URL, a message for the channel, and what its request contains;
/// `None` for email.
fn posted(
    kind: ChannelKind,
    url: SecretUrl,
) -> Option<(Target, OutgoingMessage, &'static [&'static str])> {
    const PATH: &str = "POST /hooks/s3cr3t-path?sig=s3cr3t-query HTTP/1.1";
    Some(match kind {
        ChannelKind::Email => return None,
        ChannelKind::Slack => {
            (Target::Slack(Slack { url }), alert(), &[PATH, r#""type":"header""#])
        }
        ChannelKind::Discord => (
            Target::Discord(Discord { url }),
            alert(),
            &["POST /hooks/s3cr3t-path?sig=s3cr3t-query&wait=true HTTP/1.1", r#""embeds":[{"#],
        ),
        ChannelKind::Teams => {
            (Target::Teams(Teams { url }), alert(), &[PATH, r#""type":"AdaptiveCard""#])
        }
        ChannelKind::Ntfy => {
            (ntfy(url), alert(), &["POST / HTTP/1.1", r#""topic":"s3cr3t-topic""#])
        }
        ChannelKind::GoogleChat => {
            (Target::GoogleChat(GoogleChat { url }), alert(), &[PATH, r#""cardsV2":[{"#])
        }
        ChannelKind::Mattermost => {
            (Target::Mattermost(Mattermost { url }), alert(), &[PATH, r#""attachments":[{"#])
        }
        ChannelKind::Matrix => (
            entered(kind, &url, "!s3cr3t-room:example.org"),
            alert(),
            &[
                "PUT /_matrix/client/v3/rooms/!s3cr3t-room:example.org/send/m.room.message/test-1 HTTP/1.1",
                "authorization: Bearer s3cr3t-token\r\n",
                r#""msgtype":"m.text""#,
            ],
        ),
        ChannelKind::Telegram => (
            entered(kind, &url, "-1001234567890"),
            alert(),
            &["POST /bots3cr3t-token/sendMessage HTTP/1.1", r#""chat_id":"-1001234567890""#],
        ),
        ChannelKind::Pushover => (
            entered(kind, &url, "s3cr3tuserkey00000000000000000"),
            alert(),
            &["POST /1/messages.json HTTP/1.1", r#""user":"s3cr3tuserkey00000000000000000""#],
        ),
        ChannelKind::Gotify => (
            entered(kind, &url, "message?token=s3cr3t-token"),
            alert(),
            &["POST /message HTTP/1.1", "x-gotify-key: s3cr3t-token\r\n", r#""priority":5"#],
        ),
        ChannelKind::PagerDuty => (
            entered(kind, &url, "s3cr3tintegrationkey000000000000"),
            tested(),
            &["POST /v2/enqueue HTTP/1.1", r#""routing_key":"s3cr3tintegrationkey000000000000""#],
        ),
        ChannelKind::Alertmanager => (
            entered(kind, &url, "s3cr3t-prefix"),
            snapshot(),
            &[
                "POST /s3cr3t-prefix/api/v2/alerts HTTP/1.1",
                "authorization: Bearer s3cr3t-token\r\n",
                r#"[{"labels":{"alertname":"StatusDown"},"#,
                r#""startsAt":"2026-11-21T12:00:00Z","endsAt":"2026-11-21T12:15:00Z""#,
            ],
        ),
        ChannelKind::Webhook => (
            webhook(url),
            event(),
            &[
                "webhook-id: msg_1\r\n",
                "webhook-timestamp: 1795262460\r\n",
                "webhook-signature: v1,",
            ],
        ),
    })
}

#[tokio::test]
async fn each_channel_gets_its_own_form() {
    let sender = http_sender();
    for kind in ChannelKind::ALL {
        let said = match kind {
            ChannelKind::Matrix => r#"{"event_id":"$1"}"#,
            ChannelKind::Telegram => r#"{"ok":true,"result":{"message_id":1}}"#,
            _ => "ok",
        };
        let server = Server::http(answer("200 OK", "", said)).await;
        let Some((target, message, parts)) = posted(kind, server.url()) else { continue };
        let outcome = sender.send(&target, &message, SendReason::Due, now()).await;
        assert!(matches!(outcome, SendOutcome::Delivered { .. }), "{target:?}: {outcome:?}");
        let [request] = &server.seen()[..] else { panic!("{kind}: one request") };
        for part in
            ["content-type: application/json\r\n", "user-agent: Vedette/"].iter().chain(parts)
        {
            assert!(request.contains(part), "{part} is not in {request}");
        }
    }
}

#[tokio::test]
async fn a_topic_of_ntfy_gets_its_message_at_its_server_with_its_token() {
    let server = Server::http(answer("200 OK", "", "{}")).await;
    let url = format!("http://{}/s3cr3t-topic", server.address);
    for token in ["", "tk_s3cr3t"] {
        let texts = serde_json::json!({ "url": url, "token": token });
        let fields = Fields::texts(texts.as_object().expect("an object"));
        let Ok(read) = ChannelKind::Ntfy
            .read(&fields, || -> Result<_, Infallible> { panic!("it signs nothing") });
        let (target, _) = read.expect("a topic");
        let outcome = http_sender().send(&target, &alert(), SendReason::Due, now()).await;
        assert_eq!(outcome, SendOutcome::DELIVERED);
    }
    let [open, closed] = &server.seen()[..] else { panic!("two requests") };
    for request in [open, closed] {
        assert!(request.starts_with("POST / HTTP/1.1\r\n"), "{request}");
        assert!(request.contains("content-type: application/json\r\n"), "{request}");
        assert!(
            request.contains(r#""title":"TEST: Example Shop","topic":"s3cr3t-topic""#),
            "{request}"
        );
    }
    assert!(!open.contains("authorization"), "{open}");
    assert!(closed.contains("authorization: Bearer tk_s3cr3t\r\n"), "{closed}");
}

#[tokio::test]
async fn a_channel_takes_messages_of_its_kind_alone() {
    let server = Server::http(answer("200 OK", "", "")).await;
    let sender = http_sender();
    for (target, message) in [
        (Target::Slack(Slack { url: server.url() }), event()),
        (webhook(server.url()), alert()),
        (email(), event()),
    ] {
        let outcome = sender.send(&target, &message, SendReason::Due, now()).await;
        assert!(matches!(outcome, SendOutcome::Refused { .. }), "{outcome:?}");
    }
    assert_eq!(server.seen(), Vec::<String>::new());
}

#[tokio::test]
async fn an_answer_says_what_came_of_it() {
    let sender = http_sender();
    let slack = |url| Target::Slack(Slack { url });
    let discord = |url| Target::Discord(Discord { url });
    let gone = |why: &str| SendOutcome::Gone { why: why.to_owned() };
    let refused = |why: &str| SendOutcome::Refused { why: why.to_owned() };
    type Kind<'a> = &'a dyn Fn(SecretUrl) -> Target;
    let cases: [(Kind<'_>, String, SendOutcome); 17] = [
        (&webhook, answer("204 No Content", "", ""), SendOutcome::DELIVERED),
        (
            &webhook,
            answer("404 Not Found", "", "nobody here"),
            retry(None, "HTTP 404: nobody here"),
        ),
        (&webhook, answer("410 Gone", "", ""), gone("HTTP 410")),
        (&webhook, answer("503 No", "retry-after: 120\r\n", ""), retry(Some(120), "HTTP 503")),
        (
            &webhook,
            answer("429 Slower", "retry-after: Sat, 21 Nov 2026 12:06:00 GMT\r\n", ""),
            retry(Some(300), "HTTP 429"),
        ),
        (
            &webhook,
            answer("429 Slower", "retry-after: Sat, 21 Nov 2026 12:00:00 GMT\r\n", ""),
            retry(None, "HTTP 429"),
        ),
        (
            &webhook,
            answer("503 No", "retry-after: 99999999999\r\n", ""),
            retry(Some(86_400), "HTTP 503"),
        ),
        (&ntfy, answer("401 No", "", r#"{"code":40101}"#), gone(r#"HTTP 401: {"code":40101}"#)),
        (&ntfy, answer("403 No", "", "no s3cr3t-topic for you"), gone("HTTP 403")),
        (&ntfy, answer("404 Not Found", "", "later"), retry(None, "HTTP 404: later")),
        (&ntfy, answer("413 No", "", ""), refused("HTTP 413")),
        (&slack, answer("403 No", "", "invalid_token"), gone("HTTP 403: invalid_token")),
        (&slack, answer("400 No", "", "invalid_blocks"), refused("HTTP 400: invalid_blocks")),
        (&slack, answer("500 No", "", "rollup_error"), retry(None, "HTTP 500: rollup_error")),
        (&slack, answer("404 No", "", "no s3cr3t-path here"), gone("HTTP 404")),
        (
            &discord,
            answer("404 No", "", r#"{"code": 10015}"#),
            gone(r#"HTTP 404: {"code": 10015}"#),
        ),
        (
            &discord,
            answer("429 Slower", "retry-after: 64\r\n", r#"{"retry_after": 64.5}"#),
            SendOutcome::Retry {
                after: Some(Duration::from_millis(64_500)),
                why: r#"HTTP 429: {"retry_after": 64.5}"#.to_owned(),
            },
        ),
    ];
    for (target, answer, expected) in cases {
        let server = Server::http(answer.clone()).await;
        let target = target(server.url());
        let message = if target.public().is_for_people() { alert() } else { event() };
        assert_eq!(
            sender.send(&target, &message, SendReason::Due, now()).await,
            expected,
            "{answer}"
        );
        assert_eq!(server.seen().len(), 1, "{answer}");
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let other = Server::http(answer("200 OK", "", "")).await;
    let location = format!("location: http://{}/\r\n", other.address);
    let server = Server::http(answer("307 Temporary Redirect", &location, "")).await;
    let outcome =
        http_sender().send(&webhook(server.url()), &event(), SendReason::Due, now()).await;
    assert_eq!(outcome, retry(None, "HTTP 307"));
    assert_eq!(other.seen(), Vec::<String>::new());
}

#[tokio::test]
async fn a_long_answer_is_not_read_to_its_end() {
    let body = "x".repeat(10 << 20);
    let server = Server::http(answer("200 OK", "", &body)).await;
    let outcome =
        http_sender().send(&webhook(server.url()), &event(), SendReason::Due, now()).await;
    assert_eq!(outcome, SendOutcome::DELIVERED);
}

#[tokio::test]
async fn a_body_that_never_comes_does_not_change_what_the_status_says() {
    let server = Server::that_says(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nab").await;
    let began = Instant::now();
    let outcome =
        http_sender().send(&webhook(server.url()), &event(), SendReason::Due, now()).await;
    assert_eq!(outcome, SendOutcome::DELIVERED);
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_receiver_that_hangs_is_given_up() {
    let server = Server::that_says(b"").await;
    let outcome =
        http_sender().send(&webhook(server.url()), &event(), SendReason::Due, now()).await;
    assert_eq!(outcome, retry(None, "no answer within 15 s"));
}

#[tokio::test]
async fn a_refused_connection_is_retried() {
    let port = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = port.local_addr().expect("an address");
    drop(port);
    let target = webhook(SecretUrl::new(format!("http://{address}/s3cr3t")));
    let outcome = http_sender().send(&target, &event(), SendReason::Due, now()).await;
    assert_eq!(outcome, retry(None, "connection refused"));
}

#[tokio::test]
async fn what_the_guard_forbids_is_refused() {
    for (url, why) in [
        ("http://169.254.169.254/latest/s3cr3t", "169.254.169.254"),
        ("http://10.0.0.1/s3cr3t", "10.0.0.1"),
        ("ftp://example.com/s3cr3t", "neither http nor https"),
        ("not a URL", "the URL is not valid"),
    ] {
        let outcome = http_sender()
            .send(&webhook(SecretUrl::new(url)), &event(), SendReason::Due, now())
            .await;
        let SendOutcome::Refused { why: said } = outcome else { panic!("{url}: {outcome:?}") };
        assert!(said.contains(why) && !said.contains("s3cr3t"), "{said}");
    }
}

#[tokio::test]
async fn mails_are_kept_whole_in_their_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let sender = sender(MailTransport::Folder(folder.path().join("mail")));
    for delay in [0, 1] {
        let now = now() + SignedDuration::from_secs(delay);
        assert_eq!(
            sender.send(&email(), &alert(), SendReason::Due, now).await,
            SendOutcome::DELIVERED
        );
    }
    let files = std::fs::read_dir(folder.path().join("mail")).expect("a folder");
    let mut files: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
    files.sort();
    let names: Vec<_> =
        files.iter().map(|file| file.file_name().expect("a name").to_string_lossy()).collect();
    assert!(
        names[0].starts_with("20261121T120100.000Z-") && names[0].ends_with(".eml"),
        "{names:?}"
    );
    assert!(names[1].starts_with("20261121T120101.000Z-"), "{names:?}");
    let mail = std::fs::read_to_string(&files[0]).expect("a mail");
    for line in [
        "From: Vedette <alerts@vedette.test>\r\n",
        "To: ada@example.com\r\n",
        "Subject: [TEST] Example Shop\r\n",
        "Message-ID: <test-1@vedette.test>\r\n",
    ] {
        assert!(mail.contains(line), "{mail}");
    }
    assert_eq!(names.len(), 2);
}

#[tokio::test]
async fn an_address_that_is_none_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let sender = sender(MailTransport::Folder(folder.path().to_owned()));
    let target = Target::Email { address: "ada@example.com\r\nBcc: bob@example.com".to_owned() };
    let outcome = sender.send(&target, &alert(), SendReason::Due, now()).await;
    assert!(matches!(outcome, SendOutcome::Refused { .. }), "{outcome:?}");
    assert!(std::fs::read_dir(folder.path()).expect("a folder").next().is_none());
}

/// A command, or `CONNECT`, and the mail server's reply.
type Reply = (&'static str, &'static str);

/// A mail server that refuses one command until the server is repaired.
struct MailServer {
    server: Server,
    refusal: Arc<Mutex<Option<Reply>>>,
}

impl MailServer {
    async fn start(refusal: Option<Reply>) -> Self {
        let refusal = Arc::new(Mutex::new(refusal));
        let shared = Arc::clone(&refusal);
        let server = Server::start(move |stream, seen| smtp(stream, seen, Arc::clone(&shared)));
        Self { server: server.await, refusal }
    }

    fn mend(&self) {
        *self.refusal.lock().expect("no panic") = None;
    }

    /// How many clients have connected.
    fn clients(&self) -> usize {
        self.server.seen().iter().filter(|line| *line == "CONNECT").count()
    }

    /// Sends email through this server: with a password if `command` is about passwords, and encrypted if it is about
    /// encryption.
    fn sender(&self, command: &str) -> Sender {
        let user = if command == "AUTH" { "ada:s3cr3t@" } else { "" };
        let url = format!("smtp://{user}{}", self.server.address);
        let mut server = SmtpServer::parse(&url).expect("a URL");
        if command == "STARTTLS" {
            let name = "localhost".to_owned();
            server.tls = Tls::Required(TlsParameters::new(name).expect("a name"));
        }
        sender(MailTransport::Smtp(Box::new(server)))
    }
}

async fn smtp(stream: TcpStream, seen: Seen, refusal: Arc<Mutex<Option<Reply>>>) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    let mut in_data = false;
    let mut line = "CONNECT".to_owned();
    loop {
        keep(&seen, line.clone());
        let word = if in_data {
            line.trim_end()
        } else {
            line.split([' ', '\r']).next().unwrap_or_default()
        };
        let refused = refusal.lock().expect("no panic").filter(|(command, _)| *command == word);
        let reply = match (word, refused) {
            (".", _) if !in_data => "500 what?",
            (_, Some((_, said))) => {
                in_data = false;
                said
            }
            (".", None) => {
                in_data = false;
                "250 kept"
            }
            _ if in_data => "",
            ("CONNECT", None) => "220 mail.test",
            ("EHLO", None) => "250-mail.test\r\n250-STARTTLS\r\n250 AUTH PLAIN",
            ("AUTH", None) => "235 welcome",
            ("DATA", None) => {
                in_data = true;
                "354 go on"
            }
            ("QUIT", None) => "221 bye",
            _ => "250 fine",
        };
        if !reply.is_empty() {
            stream.write_all(format!("{reply}\r\n").as_bytes()).await?;
        }
        line.clear();
        if stream.read_line(&mut line).await? == 0 {
            return Ok(());
        }
    }
}

#[tokio::test]
async fn a_mail_server_gets_the_whole_mail() {
    for command in ["", "AUTH"] {
        let server = MailServer::start(None).await;
        let outcome = server.sender(command).send(&email(), &alert(), SendReason::Due, now()).await;
        assert_eq!(outcome, SendOutcome::DELIVERED);
        let heard = server.server.seen().concat();
        for part in [
            command,
            "MAIL FROM:<alerts@vedette.test>",
            "RCPT TO:<ada@example.com>",
            "Subject: [TEST] Example Shop\r\n",
            "It works.\r\n",
        ] {
            assert!(heard.contains(part), "{heard}");
        }
    }
}

/// The reason why an email is held back, and for how many seconds.
fn held(outcome: SendOutcome) -> (String, u64) {
    match outcome {
        SendOutcome::Held { after, why, .. } => (why, after.as_secs()),
        outcome => panic!("{outcome:?}"),
    }
}

#[tokio::test]
async fn a_mail_server_that_refuses_the_sender_holds_all_mail_back() {
    for (command, said, step, wait) in [
        ("CONNECT", "554 5.7.1 go away", "the connection", 300),
        ("CONNECT", "421 4.3.2 busy", "the connection", 5),
        ("EHLO", "550 5.7.1 who?", "the connection", 300),
        ("STARTTLS", "502 5.5.1 not now", "STARTTLS", 300),
        ("STARTTLS", "454 4.7.0 later", "STARTTLS", 5),
        ("AUTH", "535 5.7.8 wrong", "AUTH", 300),
        ("AUTH", "454 4.7.0 later", "AUTH", 5),
        ("MAIL", "550 5.7.1 not you", "MAIL FROM", 300),
        ("MAIL", "530 5.7.0 authenticate first", "MAIL FROM", 300),
        ("MAIL", "452 4.5.3 too many", "MAIL FROM", 5),
    ] {
        let server = MailServer::start(Some((command, said))).await;
        let sender = server.sender(command);
        let (why, after) = held(sender.send(&email(), &alert(), SendReason::Due, now()).await);
        let (_, text) = said.split_once(' ').expect("a code");
        assert!(why.starts_with(&format!("the mail server, at {step}: ")), "{why}");
        assert!(why.contains(text) && !why.contains("s3cr3t"), "{why}");
        assert_eq!((after, server.clients()), (wait, 1), "{said}");

        let other = Target::Email { address: "bob@example.com".to_owned() };
        let second = now() + SignedDuration::from_secs(1);
        let again = held(sender.send(&other, &alert(), SendReason::Due, second).await);
        assert_eq!((again, server.clients()), ((why, wait - 1), 1), "{said}: not even asked");

        server.mend();
        let third = now() + SignedDuration::from_secs(300);
        if command != "STARTTLS" {
            let outcome = sender.send(&other, &alert(), SendReason::Due, third).await;
            assert_eq!(outcome, SendOutcome::DELIVERED, "{said}");
        }
    }
}

#[tokio::test]
async fn a_mail_server_that_is_not_there_holds_all_mail_back() {
    let server = MailServer::start(None).await;
    let sender = server.sender("");
    server.server.task.abort();
    // The listener closes when its task ends.
    while TcpStream::connect(server.server.address).await.is_ok() {}
    let (why, after) = held(sender.send(&email(), &alert(), SendReason::Due, now()).await);
    assert!(why.starts_with("the mail server, at the connection: "), "{why}");
    assert_eq!(after, 5);
}

#[tokio::test]
async fn a_refused_recipient_concerns_no_other_mail() {
    let is_gone = |outcome: &SendOutcome| matches!(outcome, SendOutcome::Gone { .. });
    let is_refused = |outcome: &SendOutcome| matches!(outcome, SendOutcome::Refused { .. });
    let is_retry =
        |outcome: &SendOutcome| matches!(outcome, SendOutcome::Retry { after: None, .. });
    let is_held = |outcome: &SendOutcome| matches!(outcome, SendOutcome::Held { .. });
    type Expected<'a> = &'a dyn Fn(&SendOutcome) -> bool;
    let cases: [(_, _, Expected<'_>); 13] = [
        ("RCPT", "550 5.1.1 no such user", &is_gone),
        ("RCPT", "550 5.7.1 spam", &is_refused),
        ("RCPT", "450 4.2.1 later", &is_retry),
        ("DATA", "554 5.5.1 no", &is_retry),
        (".", "552 5.2.2 mailbox full", &is_refused),
        (".", "550 5.1.1 no such user", &is_gone),
        (".", "554 5.6.0 no such words", &is_retry),
        (".", "554 5.7.1 spam", &is_retry),
        // Servers that refuse the sender only at this command.
        ("RCPT", "554 5.7.1 <ada@example.com>: Relay access denied", &is_held),
        ("RCPT", "553 5.7.1 <a@vedette.test>: Sender address rejected: not owned", &is_held),
        ("RCPT", "550 5.1.8 unknown domain", &is_held),
        ("RCPT", "530 5.7.0 Must issue a STARTTLS command first", &is_held),
        (".", "550 5.1.7 who?", &is_held),
    ];
    for (command, said, expected) in cases {
        let server = MailServer::start(Some((command, said))).await;
        let sender = server.sender("");
        let outcome = sender.send(&email(), &alert(), SendReason::Due, now()).await;
        assert!(expected(&outcome), "{said}: {outcome:?}");
        server.mend();
        let outcome = sender.send(&email(), &alert(), SendReason::Due, now()).await;
        assert_eq!(outcome, SendOutcome::DELIVERED, "{said}");
    }
}

#[tokio::test]
async fn a_service_that_has_no_sender_holds_mail_back() {
    let mail =
        MailConfig::read(&|_| None, MailTransport::Ses(Box::new(SdkConfig::builder().build())));
    let sender = Sender { mail: mail.expect("a configuration"), ..http_sender() };
    let (why, _) = held(sender.send(&email(), &alert(), SendReason::Due, now()).await);
    assert_eq!(why, "this service sends no mail: VEDETTE_MAIL_FROM is not set");
}

async fn by_ses(server: &Server) -> Sender {
    let credentials = Credentials::new("AKID", "s3cr3t", None, None, "tests");
    let sdk = SdkConfig::builder()
        .region(Region::new("eu-central-1"))
        .endpoint_url(format!("http://{}", server.address))
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .http_client(vedette_runtime::aws::http_client())
        .build();
    sender(MailTransport::Ses(Box::new(sdk)))
}

#[tokio::test]
async fn ses_gets_the_whole_mail_signed() {
    let server = Server::http(answer("200 OK", "", r#"{"MessageId":"1"}"#)).await;
    let outcome = by_ses(&server).await.send(&email(), &alert(), SendReason::Due, now()).await;
    assert_eq!(outcome, SendOutcome::DELIVERED);
    let seen = server.seen();
    let (head, body) = seen[0].split_once("\r\n\r\n").expect("a request");
    assert!(head.starts_with("POST /v2/email/outbound-emails HTTP/1.1\r\n"), "{head}");
    let signed = "Credential=AKID/20261121/eu-central-1/ses/aws4_request";
    assert!(head.contains(signed), "{head}");
    let body: serde_json::Value = serde_json::from_str(body).expect("JSON");
    assert_eq!(body["Destination"]["ToAddresses"], serde_json::json!(["ada@example.com"]));
    let mail = body["Content"]["Raw"]["Data"].as_str().expect("a mail");
    let mail = data_encoding::BASE64.decode(mail.as_bytes()).expect("base64");
    assert!(String::from_utf8_lossy(&mail).contains("Subject: [TEST] Example Shop\r\n"));
}

#[tokio::test]
async fn ses_says_whom_a_refusal_concerns() {
    let refusal = |status: &str, code: &str, message: &str| {
        let body = serde_json::json!({ "message": message }).to_string();
        answer(status, &format!("x-amzn-errortype: {code}\r\n"), &body)
    };
    let held = |seconds, why: &str| SendOutcome::Held {
        after: Duration::from_secs(seconds),
        was_tried: true,
        why: why.to_owned(),
    };
    let unverified = |address: &str| {
        format!("Email address is not verified. The following identities failed: {address}")
    };
    let all = |answer, outcome| (answer, outcome, 1);
    let one = |answer, outcome| (answer, outcome, 2);
    for (answer, expected, requests) in [
        one(
            refusal("400 No", "MessageRejected", "Ada@example.com is no address."),
            SendOutcome::Refused {
                why: "SES: MessageRejected: Ada@example.com is no address.".to_owned(),
            },
        ),
        one(refusal("400 No", "MessageRejected", "No."), retry(None, "SES: MessageRejected: No.")),
        one(
            refusal("400 No", "MessageRejected", &unverified("ada@example.com")),
            held(300, &format!("SES: MessageRejected: {}", unverified("ada@example.com"))),
        ),
        all(
            refusal("400 No", "MessageRejected", &unverified("alerts@vedette.test")),
            held(300, &format!("SES: MessageRejected: {}", unverified("alerts@vedette.test"))),
        ),
        all(
            refusal("429 No", "TooManyRequestsException:http://aws.test/", "No."),
            held(5, "SES: TooManyRequestsException: No."),
        ),
        all(
            refusal("400 No", "LimitExceededException", "No."),
            held(600, "SES: LimitExceededException: No."),
        ),
        all(
            refusal("400 No", "SendingPausedException", "No."),
            held(300, "SES: SendingPausedException: No."),
        ),
        all(
            refusal("403 No", "AccessDeniedException", "No."),
            held(300, "SES: AccessDeniedException: No."),
        ),
        all(refusal("503 No", "Unavailable", "No."), held(5, "SES: Unavailable: No.")),
    ] {
        let server = Server::http(answer.clone()).await;
        let sender = by_ses(&server).await;
        let outcome = sender.send(&email(), &alert(), SendReason::Due, now()).await;
        assert_eq!(outcome, expected, "{answer}");
        assert_eq!(server.seen().len(), 1, "a second attempt would be a second mail");
        sender.send(&email(), &alert(), SendReason::Due, now()).await;
        assert_eq!(server.seen().len(), requests, "{answer}");
    }
}
