//! The gateway: an HTTP/1.1 server for the API's routes, the pages and status pages, in place of API Gateway.

mod body_memory;
mod connections;
mod request_body;
mod response_writer;

use std::convert::Infallible;
use std::future::{pending, poll_fn};
use std::io;
use std::net::{self, IpAddr, SocketAddr};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::FutureExt as _;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use lambda_http::http::header::{CONNECTION, HOST};
use lambda_http::http::{HeaderValue, Version, request};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{debug, error, warn};
use vedette_api::{Api, BELOW_PING, answer_ping, dispatch};
use vedette_dashboard::{
    BELOW_STATUS, Dashboard, PAGES, SETUP_PAGES, StatusPages, find_page, find_public,
    is_for_people, misdirected, not_found, not_published,
};
use vedette_domain::heartbeats::ping::BODY_MAX as PING_BODY_MAX;
use vedette_domain::source::Source;
use vedette_http::body::BodySender;
use vedette_http::error::ApiError;
use vedette_http::request_id::RequestId;
use vedette_http::response::{Response, for_method};
use vedette_http::source::Peer;
use vedette_routing::serve;
use vedette_runtime::App;

use self::body_memory::BodyMemory;
use self::connections::{CONNECTIONS_MAX, Connection, Connections};
use self::request_body::RequestBody;
use self::response_writer::{WriteTimeout, respond};
use crate::agents::{Agents, Call};
use crate::hosts::Hosts;
use crate::metrics::Counters;

/// The largest request line with headers, in bytes, as in API Gateway; beyond it hyper answers 431.
const HEAD_MAX: usize = 10_240;
/// How much a connection may buffer of requests that have arrived and are not yet read.
const BUFFER_MAX: usize = 64 * 1024;
/// How long the head of a request may take to arrive, counted from the previous response, and how long its body may
/// take.
const READ_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a request may take from its head to its answer, as with API Gateway.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a response may take to be written, once a write has to wait for the client.
const WRITE_TIMEOUT: Duration = Duration::from_secs(60);
/// How long, and for how many more bytes, the gateway reads from a client that still sends after an answer that ends
/// the connection. If the connection were closed at once, the client could miss the answer.
const LINGER: (Duration, u64) = (Duration::from_secs(2), 10 * 1024 * 1024);
/// How long running requests may take to finish when the service stops.
const GRACE: Duration = Duration::from_secs(5);
/// How long a new connection may wait for its first request when the service stops.
const FIRST_REQUEST: Duration = Duration::from_secs(1);
/// The pause before the next attempt to accept a connection, when this process has too many files open.
const BREATH: Duration = Duration::from_millis(100);

/// The API's routes, the pages, status pages and the requests of agents, and what they work with.
pub(crate) struct Gateway {
    app: App,
    dashboard: Dashboard,
    connections: Arc<Connections>,
    body_memory: BodyMemory,
    hosts: Hosts,
    agents: Arc<Agents>,
    counters: Arc<Counters>,
}

/// Listens on the address. As many connections as are served may wait there for their turn.
pub(crate) fn bind(address: SocketAddr) -> io::Result<net::TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(CONNECTIONS_MAX)?.into_std()
}

/// Listens on a socket that systemd passes, with as many waiting connections as on one of [`bind`].
pub(crate) fn listen(socket: &net::TcpListener) -> io::Result<()> {
    Ok(rustix::net::listen(socket, CONNECTIONS_MAX.cast_signed())?)
}

impl Gateway {
    /// A gateway for the API's routes and the pages.
    pub(crate) fn new(
        app: App,
        dashboard: Dashboard,
        hosts: Hosts,
        agents: Arc<Agents>,
        counters: Arc<Counters>,
    ) -> Self {
        Self {
            app,
            dashboard,
            connections: Arc::new(Connections::default()),
            body_memory: BodyMemory::new(),
            hosts,
            agents,
            counters,
        }
    }

    /// Accepts connections until it is stopped. Running requests then get a few seconds.
    pub(crate) async fn serve(self: Arc<Self>, listener: TcpListener, stop: CancellationToken) {
        let most = connections::most_connections();
        let mut connections = JoinSet::new();
        loop {
            // Idle connections are evicted slightly before the limit, so that the next client need not wait, but no
            // more than necessary, because the last idle ones may belong to other peers.
            if connections.len().saturating_sub(self.connections.evicted()) >= most - most / 16 {
                self.connections.evict_idle();
            }
            if connections.len() >= most {
                // If all connections are active, one of them soon ends or becomes idle.
                tokio::select! {
                    () = stop.cancelled() => break,
                    _ = timeout(BREATH, connections.join_next()) => continue,
                }
            }
            let accepted = tokio::select! {
                () = stop.cancelled() => break,
                Some(_) = connections.join_next() => continue,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, from)) => {
                    // Registered in the order of arrival, whichever task runs first.
                    let connection = self.connections.register(Source::of(from.ip()));
                    let gateway = Arc::clone(&self);
                    connections.spawn(gateway.converse(
                        stream,
                        from.ip(),
                        connection,
                        stop.clone(),
                    ));
                }
                Err(error) => {
                    warn!(%error, "could not accept a connection");
                    sleep(BREATH).await;
                }
            }
        }
        drop(listener);
        let finished = async { while connections.join_next().await.is_some() {} };
        if timeout(GRACE, finished).await.is_err() {
            warn!("the shutdown interrupted requests");
        }
    }

    /// Everything that happens on a connection, until it ends or is evicted.
    async fn converse(
        self: Arc<Self>,
        stream: TcpStream,
        from: IpAddr,
        connection: Arc<Connection>,
        stop: CancellationToken,
    ) {
        let peer = Some(Peer(from));
        // Answers are small and complete: they need not wait for more data.
        let _ = stream.set_nodelay(true);
        tokio::select! {
            // First, so that no request begins on an evicted connection.
            biased;
            () = connection.evicted() => debug!("closed an idle connection to make room for a new one"),
            () = self.listen(stream, peer, &connection, stop) => {}
        }
    }

    async fn listen<S>(
        &self,
        stream: S,
        peer: Option<Peer>,
        registered: &Arc<Connection>,
        stop: CancellationToken,
    ) where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let is_used = AtomicBool::new(false);
        // Boxed, because the connection is inspected from outside while it works.
        let service = service_fn(|request| {
            is_used.store(true, Ordering::Relaxed);
            Box::pin(async move {
                // The connection is about to be dropped.
                let Some(active) = registered.begin_request() else { return pending().await };
                let response = self.answer_always(request, peer, registered.peer()).await;
                Ok::<_, Infallible>(respond(response, active))
            })
        });
        let mut connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(READ_TIMEOUT)
            .max_header_size(HEAD_MAX)
            .max_buf_size(BUFFER_MAX)
            .half_close(true)
            .serve_connection(TokioIo::new(WriteTimeout::new(stream)), service);
        let must_end = async {
            stop.cancelled().await;
            // hyper would close the connection without an answer, although the request may be on its way.
            if !is_used.load(Ordering::Relaxed) {
                sleep(FIRST_REQUEST).await;
            }
        };
        let ended = tokio::select! {
            ended = poll_fn(|context| connection.poll_without_shutdown(context)) => ended,
            () = must_end => {
                std::pin::Pin::new(&mut connection).graceful_shutdown();
                poll_fn(|context| connection.poll_without_shutdown(context)).await
            }
        };
        if let Err(error) = ended {
            debug!(%error, "a connection ended early");
        }
        let stream = connection.into_parts().io.into_inner();
        tokio::select! {
            () = linger(stream) => {}
            () = stop.cancelled() => {}
        }
    }

    async fn answer_always(
        &self,
        mut request: hyper::Request<Incoming>,
        peer: Option<Peer>,
        source: Source,
    ) -> Response {
        peer.map(|peer| request.extensions_mut().insert(peer));
        let id = RequestId(self.app.entropy.request_id());
        request.extensions_mut().insert(id.clone());
        let answered = AssertUnwindSafe(self.answer(request, source)).catch_unwind().await;
        let mut response = answered.unwrap_or_else(|_| {
            error!(request_id = %id, "handling a request panicked");
            ApiError::internal("panic").into_response()
        });
        id.add_to_fault(&mut response);
        self.counters.response(response.status());
        response
    }

    async fn answer(&self, request: hyper::Request<Incoming>, source: Source) -> Response {
        let (head, body) = request.into_parts();
        let mut body = RequestBody::new(body, &self.body_memory, source);
        let mut response = if !has_one_host(&head) {
            ApiError::BadRequest("The request must have one Host header.").into_response()
        } else if !self.is_ours(&head) {
            self.misdirected(&head)
        } else {
            self.route(head, &mut body).await
        };
        if !body.is_complete() {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }

    /// Whether the host in the request, if there is one, belongs to this service.
    fn is_ours(&self, head: &request::Parts) -> bool {
        let named = head.headers.get(HOST);
        named.is_none_or(|host| host.to_str().is_ok_and(|host| self.hosts.know(host)))
    }

    fn misdirected(&self, head: &request::Parts) -> Response {
        if head.uri.path().starts_with("/api/") {
            return ApiError::Misdirected.into_response();
        }
        misdirected(&self.app, head)
    }

    async fn route(&self, head: request::Parts, body: &mut RequestBody<'_>) -> Response {
        if let Some(call) = Call::of(&head) {
            let read = async {
                let read = body.read(&head.headers, BodySender::Stranger).await;
                read.map_err(ApiError::into_response)
            };
            return within_time("agents", self.agents.answer(call, &head, read)).await;
        }
        if head.uri.path().starts_with(BELOW_PING) {
            let served = async {
                let end = body.read_end(2 * PING_BODY_MAX).await;
                for_method(&head.method, answer_ping(&self.app, &head, &end).await)
            };
            return within_time("pings", Box::pin(served)).await;
        }
        if let Some(page) = find_public(&head) {
            let (path, headers) = (page.route.path, &head.headers);
            let served = serve(&StatusPages, &self.app, page, &head, move |sender| {
                body.read(headers, sender)
            });
            return within_time(path, served).await;
        }
        if head.uri.path().starts_with(BELOW_STATUS) {
            return not_published(&self.app, &head);
        }
        if let Some(page) = find_page(PAGES, &head).or_else(|| find_page(SETUP_PAGES, &head)) {
            let (path, headers) = (page.route.path, &head.headers);
            let served = serve(&self.dashboard, &self.app, page, &head, move |sender| {
                body.read(headers, sender)
            });
            return within_time(path, served).await;
        }
        if is_for_people(&head) {
            return not_found(&self.app, &head);
        }
        let (found, head) = dispatch(head);
        let (name, headers) = (found.route.name, &head.headers);
        let served =
            serve(&Api::Public, &self.app, found, &head, move |sender| body.read(headers, sender));
        within_time(name, served).await
    }
}

/// The answer, or the error that it took too long.
async fn within_time(route: &str, served: impl Future<Output = Response>) -> Response {
    timeout(REQUEST_TIMEOUT, served).await.unwrap_or_else(|_| {
        error!(route, "a request took too long");
        ApiError::Unavailable("the time is up").into_response()
    })
}

/// Whether a request names its host exactly once, as HTTP/1.1 requires (RFC 9112, 3.2).
fn has_one_host(head: &request::Parts) -> bool {
    let hosts = head.headers.get_all(HOST).iter().count();
    hosts == 1 || (hosts == 0 && head.version < Version::HTTP_11)
}

/// Ends the connection, and reads for a while from a client that has not noticed yet.
async fn linger(mut stream: impl AsyncRead + AsyncWrite + Unpin) {
    let (time, bytes) = LINGER;
    let heard = async {
        stream.shutdown().await?;
        tokio::io::copy(&mut stream.take(bytes), &mut tokio::io::sink()).await
    };
    let _ = timeout(time, heard).await;
}

#[cfg(test)]
mod tests {
    use tokio::io::{DuplexStream, duplex};
    use tokio::task::JoinHandle;
    use tokio::time::Instant;
    use vedette_runtime::LocalQueue;

    use super::*;
    use crate::tests::app_without_table;

    fn gateway() -> Gateway {
        let app = app_without_table(&LocalQueue::new());
        let agents = Arc::new(Agents::new(&app, CancellationToken::new()));
        Gateway::new(
            app,
            Dashboard::default(),
            Hosts::new(Vec::new(), None),
            agents,
            Arc::default(),
        )
    }

    /// A client of a gateway, over a stream that buffers only a part of a response.
    fn narrow(gateway: &Arc<Gateway>) -> (DuplexStream, JoinHandle<()>, Arc<Connection>) {
        let (client, stream) = duplex(64);
        let (gateway, connection) = (
            Arc::clone(gateway),
            gateway.connections.register(Source::of(IpAddr::from([127, 0, 0, 1]))),
        );
        let kept = Arc::clone(&connection);
        let listening =
            async move { gateway.listen(stream, None, &kept, CancellationToken::new()).await };
        (client, tokio::spawn(listening), connection)
    }

    const REQUEST: &[u8] = b"GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n";

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_active_until_its_response_is_sent() {
        let gateway = Arc::new(gateway());
        let (mut client, _listening, connection) = narrow(&gateway);
        client.write_all(REQUEST).await.expect("sent");
        client.read_exact(&mut [0; 64]).await.expect("a part of the answer");
        gateway.connections.evict_idle();
        assert_eq!(connection.evicted().now_or_never(), None, "cut in the middle of an answer");
        let mut rest = Vec::new();
        while !rest.ends_with(b"}") {
            client.read_buf(&mut rest).await.expect("the rest of the answer");
        }
        // The connection is idle until the next request.
        sleep(READ_TIMEOUT / 2).await;
        gateway.connections.evict_idle();
        assert_eq!(connection.evicted().now_or_never(), Some(()));
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_request_of_a_connection_is_answered_although_the_service_stops() {
        let gateway = gateway();
        let (mut client, stream) = duplex(1024);
        let connection = gateway.connections.register(Source::of(IpAddr::from([127, 0, 0, 1])));
        let stop = CancellationToken::new();
        stop.cancel();
        let mut answer = Vec::new();
        let ask = async {
            sleep(FIRST_REQUEST / 2).await;
            client.write_all(REQUEST).await.expect("sent");
            client.read_to_end(&mut answer).await.expect("received");
        };
        tokio::join!(gateway.listen(stream, None, &connection, stop), ask);
        assert!(answer.starts_with(b"HTTP/1.1 "), "{}", String::from_utf8_lossy(&answer));
    }

    #[tokio::test(start_paused = true)]
    async fn a_response_that_nobody_reads_is_given_up() {
        for does_trickle in [false, true] {
            let (mut client, listening, _connection) = narrow(&Arc::new(gateway()));
            client.write_all(REQUEST).await.expect("sent");
            let begun = Instant::now();
            let taken = async {
                // Reading a few bytes now and then is not enough.
                while does_trickle && client.read_u8().await.is_ok() {
                    sleep(WRITE_TIMEOUT / 10).await;
                }
                sleep(2 * WRITE_TIMEOUT).await;
            };
            tokio::select! {
                ended = listening => ended.expect("no panic"),
                () = taken => {}
            }
            let took = begun.elapsed();
            assert!(
                took >= WRITE_TIMEOUT && took < WRITE_TIMEOUT + READ_TIMEOUT,
                "{took:?}, {does_trickle}"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn no_request_begins_on_an_evicted_connection() {
        let gateway = Arc::new(gateway());
        let (mut client, _listening, _connection) = narrow(&gateway);
        gateway.connections.evict_idle();
        client.write_all(REQUEST).await.expect("sent");
        let answered = timeout(READ_TIMEOUT / 2, client.read_u8()).await;
        assert!(answered.is_err(), "{answered:?}");
    }
}
