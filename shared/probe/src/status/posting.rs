//! A status check's POST: it is sent once, over one connection, after somebody has consented.

use std::net::IpAddr;
use std::ops::ControlFlow;
use std::time::Duration;

use futures::future::BoxFuture;
use http_body_util::Full;
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::{Method, Request, Response};
use tokio::time::{Instant, timeout};
use url::Url;
use vedette_domain::checks::check::CheckError;

use super::{Outcome, StatusProbe, follow};
use crate::http::{
    self, Connection, CookieJar, Phase, RedirectChain, RequestBody, ResponseBody, Trace, Versions,
};
use crate::request_header::{RequestHeader, introduce};
use crate::ssrf_guard::SsrfGuard;

/// [`CheckError::code`] when the DNS record with which the host's owner agrees to POSTs is missing, or could not be
/// looked up.
pub const POST_NOT_PROVEN: &str = "post_not_proven";
/// [`CheckError::code`] when too many POSTs were sent to the address.
pub const POST_LIMITED: &str = "post_limited";
/// [`CheckError::code`] when the POST may have been sent, and its response is lost.
pub const POST_LOST: &str = "post_lost";

/// What to post. Not `Debug`: the body may contain secrets.
#[derive(Clone, Copy)]
pub struct StatusPost<'a> {
    /// The value of `Content-Type`.
    pub content_type: &'a str,
    /// The body.
    pub body: &'a str,
    /// Who decides whether it is sent.
    pub consent: &'a dyn Consent,
}

/// Decides whether a POST is sent.
pub trait Consent: Send + Sync {
    /// Called once for a probe, when it is connected to this address (`None` if the system does not tell it) and has
    /// sent nothing yet. An error ends the probe. The time that the decision takes does not count.
    fn may_post(&self, address: Option<IpAddr>) -> BoxFuture<'_, Result<(), CheckError>>;
}

/// A request, and the connection that only this request uses.
pub(super) struct First {
    connection: Connection,
    request: Request<RequestBody>,
}

impl First {
    /// Sends the request. Nothing sends it again if the connection is lost. A redirect is followed with a GET, as
    /// browsers do; one that asks for the same method (307 and 308) is the final response.
    pub(super) async fn send(
        self,
        url: &Url,
        trace: &Trace,
        cookies: &CookieJar,
    ) -> Result<ControlFlow<Response<ResponseBody>, Url>, http::Error> {
        let response = self.connection.send(self.request).await?;
        trace.responded(response.status().as_u16());
        cookies.keep(response.headers(), url);
        match response.status().as_u16() {
            307 | 308 => Ok(ControlFlow::Break(response)),
            _ => Ok(http::follow_or_keep(response, url)?),
        }
    }
}

/// Posts, and follows redirects. Also returns how long the decision took.
pub(super) async fn follow_post(
    guard: &SsrfGuard,
    probe: &StatusProbe<'_>,
    post: &StatusPost<'_>,
    header: Option<&RequestHeader>,
    chain: &mut RedirectChain<'_>,
    trace: &Trace,
) -> Result<(Outcome, Duration), CheckError> {
    let (url, started) = (chain.first, Instant::now());
    let request = match request(post, url, header) {
        Ok(request) => request,
        Err(error) => return Ok((Ok(Err(error)), Duration::ZERO)),
    };
    let connecting = async {
        let connection = Connection::traced(guard, url, Versions::All, trace).await;
        http::explained(connection, guard, url, trace).await
    };
    let connection = match timeout(probe.deadline, connecting).await {
        Ok(Ok(connection)) => connection,
        Ok(Err(error)) => return Ok((Ok(Err(error)), Duration::ZERO)),
        Err(late) => return Ok((Err(late), Duration::ZERO)),
    };
    let left = probe.deadline.saturating_sub(started.elapsed());
    trace.pause();
    let asked = Instant::now();
    post.consent.may_post(trace.address().map(|address| address.ip())).await?;
    let waited = asked.elapsed();
    trace.enter(Phase::FirstByte);
    let first = Some(Box::new(First { connection, request }));
    let followed = follow(guard, &Method::GET, header, chain, trace, first);
    Ok((timeout(left, followed).await, waited))
}

fn request(
    post: &StatusPost<'_>,
    url: &Url,
    header: Option<&RequestHeader>,
) -> Result<Request<RequestBody>, http::Error> {
    let mut headers = HeaderMap::with_capacity(5);
    headers.insert(ACCEPT, HeaderValue::from_static("*/*"));
    let content_type = HeaderValue::from_str(post.content_type);
    headers.insert(CONTENT_TYPE, content_type.map_err(|_| http::Error::NotSendable)?);
    introduce(&mut headers, url, url, header);
    let mut request = http::request(Method::POST, url, headers)?;
    *request.body_mut() = RequestBody::Left(Full::from(post.body.as_bytes().to_vec()));
    Ok(request)
}
