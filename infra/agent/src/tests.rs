use std::sync::Mutex;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap as Headers, StatusCode as Status};
use axum::routing::post;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio_rustls::TlsAcceptor;
use vedette_checker::EngineConfig;
use vedette_domain::locations::Question;

use super::*;

/// A service that gives the responses of a test, and accepts answers.
#[derive(Default)]
struct Service {
    /// The responses to the next requests for questions; after them, 401.
    answers: Mutex<Vec<(u16, Value)>>,
    taken: Mutex<Vec<(String, Value)>>,
    requests: Mutex<Vec<Headers>>,
    has_taken: Notify,
}

async fn questions(State(service): State<Arc<Service>>, headers: Headers) -> (Status, String) {
    service.requests.lock().expect("requests").push(headers);
    let (status, body) = {
        let mut answers = service.answers.lock().expect("answers");
        if answers.is_empty() { (401, json!({})) } else { answers.remove(0) }
    };
    if status == 401 {
        // Not before every question in an earlier response is answered.
        let wanted = service.taken.lock().expect("answers").is_empty();
        if wanted {
            let _ = tokio::time::timeout(Duration::from_millis(200), service.has_taken.notified())
                .await;
        }
    }
    (Status::from_u16(status).expect("a status"), body.to_string())
}

async fn take(State(service): State<Arc<Service>>, Path(id): Path<String>, body: Bytes) -> Status {
    let body = serde_json::from_slice(&body).expect("JSON");
    service.taken.lock().expect("answers").push((id, body));
    service.has_taken.notify_one();
    Status::OK
}

async fn start(answers: Vec<(u16, Value)>) -> (Arc<Service>, Url) {
    let service = Arc::new(Service { answers: Mutex::new(answers), ..Service::default() });
    let router = Router::new()
        .route(QUESTIONS_PATH, post(questions))
        .route(&format!("{ANSWERS_PATH}{{id}}"), post(take))
        .with_state(Arc::clone(&service));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    tokio::spawn(async move { axum::serve(listener, router).await });
    (service, url.parse().expect("a URL"))
}

fn token() -> Secret {
    Secret::from_random([7; Secret::RANDOM_BYTES])
}

fn engines() -> Engines {
    Engines::new(Default::default(), EngineConfig::default()).expect("engines")
}

fn connection(service: &str) -> Connection {
    let service = service.parse().expect("a URL");
    Connection { service, proxy: None, authorities: None, allows_plaintext: false }
}

fn started(connection: Connection) -> Result<Agent, AgentError> {
    Agent::new(AgentConfig { connection, token: format!("{}\n", token().reveal()) }, engines())
}

fn agent(service: Url) -> Agent {
    started(connection(service.as_str())).expect("an agent")
}

fn asked(id: &str, url: &str) -> Value {
    let header = Some(("Authorization", "Bearer of the site"));
    let question = Question::new(url.parse().expect("a URL"), header, Duration::from_secs(3));
    json!({ "id": id, "question": question })
}

#[tokio::test]
async fn it_answers_each_question_once_and_ends_when_it_is_revoked() {
    let id = "0123456789abcdef0123456789abcdef";
    let asked = json!({ "questions": [asked(id, "http://169.254.169.254/latest/meta-data")] });
    let (service, url) = start(vec![(200, json!({ "questions": [] })), (200, asked)]).await;
    let ended = agent(url).run().await;
    assert!(matches!(ended, AgentError::Revoked), "{ended}");
    // The guard refuses the address of cloud metadata.
    let taken = service.taken.lock().expect("answers").clone();
    assert_eq!(taken, [(id.to_owned(), json!({ "silent": "forbidden" }))]);
    let requests = service.requests.lock().expect("requests");
    assert_eq!(requests.len(), 3);
    assert_eq!(requests[0]["authorization"], format!("Bearer {}", token().reveal()));
    assert_eq!(requests[0]["vedette-agent"], "1");
}

#[tokio::test]
async fn it_reaches_no_target_that_is_not_public() {
    let agent = agent("http://127.0.0.1:1".parse().expect("a URL"));
    for url in [
        "http://127.0.0.1/",
        "http://10.0.0.1/",
        "http://[::1]/",
        "http://169.254.1.1/",
        "ftp://example.com/",
    ] {
        let question = Question::new(url.parse().expect("a URL"), None, Duration::from_secs(3));
        assert_eq!(
            agent.engines.look_for(&question).await,
            Answer::NotChecked(NoVote::Forbidden),
            "{url}"
        );
    }
    let other = Question {
        version: 2,
        ..Question::new("http://10.0.0.1/".parse().expect("a URL"), None, GRACE)
    };
    assert_eq!(agent.engines.look_for(&other).await, Answer::NotChecked(NoVote::Unreadable));
}

#[tokio::test]
async fn a_service_of_another_version_is_fatal_and_what_else_fails_is_tried_again() {
    let (_service, url) = start(vec![(426, json!({}))]).await;
    assert!(matches!(agent(url).run().await, AgentError::OtherVersion));
    let (service, url) = start(vec![(503, json!({})), (200, json!("babble"))]).await;
    let agent = agent(url);
    for _ in 0..2 {
        let Err(Fault::Transient(why)) = agent.poll().await else { panic!("transient") };
        assert!(!why.contains("babble"), "{why}");
    }
    assert!(matches!(agent.poll().await, Err(Fault::Fatal(AgentError::Revoked))));
    assert_eq!(service.requests.lock().expect("requests").len(), 3);
}

#[test]
fn pauses_grow_to_half_a_minute() {
    let mut pause = None;
    let mut seconds = Vec::new();
    for _ in 0..7 {
        pause = Some(next_pause(pause));
        seconds.push(pause.expect("a pause").as_secs());
    }
    assert_eq!(seconds, [1, 2, 4, 8, 16, 30, 30]);
}

#[test]
fn a_service_elsewhere_is_reached_by_tls() {
    let new = |url: &str, allows_plaintext| {
        started(Connection { allows_plaintext, ..connection(url) }).map(drop)
    };
    for url in [
        "https://monitor.test",
        "http://127.0.0.1:8080",
        "http://[::1]:8080",
        "http://vedette.localhost:1",
    ] {
        assert!(new(url, false).is_ok(), "{url}");
    }
    assert!(matches!(
        new("http://monitor.test", false),
        Err(AgentError::Connection(ConnectionError::Plaintext(_)))
    ));
    assert!(new("http://monitor.test", true).is_ok());
    assert!(matches!(
        new("ftp://monitor.test", true),
        Err(AgentError::Connection(ConnectionError::Address(_)))
    ));
}

#[test]
fn a_file_without_a_token_is_refused_before_anything_is_sent() {
    for token in ["", "vdt_", "Bearer vdt_0", "a\nb"] {
        let connection = connection("https://monitor.test");
        let config = AgentConfig { connection, token: token.to_owned() };
        let refused = Agent::new(config, engines());
        assert!(matches!(refused.map(drop), Err(AgentError::Token)), "{token}");
    }
}

/// Reads the head of a request, and refuses the token.
async fn refuse(mut stream: impl AsyncRead + AsyncWrite + Unpin) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.expect("a head"));
    }
    let answer = b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n";
    stream.write_all(answer).await.expect("written");
    stream.shutdown().await.expect("ended");
    String::from_utf8(head).expect("text")
}

#[tokio::test]
async fn a_proxy_is_asked_for_the_service() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let proxy = format!("http://{}", listener.local_addr().expect("an address"));
    let asked = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.expect("a connection");
        refuse(stream).await
    });
    let agent = started(Connection {
        proxy: Some(proxy.parse().expect("a URL")),
        allows_plaintext: true,
        ..connection("http://monitor.test")
    });
    let agent = agent.expect("an agent");
    assert!(matches!(agent.poll().await, Err(Fault::Fatal(AgentError::Revoked))));
    let head = asked.await.expect("a request");
    assert!(head.starts_with("POST http://monitor.test/agent/v1/questions HTTP/1.1"), "{head}");
}

#[tokio::test]
async fn a_certificate_authority_of_a_file_is_trusted_and_no_other() {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(vec!["localhost".to_owned()]).expect("a certificate");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let key = PrivateKeyDer::try_from(signing_key.serialize_der()).expect("a key");
    let server = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .expect("a server");
    let acceptor = TlsAcceptor::from(Arc::new(server));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.expect("a connection");
            if let Ok(stream) = acceptor.accept(stream).await {
                refuse(stream).await;
            }
        }
    });
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), cert.pem()).expect("written");
    let with = |authorities| {
        started(Connection { authorities, ..connection(&format!("https://localhost:{port}")) })
    };
    let trusting = with(Some(file.path().to_owned())).expect("an agent");
    assert!(matches!(trusting.poll().await, Err(Fault::Fatal(AgentError::Revoked))));
    let other = with(None).expect("an agent");
    let Err(Fault::Transient(why)) = other.poll().await else { panic!("trusted") };
    assert!(why.contains("certificate"), "{why}");
    std::fs::write(file.path(), "nothing").expect("written");
    let refused = with(Some(file.path().to_owned())).map(drop);
    assert!(matches!(refused, Err(AgentError::Connection(ConnectionError::Authorities { .. }))));
}
