//! Connections of a crawl: kept alive, and made to admitted targets only.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use http_body_util::Empty;
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::{http1, http2};
use hyper::header::HOST;
use hyper::http::uri::Scheme;
use hyper::rt::Executor as _;
use hyper::{Request, Response, Uri};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinSet;
use url::Url;

use crate::connect::{ConnectError, connect};
use crate::exchange::{Connection, Tasks, http1_builder, http2_builder, secure};
use crate::guard::{Guard, Target};
use crate::paced::Paced;

/// Connections kept while nothing is asked of them, of all origins together.
const IDLE: usize = 64;

/// Why there is no connection.
pub(super) enum WireError {
    Connect(ConnectError),
    /// Connected to, and no HTTP came about.
    Handshake,
}

/// A connection on which requests can be sent.
pub(super) enum Wire {
    Http1(Http1),
    Http2(http2::SendRequest<Empty<Bytes>>),
}

pub(super) struct Http1 {
    sender: http1::SendRequest<Empty<Bytes>>,
    connection: Connection,
}

impl Wire {
    /// Sends a request whose URI is absolute, and waits for the head of its answer.
    pub(super) async fn send(
        &mut self,
        mut request: Request<Empty<Bytes>>,
    ) -> hyper::Result<Response<Incoming>> {
        match self {
            Self::Http1(Http1 { sender, connection }) => {
                // The target alone, and the authority as a header: RFC 9112, section 3.2.
                let target = request.uri().path_and_query().cloned();
                *request.uri_mut() = target.map(Uri::from).unwrap_or_default();
                connection.drive(sender.send_request(request)).await
            }
            Self::Http2(sender) => {
                // A header of the site's own choice counts more than the URL, as in HTTP/1.1.
                if let Some(host) = request.headers_mut().remove(HOST)
                    && let Ok(authority) = host.as_bytes().try_into()
                {
                    let mut parts = std::mem::take(request.uri_mut()).into_parts();
                    parts.scheme = Some(Scheme::HTTPS);
                    parts.authority = Some(authority);
                    *request.uri_mut() = Uri::from_parts(parts).unwrap_or_default();
                }
                sender.send_request(request).await
            }
        }
    }

    /// The output of `future`, which waits for this connection.
    pub(super) async fn drive<F: Future>(&mut self, future: F) -> F::Output {
        match self {
            Self::Http1(Http1 { connection, .. }) => connection.drive(future).await,
            Self::Http2(_) => future.await,
        }
    }

    /// Whether another request can be sent; waits for the end of the one before.
    pub(super) async fn is_ready(&mut self) -> bool {
        match self {
            Self::Http1(Http1 { sender, connection }) => {
                connection.drive(sender.ready()).await.is_ok()
            }
            Self::Http2(sender) => sender.ready().await.is_ok(),
        }
    }
}

/// The connections of one crawl. Dropping it closes them.
#[derive(Default)]
pub(super) struct Wires {
    /// By the place of their origin, the longest unused first.
    idle: Mutex<VecDeque<(u32, Wire)>>,
    /// What HTTP/2 does beside its requests.
    tasks: Arc<Mutex<JoinSet<()>>>,
}

impl Wires {
    /// A connection to the place that was used before.
    pub(super) fn take(&self, place: u32) -> Option<Wire> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let at = idle.iter().rposition(|(of, _)| *of == place)?;
        if let (_, Wire::Http2(sender)) = &idle[at]
            && !sender.is_closed()
        {
            // It carries many requests at a time.
            return Some(Wire::Http2(sender.clone()));
        }
        idle.remove(at).map(|(_, wire)| wire)
    }

    /// Keeps a connection on which nothing is under way.
    pub(super) fn keep(&self, place: u32, wire: Wire) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        // One is enough where one carries many requests, and the last used is the one that works.
        if matches!(wire, Wire::Http2(_)) {
            idle.retain(|(of, other)| *of != place || matches!(other, Wire::Http1(_)));
        }
        if idle.len() == IDLE {
            idle.pop_front();
        }
        idle.push_back((place, wire));
    }

    /// Connects to `target`, for `url`.
    pub(super) async fn open(
        &self,
        guard: &Guard,
        target: &Target,
        url: &Url,
    ) -> Result<Wire, WireError> {
        let stream = connect(target).await.map_err(WireError::Connect)?;
        if url.scheme() != "https" {
            return http1(stream).await;
        }
        let stream = secure(guard, stream, url).await.map_err(|_| WireError::Handshake)?;
        if stream.get_ref().1.alpn_protocol() == Some(b"h2") {
            self.http2(stream).await
        } else {
            http1(stream).await
        }
    }

    async fn http2<S>(&self, stream: S) -> Result<Wire, WireError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let tasks = Tasks::of(&self.tasks);
        let (sender, connection) = http2_builder(tasks.clone())
            .handshake(TokioIo::new(Paced::new(stream)))
            .await
            .map_err(|_| WireError::Handshake)?;
        // Its errors reach the requests.
        tasks.execute(async { drop(connection.await) });
        Ok(Wire::Http2(sender))
    }
}

async fn http1<S>(stream: S) -> Result<Wire, WireError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (sender, connection) = http1_builder()
        .handshake(TokioIo::new(Paced::new(stream)))
        .await
        .map_err(|_| WireError::Handshake)?;
    Ok(Wire::Http1(Http1 { sender, connection: Connection::new(connection, None) }))
}
