//! Malicious servers. They generate what they send while they send it, so that this process does not hold it in memory.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use rcgen::{CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

/// A connection, in clear text or with TLS.
pub(crate) trait Duplex: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Duplex for S {}

pub(crate) type Stream = Box<dyn Duplex>;

type Serve = Arc<dyn Fn(Stream) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// A part of what is sent.
#[derive(Clone)]
pub(crate) enum Piece {
    Bytes(Vec<u8>),
    /// The same bytes, repeated.
    Repeat(Arc<[u8]>, u64),
    /// One byte per second.
    Slowly(Vec<u8>),
    /// Nothing more, but the connection stays open.
    Hang,
}

/// A name, and what is sent to each client.
pub(crate) type Script = (&'static str, fn() -> Vec<Piece>);

pub(crate) fn bytes(bytes: impl AsRef<[u8]>) -> Piece {
    Piece::Bytes(bytes.as_ref().to_vec())
}

/// `unit` again and again, at least `total` bytes.
pub(crate) fn flood(unit: impl AsRef<[u8]>, total: u64) -> Piece {
    let unit = unit.as_ref();
    let block = unit.repeat((64 * 1024 / unit.len()).max(1));
    let times = total.div_ceil(block.len() as u64);
    Piece::Repeat(block.into(), times)
}

/// Sends the pieces; ends early if the client has left.
pub(crate) async fn send(stream: &mut Stream, pieces: Vec<Piece>) -> std::io::Result<()> {
    for piece in pieces {
        match piece {
            Piece::Bytes(bytes) => stream.write_all(&bytes).await?,
            Piece::Repeat(bytes, times) => {
                for _ in 0..times {
                    stream.write_all(&bytes).await?;
                }
            }
            Piece::Slowly(bytes) => {
                for byte in bytes {
                    stream.write_all(&[byte]).await?;
                    stream.flush().await?;
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
            }
            Piece::Hang => {
                stream.flush().await?;
                std::future::pending::<()>().await;
            }
        }
    }
    stream.flush().await?;
    stream.shutdown().await
}

/// Answers one request per connection with the pieces that `answer` returns for its path.
pub(crate) fn http(answer: impl Fn(&str) -> Vec<Piece> + Send + Sync + 'static) -> Serve {
    let answer = Arc::new(answer);
    Arc::new(move |mut stream| {
        let answer = Arc::clone(&answer);
        Box::pin(async move {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                match stream.read_u8().await {
                    Ok(byte) => head.push(byte),
                    Err(_) => return,
                }
            }
            let head = String::from_utf8_lossy(&head).into_owned();
            let path = head.split(' ').nth(1).unwrap_or_default();
            // The client may have left.
            let _ = send(&mut stream, answer(path)).await;
        })
    })
}

/// Sends the pieces to each client, and meanwhile reads what the client sends.
pub(crate) fn blunt(pieces: impl Fn() -> Vec<Piece> + Send + Sync + 'static) -> Serve {
    let pieces = Arc::new(pieces);
    Arc::new(move |stream| {
        let pieces = pieces();
        Box::pin(async move {
            let (mut read, write) = tokio::io::split(stream);
            let mut write: Stream = Box::new(tokio::io::join(tokio::io::empty(), write));
            let reading = async {
                let mut buffer = [0; 4096];
                while matches!(read.read(&mut buffer).await, Ok(1..)) {}
            };
            let writing = async {
                let _ = send(&mut write, pieces).await;
                std::future::pending::<()>().await;
            };
            tokio::select! {
                () = reading => {}
                () = writing => {}
            }
        })
    })
}

/// Listens on loopback until dropped.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    _task: JoinSet<()>,
}

impl Server {
    pub(crate) async fn start(serve: Serve, tls: Option<Arc<ServerConfig>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        let mut task = JoinSet::new();
        task.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                while connections.try_join_next().is_some() {}
                let (serve, tls) = (Arc::clone(&serve), tls.clone());
                connections.spawn(async move {
                    match tls {
                        None => serve(Box::new(stream)).await,
                        Some(config) => {
                            if let Ok(stream) = TlsAcceptor::from(config).accept(stream).await {
                                serve(Box::new(stream)).await;
                            }
                        }
                    }
                });
            }
        });
        Self { address, _task: task }
    }
}

/// A certificate authority that the SSRF guard of this suite trusts.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        Self(CertifiedIssuer::self_signed(params, key).expect("a certificate"))
    }

    pub(crate) fn root(&self) -> CertificateDer<'static> {
        self.0.der().clone()
    }

    /// TLS for `host` with a certificate that `edit` can change. `copies` of it follow in the chain.
    pub(crate) fn server(
        &self,
        host: &str,
        alpn: &str,
        copies: usize,
        edit: impl FnOnce(&mut CertificateParams),
    ) -> Arc<ServerConfig> {
        let names = vec![host.to_owned(), "127.0.0.1".to_owned()];
        let mut params = CertificateParams::new(names).expect("names");
        edit(&mut params);
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.0).expect("a certificate");
        let chain = vec![certificate.der().clone(); 1 + copies];
        let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .expect("a certificate");
        config.alpn_protocols = vec![alpn.as_bytes().to_vec()];
        Arc::new(config)
    }
}
