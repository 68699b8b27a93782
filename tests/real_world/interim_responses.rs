//! Interim responses: a few of them are ordinary, and a server may send them without end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use url::Url;
use vedette_domain::checks::check::StatusResult;
use vedette_domain::expectations::CheckMethod;
use vedette_domain::sites::settings::LinksSettings;
use vedette_probe::links::{self, CrawlLimiter};
use vedette_probe::post::{self, Post};
use vedette_probe::ssrf_guard::SsrfGuard;
use vedette_probe::status::{self, StatusProbe};
use vedette_testkit::loopback;

use crate::crawls::crawl_of;
use crate::http2::{Http2Site, begin, frame, head, next_request};

/// The most bytes that a connection may carry: Vedette's limit, and what the system buffers on both sides.
const MOST: usize = 32 * 1024 * 1024;

const TOO_MUCH: &str = "too much data before a final response";

/// What a server sends in response to a request for a path: something once, and something without end.
type Answer = (Vec<u8>, Vec<u8>);

/// A server with HTTP/1.1 that counts what it sends.
struct Flood {
    url: Url,
    /// The most bytes on one connection.
    sent: Arc<AtomicUsize>,
    _task: JoinSet<()>,
}

impl Flood {
    async fn start(answer: impl Fn(&str) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let (sent, answer) = (Arc::<AtomicUsize>::default(), Arc::new(answer));
        let mut task = JoinSet::new();
        let most = Arc::clone(&sent);
        task.spawn(async move {
            let mut open = JoinSet::new();
            while let Ok((mut stream, _)) = listener.accept().await {
                let (answer, most) = (Arc::clone(&answer), Arc::clone(&most));
                open.spawn(async move {
                    let mut head = Vec::new();
                    while !head.ends_with(b"\r\n\r\n") {
                        let Ok(byte) = stream.read_u8().await else { return };
                        head.push(byte);
                    }
                    let head = String::from_utf8(head).expect("ASCII");
                    let (once, endless) = answer(head.split(' ').nth(1).expect("a path"));
                    flood(&mut stream, &once, &endless, &most).await;
                });
            }
        });
        let url = format!("http://{address}/").parse().expect("a URL");
        Self { url, sent, _task: task }
    }

    async fn status(&self) -> StatusResult {
        let guard = SsrfGuard::new(loopback()).expect("a guard");
        let probe = StatusProbe {
            url: &self.url,
            method: CheckMethod::Get,
            post: None,
            header: None,
            deadline: status::DEADLINE,
            connectivity: None,
            expected: None,
        };
        status::probe(&guard, &probe).await.expect("a result")
    }

    fn assert_bounded(&self) {
        let sent = self.sent.load(Ordering::Relaxed);
        assert!(sent < MOST, "{sent} bytes");
    }
}

/// Sends one thing once and the other one until the client leaves.
async fn flood(
    stream: &mut (impl AsyncWrite + Unpin),
    once: &[u8],
    endless: &[u8],
    most: &AtomicUsize,
) {
    let mut sent = once.len();
    let block = endless.repeat((16 * 1024 / endless.len().max(1)).max(1));
    let mut next = stream.write_all(once).await;
    while next.is_ok() && !block.is_empty() {
        next = stream.write_all(&block).await;
        sent += block.len();
        most.fetch_max(sent, Ordering::Relaxed);
    }
    // The client may have left.
    let _ = stream.shutdown().await;
}

/// An interim response with this status and a link of so many bytes.
fn interim(status: u16, link: usize) -> Vec<u8> {
    let link = "x".repeat(link);
    format!("HTTP/1.1 {status} Early\r\nLink: </{link}>; rel=preload\r\n\r\n").into_bytes()
}

fn page(body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {length}\r\n\r\n{body}")
        .into_bytes()
}

#[tokio::test]
async fn a_check_leaves_a_server_that_sends_interim_responses_without_end() {
    let mixed = [interim(100, 10), interim(102, 4_000), interim(103, 30_000)].concat();
    for endless in [interim(103, 500), interim(199, 60_000), interim(100, 8_000), mixed] {
        let site = Flood::start(move |_| (Vec::new(), endless.clone())).await;
        let result = site.status().await;
        assert_eq!((result.code, result.error.as_deref()), (0, Some(TOO_MUCH)));
        site.assert_bounded();
    }
}

#[tokio::test]
async fn a_redirect_to_endless_interim_responses_is_left_too() {
    let moved = b"HTTP/1.1 302 Found\r\nLocation: /next\r\nContent-Length: 0\r\n\r\n";
    let site = Flood::start(move |path| match path {
        "/" => (moved.to_vec(), Vec::new()),
        _ => (Vec::new(), interim(103, 1_000)),
    })
    .await;
    let result = site.status().await;
    assert_eq!((result.redirect_count, result.error.as_deref()), (1, Some(TOO_MUCH)));
    site.assert_bounded();
}

#[tokio::test]
async fn a_crawl_and_an_alert_leave_such_a_server() {
    let site = Flood::start(|path| match path {
        "/" => (page("<a href=/flood>x</a>"), Vec::new()),
        "/flood" => (Vec::new(), interim(103, 1_000)),
        _ => (Vec::new(), interim(102, 2_000)),
    })
    .await;
    let guard = SsrfGuard::new(loopback()).expect("a guard");
    let settings = LinksSettings::default();
    let probe = crawl_of(&site.url, &settings);
    let result = links::probe(&guard, &CrawlLimiter::default(), &probe, |_| {}).await;
    let result = result.expect("a result");
    assert_eq!((result.found, result.crawled), (1, 1), "{result:?}");

    let url = site.url.join("/alert").expect("a URL");
    let alert = Post {
        is_put: false,
        url: &url,
        headers: &[],
        body: b"",
        deadline: Duration::from_secs(30),
    };
    let error = post::post(&guard, &alert).await.expect_err("no answer");
    assert_eq!(error.to_string(), TOO_MUCH);
    site.assert_bounded();
}

#[tokio::test]
async fn endless_interim_responses_over_http2_are_left_too() {
    for endless in [
        head("103"),
        // With a link of 200 bytes.
        frame(1, 4, &[&[0x08, 3][..], b"103", &[0x0f, 0x1e, 0x7f, 73], &[b'x'; 200]].concat()),
        [head("100"), head("199")].concat(),
        // Frames of an unknown kind, which clients ignore.
        frame(99, 0, &[0; 200]),
    ] {
        let sent = Arc::<AtomicUsize>::default();
        let most = Arc::clone(&sent);
        let site = Http2Site::serving(Arc::new(move |_, mut stream| {
            let (mut endless, most) = (endless.clone(), Arc::clone(&most));
            Box::pin(async move {
                begin(&mut stream).await;
                let stream_of_request = next_request(&mut stream).await.expect("a request");
                let mut at = 0;
                while at < endless.len() {
                    endless[at + 8] = stream_of_request;
                    at += 9 + usize::from(endless[at + 2]);
                }
                flood(&mut stream, &[], &endless, &most).await;
            })
        }))
        .await;
        let result = site.status().await;
        assert_eq!((result.code, result.error.as_deref()), (0, Some(TOO_MUCH)));
        assert!(sent.load(Ordering::Relaxed) < MOST, "{sent:?} bytes");
    }
}

#[tokio::test]
async fn a_site_with_interim_responses_is_up() {
    for (interim, times) in
        [(interim(103, 2_000), 200), (interim(100, 0), 1), (interim(102, 60_000), 3)]
    {
        let answer = [interim.repeat(times), page("hello")].concat();
        let site = Flood::start(move |_| (answer.clone(), Vec::new())).await;
        let result = site.status().await;
        assert_eq!((result.code, result.error), (200, None));
    }
}
