//! Connections of a crawl: kept alive, and made to admitted targets only.

use std::collections::VecDeque;
use std::net::IpAddr;
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
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use url::Url;

use crate::exchange::{Connection, Tasks, http1_builder, http2_builder, secure};
use crate::guard::Guard;
use crate::paced::Paced;

/// Connections kept while nothing is asked of them, of all origins together.
const IDLE: usize = 64;

/// Where a connection leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Peer {
    /// Of its origin.
    pub(super) place: u32,
    /// The one address of the origin that it was made to.
    pub(super) address: IpAddr,
}

/// Connected to, and no HTTP came about.
pub(super) struct NoHttp;

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
    /// The longest unused first.
    idle: Mutex<VecDeque<(Peer, Wire)>>,
    /// What HTTP/2 does beside its requests.
    tasks: Arc<Mutex<JoinSet<()>>>,
}

impl Wires {
    /// A connection to the place that was used before.
    pub(super) fn take(&self, place: u32) -> Option<(Peer, Wire)> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let at = idle.iter().rposition(|(peer, _)| peer.place == place)?;
        if let (peer, Wire::Http2(sender)) = &idle[at]
            && !sender.is_closed()
        {
            // It carries many requests at a time.
            return Some((*peer, Wire::Http2(sender.clone())));
        }
        idle.remove(at)
    }

    /// Keeps a connection on which nothing is under way.
    pub(super) fn keep(&self, peer: Peer, wire: Wire) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        // One is enough where one carries many requests, and the last used is the one that works.
        if matches!(wire, Wire::Http2(_)) {
            idle.retain(|(of, other)| of.place != peer.place || matches!(other, Wire::Http1(_)));
        }
        if idle.len() == IDLE {
            idle.pop_front();
        }
        idle.push_back((peer, wire));
    }

    /// Makes ready for requests what was connected to for `url`.
    pub(super) async fn open(
        &self,
        guard: &Guard,
        stream: TcpStream,
        url: &Url,
    ) -> Result<Wire, NoHttp> {
        if url.scheme() != "https" {
            return http1(stream).await;
        }
        let stream = secure(guard, stream, url).await.map_err(|_| NoHttp)?;
        if stream.get_ref().1.alpn_protocol() == Some(b"h2") {
            self.http2(stream).await
        } else {
            http1(stream).await
        }
    }

    async fn http2<S>(&self, stream: S) -> Result<Wire, NoHttp>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let tasks = Tasks::of(&self.tasks);
        let (sender, connection) = http2_builder(tasks.clone())
            .handshake(TokioIo::new(Paced::new(stream)))
            .await
            .map_err(|_| NoHttp)?;
        // Its errors reach the requests.
        tasks.execute(async { drop(connection.await) });
        Ok(Wire::Http2(sender))
    }
}

async fn http1<S>(stream: S) -> Result<Wire, NoHttp>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (sender, connection) =
        http1_builder().handshake(TokioIo::new(Paced::new(stream))).await.map_err(|_| NoHttp)?;
    Ok(Wire::Http1(Http1 { sender, connection: Connection::new(connection, None) }))
}
