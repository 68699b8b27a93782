//! One GET on a connection of its own.
//!
//! hyper's connections without a client around them: a check must see the target's connection and
//! certificate as they are now, so there is nothing to pool, and the connection is made to a
//! [`Target`], so there is no name left to resolve.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::{Body, Bytes, Incoming};
use hyper::client::conn::{http1, http2};
use hyper::header::{HOST, HeaderMap, HeaderValue, LOCATION};
use hyper::http::uri::{Authority, PathAndQuery, Scheme, Uri};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use url::{Host, Position, Url};

use crate::connect::{ConnectError, connect};
use crate::failure;
use crate::guard::{Guard, Target};
use crate::paced::Paced;

/// Bytes of an answer's head, and of what is buffered or in flight beyond it. Servers and proxies
/// send heads of 8 to 32 KiB at most.
const BUFFER: usize = 64 * 1024;

/// Header lines of an answer; hyper's own 100 is within reach of real sites.
const HEADER_LINES: usize = 256;

/// Why a GET has no answer.
#[derive(Debug)]
pub(crate) enum ExchangeError {
    /// The connection could not be made.
    Connect(ConnectError),
    /// The target was reached, and what followed is not an answer; in words for people.
    Unanswered(String),
}

/// The head of an answer, with the connection that may hold more.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    headers: HeaderMap,
    body: Incoming,
    connection: Connection,
}

impl Answer {
    /// The `Location` header, where it is there and text.
    pub(crate) fn location(&self) -> Option<&str> {
        std::str::from_utf8(self.headers.get(LOCATION)?.as_bytes()).ok()
    }

    /// The whole body; none when it is longer than `limit` bytes or breaks off. Bounded in time by
    /// the caller.
    pub(crate) async fn body(mut self, limit: usize) -> Option<Bytes> {
        let body = self.connection.drive(Limited::new(self.body, limit).collect()).await;
        Some(body.ok()?.to_bytes())
    }

    /// Takes in up to `limit` bytes of the body and drops them with the connection, so that an
    /// ordinary server sees its answer fetched, not torn off. Bounded in time by the caller.
    pub(crate) async fn discard_body(mut self, limit: usize) {
        self.connection.drive(discard(self.body, limit)).await;
    }
}

/// Reads `body` until it ends, fails, or `limit` bytes came. Whatever happens here changes nothing:
/// the answer's head is the verdict.
pub(crate) async fn discard(body: impl Body<Data = Bytes>, limit: usize) {
    let mut body = pin!(body);
    let mut taken = 0;
    while taken < limit {
        match body.frame().await {
            Some(Ok(frame)) => taken += frame.data_ref().map_or(0, Bytes::len),
            Some(Err(_)) | None => return,
        }
    }
}

/// Sends a GET for `url` with `headers` to `target`. Bounded in time by the caller.
pub(crate) async fn get(
    guard: &Guard,
    target: &Target,
    url: &Url,
    headers: HeaderMap,
) -> Result<Answer, ExchangeError> {
    let stream = connect(target).await.map_err(ExchangeError::Connect)?;
    if url.scheme() != "https" {
        return get_http1(stream, url, headers).await;
    }
    let stream = secure(guard, stream, url).await.map_err(ExchangeError::Unanswered)?;
    if stream.get_ref().1.alpn_protocol() == Some(b"h2") {
        get_http2(stream, url, headers).await
    } else {
        get_http1(stream, url, headers).await
    }
}

/// What is wrong when [`server_name`] gives none.
pub(crate) const NOT_CERTIFIABLE: &str = "TLS: no certificate can be for this host name";

/// The name by which the host of `url` is asked for and verified in TLS.
pub(crate) fn server_name(url: &Url) -> Option<ServerName<'static>> {
    match url.host()? {
        Host::Domain(name) => ServerName::try_from(name.to_owned()).ok(),
        Host::Ipv4(address) => Some(ServerName::IpAddress(address.into())),
        Host::Ipv6(address) => Some(ServerName::IpAddress(address.into())),
    }
}

/// Speaks TLS on a connection for `url`; the failure is in words for people.
pub(crate) async fn secure(
    guard: &Guard,
    stream: TcpStream,
    url: &Url,
) -> Result<TlsStream<TcpStream>, String> {
    let name = server_name(url).ok_or(NOT_CERTIFIABLE)?;
    TlsConnector::from(Arc::clone(guard.tls()))
        .connect(name, stream)
        .await
        .map_err(|error| failure::of_handshake(&error))
}

async fn get_http1<S>(stream: S, url: &Url, mut headers: HeaderMap) -> Result<Answer, ExchangeError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    if !headers.contains_key(HOST) {
        headers.insert(HOST, HeaderValue::from_str(authority(url)).map_err(not_sendable)?);
    }
    let uri = Uri::from(path_and_query(url)?);
    let (mut sender, connection) =
        http1_builder().handshake(TokioIo::new(Paced::new(stream))).await.map_err(unanswered)?;
    let mut connection = Connection::new(connection, None);
    let answer = connection.drive(sender.send_request(request(uri, headers))).await;
    Ok(Answer::new(answer.map_err(unanswered)?, connection))
}

async fn get_http2<S>(stream: S, url: &Url, mut headers: HeaderMap) -> Result<Answer, ExchangeError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let authority = match headers.remove(HOST) {
        Some(host) => Authority::try_from(host.as_bytes()).map_err(not_sendable)?,
        None => Authority::try_from(authority(url)).map_err(not_sendable)?,
    };
    let uri = Uri::builder()
        .scheme(Scheme::HTTPS)
        .authority(authority)
        .path_and_query(path_and_query(url)?)
        .build()
        .map_err(not_sendable)?;
    let tasks = Arc::default();
    let (mut sender, connection) = http2_builder(Tasks::of(&tasks))
        .handshake(TokioIo::new(Paced::new(stream)))
        .await
        .map_err(unanswered)?;
    let mut connection = Connection::new(connection, Some(tasks));
    let answer = connection.drive(sender.send_request(request(uri, headers))).await;
    Ok(Answer::new(answer.map_err(unanswered)?, connection))
}

/// HTTP/1.1 within our bounds.
pub(crate) fn http1_builder() -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        .max_buf_size(BUFFER)
        .max_headers(HEADER_LINES)
        // What browsers put up with does not make a site down.
        .allow_spaces_after_header_name_in_responses(true)
        .allow_obsolete_multiline_headers_in_responses(true)
        .ignore_invalid_headers_in_responses(true);
    builder
}

/// HTTP/2 within our bounds.
pub(crate) fn http2_builder(tasks: Tasks) -> http2::Builder<Tasks> {
    let mut builder = http2::Builder::new(tasks);
    builder
        .initial_stream_window_size(BUFFER as u32)
        .initial_connection_window_size(BUFFER as u32)
        .max_header_list_size(BUFFER as u32);
    builder
}

pub(crate) fn request(uri: Uri, headers: HeaderMap) -> Request<Empty<Bytes>> {
    let mut request = Request::new(Empty::new());
    *request.uri_mut() = uri;
    *request.headers_mut() = headers;
    request
}

/// Host, and port where it is not the scheme's default.
pub(crate) fn authority(url: &Url) -> &str {
    &url[Position::BeforeHost..Position::AfterPort]
}

pub(crate) fn path_and_query(url: &Url) -> Result<PathAndQuery, ExchangeError> {
    url[Position::BeforePath..Position::AfterQuery].parse().map_err(not_sendable)
}

/// A URL that no HTTP request can carry, for its length or a byte in it.
fn not_sendable<E>(_: E) -> ExchangeError {
    ExchangeError::Unanswered("the URL cannot be requested".to_owned())
}

fn unanswered(error: hyper::Error) -> ExchangeError {
    ExchangeError::Unanswered(failure::of_exchange(&error))
}

impl Answer {
    fn new(answer: Response<Incoming>, connection: Connection) -> Self {
        let (head, body) = answer.into_parts();
        Self { status: head.status, headers: head.headers, body, connection }
    }
}

/// hyper's half of a connection, polled beside whatever waits for it: no task to spawn for it, and
/// none that outlives the check.
pub(crate) struct Connection {
    work: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    /// Held for their end: dropping the set aborts them.
    _tasks: Option<Arc<Mutex<JoinSet<()>>>>,
}

impl Connection {
    pub(crate) fn new(
        work: impl Future<Output = hyper::Result<()>> + Send + 'static,
        tasks: Option<Arc<Mutex<JoinSet<()>>>>,
    ) -> Self {
        // Its errors reach the request or the body, too.
        let work = async { drop(work.await) };
        Self { work: Some(Box::pin(work)), _tasks: tasks }
    }

    /// The output of `future`, which waits for this connection.
    pub(crate) async fn drive<F: Future>(&mut self, future: F) -> F::Output {
        let mut future = pin!(future);
        poll_fn(|context| {
            let output = future.as_mut().poll(context);
            if output.is_pending()
                && let Some(work) = &mut self.work
                && work.as_mut().poll(context).is_ready()
            {
                self.work = None;
                // What the connection did last may be what the future waits for.
                return future.as_mut().poll(context);
            }
            output
        })
        .await
    }
}

/// Runs the tasks that hyper's HTTP/2 needs, as long as their connection lives.
#[derive(Clone)]
pub(crate) struct Tasks(Weak<Mutex<JoinSet<()>>>);

impl Tasks {
    /// Runs them in this set.
    pub(crate) fn of(tasks: &Arc<Mutex<JoinSet<()>>>) -> Self {
        Self(Arc::downgrade(tasks))
    }
}

impl<F> hyper::rt::Executor<F> for Tasks
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, task: F) {
        if let Some(tasks) = self.0.upgrade() {
            let mut tasks = tasks.lock().unwrap_or_else(PoisonError::into_inner);
            // A set holds what ended until it is asked for, and hyper spawns for each request.
            while tasks.try_join_next().is_some() {}
            tasks.spawn(task);
        }
    }
}

#[cfg(test)]
mod tests {
    use hyper::rt::Executor as _;

    use super::*;

    #[tokio::test]
    async fn tasks_that_ended_are_let_go() {
        let tasks = Arc::default();
        for _ in 0..100 {
            Tasks::of(&tasks).execute(async {});
            tokio::task::yield_now().await;
        }
        assert!(tasks.lock().expect("no panic").len() < 10);
    }
}
