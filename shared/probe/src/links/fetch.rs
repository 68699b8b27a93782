//! The HTTP client of a crawl.
//!
//! Unlike the status check, which looks at one connection, a crawl asks the same few servers
//! thousands of times: connections are kept, and what the guard admitted is remembered for a moment.

mod coding;
mod wire;

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http_body_util::{BodyExt, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, DATE, HOST, HeaderMap, HeaderValue,
    LOCATION, RETRY_AFTER,
};
use hyper::{Method, Request, Response, Uri};
use tokio::time::{Instant, timeout, timeout_at};
use url::{Position, Url};
use vedette_domain::check::CheckError;

pub(super) use self::coding::{Coding, unpack};
use self::wire::{Peer, Wire, Wires};
use super::canonical::{URL_LIMIT, canonical, origin_of, without_www};
use super::traffic::{Share, Traffic, Turn};
use crate::connect::{ADDRESSES_TRIED, connect_to, verdict};
use crate::exchange::authority;
use crate::guard::{Guard, Target};
use crate::request_header::{RequestHeader, introduce};
use crate::stop::Stop;

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
    wires: Wires,
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
            wires: Wires::default(),
            places: Mutex::default(),
            next_id: AtomicU32::new(0),
            reading: tokio::sync::Mutex::default(),
        }
    }

    /// Sends a request without body once its turn has come, and waits for the head of its answer.
    pub(super) async fn send(&self, method: Method, url: &Url) -> Result<Answer, NoAnswer> {
        let request = self.request(method, url).ok_or(NoAnswer::Silent)?;
        let admitted = timeout(CONNECT_PATIENCE, self.admit(url)).await;
        let place = admitted.unwrap_or(Err(NoAnswer::Unresolved))?;
        let is_own = self.is_own(url);
        if let Some((peer, mut wire)) = self.wires.take(place.id) {
            let Some(turn) = self.share.turn(peer.address, is_own).await else {
                self.wires.keep(peer, wire);
                return Err(NoAnswer::NoTurn);
            };
            let response = timeout(HEAD_PATIENCE, async {
                if wire.is_ready().await { wire.send(request.clone()).await.ok() } else { None }
            });
            match response.await {
                Ok(Some(response)) => return Ok(Answer::new(response, peer, wire, turn)),
                // It may have been closed in the meantime, which is no answer: ask again on a new one.
                Ok(None) => {}
                Err(_) => return Err(NoAnswer::Silent),
            }
        }
        let mut untried = place.target.addresses().iter().take(ADDRESSES_TRIED);
        let mut failures = Vec::new();
        while let Some(address) = untried.next() {
            let peer = Peer { place: place.id, address: address.ip().to_canonical() };
            let turn = self.share.turn(peer.address, is_own).await.ok_or(NoAnswer::NoTurn)?;
            let since = Instant::now();
            let patience = if untried.len() > 0 { ATTEMPT_PATIENCE } else { CONNECT_PATIENCE };
            let stream = match timeout(patience, connect_to(*address)).await {
                Ok(Ok(stream)) => stream,
                Ok(Err(error)) => {
                    failures.push((*address, error));
                    continue;
                }
                Err(_) => {
                    failures.push((*address, io::ErrorKind::TimedOut.into()));
                    continue;
                }
            };
            let opened = self.wires.open(self.guard, stream, url);
            let Ok(Ok(mut wire)) = timeout_at(since + CONNECT_PATIENCE, opened).await else {
                return Err(NoAnswer::Unreachable);
            };
            return match timeout_at(since + HEAD_PATIENCE, wire.send(request)).await {
                Ok(Ok(response)) => Ok(Answer::new(response, peer, wire, turn)),
                Ok(Err(_)) | Err(_) => Err(NoAnswer::Silent),
            };
        }
        Err(Stop::from_connect(verdict(failures), url).into())
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
        let target = self.guard.admit(url).await.map_err(|error| {
            let refused = matches!(error, crate::guard::NotAdmitted::Refused(_));
            match Stop::from_admission(error, url) {
                Stop::Failed(error) if refused => NoAnswer::Forbidden(error),
                stop => stop.into(),
            }
        })?;
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

    /// The request, or none for a URL that HTTP cannot carry.
    fn request(&self, method: Method, url: &Url) -> Option<Request<Empty<Bytes>>> {
        let mut request = Request::new(Empty::new());
        *request.method_mut() = method;
        *request.uri_mut() = Uri::try_from(&url[..Position::AfterQuery]).ok()?;
        let headers = request.headers_mut();
        headers.insert(ACCEPT, HeaderValue::from_static("text/html,*/*;q=0.9"));
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(coding::ACCEPTED));
        headers.insert(HOST, HeaderValue::from_str(authority(url)).ok()?);
        introduce(headers, self.home, url, self.header);
        Some(request)
    }
}

impl From<Stop> for NoAnswer {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Failed(error) => Self::Unable(error),
            Stop::Unanswered(_) => Self::Unreachable,
        }
    }
}

/// The head of an answer, with the connection that brings its body.
pub(super) struct Answer {
    pub(super) status: u16,
    headers: HeaderMap,
    body: Incoming,
    peer: Peer,
    wire: Wire,
    /// Ends with the answer.
    _turn: Turn,
}

impl Answer {
    fn new(response: Response<Incoming>, peer: Peer, wire: Wire, turn: Turn) -> Self {
        let (head, body) = response.into_parts();
        let (status, headers) = (head.status.as_u16(), head.headers);
        Self { status, headers, body, peer, wire, _turn: turn }
    }

    /// Whether it sends the visitor elsewhere.
    pub(super) fn is_redirect(&self) -> bool {
        (300..400).contains(&self.status) && self.headers.contains_key(LOCATION)
    }

    /// Where to, from `url`, in canonical form.
    pub(super) fn location(&self, url: &Url) -> Option<String> {
        let location = std::str::from_utf8(self.headers.get(LOCATION)?.as_bytes()).ok()?.trim();
        let next = url.join(location).ok().filter(|_| !location.is_empty())?;
        let next = matches!(next.scheme(), "http" | "https").then(|| canonical(next))?;
        (next.len() <= URL_LIMIT).then_some(next)
    }

    pub(super) fn content_type(&self) -> &str {
        self.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default()
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
    pub(super) async fn read(&mut self, limit: usize, mut sink: impl FnMut(&[u8])) {
        let _ = timeout(BODY_PATIENCE, async {
            let mut left = limit;
            while left > 0 {
                let Some(Ok(frame)) = self.wire.drive(self.body.frame()).await else {
                    return;
                };
                if let Some(bytes) = frame.data_ref() {
                    let taken = bytes.len().min(left);
                    sink(&bytes[..taken]);
                    left -= taken;
                }
            }
        })
        .await;
    }

    /// Keeps the connection for the next request where the rest of the body is short.
    pub(super) async fn finish(mut self, client: &Client<'_>) {
        let drained = timeout(DRAIN_PATIENCE, async {
            let mut taken = 0;
            while taken <= DRAIN_LIMIT {
                match self.wire.drive(self.body.frame()).await {
                    Some(Ok(frame)) => taken += frame.data_ref().map_or(0, Bytes::len),
                    Some(Err(_)) => return false,
                    None => return true,
                }
            }
            // A stream of its own can be left alone.
            matches!(self.wire, Wire::Http2(_))
        });
        if drained.await == Ok(true) {
            client.wires.keep(self.peer, self.wire);
        }
    }
}
