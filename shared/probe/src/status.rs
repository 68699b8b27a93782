//! The `status` check: one GET, redirects followed, up or down.

#[cfg(test)]
mod tests;

use std::time::Duration;

use hyper::header::{ACCEPT, HeaderMap, HeaderValue};
use tokio::time::{Instant, timeout};
use url::Url;
use vedette_domain::check::{CheckError, StatusResult};

use crate::exchange::{self, Answer};
use crate::guard::{Guard, without_credentials};
use crate::request_header::{RequestHeader, introduce};
use crate::stop::Stop;
pub use crate::stop::{NO_ROUTE, NO_SOCKET};

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
/// [`RESOLVER_UNAVAILABLE`](crate::guard::RESOLVER_UNAVAILABLE),
/// [`INVALID_HEADER`](crate::INVALID_HEADER).
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

/// Requests the last URL of `trail` until the answer is not a redirect to follow.
async fn follow(
    guard: &Guard,
    header: Option<&RequestHeader>,
    trail: &mut Trail<'_>,
) -> Result<Answer, Stop> {
    loop {
        let url = trail.current();
        let target = guard.admit(url).await.map_err(|error| Stop::from_admission(error, url))?;
        let headers = headers(trail.first, url, header);
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

fn headers(first: &Url, url: &Url, header: Option<&RequestHeader>) -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(4);
    headers.insert(ACCEPT, HeaderValue::from_static("*/*"));
    introduce(&mut headers, first, url, header);
    headers
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
