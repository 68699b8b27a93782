//! Real servers on loopback for the tests of this crate. Each listens on a port of its own and ends when its value is
//! dropped.

pub(crate) mod certificates;
pub(crate) mod doh;
pub(crate) mod names;
pub(crate) mod site;

use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use hickory_resolver::config::{ResolverConfig, ResolverOpts};
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use url::Url;

use crate::browser::Chromium;
use crate::performance::Lighthouse;
use crate::ssrf_guard::{Outbound, SsrfGuard};

/// A server that counts connections and keeps the request heads it read.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    scheme: &'static str,
    seen: Arc<Mutex<Seen>>,
    _task: JoinSet<()>,
}

#[derive(Default)]
struct Seen {
    connections: usize,
    heads: Vec<String>,
}

impl Server {
    /// Hands each connection to `serve`.
    pub(crate) async fn raw<F>(serve: impl Fn(TcpStream) -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        Self::at("127.0.0.1", "http", move |stream, _| serve(stream)).await
    }

    /// Answers each request head with the bytes that `answer` returns for it, then closes the connection.
    pub(crate) async fn http(answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> Self {
        Self::http_at("127.0.0.1", answer).await
    }

    /// The same on another loopback address, which counts as another host.
    pub(crate) async fn http_at(
        ip: &str,
        answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static,
    ) -> Self {
        let answer = Arc::new(answer);
        Self::at(ip, "http", move |stream, seen| reply(stream, Arc::clone(&answer), seen)).await
    }

    /// The same behind TLS.
    pub(crate) async fn https(
        config: ServerConfig,
        answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static,
    ) -> Self {
        Self::https_at("127.0.0.1", config, answer).await
    }

    /// The same on another loopback address.
    pub(crate) async fn https_at(
        ip: &str,
        config: ServerConfig,
        answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static,
    ) -> Self {
        let answer = Arc::new(answer);
        let acceptor = TlsAcceptor::from(Arc::new(config));
        Self::at(ip, "https", move |stream, seen| {
            let (answer, acceptor) = (Arc::clone(&answer), acceptor.clone());
            async move {
                if let Ok(stream) = acceptor.accept(stream).await {
                    reply(stream, answer, seen).await;
                }
            }
        })
        .await
    }

    /// HTTP/2 over TLS, with hyper.
    pub(crate) async fn http2<F, B>(
        config: ServerConfig,
        answer: impl Fn(hyper::Request<hyper::body::Incoming>) -> F + Send + Sync + Clone + 'static,
    ) -> Self
    where
        F: Future<Output = hyper::Response<B>> + Send + 'static,
        B: hyper::body::Body<Data = hyper::body::Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let acceptor = TlsAcceptor::from(Arc::new(config));
        Self::at("127.0.0.1", "https", move |stream, _| {
            let (answer, acceptor) = (answer.clone(), acceptor.clone());
            async move {
                let Ok(stream) = acceptor.accept(stream).await else {
                    return;
                };
                let service = hyper::service::service_fn(move |request| {
                    let answer = answer(request);
                    async move { Ok::<_, std::convert::Infallible>(answer.await) }
                });
                // Ends with an error when the client leaves, as it should.
                let _ =
                    hyper::server::conn::http2::Builder::new(hyper_util::rt::TokioExecutor::new())
                        .serve_connection(hyper_util::rt::TokioIo::new(stream), service)
                        .await;
            }
        })
        .await
    }

    async fn at<F>(
        ip: &str,
        scheme: &'static str,
        serve: impl Fn(TcpStream, Arc<Mutex<Seen>>) -> F + Send + 'static,
    ) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind((ip, 0)).await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        let seen = Arc::<Mutex<Seen>>::default();
        let mut task = JoinSet::new();
        let counted = Arc::clone(&seen);
        task.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                counted.lock().expect("no panic").connections += 1;
                connections.spawn(serve(stream, Arc::clone(&counted)));
            }
        });
        Self { address, scheme, seen, _task: task }
    }

    /// The URL of `path` here, by address.
    pub(crate) fn url(&self, path: &str) -> Url {
        format!("{}://{}{path}", self.scheme, self.address).parse().expect("a URL")
    }

    /// The URL of `path` here, by a name.
    pub(crate) fn url_as(&self, host: &str, path: &str) -> Url {
        format!("{}://{host}:{}{path}", self.scheme, self.address.port()).parse().expect("a URL")
    }

    /// Connections accepted so far.
    pub(crate) fn connections(&self) -> usize {
        self.seen.lock().expect("no panic").connections
    }

    /// Request heads read so far.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.seen.lock().expect("no panic").heads.clone()
    }
}

async fn reply<S, A>(mut stream: S, answer: Arc<A>, seen: Arc<Mutex<Seen>>)
where
    S: AsyncRead + AsyncWrite + Unpin,
    A: Fn(&str) -> Vec<u8>,
{
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return,
        }
    }
    let head = String::from_utf8(head).expect("ASCII");
    let bytes = answer(&head);
    seen.lock().expect("no panic").heads.push(head);
    // The client may have left.
    let _ = stream.write_all(&bytes).await;
    let _ = stream.shutdown().await;
}

/// Keeps a connection open and sends nothing.
pub(crate) async fn hold(stream: TcpStream) {
    let _stream = stream;
    std::future::pending::<()>().await;
}

/// An answer with a short body.
pub(crate) fn status(code: u16) -> Vec<u8> {
    format!("HTTP/1.1 {code} Some\r\nContent-Length: 5\r\n\r\nhello").into_bytes()
}

/// A redirect.
pub(crate) fn redirect(code: u16, location: &str) -> Vec<u8> {
    format!("HTTP/1.1 {code} Moved\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n")
        .into_bytes()
}

/// The path in a request head.
pub(crate) fn path(head: &str) -> &str {
    head.split(' ').nth(1).expect("a request line")
}

/// A guard that allows all of 127.0.0.0/8 and asks no name server.
pub(crate) fn guard() -> SsrfGuard {
    guard_of(Outbound {
        allow: vec!["127.0.0.0/8".parse().expect("a network")],
        ..Outbound::default()
    })
}

/// A guard that asks no name server.
pub(crate) fn guard_of(outbound: Outbound) -> SsrfGuard {
    SsrfGuard::with_resolver(outbound, ResolverConfig::default(), ResolverOpts::default())
        .expect("a guard")
}

/// The folder in which `make lighthouse` installs, or `VEDETTE_LIGHTHOUSE`.
#[expect(clippy::disallowed_methods, reason = "a test's own configuration")]
pub(crate) fn lighthouse_folder() -> PathBuf {
    std::env::var_os("VEDETTE_LIGHTHOUSE").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../infra/lighthouse")),
        PathBuf::from,
    )
}

/// A real browser, if there is one. Without it, the tests that need it are skipped, and say so.
#[expect(clippy::disallowed_methods, reason = "a test's own configuration")]
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
pub(crate) fn installed_chromium() -> Option<Chromium> {
    let configured = std::env::var_os("VEDETTE_CHROME").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = Chromium::find(configured.as_deref(), &lighthouse_folder(), &path);
    if found.is_err() {
        eprintln!("skipped: no Chromium is installed; `make lighthouse` brings one");
    }
    found.ok()
}

/// A real Lighthouse, if it is installed. Otherwise its tests are skipped, and say so.
#[expect(clippy::disallowed_methods, reason = "a test's own configuration")]
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
pub(crate) fn installed_lighthouse() -> Option<Lighthouse> {
    let configured = std::env::var_os("VEDETTE_CHROME").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = Lighthouse::find(&lighthouse_folder(), configured.as_deref(), &path);
    found.inspect_err(|error| eprintln!("skipped: {}; run `make lighthouse`", error.message)).ok()
}
