//! The `status` check: one request, redirects followed, up or down.

mod evidence;
mod judging;
mod posting;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::pin::pin;
use std::time::Duration;

use hyper::body::Body as _;
use hyper::header::{ACCEPT, HeaderMap, HeaderValue};
use hyper::{Method, Response, StatusCode, Version};
use ring::digest;
use tokio::time::error::Elapsed;
use tokio::time::{Instant, timeout};
use url::Url;
use vedette_domain::checks::check::{CheckError, Phases, StatusResult};
use vedette_domain::checks::evidence::{BODY_KEPT, Evidence, Redaction};
use vedette_domain::expectations::{CheckMethod, Expectations};
use vedette_domain::issues::evaluate::is_down;
use vedette_domain::sites::site_url::may_share_secrets;

use self::judging::Judging;
pub use self::posting::{Consent, POST_LIMITED, POST_LOST, POST_NOT_PROVEN, StatusPost};
use self::posting::{First, follow_post};
use crate::connectivity::Connectivity;
use crate::http::{self, CookieJar, RedirectChain, ResponseBody, Trace, follow_or_keep, stored};
pub use crate::http::{NO_ROUTE, NO_SOCKET};
use crate::request_header::{RequestHeader, introduce};
use crate::ssrf_guard::SsrfGuard;

/// Default deadline of a whole probe.
pub const DEADLINE: Duration = vedette_domain::checks::tool::Tool::Status.limits().deadline;

/// Redirects followed; one more ends the probe without a response.
pub const MAX_REDIRECTS: usize = 10;

/// The most bytes of the final response's body that are read, unless more of it is expected; evidence keeps the first of
/// them.
const BODY_LIMIT: usize = 64 * 1024;

/// Timeout of that body: an endless or slow one must not block a worker. If something is expected of the body, it may
/// take until the deadline.
const BODY_TIMEOUT: Duration = Duration::from_millis(500);

/// What to probe. Not `Debug`: the header's value is a secret.
#[derive(Clone, Copy)]
pub struct StatusProbe<'a> {
    /// The monitored URL.
    pub url: &'a Url,
    /// The method of the request, unless there is something to post.
    pub method: CheckMethod,
    /// What to post to `url`.
    pub post: Option<StatusPost<'a>>,
    /// Name and value of the site's request header. After a redirect, it is sent only where `url` may
    /// [share its secrets](may_share_secrets).
    pub header: Option<(&'a str, &'a str)>,
    /// The time limit for the whole probe, including redirects; see [`DEADLINE`].
    pub deadline: Duration,
    /// Tells the target's failures from our own. Without it, every failure is the target's.
    pub connectivity: Option<&'a Connectivity>,
    /// What is expected of the response.
    pub expected: Option<Expected<'a>>,
}

/// What is expected of a response.
#[derive(Debug, Clone, Copy)]
pub struct Expected<'a> {
    /// The expectations of the site.
    pub expectations: &'a Expectations,
    /// The codes with which the site is down, so that nothing is judged.
    pub incident_codes: &'a BTreeSet<u16>,
}

impl<'a> Expected<'a> {
    /// The expectations of a response with this code, if there is anything to judge.
    fn of_code(self, code: u16) -> Option<&'a Expectations> {
        let Self { expectations, incident_codes } = self;
        (!expectations.is_empty() && !is_down(code, incident_codes)).then_some(expectations)
    }
}

/// Probes a URL once.
///
/// `response_time` runs from the start, including the name lookup, to the head of the final
/// response, or to the failure; in milliseconds with two decimals. `url` and the URLs of redirects
/// are as the `url` crate formats them (`https://example.com/` with its slash); of longer ones, the first 2,048 bytes.
///
/// A redirect without a `Location`, or with an empty one, is the final response. The target is down if no visitor can
/// follow its redirect: to something that is not a URL of http or https, or of more than 8 KB, or to an address outside
/// the public Internet. As for any client, an `https` target is down if its certificate is not trusted.
///
/// Cookies that a redirect sets are sent with the following requests, and then dropped.
///
/// The beginning of the final response's body is read. If it ends there, before the announced length, the request was
/// not completed, and the target is down. A body that breaks off without an announced length does not make it so.
///
/// If the target is not down, the response is compared with what is expected of it. If its body cannot be read that far,
/// expectations of it are unmet.
///
/// A POST is sent to `url` alone, at most once, and its redirects are followed with GET. A 307 or 308, which asks for
/// another POST, is not followed: the redirect itself is then the final response.
///
/// # Errors
/// When the check could not run, which says nothing about the target: the guard refuses the URL, or a redirect into a
/// private network although it allows others, or to this service
/// ([`TARGET_FORBIDDEN`](crate::ssrf_guard::TARGET_FORBIDDEN)), [`NO_ROUTE`], [`NO_SOCKET`], [`RESOLVER_UNAVAILABLE`](crate::ssrf_guard::RESOLVER_UNAVAILABLE),
/// [`INVALID_HEADER`](crate::INVALID_HEADER),
/// [`NO_CONNECTIVITY`](crate::connectivity::NO_CONNECTIVITY), or what [`Consent`] answers to a POST.
pub async fn probe(guard: &SsrfGuard, probe: &StatusProbe<'_>) -> Result<StatusResult, CheckError> {
    Ok(run(guard, probe, &probe.redaction(), &mut Vec::new()).await?.0)
}

/// As [`probe`], with its evidence.
///
/// # Errors
/// As [`probe`].
pub async fn probe_with_evidence(
    guard: &SsrfGuard,
    probe: &StatusProbe<'_>,
) -> Result<(StatusResult, Evidence), CheckError> {
    let (mut body, redaction) = (Vec::new(), probe.redaction());
    let (result, seen) = run(guard, probe, &redaction, &mut body).await?;
    let evidence = evidence::collect(&result, seen, &body, &redaction);
    Ok((result, evidence))
}

impl StatusProbe<'_> {
    /// Finds what is sent and may be secret.
    fn redaction(&self) -> Redaction {
        let redaction = self.header.map(|(_, value)| Redaction::of(value)).unwrap_or_default();
        match &self.post {
            Some(post) => redaction.and_body(post.body),
            None => redaction,
        }
    }
}

/// The final response, `None` after too many redirects, or why there is none.
type Outcome = Result<Result<Option<Response<ResponseBody>>, http::Error>, Elapsed>;

/// What a probe saw, beside its result.
struct Seen {
    trace: Trace,
    /// The head of the final response, and what was read of its body.
    response: Option<(Version, StatusCode, HeaderMap, BodyRead)>,
}

impl Seen {
    /// The result with the phases of its requests, beside the rest.
    fn with_phases(self, result: StatusResult) -> (StatusResult, Self) {
        (StatusResult { phases: Phases::of(self.trace.timing()), ..result }, self)
    }
}

/// What was read of a body.
struct BodyRead {
    bytes: u64,
    sha256: digest::Context,
    /// Whether that is all of it.
    is_whole: bool,
}

impl BodyRead {
    fn new() -> Self {
        Self { bytes: 0, sha256: digest::Context::new(&digest::SHA256), is_whole: false }
    }
}

/// Probes once; `body` gets the beginning of the final response's body. The texts of the result, or of the error, have
/// lost what they repeat of the request.
async fn run(
    guard: &SsrfGuard,
    probe: &StatusProbe<'_>,
    redaction: &Redaction,
    body: &mut Vec<u8>,
) -> Result<(StatusResult, Seen), CheckError> {
    let header = probe.header.map(RequestHeader::parse).transpose()?;
    let started = Instant::now();
    let mut chain = RedirectChain::new(probe.url);
    let mut seen = Seen { trace: Trace::default(), response: None };
    let method = match probe.method {
        CheckMethod::Get => Method::GET,
        CheckMethod::Head => Method::HEAD,
    };
    let header = header.as_ref();
    let (outcome, waited) = match &probe.post {
        None => {
            let followed = follow(guard, &method, header, &mut chain, &seen.trace, None);
            (timeout(probe.deadline, followed).await, Duration::ZERO)
        }
        // Few checks post. Boxing keeps its memory out of the others.
        Some(post) => {
            Box::pin(follow_post(guard, probe, post, header, &mut chain, &seen.trace)).await?
        }
    };
    let mut elapsed = started.elapsed().saturating_sub(waited);
    let (why, may_be_ours) = match outcome {
        Ok(Ok(Some(mut response))) => {
            let mut result = result(&chain, redaction, response.status().as_u16(), elapsed);
            let expectations = probe.expected.and_then(|expected| expected.of_code(result.code));
            let mut judging = expectations.map(|of| Judging::new(of, response.headers()));
            let wanted = judging.as_ref().map_or(0, Judging::wanted);
            let mut read = BodyRead::new();
            let left = probe.deadline.saturating_sub(elapsed);
            let received = {
                let receiving =
                    read_body(&mut response, &method, BODY_LIMIT.max(wanted), |bytes| {
                        if let Some(judging) = &mut judging {
                            judging.push(bytes);
                        }
                        let room = BODY_LIMIT.saturating_sub(read.bytes as usize);
                        let bytes = &bytes[..bytes.len().min(room)];
                        read.bytes += bytes.len() as u64;
                        read.sha256.update(bytes);
                        let room = BODY_KEPT.saturating_sub(body.len());
                        body.extend(&bytes[..bytes.len().min(room)]);
                    });
                let mut receiving = pin!(receiving);
                match timeout(BODY_TIMEOUT.min(left), receiving.as_mut()).await {
                    Ok(received) => Received::Soon(received),
                    Err(_) if wanted > 0 => {
                        let rest = left.saturating_sub(BODY_TIMEOUT);
                        Received::Late(timeout(rest, receiving).await.ok())
                    }
                    Err(_) => Received::Late(None),
                }
            };
            let is_beginning = read.bytes < BODY_LIMIT as u64;
            read.is_whole = is_beginning
                && matches!(
                    received,
                    Received::Soon(BodyEnd::Read) | Received::Late(Some(BodyEnd::Read))
                );
            if let Some(judging) = judging {
                let cut = received.why_cut(probe.deadline);
                result.judged = Some(judging.end(&result, response.headers(), cut, redaction));
            }
            let (head, _) = response.into_parts();
            seen.response = Some((head.version, head.status, head.headers, read));
            match received {
                Received::Soon(BodyEnd::Truncated { why, may_be_ours })
                    if result.up && is_beginning =>
                {
                    elapsed = started.elapsed().saturating_sub(waited);
                    (redaction.apply(&why), may_be_ours)
                }
                // A body that takes longer is not waited for.
                _ => return Ok(seen.with_phases(result)),
            }
        }
        Ok(Ok(None)) => (format!("more than {MAX_REDIRECTS} redirects"), false),
        Ok(Err(error)) => {
            let error = if chain.is_redirected() { error.after_redirect(guard) } else { error };
            let may_be_ours = error.may_be_ours();
            (error.target_failure(chain.current(), redaction)?, may_be_ours)
        }
        Err(_) => (format!("no answer within {} s", probe.deadline.as_secs_f64()), true),
    };
    // Before anything else takes time: the phase in which the check ended ends now.
    seen.trace.timing();
    if let Some(connectivity) = probe.connectivity.filter(|_| may_be_ours) {
        connectivity.confirm_for(guard, chain.current(), started, &why).await?;
    }
    let result = StatusResult { error: Some(why), ..result(&chain, redaction, 0, elapsed) };
    Ok(seen.with_phases(result))
}

/// How the beginning of a body ended.
enum BodyEnd {
    /// At the end of the body, or at the limit.
    Read,
    /// It broke off, and no length had been announced.
    BrokeOff,
    /// Before its announced length.
    Truncated {
        why: String,
        /// Whether our own connection may be the reason.
        may_be_ours: bool,
    },
}

/// When reading a body ended.
enum Received {
    /// Within [`BODY_TIMEOUT`].
    Soon(BodyEnd),
    /// Later; `None` if it was given up.
    Late(Option<BodyEnd>),
}

impl Received {
    /// Why a part of the body is missing.
    fn why_cut(&self, deadline: Duration) -> Option<String> {
        match self {
            Self::Soon(BodyEnd::Read) | Self::Late(Some(BodyEnd::Read)) => None,
            Self::Soon(_) | Self::Late(Some(_)) => Some("an incomplete body".to_owned()),
            Self::Late(None) => {
                Some(format!("a body that does not end within {} s", deadline.as_secs_f64()))
            }
        }
    }
}

/// The final response; `None` after too many redirects. All requests have the same method, except for the `first` one if
/// it is given.
async fn follow(
    guard: &SsrfGuard,
    method: &Method,
    header: Option<&RequestHeader>,
    chain: &mut RedirectChain<'_>,
    trace: &Trace,
    mut first: Option<Box<First>>,
) -> Result<Option<Response<ResponseBody>>, http::Error> {
    let home = chain.first;
    let cookies = &CookieJar::default();
    let request = |url: Url| {
        let first = first.take();
        async move {
            if let Some(first) = first {
                return first.send(&url, trace, cookies).await;
            }
            let mut headers = HeaderMap::with_capacity(5);
            headers.insert(ACCEPT, HeaderValue::from_static("*/*"));
            let header = header.filter(|_| may_share_secrets(home, &url));
            introduce(&mut headers, home, &url, header);
            cookies.add_to(&mut headers, &url);
            let sent = http::send_traced(guard, method.clone(), &url, headers, trace).await;
            let response = http::explained(sent, guard, &url, trace).await?;
            cookies.keep(response.headers(), &url);
            Ok(follow_or_keep(response, &url)?)
        }
    };
    chain.follow(MAX_REDIRECTS, request).await
}

/// Reads the beginning of a body into `sink`, so that an ordinary server sees its response accepted rather than
/// aborted.
async fn read_body(
    response: &mut Response<ResponseBody>,
    method: &Method,
    limit: usize,
    mut sink: impl FnMut(&[u8]),
) -> BodyEnd {
    let has_body = *method != Method::HEAD
        && !matches!(response.status(), StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
    let announced = response.body().size_hint().exact().filter(|_| has_body);
    let mut received = 0;
    let count = |bytes: &[u8]| {
        received += bytes.len() as u64;
        sink(bytes);
    };
    let read = http::read(response.body_mut(), limit, count).await;
    match (read, announced) {
        (Ok(false), _) | (Ok(true), None) => BodyEnd::Read,
        (Err(_), None) => BodyEnd::BrokeOff,
        (read, Some(announced)) if received < announced => BodyEnd::Truncated {
            why: format!("the response ended after {received} of {announced} bytes"),
            may_be_ours: read.is_err_and(|error| http::Error::Exchange(error).may_be_ours()),
        },
        (_, Some(_)) => BodyEnd::Read,
    }
}

fn result(
    chain: &RedirectChain<'_>,
    redaction: &Redaction,
    code: u16,
    elapsed: Duration,
) -> StatusResult {
    let redirects = chain.redirects(redaction);
    StatusResult {
        up: (200..400).contains(&code),
        code,
        url: chain.first.to_string(),
        effective_url: redirects.last().cloned().unwrap_or_else(|| stored(chain.first.as_str())),
        response_time: (elapsed.as_secs_f64() * 100_000.0).round() / 100.0,
        redirected: chain.is_redirected(),
        // At most MAX_REDIRECTS.
        redirect_count: redirects.len() as u32,
        redirects,
        error: None,
        phases: None,
        judged: None,
    }
}
