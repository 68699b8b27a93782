//! The proxy through which a browser reaches what the guard admits, and nothing else.

mod credentials;
mod meter;
mod sent;
#[cfg(test)]
mod tests;

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures::stream::{FuturesUnordered, StreamExt};
use http_body_util::{Either, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    CONNECTION, HOST, HeaderMap, HeaderName, HeaderValue, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION,
    TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use hyper::service::service_fn;
use hyper::upgrade::OnUpgrade;
use hyper::{Method, Request, Response, StatusCode, Uri, server};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, timeout};
use url::{Position, Url};

pub(crate) use self::credentials::Credentials;
use self::meter::{Budget, Metered};
use self::sent::Sent;
use crate::guard::{Guard, NotAdmitted, Refusal};
use crate::http::{
    self, Connection, HEAD_BYTES, HEADER_LINES, MAX_ADDRESSES, RequestBody, ResponseBody,
};

/// Connections served at once; Chromium opens at most 32 through one proxy, and WebSockets beside
/// them. What comes beyond waits.
const CONNECTIONS: usize = 128;

/// How long a connection to a target may take to make.
const CONNECT_PATIENCE: Duration = Duration::from_secs(10);

/// How long a connection may lie still, in either direction.
const IDLE: Duration = Duration::from_secs(30);

/// Refusals remembered; a page can provoke any number of them.
const REFUSALS: usize = 100;

/// How much may pass through a proxy.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Bytes, both ways together, after which everything is cut off.
    bytes: u64,
    /// For how long another address than the site's may be sent more than it is in the long run:
    /// each second counts for 4096 bytes.
    burst: Duration,
}

impl Bounds {
    /// Of an audit: many times the heaviest page that is worth measuring.
    pub const AUDIT: Self = Self { bytes: 100 * 1024 * 1024, burst: Duration::from_secs(256) };
    /// Of a crawl.
    pub const CRAWL: Self = Self { bytes: 2 * 1024 * 1024 * 1024, burst: Duration::from_secs(64) };
}

/// An HTTP proxy on a loopback port that asks the guard before every connection and connects to the
/// pinned address. It listens as long as the value lives, and serves only during
/// [`serve_during`](Self::serve_during), without a task of its own.
///
/// The port is there for everybody on this machine, so it serves only who knows the
/// [`Credentials`], which are made for the one browser that it is for.
pub struct GuardProxy {
    listener: TcpListener,
    address: SocketAddr,
    credentials: Credentials,
    budget: Budget,
    /// The site's own host, without `www.`, where what is sent is up to its owner.
    home: String,
    sent: Sent,
    refusals: Mutex<Vec<Refusal>>,
}

impl GuardProxy {
    /// Listens on a free port of loopback, for a browser that visits the site at `home`.
    ///
    /// # Errors
    /// When this machine has no port or socket left.
    pub async fn bind(home: &Url, bounds: Bounds) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        Ok(Self {
            address: listener.local_addr()?,
            listener,
            credentials: Credentials::new()?,
            budget: Budget::new(bounds.bytes),
            home: host_of(home).to_owned(),
            sent: Sent::new(bounds.burst),
            refusals: Mutex::default(),
        })
    }

    /// One for the audit of a site that is nowhere.
    #[cfg(test)]
    pub(crate) async fn for_nobody() -> Self {
        let nowhere = "http://nowhere.example/".parse().expect("a URL");
        Self::bind(&nowhere, Bounds::AUDIT).await.expect("a port")
    }

    /// Where it listens, for `--proxy-server`.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What its browser proves itself with.
    pub(crate) fn credentials(&self) -> &Credentials {
        &self.credentials
    }

    /// What was refused so far, at most the first hundred.
    #[must_use]
    pub fn refusals(&self) -> Vec<Refusal> {
        self.refusals.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether so many bytes passed that everything was cut off.
    #[must_use]
    pub fn is_exhausted(&self) -> bool {
        self.budget.is_spent()
    }

    /// Serves until `work` ends, whose output it gives. All connections end with it.
    pub async fn serve_during<F: Future>(&self, guard: &Guard, work: F) -> F::Output {
        let mut work = pin!(work);
        let mut connections = FuturesUnordered::new();
        loop {
            tokio::select! {
                output = &mut work => return output,
                Some(()) = connections.next() => {}
                Ok((stream, _)) = self.listener.accept(), if connections.len() < CONNECTIONS => {
                    connections.push(self.serve(guard, stream));
                }
            }
        }
    }

    /// One connection of the browser: requests in turn, or one tunnel.
    async fn serve(&self, guard: &Guard, stream: TcpStream) {
        let tunnel = Mutex::new(None);
        let service = service_fn(|request| self.answer(guard, request, &tunnel));
        let served = server::conn::http1::Builder::new()
            .max_buf_size(HEAD_BYTES)
            .max_headers(HEADER_LINES)
            .timer(TokioTimer::new())
            .header_read_timeout(IDLE)
            .serve_connection(TokioIo::new(stream), service)
            .with_upgrades()
            .await;
        let tunnel = tunnel.into_inner().unwrap_or_else(PoisonError::into_inner);
        // However a connection ends, the browser sees it end.
        if let (Ok(()), Some(Tunnel { browser, mut target })) = (served, tunnel)
            && let Ok(browser) = browser.await
        {
            let mut browser = TokioIo::new(browser);
            let _ = tokio::io::copy_bidirectional(&mut browser, &mut target).await;
        }
    }

    async fn answer(
        &self,
        guard: &Guard,
        mut request: Request<Incoming>,
        tunnel: &Mutex<Option<Tunnel>>,
    ) -> Result<Answer, Infallible> {
        let answer = if !self.credentials.are_in(request.headers()) {
            return Ok(Credentials::demand());
        } else if request.method() == Method::CONNECT {
            let browser = hyper::upgrade::on(&mut request);
            self.open(guard, request.uri()).await.map(|target| {
                *tunnel.lock().unwrap_or_else(PoisonError::into_inner) =
                    Some(Tunnel { browser, target });
                empty(StatusCode::OK)
            })
        } else {
            self.forward(guard, request).await
        };
        Ok(answer.unwrap_or_else(empty))
    }

    /// The target's end of a tunnel.
    async fn open(&self, guard: &Guard, uri: &Uri) -> Result<Metered, StatusCode> {
        // The guard asks for a scheme; what is spoken in a tunnel (TLS or a WebSocket in clear) is
        // between browser and target.
        let authority = uri.authority().ok_or(StatusCode::BAD_REQUEST)?;
        let url =
            Url::parse(&format!("https://{authority}/")).map_err(|_| StatusCode::BAD_REQUEST)?;
        self.connect(guard, &url).await
    }

    /// Sends a request on, on a connection of its own.
    async fn forward(
        &self,
        guard: &Guard,
        mut request: Request<Incoming>,
    ) -> Result<Answer, StatusCode> {
        // Only a request meant for a proxy has a whole URL.
        let uri = request.uri();
        if uri.scheme_str() != Some("http") {
            return Err(StatusCode::BAD_REQUEST);
        }
        let url = Url::parse(&uri.to_string()).map_err(|_| StatusCode::BAD_REQUEST)?;
        let target = self.connect(guard, &url).await?;
        remove_hop_by_hop(request.headers_mut());
        let host = HeaderValue::from_str(&url[Position::BeforeHost..Position::AfterPort])
            .map_err(|_| StatusCode::BAD_REQUEST)?;
        request.headers_mut().insert(HOST, host);
        request.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        let response =
            async { Connection::http1(target).await?.send(request.map(RequestBody::Right)).await };
        let mut response = response.await.map_err(|_: http::Error| StatusCode::BAD_GATEWAY)?;
        remove_hop_by_hop(response.headers_mut());
        Ok(response.map(Either::Left))
    }

    /// A connection to the target of `url`, if the guard admits it; else what to tell the browser.
    async fn connect(&self, guard: &Guard, url: &Url) -> Result<Metered, StatusCode> {
        if self.budget.is_spent() {
            return Err(StatusCode::TOO_MANY_REQUESTS);
        }
        // Where a browser proves itself; and a proxy that asks itself only ties itself up, allowed
        // loopback or not.
        let own = self.address;
        if url.host_str() == Some(&own.ip().to_string()) && url.port() == Some(own.port()) {
            return Err(StatusCode::LOOP_DETECTED);
        }
        let target = guard.admit(url).await.map_err(|error| match error {
            NotAdmitted::Refused(refusal) => {
                self.remember(refusal);
                StatusCode::FORBIDDEN
            }
            NotAdmitted::Unresolved(_) | NotAdmitted::ResolverUnavailable(_) => {
                StatusCode::BAD_GATEWAY
            }
        })?;
        // The same under a name.
        if target.addresses().contains(&self.address) {
            return Err(StatusCode::LOOP_DETECTED);
        }
        let is_elsewhere = host_of(url) != self.home;
        let tried = target.addresses().iter().take(MAX_ADDRESSES);
        let tried: Vec<_> = tried.map(|address| address.ip().to_canonical()).collect();
        if is_elsewhere && !self.sent.admit(&tried, Instant::now()) {
            return Err(StatusCode::TOO_MANY_REQUESTS);
        }
        match timeout(CONNECT_PATIENCE, http::dial(&target)).await {
            Ok(Ok(stream)) => {
                let peer = stream.peer_addr().map_err(|_| StatusCode::BAD_GATEWAY)?;
                let sent = is_elsewhere.then(|| (self.sent.clone(), peer.ip().to_canonical()));
                Ok(Metered::new(stream, self.budget.clone(), sent, IDLE))
            }
            Ok(Err(_)) => Err(StatusCode::BAD_GATEWAY),
            Err(_) => Err(StatusCode::GATEWAY_TIMEOUT),
        }
    }

    fn remember(&self, refusal: Refusal) {
        let mut refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        if refusals.len() < REFUSALS {
            refusals.push(refusal);
        }
    }
}

/// The host of `url`, `www.` aside.
fn host_of(url: &Url) -> &str {
    let host = url.host_str().unwrap_or_default();
    host.strip_prefix("www.").unwrap_or(host)
}

/// What is spoken once the browser has its `200` for a CONNECT.
struct Tunnel {
    browser: OnUpgrade,
    target: Metered,
}

type Answer = Response<Either<ResponseBody, Empty<Bytes>>>;

fn empty(status: StatusCode) -> Answer {
    let mut answer = Response::new(Either::Right(Empty::new()));
    *answer.status_mut() = status;
    answer
}

/// Takes out what concerns one connection only (RFC 9110, section 7.6.1), and what its `Connection`
/// names beside that.
fn remove_hop_by_hop(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    let always = [
        CONNECTION,
        HeaderName::from_static("keep-alive"),
        HeaderName::from_static("proxy-connection"),
        PROXY_AUTHENTICATE,
        PROXY_AUTHORIZATION,
        TE,
        TRAILER,
        TRANSFER_ENCODING,
        UPGRADE,
    ];
    for name in named.iter().chain(&always) {
        headers.remove(name);
    }
}
