//! One POST or PUT to an address that somebody else chose, such as a webhook's. It goes through the SSRF guard, follows no
//! redirects, and reads little of the answer.

use std::time::Duration;

use http_body_util::Full;
use hyper::Method;
use hyper::header::{HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use tokio::time::{Instant, timeout_at};
use url::Url;

use crate::http::{self, Connection, RequestBody};
use crate::ssrf_guard::{ForbiddenTarget, NotAdmitted, SsrfGuard};

/// Bytes of an answer's body that are read; the rest is not waited for. Telegram answers with the whole message, in
/// which a character may take six bytes, and with the one that it is a reply to.
pub const ANSWER_LIMIT: usize = 64 * 1024;

/// How long to wait for that body. The status has already said what happened to the message.
const BODY_TIMEOUT: Duration = Duration::from_secs(2);

/// What to send, and where. Not `Debug`: the URL and the headers may be secret.
#[derive(Clone, Copy)]
pub struct Post<'a> {
    /// Whether it is a PUT.
    pub is_put: bool,
    /// The URL.
    pub url: &'a Url,
    /// Headers, with names in lower case.
    pub headers: &'a [(&'static str, String)],
    /// The body.
    pub body: &'a [u8],
    /// The time for all of it, including the name lookup and the answer.
    pub deadline: Duration,
}

/// An answer with any status.
#[derive(Debug)]
pub struct PostResponse {
    /// The status.
    pub status: u16,
    headers: HeaderMap,
    /// The beginning of the body, as far as it arrived in time.
    pub body: Vec<u8>,
}

impl PostResponse {
    /// The value of a header, if it exists and is text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// Why there is no answer. The text contains neither the URL nor headers.
#[derive(Debug, thiserror::Error)]
pub enum PostError {
    /// The SSRF guard refuses the address: nothing was sent, and nothing will be.
    #[error("{}", .0.reason)]
    Forbidden(ForbiddenTarget),
    /// A header cannot be sent.
    #[error("a header cannot be sent")]
    InvalidHeader,
    /// Nobody answered.
    #[error("{0}")]
    NoAnswer(String),
}

/// Sends the message and returns the answer.
///
/// # Errors
/// See [`PostError`].
pub async fn post(guard: &SsrfGuard, post: &Post<'_>) -> Result<PostResponse, PostError> {
    let until = Instant::now() + post.deadline;
    let headers = headers(post.headers)?;
    let response = timeout_at(until, send(guard, post, headers)).await.map_err(|_| {
        PostError::NoAnswer(format!("no answer within {} s", post.deadline.as_secs_f64()))
    })?;
    let response = response.map_err(|error| match error {
        http::Error::NotAdmitted(NotAdmitted::Forbidden(refusal)) => PostError::Forbidden(refusal),
        error => PostError::NoAnswer(error.to_string()),
    })?;
    let (head, mut incoming) = response.into_parts();
    let mut body = Vec::new();
    let sink = |bytes: &[u8]| body.extend_from_slice(bytes);
    let until = until.min(Instant::now() + BODY_TIMEOUT);
    let _ = timeout_at(until, http::read(&mut incoming, ANSWER_LIMIT, sink)).await;
    Ok(PostResponse { status: head.status.as_u16(), headers: head.headers, body })
}

async fn send(
    guard: &SsrfGuard,
    post: &Post<'_>,
    headers: HeaderMap,
) -> Result<hyper::Response<http::ResponseBody>, http::Error> {
    let mut request =
        http::request(if post.is_put { Method::PUT } else { Method::POST }, post.url, headers)?;
    *request.body_mut() = RequestBody::Left(Full::from(post.body.to_vec()));
    Connection::to(guard, post.url).await?.send(request).await
}

fn headers(given: &[(&'static str, String)]) -> Result<HeaderMap, PostError> {
    let mut headers = HeaderMap::with_capacity(given.len() + 1);
    headers.insert(USER_AGENT, HeaderValue::from_static(crate::USER_AGENT));
    for (name, value) in given {
        let name = HeaderName::try_from(*name).map_err(|_| PostError::InvalidHeader)?;
        let value = HeaderValue::from_str(value).map_err(|_| PostError::InvalidHeader)?;
        headers.insert(name, value);
    }
    Ok(headers)
}
