//! An HTTP connection, and the responses on it.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll};

use http_body_util::{BodyExt, Either, Full};
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::client::conn::{http1, http2};
use hyper::header::{CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use hyper::http::uri::{Authority, Uri};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use url::Url;

use super::error::is_end;
use super::paced::Paced;
use super::trace::{Phase, Trace};
use super::{Error, dial, secure, server_name};
use crate::ssrf_guard::SsrfGuard;

/// Bytes of a message's head, and of what is buffered or in flight after it. Servers and proxies send heads of at most
/// 8 to 32 KiB.
pub(crate) const HEAD_BYTES: usize = 64 * 1024;

/// Header lines of a message; some real sites exceed hyper's default of 100.
pub(crate) const HEADER_LINES: usize = 256;

/// The body of a request: our own bytes, or a browser's upload.
pub(crate) type RequestBody = Either<Full<Bytes>, Incoming>;

/// A connection on which requests can be sent. It closes when its last handle is dropped.
pub(crate) struct Connection {
    sender: Sender,
    /// `None` once it has ended or been spawned onto `tasks`.
    driver: Option<Driver>,
    /// HTTP/2's background tasks, aborted when the set is dropped.
    tasks: Option<Arc<Mutex<JoinSet<()>>>>,
}

enum Sender {
    Http1(http1::SendRequest<RequestBody>),
    Http2(http2::SendRequest<RequestBody>),
}

/// hyper's half of a connection, polled together with whatever waits for it: no task to spawn, and
/// none that outlives the check. Its errors reach the request or the body, too.
type Driver = Pin<Box<dyn Future<Output = ()> + Send>>;

impl Connection {
    /// Connects to the target of `url`, if the SSRF guard admits it. The caller sets the timeout.
    pub(crate) async fn to(guard: &SsrfGuard, url: &Url) -> Result<Self, Error> {
        let target = guard.admit(url).await?;
        Self::open(guard, dial(&target).await?, url).await
    }

    /// Like [`Connection::to`], and measures its phases in `trace`.
    pub(crate) async fn traced(guard: &SsrfGuard, url: &Url, trace: &Trace) -> Result<Self, Error> {
        trace.enter(Phase::Lookup);
        let target = guard.admit(url).await?;
        trace.enter(Phase::Connect);
        let stream = dial(&target).await?;
        trace.connected(stream.peer_addr().ok());
        if url.scheme() == "https" {
            trace.enter(Phase::Tls);
        }
        let connection = Self::open(guard, stream, url).await?;
        trace.enter(Phase::FirstByte);
        Ok(connection)
    }

    /// Starts HTTP on a TCP connection made for `url`; over TLS if its scheme is `https`.
    pub(crate) async fn open(
        guard: &SsrfGuard,
        stream: TcpStream,
        url: &Url,
    ) -> Result<Self, Error> {
        if url.scheme() != "https" {
            return Self::http1(stream).await;
        }
        let stream = secure(Arc::clone(guard.tls()), stream, server_name(url)?).await?;
        if stream.get_ref().1.alpn_protocol() == Some(b"h2") {
            Self::http2(stream).await
        } else {
            Self::http1(stream).await
        }
    }

    /// Starts HTTP/1.1.
    pub(crate) async fn http1<S>(stream: S) -> Result<Self, Error>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (sender, connection) = http1::Builder::new()
            .max_buf_size(HEAD_BYTES)
            .max_headers(HEADER_LINES)
            // A deviation that browsers tolerate does not make a site down.
            .allow_spaces_after_header_name_in_responses(true)
            .allow_obsolete_multiline_headers_in_responses(true)
            .ignore_invalid_headers_in_responses(true)
            .handshake(TokioIo::new(Paced::new(stream)))
            .await
            .map_err(Error::Exchange)?;
        let driver: Driver = Box::pin(async { drop(connection.await) });
        Ok(Self { sender: Sender::Http1(sender), driver: Some(driver), tasks: None })
    }

    async fn http2<S>(stream: S) -> Result<Self, Error>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let tasks = Arc::default();
        let (sender, connection) = http2::Builder::new(Tasks::of(&tasks))
            .initial_stream_window_size(HEAD_BYTES as u32)
            // Room for eight streams, because resolvers get many questions at once.
            .initial_connection_window_size(8 * HEAD_BYTES as u32)
            .max_header_list_size(HEAD_BYTES as u32)
            .handshake(TokioIo::new(Paced::new(stream)))
            .await
            .map_err(Error::Exchange)?;
        let driver: Driver = Box::pin(async { drop(connection.await) });
        Ok(Self { sender: Sender::Http2(sender), driver: Some(driver), tasks: Some(tasks) })
    }

    /// Sends a request with an absolute URI, and waits for the head of the response. The caller
    /// sets the timeout.
    pub(crate) async fn send(
        mut self,
        mut request: Request<RequestBody>,
    ) -> Result<Response<ResponseBody>, Error> {
        let driver = &mut self.driver;
        let response = match &mut self.sender {
            Sender::Http1(sender) => {
                // The path only, and the authority as a header: RFC 9112, section 3.2.
                let path = request.uri().path_and_query().cloned();
                *request.uri_mut() = path.map(Uri::from).unwrap_or_default();
                drive(driver, sender.send_request(request)).await
            }
            Sender::Http2(sender) => {
                if let Some(host) = request.headers_mut().remove(HOST) {
                    let mut parts = std::mem::take(request.uri_mut()).into_parts();
                    let authority = Authority::try_from(host.as_bytes());
                    parts.authority = Some(authority.map_err(|_| Error::NotSendable)?);
                    *request.uri_mut() = Uri::from_parts(parts).map_err(|_| Error::NotSendable)?;
                }
                drive(driver, sender.send_request(request)).await
            }
        };
        let response = response.map_err(Error::Exchange)?;
        let ends_with_connection = !self.is_multiplexed()
            && ![CONTENT_LENGTH, TRANSFER_ENCODING]
                .iter()
                .any(|it| response.headers().contains_key(it));
        Ok(response.map(|incoming| ResponseBody {
            incoming,
            connection: self,
            ends_with_connection,
        }))
    }

    /// Waits until the previous response has ended; returns whether another request can be sent.
    pub(crate) async fn is_ready(&mut self) -> bool {
        match &mut self.sender {
            Sender::Http1(sender) => drive(&mut self.driver, sender.ready()).await.is_ok(),
            Sender::Http2(sender) => sender.ready().await.is_ok(),
        }
    }

    /// Whether the connection is known to be closed.
    pub(crate) fn is_closed(&self) -> bool {
        match &self.sender {
            Sender::Http1(sender) => sender.is_closed(),
            Sender::Http2(sender) => sender.is_closed(),
        }
    }

    /// Whether it carries concurrent requests, as HTTP/2 does.
    pub(crate) const fn is_multiplexed(&self) -> bool {
        matches!(self.sender, Sender::Http2(_))
    }

    /// Another handle on a connection that carries concurrent requests; `None` for HTTP/1.1.
    pub(crate) fn share(&mut self) -> Option<Self> {
        let (Sender::Http2(sender), Some(tasks)) = (&self.sender, &self.tasks) else {
            return None;
        };
        if let Some(driver) = self.driver.take() {
            lock(tasks).spawn(driver);
        }
        let (sender, tasks) = (Sender::Http2(sender.clone()), Some(Arc::clone(tasks)));
        Some(Self { sender, driver: None, tasks })
    }
}

/// The body of a response, with the connection that brings it.
pub(crate) struct ResponseBody {
    incoming: Incoming,
    connection: Connection,
    /// Whether the end of the connection ends it, because its head announces neither a length nor chunks.
    ends_with_connection: bool,
}

impl ResponseBody {
    /// The connection, however much of the body has been read.
    pub(crate) fn into_connection(self) -> Connection {
        self.connection
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let Self { incoming, connection, ends_with_connection } = self.get_mut();
        let frame = |context: &mut Context<'_>| Pin::new(&mut *incoming).poll_frame(context);
        match poll_driven(&mut connection.driver, context, frame) {
            // Many servers end TLS without saying so (`close_notify`), and browsers accept that.
            Poll::Ready(Some(Err(error))) if *ends_with_connection && is_end(&error) => {
                Poll::Ready(None)
            }
            frame => frame,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}

/// Passes up to `limit` bytes of `body` to `sink` as they arrive; returns whether that was all. The
/// caller sets the timeout.
pub(crate) async fn read<B: Body<Data = Bytes> + Unpin>(
    body: &mut B,
    limit: usize,
    mut sink: impl FnMut(&[u8]),
) -> Result<bool, B::Error> {
    let mut left = limit;
    while left > 0 {
        let Some(frame) = body.frame().await else {
            return Ok(true);
        };
        if let Some(bytes) = frame?.data_ref() {
            let taken = bytes.len().min(left);
            sink(&bytes[..taken]);
            if taken < bytes.len() {
                return Ok(false);
            }
            left -= taken;
        }
    }
    Ok(body.is_end_stream())
}

/// Awaits `future` while polling the connection that it depends on.
async fn drive<F: Future>(driver: &mut Option<Driver>, future: F) -> F::Output {
    let mut future = pin!(future);
    poll_fn(|context| poll_driven(driver, context, |context| future.as_mut().poll(context))).await
}

/// Polls `poll`, and if it is pending, the connection that it depends on.
fn poll_driven<T>(
    driver: &mut Option<Driver>,
    context: &mut Context<'_>,
    mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>,
) -> Poll<T> {
    let output = poll(context);
    if output.is_pending()
        && let Some(connection) = driver
        && connection.as_mut().poll(context).is_ready()
    {
        *driver = None;
        // The connection's last step may have completed it.
        return poll(context);
    }
    output
}

fn lock(tasks: &Mutex<JoinSet<()>>) -> std::sync::MutexGuard<'_, JoinSet<()>> {
    tasks.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Spawns hyper's HTTP/2 tasks, which live as long as their connection.
#[derive(Clone)]
struct Tasks(Weak<Mutex<JoinSet<()>>>);

impl Tasks {
    /// Spawns them onto this set.
    fn of(tasks: &Arc<Mutex<JoinSet<()>>>) -> Self {
        Self(Arc::downgrade(tasks))
    }
}

impl<F> hyper::rt::Executor<F> for Tasks
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, task: F) {
        if let Some(tasks) = self.0.upgrade() {
            let mut tasks = lock(&tasks);
            // A set keeps finished tasks until they are joined, and hyper spawns one for each
            // request.
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
