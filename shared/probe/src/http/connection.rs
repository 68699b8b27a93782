//! An HTTP connection, and the responses on it.

use std::error::Error as _;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll, Waker};

use futures::future::{BoxFuture, MaybeDone, maybe_done};
use h2::Reason;
use http_body_util::{BodyExt, Either, Full};
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::client::conn::{http1, http2};
use hyper::header::HOST;
use hyper::http::uri::{Authority, Uri};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use url::Url;

use super::paced::{Overhead, Paced};
use super::trace::{Phase, Trace};
use super::{Error, Versions, dial, secure, server_name};
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
    /// `Gone` once it has been spawned onto `tasks`.
    driver: Driver,
    overhead: Overhead,
    /// HTTP/2's background tasks, aborted when the set is dropped.
    tasks: Option<Arc<Mutex<JoinSet<()>>>>,
}

enum Sender {
    Http1(http1::SendRequest<RequestBody>),
    Http2(http2::SendRequest<RequestBody>),
}

/// hyper's half of a connection, polled together with whatever waits for it: no task to spawn, and
/// none that outlives the check. Its errors reach the request or the body, too.
type Driver = MaybeDone<BoxFuture<'static, hyper::Result<()>>>;

impl Connection {
    /// Connects to the target of `url`, if the SSRF guard admits it. The caller sets the timeout.
    pub(crate) async fn to(guard: &SsrfGuard, url: &Url) -> Result<Self, Error> {
        let target = guard.admit(url).await?;
        Self::open(guard, dial(&target).await?, url, Versions::All).await
    }

    /// Like [`Connection::to`], and measures its phases in `trace`.
    pub(crate) async fn traced(
        guard: &SsrfGuard,
        url: &Url,
        versions: Versions,
        trace: &Trace,
    ) -> Result<Self, Error> {
        trace.enter(Phase::Lookup);
        let target = guard.admit(url).await?;
        trace.enter(Phase::Connect);
        let stream = dial(&target).await?;
        trace.connected(stream.peer_addr().ok());
        if url.scheme() == "https" {
            trace.enter(Phase::Tls);
        }
        let connection = Self::open(guard, stream, url, versions).await?;
        trace.enter(Phase::FirstByte);
        Ok(connection)
    }

    /// Starts HTTP on a TCP connection made for `url`; over TLS if its scheme is `https`.
    pub(crate) async fn open(
        guard: &SsrfGuard,
        stream: TcpStream,
        url: &Url,
        versions: Versions,
    ) -> Result<Self, Error> {
        if url.scheme() != "https" {
            return Self::http1(stream).await;
        }
        let mut config = Arc::clone(guard.tls());
        if versions == Versions::Http1 {
            Arc::make_mut(&mut config).alpn_protocols = vec![b"http/1.1".to_vec()];
        }
        let stream = secure(config, stream, server_name(url)?).await?;
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
        let overhead = Overhead::default();
        let (sender, connection) = http1::Builder::new()
            .max_buf_size(HEAD_BYTES)
            .max_headers(HEADER_LINES)
            // A deviation that browsers tolerate does not make a site down.
            .allow_spaces_after_header_name_in_responses(true)
            .allow_obsolete_multiline_headers_in_responses(true)
            .ignore_invalid_headers_in_responses(true)
            .handshake(TokioIo::new(Paced::new(stream, overhead.clone())))
            .await
            .map_err(Error::Exchange)?;
        let driver: Driver = maybe_done(Box::pin(connection));
        Ok(Self { sender: Sender::Http1(sender), driver, overhead, tasks: None })
    }

    async fn http2<S>(stream: S) -> Result<Self, Error>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (tasks, overhead) = (Arc::default(), Overhead::default());
        let (sender, connection) = http2::Builder::new(Tasks::of(&tasks))
            .initial_stream_window_size(HEAD_BYTES as u32)
            // Room for eight streams, because resolvers get many questions at once.
            .initial_connection_window_size(8 * HEAD_BYTES as u32)
            .max_header_list_size(HEAD_BYTES as u32)
            .handshake(TokioIo::new(Paced::new(stream, overhead.clone())))
            .await
            .map_err(Error::Exchange)?;
        let driver: Driver = maybe_done(Box::pin(connection));
        Ok(Self { sender: Sender::Http2(sender), driver, overhead, tasks: Some(tasks) })
    }

    /// Sends a request with an absolute URI, and waits for the head of the response. The caller
    /// sets the timeout.
    pub(crate) async fn send(
        mut self,
        mut request: Request<RequestBody>,
    ) -> Result<Response<ResponseBody>, Error> {
        let driver = &mut self.driver;
        self.overhead.clear();
        let response = match &mut self.sender {
            Sender::Http1(sender) => {
                // The path only, and the authority as a header: RFC 9112, section 3.2.
                let path = request.uri().path_and_query().cloned();
                *request.uri_mut() = path.map(Uri::from).unwrap_or_default();
                drive(driver, sender.send_request(request)).await.map_err(Error::Exchange)
            }
            Sender::Http2(sender) => {
                if let Some(host) = request.headers_mut().remove(HOST) {
                    let mut parts = std::mem::take(request.uri_mut()).into_parts();
                    let authority = Authority::try_from(host.as_bytes());
                    parts.authority = Some(authority.map_err(|_| Error::NotSendable)?);
                    *request.uri_mut() = Uri::from_parts(parts).map_err(|_| Error::NotSendable)?;
                }
                let response = drive(driver, sender.send_request(request)).await;
                response.map_err(|error| of_http2(error, failure(driver)))
            }
        }?;
        self.overhead.clear();
        Ok(response.map(|incoming| ResponseBody { incoming, connection: self }))
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
        if let MaybeDone::Future(driver) = std::mem::replace(&mut self.driver, MaybeDone::Gone) {
            lock(tasks).spawn(async { drop(driver.await) });
        }
        let (sender, tasks) = (Sender::Http2(sender.clone()), Some(Arc::clone(tasks)));
        Some(Self { sender, driver: MaybeDone::Gone, overhead: self.overhead.clone(), tasks })
    }
}

/// The body of a response, with the connection that brings it.
pub(crate) struct ResponseBody {
    incoming: Incoming,
    connection: Connection,
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
        let Self { incoming, connection } = self.get_mut();
        let frame = |context: &mut Context<'_>| Pin::new(&mut *incoming).poll_frame(context);
        let frame = poll_driven(&mut connection.driver, context, frame);
        if let Poll::Ready(Some(Ok(frame))) = &frame
            && frame.data_ref().is_some_and(|data| !data.is_empty())
        {
            connection.overhead.clear();
        }
        frame
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
async fn drive<F: Future>(driver: &mut Driver, future: F) -> F::Output {
    let mut future = pin!(future);
    poll_fn(|context| poll_driven(driver, context, |context| future.as_mut().poll(context))).await
}

/// Polls `poll`, and if it is pending, the connection that it depends on.
fn poll_driven<T>(
    driver: &mut Driver,
    context: &mut Context<'_>,
    mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>,
) -> Poll<T> {
    let output = poll(context);
    if output.is_pending()
        && matches!(driver, MaybeDone::Future(_))
        && Pin::new(driver).poll(context).is_ready()
    {
        // The connection's last step may have completed it.
        return poll(context);
    }
    output
}

/// Why the connection has failed, if it has and nothing has asked before.
fn failure(driver: &mut Driver) -> Option<hyper::Error> {
    let mut context = Context::from_waker(Waker::noop());
    let _: Poll<()> = poll_driven(driver, &mut context, |_| Poll::Pending);
    Pin::new(driver).take_output()?.err()
}

/// A request that failed over HTTP/2, and why its connection failed.
fn of_http2(error: hyper::Error, connection: Option<hyper::Error>) -> Error {
    let sent_by_server = |error: &hyper::Error| {
        let error: &h2::Error = error.source()?.downcast_ref()?;
        error.reason().filter(|_| error.is_remote()).map(|reason| (reason, error.is_go_away()))
    };
    let of_request = sent_by_server(&error);
    let of_connection = connection.as_ref().and_then(sent_by_server);
    // A GOAWAY may ask for it even if it counts the request as processed.
    let asks_for_http1 = [of_request, of_connection]
        .into_iter()
        .flatten()
        .any(|(reason, _)| reason == Reason::HTTP_1_1_REQUIRED);
    let is_unprocessed = match of_request {
        // h2 ends only those requests with a GOAWAY that come after its last stream.
        Some((reason, is_go_away)) => is_go_away || reason == Reason::REFUSED_STREAM,
        // hyper has not sent it. After a GOAWAY without an error, the connection has not failed.
        None => error.is_canceled() && (connection.is_none() || of_connection.is_some()),
    };
    match (asks_for_http1, is_unprocessed) {
        (true, _) => Error::Unprocessed(Versions::Http1, error),
        (false, true) => Error::Unprocessed(Versions::All, error),
        (false, false) => Error::Exchange(error),
    }
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
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy, duplex, sink, split};

    use super::*;
    use crate::http::request;

    /// A head with this status in HTTP/1.1, or in HTTP/2 on the stream of the first request.
    fn head(is_http2: bool, status: &str, link: usize) -> Vec<u8> {
        let link = "x".repeat(link);
        if !is_http2 {
            return format!("HTTP/1.1 {status} Some\r\nLink: {link}\r\n\r\n").into_bytes();
        }
        // `:status` and `link` of HPACK's static table, each with a literal value.
        let length = u8::try_from(link.len()).expect("a short value");
        let block =
            [&[0x08, 3], status.as_bytes(), &[0x0f, 0x1e, length], link.as_bytes()].concat();
        frame(1, 4, 1, &block)
    }

    fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
        let length = u8::try_from(payload.len()).expect("a short frame");
        [&[0, 0, length, kind, flags, 0, 0, 0, stream], payload].concat()
    }

    /// Requests something from a server that sends `first`, and then `unit` until the client leaves. Returns the status
    /// or the error, and how many bytes the server has sent.
    async fn ask(is_http2: bool, first: Vec<u8>, unit: Vec<u8>) -> (Result<u16, String>, usize) {
        let (client, server) = duplex(1024);
        let (mut read, mut write) = split(server);
        let asked = async {
            let connection = match is_http2 {
                true => Connection::http2(client).await,
                false => Connection::http1(client).await,
            };
            let url = "http://site.example/".parse().expect("a URL");
            let request = request(hyper::Method::GET, &url, Default::default()).expect("a request");
            let answer = connection.expect("a connection").send(request).await;
            answer.map(|answer| answer.status().as_u16()).map_err(|error| error.to_string())
        };
        let sent = async {
            let mut sent = 0;
            if is_http2 {
                write.write_all(&frame(4, 0, 0, &[])).await.expect("the client reads");
                read.read_exact(&mut [0; 24]).await.expect("a preface");
                let mut header = [0; 9];
                while header[3] != 1 {
                    read.read_exact(&mut header).await.expect("a frame");
                    let payload = &mut vec![0; usize::from(header[2])];
                    read.read_exact(payload).await.expect("a payload");
                }
            } else {
                read.read_u8().await.expect("a request");
            }
            let ignoring = async { drop(copy(&mut read, &mut sink()).await) };
            let sending = async {
                write.write_all(&first).await.expect("the client reads");
                while !unit.is_empty() && write.write_all(&unit).await.is_ok() {
                    sent += unit.len();
                }
            };
            tokio::join!(sending, ignoring);
            sent
        };
        tokio::join!(asked, sent)
    }

    #[tokio::test]
    async fn a_server_without_a_final_response_is_left_early() {
        for (is_http2, unit) in [
            (false, head(false, "100", 0)),
            (false, head(false, "103", 10_000)),
            (false, head(false, "199", 100)),
            (true, head(true, "103", 0)),
            (true, head(true, "103", 100)),
            (true, head(true, "199", 100)),
            (true, frame(4, 0, 0, &[])),        // SETTINGS
            (true, frame(6, 0, 0, &[7; 8])),    // PING
            (true, frame(99, 0, 1, &[0; 100])), // unknown
        ] {
            let case = String::from_utf8_lossy(&unit[..20.min(unit.len())]).into_owned();
            let (answer, sent) = ask(is_http2, Vec::new(), unit).await;
            assert_eq!(answer, Err("too much data before a final response".to_owned()), "{case:?}");
            assert!(sent < 20 * HEAD_BYTES, "{case:?}: {sent} bytes");
        }
    }

    #[tokio::test]
    async fn interim_responses_may_come_before_the_final_one() {
        for (is_http2, size) in [(false, 2_000), (true, 100)] {
            let interim = [head(is_http2, "100", 0), head(is_http2, "103", size)].concat();
            let first = [interim.repeat(100), head(is_http2, "204", 0)].concat();
            assert_eq!(ask(is_http2, first, Vec::new()).await.0, Ok(204));
        }
    }

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
