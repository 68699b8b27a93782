//! The proxy through which a browser reaches only what the SSRF guard admits.

mod credentials;
mod meter;
mod send_limiter;
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
use self::send_limiter::SendLimiter;
use crate::http::{
    self, Connection, HEAD_BYTES, HEADER_LINES, MAX_ADDRESSES, RequestBody, ResponseBody,
};
use crate::ssrf_guard::{ForbiddenTarget, NotAdmitted, SsrfGuard};

/// Connections served at once. Chromium opens at most 32 through one proxy, not counting
/// WebSockets. Further ones wait.
const MAX_CONNECTIONS: usize = 128;

/// Timeout of connecting to a target.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a connection may be idle in both directions.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// Refusals kept; a page can cause any number of them.
const MAX_REFUSALS: usize = 100;

/// How much may pass through a proxy.
#[derive(Debug, Clone, Copy)]
pub struct ProxyLimits {
    /// Bytes in both directions together, after which all connections are cut.
    bytes: u64,
    /// The burst that may be sent to an address other than the site's, beyond the long-term rate of
    /// 4096 bytes a second.
    burst: Duration,
}

impl ProxyLimits {
    /// For an audit: many times the heaviest page worth measuring.
    pub const AUDIT: Self = Self { bytes: 100 * 1024 * 1024, burst: Duration::from_secs(256) };
    /// For a crawl.
    pub const CRAWL: Self = Self { bytes: 2 * 1024 * 1024 * 1024, burst: Duration::from_secs(64) };
}

/// An HTTP proxy on a loopback port that asks the SSRF guard before every connection, and connects to
/// the pinned address. It listens until it is dropped, but serves only during
/// [`serve_during`](Self::serve_during), without a task of its own.
///
/// Any user of this machine can reach the port, so the proxy requires [`Credentials`] made for its
/// one browser.
pub struct SsrfGuardProxy {
    listener: TcpListener,
    address: SocketAddr,
    credentials: Credentials,
    budget: Budget,
    /// The site's own host, without `www.`; what is sent there is up to its owner.
    home: String,
    sent: SendLimiter,
    refusals: Mutex<Vec<ForbiddenTarget>>,
}

impl SsrfGuardProxy {
    /// Listens on a free loopback port, for a browser that visits the site at `home`.
    ///
    /// # Errors
    /// When this machine has no port or socket left.
    pub async fn bind(home: &Url, limits: ProxyLimits) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        Ok(Self {
            address: listener.local_addr()?,
            listener,
            credentials: Credentials::new()?,
            budget: Budget::new(limits.bytes),
            home: host_of(home).to_owned(),
            sent: SendLimiter::new(limits.burst),
            refusals: Mutex::default(),
        })
    }

    /// A proxy for an audit of an arbitrary site.
    #[cfg(test)]
    pub(crate) async fn for_nobody() -> Self {
        let nowhere = "http://nowhere.example/".parse().expect("a URL");
        Self::bind(&nowhere, ProxyLimits::AUDIT).await.expect("a port")
    }

    /// Its address, for `--proxy-server`.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The credentials of its browser.
    pub(crate) fn credentials(&self) -> &Credentials {
        &self.credentials
    }

    /// The refused targets, at most the first hundred.
    #[must_use]
    pub fn refusals(&self) -> Vec<ForbiddenTarget> {
        self.refusals.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether the byte limit was reached, and all connections were cut.
    #[must_use]
    pub fn is_exhausted(&self) -> bool {
        self.budget.is_spent()
    }

    /// Serves until `work` ends, and returns its output. Then all connections end.
    pub async fn serve_during<F: Future>(&self, guard: &SsrfGuard, work: F) -> F::Output {
        let mut work = pin!(work);
        let mut connections = FuturesUnordered::new();
        loop {
            tokio::select! {
                output = &mut work => return output,
                Some(()) = connections.next() => {}
                Ok((stream, _)) = self.listener.accept(), if connections.len() < MAX_CONNECTIONS => {
                    connections.push(self.serve(guard, stream));
                }
            }
        }
    }

    /// Serves one connection of the browser: consecutive requests, or one tunnel.
    async fn serve(&self, guard: &SsrfGuard, stream: TcpStream) {
        let tunnel = Mutex::new(None);
        let service = service_fn(|request| self.handle(guard, request, &tunnel));
        let served = server::conn::http1::Builder::new()
            .max_buf_size(HEAD_BYTES)
            .max_headers(HEADER_LINES)
            .timer(TokioTimer::new())
            .header_read_timeout(IDLE_TIMEOUT)
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

    async fn handle(
        &self,
        guard: &SsrfGuard,
        mut request: Request<Incoming>,
        tunnel: &Mutex<Option<Tunnel>>,
    ) -> Result<ProxyResponse, Infallible> {
        let answer = if !self.credentials.authorize(request.headers()) {
            return Ok(Credentials::challenge());
        } else if request.method() == Method::CONNECT {
            let browser = hyper::upgrade::on(&mut request);
            self.open_tunnel(guard, request.uri()).await.map(|target| {
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
    async fn open_tunnel(&self, guard: &SsrfGuard, uri: &Uri) -> Result<Metered, StatusCode> {
        // The SSRF guard needs a scheme. What the tunnel carries (TLS or an unencrypted WebSocket) is up
        // to browser and target.
        let authority = uri.authority().ok_or(StatusCode::BAD_REQUEST)?;
        let url =
            Url::parse(&format!("https://{authority}/")).map_err(|_| StatusCode::BAD_REQUEST)?;
        self.connect(guard, &url).await
    }

    /// Forwards a request on a connection of its own.
    async fn forward(
        &self,
        guard: &SsrfGuard,
        mut request: Request<Incoming>,
    ) -> Result<ProxyResponse, StatusCode> {
        // Only requests to a proxy have an absolute URI.
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

    /// A connection to the target of `url` if the SSRF guard admits it; otherwise the status for the
    /// browser.
    async fn connect(&self, guard: &SsrfGuard, url: &Url) -> Result<Metered, StatusCode> {
        if self.budget.is_spent() {
            return Err(StatusCode::TOO_MANY_REQUESTS);
        }
        // The browser authenticates here. A proxy that connects to itself would only block itself, even if loopback is
        // allowed.
        let own = self.address;
        if url.host_str() == Some(&own.ip().to_string()) && url.port() == Some(own.port()) {
            return Err(StatusCode::LOOP_DETECTED);
        }
        let target = guard.admit(url).await.map_err(|error| match error {
            NotAdmitted::Forbidden(refusal) => {
                self.record_refusal(refusal);
                StatusCode::FORBIDDEN
            }
            NotAdmitted::Unresolved(_) | NotAdmitted::ResolverUnavailable(_) => {
                StatusCode::BAD_GATEWAY
            }
        })?;
        // The same, by name.
        if target.addresses().contains(&self.address) {
            return Err(StatusCode::LOOP_DETECTED);
        }
        let is_external = host_of(url) != self.home;
        let tried = target.addresses().iter().take(MAX_ADDRESSES);
        let tried: Vec<_> = tried.map(|address| address.ip().to_canonical()).collect();
        if is_external && !self.sent.try_reserve(&tried, Instant::now()) {
            return Err(StatusCode::TOO_MANY_REQUESTS);
        }
        match timeout(CONNECT_TIMEOUT, http::dial(&target)).await {
            Ok(Ok(stream)) => {
                let peer = stream.peer_addr().map_err(|_| StatusCode::BAD_GATEWAY)?;
                let sent = is_external.then(|| (self.sent.clone(), peer.ip().to_canonical()));
                Ok(Metered::new(stream, self.budget.clone(), sent, IDLE_TIMEOUT))
            }
            Ok(Err(_)) => Err(StatusCode::BAD_GATEWAY),
            Err(_) => Err(StatusCode::GATEWAY_TIMEOUT),
        }
    }

    fn record_refusal(&self, refusal: ForbiddenTarget) {
        let mut refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        if refusals.len() < MAX_REFUSALS {
            refusals.push(refusal);
        }
    }
}

/// The host of `url`, without `www.`.
fn host_of(url: &Url) -> &str {
    let host = url.host_str().unwrap_or_default();
    host.strip_prefix("www.").unwrap_or(host)
}

/// The two ends of a tunnel, once the browser has the `200` for its CONNECT.
struct Tunnel {
    browser: OnUpgrade,
    target: Metered,
}

type ProxyResponse = Response<Either<ResponseBody, Empty<Bytes>>>;

fn empty(status: StatusCode) -> ProxyResponse {
    let mut answer = Response::new(Either::Right(Empty::new()));
    *answer.status_mut() = status;
    answer
}

/// Removes hop-by-hop headers (RFC 9110, section 7.6.1), including those that `Connection` lists.
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
