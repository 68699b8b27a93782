//! The gateway: HTTP/1.1 in, the API's routes behind, as API Gateway stands before the functions.

mod arrival;
mod bodies;
mod departure;
mod room;

use std::convert::Infallible;
use std::future::{pending, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
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
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::{debug, error, warn};
use vedette_api::RequestId;
use vedette_http::error::ApiError;
use vedette_http::response::Response;
use vedette_runtime::App;

use self::arrival::Arrival;
use self::bodies::Bodies;
use self::departure::{Departure, depart};
use self::room::{CONNECTIONS_MAX, Place, Room};

/// The largest request line with headers, in bytes, as in API Gateway; beyond it hyper answers 431.
const HEAD_MAX: usize = 10_240;
/// What a connection may hold of requests that have arrived and are not yet read.
const BUFFER_MAX: usize = 64 * 1024;
/// How long a request's head may take to arrive, counted from the answer before it, and its body.
const ARRIVAL: Duration = Duration::from_secs(10);
/// How long a request may take from its head to its answer, as behind API Gateway.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// How long an answer may take to leave, once its client lets it wait.
const DEPARTURE: Duration = Duration::from_secs(60);
/// How long, and to how many bytes more, a client that still sends is listened to after an answer
/// that ends the connection: closed at once, it would meet the end before the answer.
const LINGER: (Duration, u64) = (Duration::from_secs(2), 10 * 1024 * 1024);
/// How long running requests may take to finish at the end.
const GRACE: Duration = Duration::from_secs(5);
/// Before the next try to take a connection, when this process has too many files open.
const BREATH: Duration = Duration::from_millis(100);

/// The API's routes, and what they work with.
pub(crate) struct Gateway {
    app: App,
    room: Arc<Room>,
    bodies: Bodies,
}

/// Takes the address; as many connections as are served may wait there for their turn.
pub(crate) fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(CONNECTIONS_MAX)
}

impl Gateway {
    /// A gateway before the API's routes.
    pub(crate) fn new(app: App) -> Self {
        Self { app, room: Arc::new(Room::default()), bodies: Bodies::new() }
    }

    /// Takes connections until it is stopped; then running requests get a few seconds.
    pub(crate) async fn serve(self: Arc<Self>, listener: TcpListener, stop: CancellationToken) {
        let most = room::most_connections();
        let mut connections = JoinSet::new();
        loop {
            // Room is made a little ahead, so that the next one need not wait for it.
            if connections.len() >= most - most / 16 {
                self.room.make();
            }
            if connections.len() >= most {
                // Where all are at work, one of them ends or waits again before long.
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
                Ok((stream, _)) => {
                    connections.spawn(Arc::clone(&self).converse(stream, stop.clone()));
                }
                Err(error) => {
                    warn!(%error, "a connection could not be taken");
                    tokio::time::sleep(BREATH).await;
                }
            }
        }
        drop(listener);
        let finished = async { while connections.join_next().await.is_some() {} };
        if timeout(GRACE, finished).await.is_err() {
            warn!("requests were cut off by the end");
        }
    }

    /// Everything that happens on a connection, until it ends or has to make room.
    async fn converse(self: Arc<Self>, stream: TcpStream, stop: CancellationToken) {
        let place = self.room.enter();
        // Answers are small and whole: they need not wait for more.
        let _ = stream.set_nodelay(true);
        tokio::select! {
            // First, so that nothing begins on a place that is given up.
            biased;
            () = place.given_up() => debug!("a connection made room for another"),
            () = self.listen(stream, &place, stop) => {}
        }
    }

    async fn listen<S>(&self, stream: S, place: &Arc<Place>, stop: CancellationToken)
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        // Boxed, as the connection is looked at from without while it works.
        let service = service_fn(|request| {
            Box::pin(async move {
                // The connection is about to be dropped.
                let Some(working) = place.work() else { return pending().await };
                Ok::<_, Infallible>(depart(self.answer_always(request).await, working))
            })
        });
        let mut connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(ARRIVAL)
            .max_header_size(HEAD_MAX)
            .max_buf_size(BUFFER_MAX)
            .half_close(true)
            .serve_connection(TokioIo::new(Departure::new(stream)), service);
        let ended = tokio::select! {
            ended = poll_fn(|context| connection.poll_without_shutdown(context)) => ended,
            () = stop.cancelled() => {
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

    async fn answer_always(&self, mut request: hyper::Request<Incoming>) -> Response {
        let id = RequestId(self.app.entropy.request_id());
        request.extensions_mut().insert(id.clone());
        let answered = AssertUnwindSafe(self.answer(request)).catch_unwind().await;
        let mut response = answered.unwrap_or_else(|_| {
            error!(request_id = %id, "a request ended in a panic");
            ApiError::internal("panic").into_response()
        });
        id.add_to_fault(&mut response);
        response
    }

    async fn answer(&self, request: hyper::Request<Incoming>) -> Response {
        let (head, body) = request.into_parts();
        let mut arrival = Arrival::new(body, &self.bodies);
        let mut response = if has_one_host(&head) {
            self.route(head, &mut arrival).await
        } else {
            ApiError::BadRequest("The request must have one Host header.").into_response()
        };
        if !arrival.is_over() {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }

    async fn route(&self, head: request::Parts, arrival: &mut Arrival<'_>) -> Response {
        let (route, head) = vedette_api::dispatch(head);
        let headers = &head.headers;
        let served =
            vedette_api::serve(&self.app, route, &head, move |user| arrival.body(headers, user));
        let answered = timeout(REQUEST_TIMEOUT, served).await;
        answered.unwrap_or_else(|_| {
            error!(route = route.name, "a request took too long");
            ApiError::Unavailable("the time is up").into_response()
        })
    }
}

/// Whether a request says once whom it is for, as HTTP/1.1 demands (RFC 9112, 3.2).
fn has_one_host(head: &request::Parts) -> bool {
    let hosts = head.headers.get_all(HOST).iter().count();
    hosts == 1 || (hosts == 0 && head.version < Version::HTTP_11)
}

/// Says that this was all, and listens for a while to a client that has not seen it yet.
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
        Gateway::new(app_without_table(&LocalQueue::new()))
    }

    /// A client of a gateway, with room on its way for a part of an answer only.
    fn narrow(gateway: &Arc<Gateway>) -> (DuplexStream, JoinHandle<()>, Arc<Place>) {
        let (client, stream) = duplex(64);
        let (gateway, place) = (Arc::clone(gateway), gateway.room.enter());
        let kept = Arc::clone(&place);
        let listening =
            async move { gateway.listen(stream, &kept, CancellationToken::new()).await };
        (client, tokio::spawn(listening), place)
    }

    const REQUEST: &[u8] = b"GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n";

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_at_work_until_its_answer_has_left() {
        let gateway = Arc::new(gateway());
        let (mut client, _listening, place) = narrow(&gateway);
        client.write_all(REQUEST).await.expect("sent");
        client.read_exact(&mut [0; 64]).await.expect("a part of the answer");
        gateway.room.make();
        assert_eq!(place.given_up().now_or_never(), None, "cut in the middle of an answer");
        let mut rest = Vec::new();
        while !rest.ends_with(b"}") {
            client.read_buf(&mut rest).await.expect("the rest of the answer");
        }
        // It waits for the next request.
        tokio::time::sleep(ARRIVAL / 2).await;
        gateway.room.make();
        assert_eq!(place.given_up().now_or_never(), Some(()));
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_nobody_takes_is_given_up() {
        for does_trickle in [false, true] {
            let (mut client, listening, _place) = narrow(&Arc::new(gateway()));
            client.write_all(REQUEST).await.expect("sent");
            let begun = Instant::now();
            let taken = async {
                // A few bytes now and then are not taking it.
                while does_trickle && client.read_u8().await.is_ok() {
                    tokio::time::sleep(DEPARTURE / 10).await;
                }
                tokio::time::sleep(2 * DEPARTURE).await;
            };
            tokio::select! {
                ended = listening => ended.expect("no panic"),
                () = taken => {}
            }
            let took = begun.elapsed();
            assert!(took >= DEPARTURE && took < DEPARTURE + ARRIVAL, "{took:?}, {does_trickle}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn no_request_begins_on_a_place_that_is_given_up() {
        let gateway = Arc::new(gateway());
        let (mut client, _listening, _place) = narrow(&gateway);
        gateway.room.make();
        client.write_all(REQUEST).await.expect("sent");
        let answered = timeout(ARRIVAL / 2, client.read_u8()).await;
        assert!(answered.is_err(), "{answered:?}");
    }
}
