//! The HTTP layer of all engines: connections to admitted targets, requests, redirects, and errors
//! in words for people.
//!
//! It uses hyper's connections without a client. A check must see the target's connection and certificate as they are
//! now, so nothing is pooled by default. Connections are made to an
//! [`AdmittedTarget`](crate::ssrf_guard::AdmittedTarget), so there is no name left to resolve.

pub(crate) mod charset;
pub(crate) mod coding;
mod connection;
mod cookies;
mod dial;
mod error;
mod media_type;
mod paced;
mod redirect;
mod trace;
mod unsupported;

use hyper::header::{HOST, HeaderMap, HeaderValue};
use hyper::http::uri::Uri;
use hyper::{Method, Request, Response};
use url::{Position, Url};

pub(crate) use self::connection::{
    Connection, HEAD_BYTES, HEADER_LINES, RequestBody, ResponseBody, read,
};
pub(crate) use self::cookies::CookieJar;
pub(crate) use self::dial::{MAX_ADDRESSES, dial, dial_address, most_telling, secure, server_name};
pub(crate) use self::error::{Error, Versions};
pub use self::error::{NO_ROUTE, NO_SOCKET, Scheme};
pub(crate) use self::media_type::MediaType;
pub(crate) use self::redirect::{MAX_URL, RedirectChain, follow_or_keep, location, stored};
pub(crate) use self::trace::{Phase, Trace};
pub(crate) use self::unsupported::{explain, explained};
use crate::ssrf_guard::SsrfGuard;

/// Sends a GET for `url` with `headers`, on a new connection like [`send_traced`]. The caller sets the timeout.
pub(crate) async fn get(
    guard: &SsrfGuard,
    url: &Url,
    headers: HeaderMap,
) -> Result<Response<ResponseBody>, Error> {
    send_traced(guard, Method::GET, url, headers, &Trace::default()).await
}

/// Sends a request without a body on a new connection, and measures its phases in `trace`. If an HTTP/2 server has not
/// processed it, it is sent once more, on another connection. The caller sets the timeout.
pub(crate) async fn send_traced(
    guard: &SsrfGuard,
    method: Method,
    url: &Url,
    headers: HeaderMap,
    trace: &Trace,
) -> Result<Response<ResponseBody>, Error> {
    let connection = Connection::traced(guard, url, Versions::All, trace).await?;
    let again = connection.is_multiplexed().then(|| (method.clone(), headers.clone()));
    let response = match (connection.send(request(method, url, headers)?).await, again) {
        (Err(Error::Unprocessed(versions, _)), Some((method, headers))) => {
            let connection = Connection::traced(guard, url, versions, trace).await?;
            connection.send(request(method, url, headers)?).await?
        }
        (sent, _) => sent?,
    };
    trace.responded(response.status().as_u16());
    Ok(response)
}

/// A request without a body. A `Host` in `headers` replaces that of the URL.
pub(crate) fn request(
    method: Method,
    url: &Url,
    headers: HeaderMap,
) -> Result<Request<RequestBody>, Error> {
    let mut request = Request::new(RequestBody::Left(Default::default()));
    *request.method_mut() = method;
    *request.uri_mut() =
        Uri::try_from(&url[..Position::AfterQuery]).map_err(|_| Error::NotSendable)?;
    *request.headers_mut() = headers;
    if !request.headers().contains_key(HOST) {
        let host = HeaderValue::from_str(&url[Position::BeforeHost..Position::AfterPort]);
        request.headers_mut().insert(HOST, host.map_err(|_| Error::NotSendable)?);
    }
    Ok(request)
}
