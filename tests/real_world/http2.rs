//! Requests that an HTTP/2 server did not process.

use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use url::Url;
use vedette_domain::checks::check::{CheckError, StatusResult};
use vedette_domain::expectations::CheckMethod;
use vedette_domain::sites::settings::LinksSettings;
use vedette_probe::links::{self, CrawlLimiter};
use vedette_probe::performance::{self, Auditor, PageSpeed, PerformanceProbe};
use vedette_probe::post::{self, Post};
use vedette_probe::ssrf_guard::{Outbound, SsrfGuard};
use vedette_probe::status::{self, Consent, StatusPost, StatusProbe};

use crate::crawls::crawl_of;

const HTTP_1_1: &str = "http/1.1";
const HTTP_2: &str = "h2";

const NO_ERROR: u8 = 0;
const INTERNAL_ERROR: u8 = 2;
const REFUSED_STREAM: u8 = 7;
const CANCEL: u8 = 8;
const ENHANCE_YOUR_CALM: u8 = 11;
const HTTP_1_1_REQUIRED: u8 = 13;

const PAGE: &[u8] = b"<a href=/next>x</a>";

/// What a server sends over HTTP/2: frames, each for the stream in its header. 0 stands for the stream of the request.
pub(super) type Frames = Vec<u8>;

pub(super) fn frame(kind: u8, flags: u8, payload: &[u8]) -> Frames {
    let length = u8::try_from(payload.len()).expect("a short frame");
    [&[0, 0, length, kind, flags, 0, 0, 0, 0], payload].concat()
}

/// A head that consists of this status.
pub(super) fn head(status: &str) -> Frames {
    frame(1, 4, &[&[0x08, 3], status.as_bytes()].concat())
}

fn reset(code: u8) -> Frames {
    frame(3, 0, &[0, 0, 0, code])
}

fn go_away(last_stream: u8, code: u8) -> Frames {
    frame(7, 0, &[0, 0, 0, last_stream, 0, 0, 0, code])
}

/// A page with a link.
fn page() -> Frames {
    let content_type = [&[0x88, 0x0f, 0x10, 9][..], b"text/html"].concat();
    [frame(1, 4, &content_type), frame(0, 1, PAGE)].concat()
}

/// A site with HTTP/2 and HTTP/1.1, called `site.test`.
pub(super) struct Http2Site {
    pub(super) guard: SsrfGuard,
    pub(super) url: Url,
    connections: Arc<Mutex<Vec<String>>>,
    _task: JoinSet<()>,
}

impl Http2Site {
    /// Answers a request over HTTP/2 with the frames that `answer` returns for the number of its connection, and its own
    /// number there, both from 1. If there are none, the server closes the connection.
    async fn start(
        answer: impl Fn(usize, usize) -> Option<Frames> + Clone + Send + Sync + 'static,
    ) -> Self {
        Self::serving(Arc::new(move |connection, mut stream| {
            let answer = answer.clone();
            Box::pin(async move {
                begin(&mut stream).await;
                answer_http2(stream, |request| answer(connection, request)).await;
            })
        }))
        .await
    }

    /// `serve` answers the connections with HTTP/2.
    pub(super) async fn serving(
        serve: Arc<dyn Fn(usize, TlsStream<TcpStream>) -> BoxFuture<'static, ()> + Send + Sync>,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let (root, acceptor) = authority();
        let outbound = Outbound {
            connect_to: vec![format!("site.test:443:{address}").parse().expect("a detour")],
            extra_roots: vec![root],
            ..vedette_testkit::loopback()
        };
        let connections = Arc::<Mutex<Vec<String>>>::default();
        let mut task = JoinSet::new();
        let seen = Arc::clone(&connections);
        task.spawn(async move {
            let mut open = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (serve, acceptor, seen) =
                    (Arc::clone(&serve), acceptor.clone(), Arc::clone(&seen));
                open.spawn(async move {
                    let stream = acceptor.accept(stream).await.expect("TLS");
                    let protocol = stream.get_ref().1.alpn_protocol().unwrap_or_default();
                    let protocol = String::from_utf8_lossy(protocol).into_owned();
                    let number = {
                        let mut seen = seen.lock().expect("no panic");
                        seen.push(protocol.clone());
                        seen.len()
                    };
                    match protocol.as_str() {
                        HTTP_2 => serve(number, stream).await,
                        _ => answer_http1(stream).await,
                    }
                });
            }
        });
        let guard = SsrfGuard::new(outbound).expect("a guard");
        let url = "https://site.test/".parse().expect("a URL");
        Self { guard, url, connections, _task: task }
    }

    /// The protocols of the connections so far.
    fn connections(&self) -> Vec<String> {
        self.connections.lock().expect("no panic").clone()
    }

    pub(super) async fn status(&self) -> StatusResult {
        self.status_as(CheckMethod::Get, None).await
    }

    async fn status_as(&self, method: CheckMethod, post: Option<StatusPost<'_>>) -> StatusResult {
        let probe = StatusProbe {
            url: &self.url,
            method,
            post,
            header: None,
            deadline: status::DEADLINE,
            connectivity: None,
            expected: None,
        };
        status::probe(&self.guard, &probe).await.expect("a result")
    }
}

fn authority() -> (rustls::pki_types::CertificateDer<'static>, TlsAcceptor) {
    let mut params = CertificateParams::new(Vec::new()).expect("no names");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().expect("a key");
    let authority = CertifiedIssuer::self_signed(params, key).expect("a certificate");
    let params = CertificateParams::new(vec!["site.test".to_owned()]).expect("a name");
    let key = KeyPair::generate().expect("a key");
    let leaf = params.signed_by(&key, &authority).expect("a certificate");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![leaf.der().clone()], PrivateKeyDer::Pkcs8(key.into()))
        .expect("a certificate");
    config.alpn_protocols = [HTTP_2, HTTP_1_1].map(|name| name.as_bytes().to_vec()).to_vec();
    (authority.der().clone(), TlsAcceptor::from(Arc::new(config)))
}

/// Answers every request with a page.
async fn answer_http1(mut stream: TlsStream<TcpStream>) {
    loop {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let Ok(byte) = stream.read_u8().await else { return };
            head.push(byte);
        }
        let page = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n",
            PAGE.len()
        );
        let body = if head.starts_with(b"HEAD") { &[] } else { PAGE };
        if stream.write_all(&[page.as_bytes(), body].concat()).await.is_err() {
            return;
        }
    }
}

/// Answers requests on a connection that has begun.
async fn answer_http2(
    mut stream: TlsStream<TcpStream>,
    answer: impl Fn(usize) -> Option<Frames> + Send,
) {
    let mut requests = 0;
    while let Some(id) = next_request(&mut stream).await {
        requests += 1;
        let Some(mut frames) = answer(requests) else { break };
        let mut at = 0;
        while at < frames.len() {
            // A GOAWAY is for no stream.
            if frames[at + 3] != 7 {
                frames[at + 8] = id;
            }
            at += 9 + usize::from(frames[at + 2]);
        }
        if stream.write_all(&frames).await.is_err() {
            return;
        }
    }
    // The client may have left.
    let _ = stream.shutdown().await;
}

/// Starts HTTP/2 as a server.
pub(super) async fn begin(stream: &mut TlsStream<TcpStream>) {
    let mut preface = [0; 24];
    // The client may leave.
    let _ = stream.read_exact(&mut preface).await;
    let _ = stream.write_all(&frame(4, 0, &[])).await;
}

/// The stream of the next request; `None` once the client has left, or has said that it will.
pub(super) async fn next_request(stream: &mut (impl AsyncRead + Unpin)) -> Option<u8> {
    loop {
        let mut header = [0; 9];
        stream.read_exact(&mut header).await.ok()?;
        let [a, b, c, kind, .., id] = header;
        let length = u32::from_be_bytes([0, a, b, c]) as usize;
        stream.read_exact(&mut vec![0; length]).await.ok()?;
        match kind {
            1 => return Some(id),
            7 => return None,
            _ => {}
        }
    }
}

/// The first request gets these frames, or none.
async fn refused_once(frames: Option<Frames>) -> Http2Site {
    Http2Site::start(move |connection, _| match connection {
        1 => frames.clone(),
        _ => Some(page()),
    })
    .await
}

#[tokio::test]
async fn a_request_that_was_not_processed_is_sent_once_more() {
    for (refusal, second) in [
        (reset(REFUSED_STREAM), HTTP_2),
        (reset(HTTP_1_1_REQUIRED), HTTP_1_1),
        ([head("103"), reset(REFUSED_STREAM)].concat(), HTTP_2),
        (go_away(0, NO_ERROR), HTTP_2),
        (go_away(0, INTERNAL_ERROR), HTTP_2),
        (go_away(0, ENHANCE_YOUR_CALM), HTTP_2),
        (go_away(0, HTTP_1_1_REQUIRED), HTTP_1_1),
    ] {
        for method in [CheckMethod::Get, CheckMethod::Head] {
            let site = refused_once(Some(refusal.clone())).await;
            let result = site.status_as(method, None).await;
            assert_eq!((result.code, result.up), (200, true), "{refusal:?}: {:?}", result.error);
            assert_eq!(site.connections(), [HTTP_2, second], "{refusal:?}");
        }
    }
}

#[tokio::test]
async fn a_server_may_ask_for_http_1_1_in_a_goaway_that_counts_the_request_as_processed() {
    for ends_tls in [true, false] {
        let site = Http2Site::serving(Arc::new(move |_, mut stream| {
            Box::pin(async move {
                begin(&mut stream).await;
                next_request(&mut stream).await;
                stream.write_all(&go_away(1, HTTP_1_1_REQUIRED)).await.expect("the client reads");
                if ends_tls {
                    stream.shutdown().await.expect("the client reads");
                } else {
                    stream.get_mut().0.shutdown().await.expect("the client reads");
                    while stream.read_u8().await.is_ok() {}
                }
            })
        }))
        .await;
        assert_eq!(site.status().await.code, 200, "{ends_tls}");
        assert_eq!(site.connections(), [HTTP_2, HTTP_1_1]);
    }
}

#[tokio::test]
async fn a_connection_that_ends_before_the_request_has_not_processed_it() {
    let site = Http2Site::serving(Arc::new(|number, mut stream| {
        Box::pin(async move {
            begin(&mut stream).await;
            if number == 1 {
                stream.write_all(&go_away(0, NO_ERROR)).await.expect("the client reads");
            }
            answer_http2(stream, |_| Some(page())).await;
        })
    }))
    .await;
    assert_eq!(site.status().await.code, 200);
    assert_eq!(site.connections(), [HTTP_2, HTTP_2]);
}

#[tokio::test]
async fn a_request_that_may_have_been_processed_is_not_sent_again() {
    for refusal in [
        Some(reset(INTERNAL_ERROR)),
        Some(reset(CANCEL)),
        Some([go_away(1, NO_ERROR), reset(CANCEL)].concat()),
        None,
    ] {
        let site = refused_once(refusal.clone()).await;
        assert_eq!(site.status().await.code, 0, "{refusal:?}");
        assert_eq!(site.connections(), [HTTP_2], "{refusal:?}");
    }
}

#[tokio::test]
async fn a_request_is_not_sent_three_times() {
    for refusal in [reset(REFUSED_STREAM), go_away(0, NO_ERROR)] {
        let site = Http2Site::start(move |_, _| Some(refusal.clone())).await;
        let result = site.status().await;
        assert_eq!(result.error.as_deref(), Some("the server did not process the request"));
        assert_eq!(site.connections(), [HTTP_2, HTTP_2]);
    }
}

struct Consents;

impl Consent for Consents {
    fn may_post(&self, _: Option<IpAddr>) -> BoxFuture<'_, Result<(), CheckError>> {
        Box::pin(async { Ok(()) })
    }
}

#[tokio::test]
async fn a_post_is_not_sent_again() {
    for refusal in [reset(REFUSED_STREAM), reset(HTTP_1_1_REQUIRED), go_away(0, NO_ERROR)] {
        let site = refused_once(Some(refusal.clone())).await;
        let post = StatusPost { content_type: "text/plain", body: "", consent: &Consents };
        let result = site.status_as(CheckMethod::Get, Some(post)).await;
        assert_eq!(result.error.as_deref(), Some("the server did not process the request"));
        assert_eq!(site.connections(), [HTTP_2], "{refusal:?}");

        let site = refused_once(Some(refusal.clone())).await;
        let alert = Post {
            is_put: false,
            url: &site.url,
            headers: &[],
            body: b"",
            deadline: Duration::from_secs(30),
        };
        post::post(&site.guard, &alert).await.expect_err("no answer");
        assert_eq!(site.connections(), [HTTP_2], "{refusal:?}");
    }
}

#[tokio::test]
async fn the_get_of_a_performance_check_is_sent_once_more() {
    for refusal in [reset(REFUSED_STREAM), reset(HTTP_1_1_REQUIRED), go_away(0, NO_ERROR)] {
        let site = refused_once(Some(refusal)).await;
        let nobody = "http://127.0.0.1:1/".parse().expect("a URL");
        let auditor = Auditor::PageSpeed(PageSpeed::new("key".to_owned(), nobody));
        let deadline = performance::DEADLINE;
        let probe = PerformanceProbe { url: &site.url, header: None, deadline };
        let error = performance::probe(&site.guard, &auditor, &probe).await.expect_err("no audit");
        assert_eq!(error.code, performance::AUDITOR_UNAVAILABLE, "the page has loaded: {error:?}");
        assert_eq!(site.connections().len(), 2);
    }
}

#[tokio::test]
async fn a_crawl_sends_requests_once_more() {
    type Refuses = fn(usize, usize) -> bool;
    let first: Refuses = |connection, _| connection == 1;
    let idle: Refuses = |connection, request| connection == 1 && request > 1;
    let always: Refuses = |_, _| true;
    for (refusal, refuses) in [
        (reset(REFUSED_STREAM), first),
        (reset(REFUSED_STREAM), idle),
        (go_away(0, NO_ERROR), first),
        (go_away(1, ENHANCE_YOUR_CALM), idle),
        (reset(HTTP_1_1_REQUIRED), idle),
        (reset(HTTP_1_1_REQUIRED), always),
        (go_away(0, HTTP_1_1_REQUIRED), always),
    ] {
        let frames = refusal.clone();
        let answer = move |connection, request| match refuses(connection, request) {
            true => Some(frames.clone()),
            false => Some(page()),
        };
        let site = Http2Site::start(answer).await;
        let settings = LinksSettings::default();
        let probe = crawl_of(&site.url, &settings);
        let result = links::probe(&site.guard, &CrawlLimiter::default(), &probe, |_| {}).await;
        let result = result.expect("a result");
        assert_eq!((result.found, result.crawled), (0, 2), "{refusal:?}: {result:?}");
    }
}
