//! The HTTP client of a crawl.
//!
//! Unlike the status check, which looks at one connection, a crawl asks the same few servers
//! thousands of times: connections are kept, and what the guard admitted is remembered for a moment.

mod coding;
mod pool;

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, DATE, HeaderMap, HeaderValue,
    LOCATION, RETRY_AFTER,
};
use hyper::{Method, Request, Response};
use tokio::time::{Instant, timeout, timeout_at};
use url::Url;
use vedette_domain::check::CheckError;

pub(super) use self::coding::{Coding, unpack};
use self::pool::{Peer, Pool};
use super::canonical::{origin_of, without_www};
use super::traffic::{Share, Traffic, Turn};
use crate::guard::{Guard, NotAdmitted, Target};
use crate::http::{self, Connection, MAX_ADDRESSES, RequestBody, ResponseBody};
use crate::request_header::{RequestHeader, introduce};

/// How long the head of an answer is waited for, once the request's turn has come; the connection
/// included.
const HEAD_PATIENCE: Duration = Duration::from_secs(15);

/// How long a body that matters is waited for.
const BODY_PATIENCE: Duration = Duration::from_secs(15);

/// How long, and for how many bytes, a body that does not matter is taken in so that its connection
/// can be used again.
const DRAIN_PATIENCE: Duration = Duration::from_millis(500);
const DRAIN_LIMIT: usize = 64 * 1024;

/// How long an admitted target is connected to without asking the guard again. As long as the
/// guard's resolver remembers an answer: a name that moves is followed no later for it.
const PINNED: Duration = Duration::from_secs(60);

/// How long a name lookup may take, and a connection to make, TLS included.
const CONNECT_PATIENCE: Duration = Duration::from_secs(10);

/// How long an address may take to accept where there is another one to try: one at a time, so that
/// a request has a turn at one address alone. That is one packet lost, and another.
const ATTEMPT_PATIENCE: Duration = Duration::from_secs(2);

/// Sends requests to admitted targets.
pub(super) struct Client<'a> {
    guard: &'a Guard,
    share: Share<'a>,
    /// The monitored URL, whose host gets `header`.
    home: &'a Url,
    header: Option<&'a RequestHeader>,
    pool: Pool,
    /// By origin (scheme, host and port); as many as there are links at most.
    places: Mutex<HashMap<Box<str>, Arc<Place>>>,
    /// The next [`Place::id`].
    next_id: AtomicU32,
    /// Held by the page that is unpacked or taken apart: a step of that takes milliseconds, and all
    /// pages at once would take a step each before anything else had its turn.
    pub(super) reading: tokio::sync::Mutex<()>,
}

/// Where an origin was found to be.
struct Place {
    /// Names it among the connections: one to where an origin was before is used no more, as its
    /// requests would count elsewhere.
    id: u32,
    target: Target,
    since: Instant,
}

/// Why a request has no answer.
#[derive(Debug)]
pub(super) enum NoAnswer {
    /// The server was reached, and gave none.
    Silent,
    /// The server could not be reached.
    Unreachable,
    /// The name was not looked up in time.
    Unresolved,
    /// The guard refuses it.
    Forbidden(CheckError),
    /// The request could not be made, which says nothing of the target.
    Unable(CheckError),
    /// Too much is asked of the address at the moment.
    NoTurn,
}

impl<'a> Client<'a> {
    pub(super) fn new(
        guard: &'a Guard,
        traffic: &'a Traffic,
        home: &'a Url,
        header: Option<&'a RequestHeader>,
    ) -> Self {
        Self {
            guard,
            share: traffic.share(),
            home,
            header,
            pool: Pool::default(),
            places: Mutex::default(),
            next_id: AtomicU32::new(0),
            reading: tokio::sync::Mutex::default(),
        }
    }

    /// Sends a request without body once its turn has come, and waits for the head of its answer.
    pub(super) async fn send(&self, method: Method, url: &Url) -> Result<Answer, NoAnswer> {
        let request = self.request(&method, url)?;
        let admitted = timeout(CONNECT_PATIENCE, self.admit(url)).await;
        let place = admitted.unwrap_or(Err(NoAnswer::Unresolved))?;
        let is_own = self.is_own(url);
        if let Some((peer, mut connection)) = self.pool.take(place.id) {
            let Some(turn) = self.share.turn(peer.address, is_own).await else {
                self.pool.keep(peer, connection);
                return Err(NoAnswer::NoTurn);
            };
            let request = self.request(&method, url)?;
            let response = timeout(HEAD_PATIENCE, async {
                if connection.is_ready().await { connection.send(request).await.ok() } else { None }
            });
            match response.await {
                Ok(Some(response)) => return Ok(Answer::new(response, peer, turn)),
                // It may have been closed in the meantime, which is no answer: ask again on a new one.
                Ok(None) => {}
                Err(_) => return Err(NoAnswer::Silent),
            }
        }
        let mut untried = place.target.addresses().iter().take(MAX_ADDRESSES);
        let mut failures = Vec::new();
        while let Some(address) = untried.next() {
            let peer = Peer { place: place.id, address: address.ip().to_canonical() };
            let turn = self.share.turn(peer.address, is_own).await.ok_or(NoAnswer::NoTurn)?;
            let since = Instant::now();
            let patience = if untried.len() > 0 { ATTEMPT_PATIENCE } else { CONNECT_PATIENCE };
            let dialed = timeout(patience, http::dial_address(*address)).await;
            let stream = match dialed.unwrap_or(Err(io::ErrorKind::TimedOut.into())) {
                Ok(stream) => stream,
                Err(error) => {
                    failures.push((*address, error));
                    continue;
                }
            };
            let opened = Connection::open(self.guard, stream, url);
            let Ok(Ok(connection)) = timeout_at(since + CONNECT_PATIENCE, opened).await else {
                return Err(NoAnswer::Unreachable);
            };
            return match timeout_at(since + HEAD_PATIENCE, connection.send(request)).await {
                Ok(Ok(response)) => Ok(Answer::new(response, peer, turn)),
                Ok(Err(_)) | Err(_) => Err(NoAnswer::Silent),
            };
        }
        Err(NoAnswer::of(http::most_telling(failures), url))
    }

    /// Whether `url` is on the site's own host, `www.` aside: what the site's owner has us ask.
    pub(super) fn is_own(&self, url: &Url) -> bool {
        let [host, home] = [url, self.home].map(|url| url.host_str().map(without_www));
        host == home
    }

    async fn admit(&self, url: &Url) -> Result<Arc<Place>, NoAnswer> {
        let origin = origin_of(url.as_str());
        let known = self.places().get(origin).map(Arc::clone);
        if let Some(place) = known.filter(|place| place.since.elapsed() < PINNED) {
            return Ok(place);
        }
        let target = self.guard.admit(url).await;
        let target = target.map_err(|error| NoAnswer::of(error.into(), url))?;
        let mut places = self.places();
        let id = match places.get(origin) {
            Some(place) if place.target == target => place.id,
            _ => self.next_id.fetch_add(1, Ordering::Relaxed),
        };
        let place = Arc::new(Place { id, target, since: Instant::now() });
        places.insert(origin.into(), Arc::clone(&place));
        Ok(place)
    }

    fn places(&self) -> MutexGuard<'_, HashMap<Box<str>, Arc<Place>>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn request(&self, method: &Method, url: &Url) -> Result<Request<RequestBody>, NoAnswer> {
        let mut headers = HeaderMap::with_capacity(8);
        headers.insert(ACCEPT, HeaderValue::from_static("text/html,*/*;q=0.9"));
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(coding::ACCEPTED));
        introduce(&mut headers, self.home, url, self.header);
        http::request(method.clone(), url, headers).map_err(|_| NoAnswer::Silent)
    }
}

impl NoAnswer {
    fn of(error: http::Error, url: &Url) -> Self {
        let is_refused = matches!(error, http::Error::NotAdmitted(NotAdmitted::Refused(_)));
        match error.target_failure(url) {
            Ok(_) => Self::Unreachable,
            Err(error) if is_refused => Self::Forbidden(error),
            Err(error) => Self::Unable(error),
        }
    }
}

/// The head of an answer, with the connection that brings its body.
pub(super) struct Answer {
    pub(super) status: u16,
    headers: HeaderMap,
    body: ResponseBody,
    peer: Peer,
    /// Ends with the answer.
    _turn: Turn,
}

impl Answer {
    fn new(response: Response<ResponseBody>, peer: Peer, turn: Turn) -> Self {
        let (head, body) = response.into_parts();
        let (status, headers) = (head.status.as_u16(), head.headers);
        Self { status, headers, body, peer, _turn: turn }
    }

    /// Whether it sends the visitor elsewhere.
    pub(super) fn is_redirect(&self) -> bool {
        (300..400).contains(&self.status) && self.headers.contains_key(LOCATION)
    }

    /// Where to, from `url`, in canonical form.
    pub(super) fn location(&self, url: &Url) -> Option<Url> {
        let next = http::location(&self.headers, url)?;
        matches!(next.scheme(), "http" | "https").then_some(next)
    }

    pub(super) fn content_type(&self) -> &str {
        self.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    pub(super) fn media_type(&self) -> &str {
        http::media_type(&self.headers)
    }

    pub(super) fn coding(&self) -> Coding {
        Coding::of(self.headers.get(CONTENT_ENCODING).map(HeaderValue::as_bytes))
    }

    /// How long `Retry-After` says to stay away. A date counts from the `Date` of the answer, so
    /// that clocks may differ; where there is none, it is as good as never.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        let date = |text: &str| httpdate::parse_http_date(text).ok();
        let text = |name| self.headers.get(name).and_then(|value| value.to_str().ok());
        let after = text(RETRY_AFTER)?.trim();
        if let Ok(seconds) = after.parse() {
            return Some(Duration::from_secs(seconds));
        }
        let until = date(after)?;
        Some(match text(DATE).and_then(date) {
            Some(now) => until.duration_since(now).unwrap_or_default(),
            None => Duration::MAX,
        })
    }

    /// Hands the body to `sink` as it comes, up to `limit` bytes. Ends early where it is late or
    /// breaks off: what came is worth having.
    pub(super) async fn read(&mut self, limit: usize, sink: impl FnMut(&[u8])) {
        let _ = timeout(BODY_PATIENCE, http::read(&mut self.body, limit, sink)).await;
    }

    /// Keeps the connection for the next request where the rest of the body is short, or a stream of
    /// its own, which can be left alone.
    pub(super) async fn finish(mut self, client: &Client<'_>) {
        let drained =
            timeout(DRAIN_PATIENCE, http::read(&mut self.body, DRAIN_LIMIT, |_| {})).await;
        let connection = self.body.into_connection();
        if let Ok(Ok(ended)) = drained
            && (ended || connection.is_multiplexed())
        {
            client.pool.keep(self.peer, connection);
        }
    }
}
