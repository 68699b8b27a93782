//! The HTTP client of a crawl.
//!
//! Unlike the status check, which looks at one connection, a crawl sends the same few servers
//! thousands of requests. So connections are kept alive, and what the SSRF guard admitted is cached for
//! a moment.

mod pool;

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use hyper::header::{ACCEPT, ACCEPT_ENCODING, DATE, HeaderMap, HeaderValue, LOCATION, RETRY_AFTER};
use hyper::{Method, Request, Response};
use jiff::Timestamp;
use tokio::time::{Instant, timeout, timeout_at};
use url::Url;
use vedette_domain::checks::check::CheckError;
use vedette_domain::checks::evidence::Redaction;

use self::pool::{Peer, Pool};
use super::canonical::{origin_of, without_www};
use super::rate_limit::{CrawlLimiter, Permit};
use crate::http::coding::{ACCEPTED, Undecodable, codings};
pub(super) use crate::http::coding::{Coding, unpack};
use crate::http::{
    self, Connection, CookieJar, MAX_ADDRESSES, MediaType, RequestBody, ResponseBody, Versions,
};
use crate::request_header::{RequestHeader, introduce};
use crate::ssrf_guard::{AdmittedTarget, NotAdmitted, SsrfGuard};

/// Timeout from a request's turn to the head of its response, connecting included.
const HEAD_TIMEOUT: Duration = Duration::from_secs(15);

/// Timeout of a body that matters.
const BODY_TIMEOUT: Duration = Duration::from_secs(15);

/// Time and bytes for reading a body that does not matter, so that its connection can be reused.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);
const DRAIN_LIMIT: usize = 64 * 1024;

/// How long an admitted target is used without asking the SSRF guard again. This is as long as the guard's resolver
/// caches an answer, so a moved name is noticed just as soon.
const PIN_TTL: Duration = Duration::from_secs(60);

/// Timeout of a name lookup, and of connecting, TLS included.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Timeout of connecting to an address if there is another one to try. Addresses are tried one
/// after the other, because a request has a permit for one address only. It allows for one lost
/// packet, and a second.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(2);

/// Sends requests to admitted targets.
pub(super) struct Client<'a> {
    guard: &'a SsrfGuard,
    limiter: &'a CrawlLimiter,
    /// The monitored URL; its host gets `header` and `cookies`.
    home: &'a Url,
    header: Option<&'a RequestHeader>,
    /// The cookies from the responses to the requests with which the crawl begins. Later responses run concurrently and
    /// set none, so that two crawls send the same.
    pub(super) cookies: CookieJar,
    /// When the crawl began, by our clock and for measuring time.
    began: (SystemTime, Instant),
    pool: Pool,
    /// By origin (scheme, host and port); at most one per link.
    origins: Mutex<HashMap<Box<str>, Arc<PinnedOrigin>>>,
    /// The next [`PinnedOrigin::id`].
    next_id: AtomicU32,
    /// Held by the page that is being decoded or parsed. A step takes milliseconds, and without the lock all pages
    /// would each take one before anything else could run.
    pub(super) parsing: tokio::sync::Mutex<()>,
}

/// The addresses of an origin.
struct PinnedOrigin {
    /// Identifies it in the connection pool. A connection to the origin's former addresses is not
    /// reused, as its requests would count for the wrong address.
    id: u32,
    target: AdmittedTarget,
    since: Instant,
}

/// Who is to blame when a request has no response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Blame {
    /// The target.
    Target,
    /// The target or our own connection.
    Unclear,
}

/// Why a request has no response.
#[derive(Debug)]
pub(super) enum FetchError {
    /// The server was reached, but did not respond.
    NoResponse(Blame),
    /// The server could not be reached.
    Unreachable(Blame),
    /// The name lookup timed out.
    LookupTimedOut,
    /// The SSRF guard refuses it.
    Forbidden(CheckError),
    /// The request could not be made, which says nothing about the target.
    CheckFailed(CheckError),
    /// The address has reached its rate limit.
    Throttled,
}

impl<'a> Client<'a> {
    pub(super) fn new(
        guard: &'a SsrfGuard,
        limiter: &'a CrawlLimiter,
        home: &'a Url,
        header: Option<&'a RequestHeader>,
        now: Timestamp,
    ) -> Self {
        Self {
            guard,
            limiter,
            home,
            header,
            cookies: CookieJar::default(),
            began: (now.into(), Instant::now()),
            pool: Pool::default(),
            origins: Mutex::default(),
            next_id: AtomicU32::new(0),
            parsing: tokio::sync::Mutex::default(),
        }
    }

    /// The time by our clock.
    fn now(&self) -> SystemTime {
        let (began, since) = self.began;
        began + since.elapsed()
    }

    /// Waits for a permit, sends a request without a body, and waits for the head of the response. The site's own host
    /// gets these cookies. A request that an HTTP/2 server has not processed is sent once more, on a new connection.
    pub(super) async fn send(
        &self,
        method: Method,
        url: &Url,
        cookies: &CookieJar,
    ) -> Result<CrawlResponse, FetchError> {
        let mut request = self.request(&method, url, cookies)?;
        let admitted = timeout(CONNECT_TIMEOUT, self.pin(url)).await;
        let origin = admitted.unwrap_or(Err(FetchError::LookupTimedOut))?;
        let is_own = self.is_own(url);
        let mut retry = None;
        if let Some((peer, mut connection)) = self.pool.take(origin.id) {
            let Some(permit) = self.limiter.acquire(peer.address, is_own).await else {
                self.pool.keep(peer, connection);
                return Err(FetchError::Throttled);
            };
            let request = self.request(&method, url, cookies)?;
            let response = timeout(HEAD_TIMEOUT, async {
                if connection.is_ready().await {
                    Some(connection.send(request).await)
                } else {
                    None
                }
            });
            match response.await {
                Ok(Some(Ok(response))) => return Ok(CrawlResponse::new(response, peer, permit)),
                Ok(Some(Err(http::Error::Unprocessed(versions, _)))) => retry = Some(versions),
                // The idle connection may have been closed, which is not a response: retry on a new
                // one.
                Ok(None | Some(Err(_))) => {}
                Err(_) => return Err(FetchError::NoResponse(self.blame(&origin, true))),
            }
        }
        loop {
            let versions = retry.unwrap_or(Versions::All);
            match self.send_anew(&origin, url, versions, request).await? {
                Ok(response) => return Ok(response),
                Err(versions) if retry.is_none() => retry = Some(versions),
                Err(_) => return Err(FetchError::NoResponse(Blame::Target)),
            }
            request = self.request(&method, url, cookies)?;
        }
    }

    /// Sends a request on a new connection. Returns the versions over which to retry if the server has not processed it.
    async fn send_anew(
        &self,
        origin: &PinnedOrigin,
        url: &Url,
        versions: Versions,
        request: Request<RequestBody>,
    ) -> Result<Result<CrawlResponse, Versions>, FetchError> {
        let is_own = self.is_own(url);
        let mut untried = origin.target.addresses().iter().take(MAX_ADDRESSES);
        let mut failures = Vec::new();
        while let Some(address) = untried.next() {
            let peer = Peer { origin: origin.id, address: address.ip().to_canonical() };
            let permit =
                self.limiter.acquire(peer.address, is_own).await.ok_or(FetchError::Throttled)?;
            let since = Instant::now();
            let time_limit = if untried.len() > 0 { ATTEMPT_TIMEOUT } else { CONNECT_TIMEOUT };
            let dialed = timeout(time_limit, http::dial_address(*address)).await;
            let stream = match dialed.unwrap_or(Err(io::ErrorKind::TimedOut.into())) {
                Ok(stream) => stream,
                Err(error) => {
                    failures.push((*address, error));
                    continue;
                }
            };
            let opened = Connection::open(self.guard, stream, url, versions);
            let opened = timeout_at(since + CONNECT_TIMEOUT, opened).await;
            let is_unclear = may_be_ours(&opened);
            let Ok(Ok(connection)) = opened else {
                return Err(FetchError::Unreachable(self.blame(origin, is_unclear)));
            };
            let sent = timeout_at(since + HEAD_TIMEOUT, connection.send(request)).await;
            let is_unclear = may_be_ours(&sent);
            return match sent {
                Ok(Ok(response)) => Ok(Ok(CrawlResponse::new(response, peer, permit))),
                Ok(Err(http::Error::Unprocessed(versions, _))) => Ok(Err(versions)),
                Ok(Err(_)) | Err(_) => Err(FetchError::NoResponse(self.blame(origin, is_unclear))),
            };
        }
        Err(match FetchError::of(http::most_telling(failures), url) {
            FetchError::Unreachable(Blame::Unclear) => {
                FetchError::Unreachable(self.blame(origin, true))
            }
            error => error,
        })
    }

    /// Who is to blame for a failure on the way to an origin. An allowed network may be reachable without the Internet.
    fn blame(&self, origin: &PinnedOrigin, may_be_ours: bool) -> Blame {
        let mut addresses = origin.target.addresses().iter();
        if may_be_ours && !addresses.any(|address| self.guard.is_allowed_network(address.ip())) {
            Blame::Unclear
        } else {
            Blame::Target
        }
    }

    /// Whether `url` is on the site's own host, with or without `www.`.
    pub(super) fn is_own(&self, url: &Url) -> bool {
        let [host, home] = [url, self.home].map(|url| url.host_str().map(without_www));
        host == home
    }

    async fn pin(&self, url: &Url) -> Result<Arc<PinnedOrigin>, FetchError> {
        let key = origin_of(url.as_str());
        let known = self.origins().get(key).map(Arc::clone);
        if let Some(origin) = known.filter(|origin| origin.since.elapsed() < PIN_TTL) {
            return Ok(origin);
        }
        let target = self.guard.admit(url).await;
        let target = target.map_err(|error| FetchError::of(error.into(), url))?;
        let mut origins = self.origins();
        let id = match origins.get(key) {
            Some(origin) if origin.target == target => origin.id,
            _ => self.next_id.fetch_add(1, Ordering::Relaxed),
        };
        let origin = Arc::new(PinnedOrigin { id, target, since: Instant::now() });
        origins.insert(key.into(), Arc::clone(&origin));
        Ok(origin)
    }

    fn origins(&self) -> MutexGuard<'_, HashMap<Box<str>, Arc<PinnedOrigin>>> {
        self.origins.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn request(
        &self,
        method: &Method,
        url: &Url,
        cookies: &CookieJar,
    ) -> Result<Request<RequestBody>, FetchError> {
        let mut headers = HeaderMap::with_capacity(8);
        headers.insert(ACCEPT, HeaderValue::from_static("text/html,*/*;q=0.9"));
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(ACCEPTED));
        introduce(&mut headers, self.home, url, self.header);
        if self.is_own(url) {
            cookies.add_to(&mut headers, url);
        }
        http::request(method.clone(), url, headers)
            .map_err(|_| FetchError::NoResponse(Blame::Target))
    }
}

impl FetchError {
    fn of(error: http::Error, url: &Url) -> Self {
        let blame = if error.may_be_ours() { Blame::Unclear } else { Blame::Target };
        let is_refused = matches!(error, http::Error::NotAdmitted(NotAdmitted::Forbidden(_)));
        match error.target_failure(url, &Redaction::default()) {
            Ok(_) => Self::Unreachable(blame),
            Err(error) if is_refused => Self::Forbidden(error),
            Err(error) => Self::CheckFailed(error),
        }
    }
}

/// Whether our own connection may be the reason that something failed or took too long.
fn may_be_ours<T, E>(done: &Result<Result<T, http::Error>, E>) -> bool {
    match done {
        Ok(Ok(_)) => false,
        Ok(Err(error)) => error.may_be_ours(),
        Err(_) => true,
    }
}

/// The head of a response, with the connection that brings its body.
pub(super) struct CrawlResponse {
    pub(super) status: u16,
    headers: HeaderMap,
    body: ResponseBody,
    peer: Peer,
    /// Held until the response has been read.
    _permit: Permit,
}

impl CrawlResponse {
    fn new(response: Response<ResponseBody>, peer: Peer, permit: Permit) -> Self {
        let (head, body) = response.into_parts();
        let (status, headers) = (head.status.as_u16(), head.headers);
        Self { status, headers, body, peer, _permit: permit }
    }

    /// Whether it is a redirect.
    pub(super) fn is_redirect(&self) -> bool {
        (300..400).contains(&self.status) && self.headers.contains_key(LOCATION)
    }

    /// The target of a redirect from `url`, in canonical form.
    pub(super) fn location(&self, url: &Url) -> Option<Url> {
        http::location(&self.headers, url).ok()?
    }

    /// Keeps the cookies that a response from `url` sets.
    pub(super) fn keep_cookies(&self, url: &Url, cookies: &CookieJar) {
        cookies.keep(&self.headers, url);
    }

    pub(super) fn media_type(&self) -> MediaType {
        MediaType::of(&self.headers)
    }

    pub(super) fn codings(&self) -> Result<Vec<Coding>, Undecodable> {
        codings(&self.headers)
    }

    /// The time in `Retry-After`. A date is compared with the response's own `Date`, so that clocks may differ; without
    /// one, with our clock.
    pub(super) fn retry_after(&self, client: &Client<'_>) -> Option<Duration> {
        let date = |text: &str| httpdate::parse_http_date(text).ok();
        let text = |name| self.headers.get(name).and_then(|value| value.to_str().ok());
        let after = text(RETRY_AFTER)?.trim();
        if let Ok(seconds) = after.parse() {
            return Some(Duration::from_secs(seconds));
        }
        let now = text(DATE).and_then(date).unwrap_or_else(|| client.now());
        Some(date(after)?.duration_since(now).unwrap_or_default())
    }

    /// Passes up to `limit` bytes of the body to `sink` as they arrive; returns whether that was all. Ends early at the
    /// timeout or if the body is cut off: the bytes that arrived are still useful.
    pub(super) async fn read(&mut self, limit: usize, sink: impl FnMut(&[u8])) -> bool {
        let read = timeout(BODY_TIMEOUT, http::read(&mut self.body, limit, sink)).await;
        matches!(read, Ok(Ok(true)))
    }

    /// Returns the connection to the pool if the rest of the body is short, or is an HTTP/2 stream,
    /// which can be abandoned.
    pub(super) async fn finish(mut self, client: &Client<'_>) {
        let drained = timeout(DRAIN_TIMEOUT, http::read(&mut self.body, DRAIN_LIMIT, |_| {})).await;
        let connection = self.body.into_connection();
        if let Ok(Ok(ended)) = drained
            && (ended || connection.is_multiplexed())
        {
            client.pool.keep(self.peer, connection);
        }
    }
}
