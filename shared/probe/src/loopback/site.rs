//! A website with HTTP/1.1 and keep-alive.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http_body_util::{BodyExt as _, Collected, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{HeaderName, HeaderValue};
use hyper::{HeaderMap, Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use url::Url;

/// A request that arrived.
#[derive(Clone)]
pub(crate) struct Asked {
    pub(crate) method: String,
    /// Path and query.
    pub(crate) target: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Asked {
    pub(crate) fn is_head(&self) -> bool {
        self.method == "HEAD"
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// The answer to a request.
#[derive(Clone)]
pub(crate) struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    body: Bytes,
    delay: Duration,
}

impl Reply {
    pub(crate) fn new(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: Bytes::new(), delay: Duration::ZERO }
    }

    /// A page.
    pub(crate) fn html(body: impl Into<Bytes>) -> Self {
        Self { body: body.into(), ..Self::new(200) }.with("Content-Type", "text/html")
    }

    /// Something else.
    pub(crate) fn file(content_type: &str, body: impl Into<Bytes>) -> Self {
        Self { body: body.into(), ..Self::new(200) }.with("Content-Type", content_type)
    }

    pub(crate) fn redirect(status: u16, location: &str) -> Self {
        Self::new(status).with("Location", location)
    }

    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }
}

/// A running website. It ends when its value is dropped.
pub(crate) struct Site {
    pub(crate) address: SocketAddr,
    seen: Arc<Seen>,
    _task: JoinSet<()>,
}

#[derive(Default)]
struct Seen {
    connections: AtomicUsize,
    under_way: AtomicUsize,
    most_under_way: AtomicUsize,
    asked: Mutex<Vec<Asked>>,
}

impl Site {
    pub(crate) async fn start(answer: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Self {
        Self::at("127.0.0.1", answer).await
    }

    /// On another loopback address, which counts as another host.
    pub(crate) async fn at(
        ip: &str,
        answer: impl Fn(&Asked) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind((ip, 0)).await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        let seen = Arc::<Seen>::default();
        let answer = Arc::new(answer);
        let mut task = JoinSet::new();
        let counted = Arc::clone(&seen);
        task.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                counted.connections.fetch_add(1, Ordering::Relaxed);
                let _ = stream.set_nodelay(true);
                let (answer, seen) = (Arc::clone(&answer), Arc::clone(&counted));
                let service = hyper::service::service_fn(move |request| {
                    reply(request, Arc::clone(&answer), Arc::clone(&seen))
                });
                connections.spawn(async move {
                    // Ends with an error when the client leaves, as it may.
                    let _ = hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(stream), service)
                        .await;
                });
            }
        });
        Self { address, seen, _task: task }
    }

    /// Pages by path; 404 for every other path.
    pub(crate) async fn of(pages: &[(&str, &str)]) -> Self {
        let pages: Vec<(String, String)> =
            pages.iter().map(|(path, page)| ((*path).to_owned(), (*page).to_owned())).collect();
        Self::start(move |asked| match pages.iter().find(|(path, _)| *path == asked.target) {
            Some((_, page)) => Reply::html(page.clone()),
            None => Reply::new(404),
        })
        .await
    }

    /// The URL of `path` here.
    pub(crate) fn url(&self, path: &str) -> Url {
        format!("http://{}{path}", self.address).parse().expect("a URL")
    }

    /// Connections accepted so far.
    pub(crate) fn connections(&self) -> usize {
        self.seen.connections.load(Ordering::Relaxed)
    }

    /// The most requests that were in progress at the same time.
    pub(crate) fn most_under_way(&self) -> usize {
        self.seen.most_under_way.load(Ordering::Relaxed)
    }

    /// The requests so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.seen.asked.lock().expect("no panic").clone()
    }

    /// The requests so far as `METHOD /path`, without those for `robots.txt` and sitemaps, sorted.
    pub(crate) fn visits(&self) -> Vec<String> {
        let mut visits: Vec<_> = self
            .asked()
            .into_iter()
            .filter(|asked| !matches!(asked.target.as_str(), "/robots.txt" | "/sitemap.xml"))
            .map(|asked| format!("{} {}", asked.method, asked.target))
            .collect();
        visits.sort();
        visits
    }
}

async fn reply<A>(
    request: Request<Incoming>,
    answer: Arc<A>,
    seen: Arc<Seen>,
) -> Result<Response<Full<Bytes>>, Infallible>
where
    A: Fn(&Asked) -> Reply,
{
    let (head, body) = request.into_parts();
    let asked = Asked {
        method: head.method.to_string(),
        target: head.uri.to_string(),
        headers: head.headers,
        // A client may leave before it has sent everything.
        body: body.collect().await.map(Collected::to_bytes).unwrap_or_default(),
    };
    let under_way = seen.under_way.fetch_add(1, Ordering::Relaxed) + 1;
    seen.most_under_way.fetch_max(under_way, Ordering::Relaxed);
    let reply = answer(&asked);
    seen.asked.lock().expect("no panic").push(asked);
    if !reply.delay.is_zero() {
        tokio::time::sleep(reply.delay).await;
    }
    seen.under_way.fetch_sub(1, Ordering::Relaxed);
    let mut response = Response::new(Full::new(reply.body));
    *response.status_mut() = reply.status.try_into().expect("a status");
    for (name, value) in &reply.headers {
        let name: HeaderName = name.parse().expect("a name");
        response.headers_mut().append(name, HeaderValue::from_str(value).expect("a value"));
    }
    Ok(response)
}
