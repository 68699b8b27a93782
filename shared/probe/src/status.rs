//! The `status` check: one GET, redirects followed, up or down.

#[cfg(test)]
mod tests;

use std::time::Duration;

use hyper::header::{
    ACCEPT, CONNECTION, CONTENT_LENGTH, EXPECT, HeaderMap, HeaderName, HeaderValue, TE, TRAILER,
    TRANSFER_ENCODING, UPGRADE, USER_AGENT,
};
use serde_json::json;
use tokio::time::{Instant, timeout};
use url::Url;
use vedette_domain::check::{CheckError, StatusResult};

use crate::connect::ConnectError;
use crate::exchange::{self, Answer, ExchangeError};
use crate::failure;
use crate::guard::{Guard, NotAdmitted, RESOLVER_UNAVAILABLE, without_credentials};

/// How long a whole probe may take, unless the caller has less.
pub const DEADLINE: Duration = Duration::from_secs(30);

/// Redirects followed; the next one ends the probe without an answer.
pub const MAX_REDIRECTS: usize = 10;

/// Bytes of the final answer's body that are read at most, and dropped.
const BODY_LIMIT: usize = 64 * 1024;

/// How long that body is waited for. The verdict stands by then; an endless or slow body must not
/// hold a worker.
const BODY_PATIENCE: Duration = Duration::from_millis(500);

/// The longest URL that a redirect is followed to, in bytes: as long as a site's own may be, and a
/// bound on what a target can have us store.
const URL_LIMIT: usize = vedette_domain::site_url::MAX_LENGTH;

/// [`CheckError::code`] when all addresses of the target are IPv6, and this machine has no route
/// to them.
pub const NO_ROUTE: &str = "no_route";

/// [`CheckError::code`] when this machine is out of sockets, ports or memory.
pub const NO_SOCKET: &str = "no_socket";

/// [`CheckError::code`] when the request header cannot be sent.
pub const INVALID_HEADER: &str = "invalid_header";

/// What to probe. Not `Debug`: the header's value is a secret.
#[derive(Clone, Copy)]
pub struct StatusProbe<'a> {
    /// The monitored URL.
    pub url: &'a Url,
    /// Name and value of the site's request header, sent to the host of `url` only.
    pub header: Option<(&'a str, &'a str)>,
    /// For the whole probe, redirects included; see [`DEADLINE`].
    pub deadline: Duration,
}

/// Probes a URL once.
///
/// `response_time` runs from the start, the lookup of the name included, to the head of the final
/// answer, or to the failure; in milliseconds with two decimals. `url` and the URLs of redirects
/// are as the `url` crate spells them (`https://example.com/` with its slash).
///
/// A `Location` that is empty, not text, not a URL or over 2,048 bytes is not followed: the redirect
/// itself is then the final answer. An `https` target is down when its certificate is not trusted,
/// as for any client.
///
/// # Errors
/// When the check could not run, which says nothing of the target: a URL or redirect that the guard
/// refuses ([`TARGET_FORBIDDEN`](crate::guard::TARGET_FORBIDDEN)), [`NO_ROUTE`], [`NO_SOCKET`],
/// [`RESOLVER_UNAVAILABLE`], [`INVALID_HEADER`].
pub async fn probe(guard: &Guard, probe: &StatusProbe<'_>) -> Result<StatusResult, CheckError> {
    let header = probe.header.map(RequestHeader::parse).transpose()?;
    let started = Instant::now();
    let mut trail = Trail { first: probe.url, redirects: Vec::new() };
    let outcome = timeout(probe.deadline, follow(guard, header.as_ref(), &mut trail)).await;
    let elapsed = started.elapsed();
    match outcome {
        Ok(Ok(answer)) => {
            let result = trail.result(answer.status.as_u16(), elapsed, None);
            let patience = BODY_PATIENCE.min(probe.deadline.saturating_sub(elapsed));
            // Running out of patience is one more way to be done with the body.
            let _ = timeout(patience, answer.discard_body(BODY_LIMIT)).await;
            Ok(result)
        }
        Ok(Err(Stop::Failed(error))) => Err(error),
        Ok(Err(Stop::Unanswered(why))) => Ok(trail.result(0, elapsed, Some(why))),
        Err(_) => {
            let why = format!("no answer within {} s", probe.deadline.as_secs_f64());
            Ok(trail.result(0, elapsed, Some(why)))
        }
    }
}

/// Why a probe ends without a final answer.
enum Stop {
    /// The check could not run.
    Failed(CheckError),
    /// The target gave none; in words for people.
    Unanswered(String),
}

/// Requests the last URL of `trail` until the answer is not a redirect to follow.
async fn follow(
    guard: &Guard,
    header: Option<&RequestHeader>,
    trail: &mut Trail<'_>,
) -> Result<Answer, Stop> {
    loop {
        let url = trail.current();
        let target = guard.admit(url).await.map_err(|error| Stop::from_admission(error, url))?;
        let headers = headers(header.filter(|_| is_at_home(trail.first, url)));
        let answer = exchange::get(guard, &target, url, headers)
            .await
            .map_err(|error| Stop::from_exchange(error, url))?;
        let Some(next) = next_url(&answer, url) else {
            return Ok(answer);
        };
        if trail.redirects.len() == MAX_REDIRECTS {
            return Err(Stop::Unanswered(format!("more than {MAX_REDIRECTS} redirects")));
        }
        trail.redirects.push(next);
    }
}

/// Where `answer` redirects to, if it does so in a way to follow.
fn next_url(answer: &Answer, url: &Url) -> Option<Url> {
    if !matches!(answer.status.as_u16(), 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let location = answer.location()?.trim();
    if location.is_empty() {
        return None;
    }
    let mut next = without_credentials(&url.join(location).ok()?);
    // Never sent, so it would only make equal URLs look different.
    next.set_fragment(None);
    (next.as_str().len() <= URL_LIMIT).then_some(next)
}

/// Whether a request to `url` may carry the header meant for `first`: to the same host, and not in
/// clear text where `first` is encrypted.
fn is_at_home(first: &Url, url: &Url) -> bool {
    url.host() == first.host() && (url.scheme() == "https" || first.scheme() == "http")
}

fn headers(header: Option<&RequestHeader>) -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(4);
    headers.insert(USER_AGENT, HeaderValue::from_static(crate::USER_AGENT));
    headers.insert(ACCEPT, HeaderValue::from_static("*/*"));
    if let Some(RequestHeader { name, value }) = header {
        headers.insert(name, value.clone());
    }
    headers
}

/// The site's own request header; in place of ours where the names are equal.
struct RequestHeader {
    name: HeaderName,
    value: HeaderValue,
}

/// These describe the connection or a body, and are not a site's to set.
const FRAMING: [HeaderName; 7] =
    [CONNECTION, CONTENT_LENGTH, EXPECT, TE, TRAILER, TRANSFER_ENCODING, UPGRADE];

impl RequestHeader {
    fn parse((name, value): (&str, &str)) -> Result<Self, CheckError> {
        let refused = |message: &str| CheckError {
            message: message.to_owned(),
            code: INVALID_HEADER.to_owned(),
            data: json!({ "name": name }),
        };
        let parsed = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| refused("the request header's name is not valid"))?;
        if FRAMING.contains(&parsed) {
            return Err(refused("the request header would break the request"));
        }
        let mut value = HeaderValue::from_bytes(value.as_bytes())
            .map_err(|_| refused("the request header's value is not valid"))?;
        value.set_sensitive(true);
        Ok(Self { name: parsed, value })
    }
}

/// The URLs requested so far; kept outside the request, so that a probe that runs out of time can
/// still say how far it came.
struct Trail<'a> {
    first: &'a Url,
    redirects: Vec<Url>,
}

impl Trail<'_> {
    fn current(&self) -> &Url {
        self.redirects.last().unwrap_or(self.first)
    }

    fn result(&self, code: u16, elapsed: Duration, error: Option<String>) -> StatusResult {
        StatusResult {
            up: (200..400).contains(&code),
            code,
            url: self.first.to_string(),
            effective_url: self.current().to_string(),
            response_time: (elapsed.as_secs_f64() * 100_000.0).round() / 100.0,
            redirected: !self.redirects.is_empty(),
            // At most MAX_REDIRECTS.
            redirect_count: self.redirects.len() as u32,
            redirects: self.redirects.iter().map(Url::to_string).collect(),
            error,
        }
    }
}

impl Stop {
    fn from_admission(error: NotAdmitted, url: &Url) -> Self {
        match error {
            NotAdmitted::Refused(refusal) => Self::Failed(refusal.into()),
            NotAdmitted::Unresolved(unresolved) => Self::Unanswered(unresolved.to_string()),
            NotAdmitted::ResolverUnavailable(why) => {
                tracing::warn!(%why, "no name server can be reached");
                Self::failed("no name server can be reached", RESOLVER_UNAVAILABLE, url)
            }
        }
    }

    fn from_exchange(error: ExchangeError, url: &Url) -> Self {
        match error {
            ExchangeError::Unanswered(why) => Self::Unanswered(why),
            ExchangeError::Connect(ConnectError::Failed(error)) => {
                Self::Unanswered(failure::of_connection(&error).to_owned())
            }
            ExchangeError::Connect(ConnectError::NoRoute) => Self::failed(
                "the target has IPv6 addresses only, and IPv6 is not available here",
                NO_ROUTE,
                url,
            ),
            ExchangeError::Connect(ConnectError::NoSocket(error)) => {
                tracing::warn!(%error, "out of sockets");
                Self::failed("this machine is out of sockets", NO_SOCKET, url)
            }
        }
    }

    fn failed(message: &str, code: &str, url: &Url) -> Self {
        Self::Failed(CheckError {
            message: message.to_owned(),
            code: code.to_owned(),
            data: json!({ "url": without_credentials(url).as_str() }),
        })
    }
}
