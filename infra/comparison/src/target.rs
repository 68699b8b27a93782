//! The web server that all tools request: a page for probes, a site to crawl, and DNS over HTTPS.

use std::convert::Infallible;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use clap::Args;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::TcpListener;
use tokio::process::{Child, Command};
use tokio_rustls::TlsAcceptor;

use crate::names;
use crate::report::line;

/// Pages of the site to crawl.
pub(crate) const PAGES: usize = 2_000;
/// Links on each page.
pub(crate) const LINKS: usize = 30;
/// Distinct broken links of the site.
pub(crate) const BROKEN: usize = 200;

/// The file that clients need.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The file to write the certificate authority to
    #[arg(long)]
    authority: PathBuf,
}

/// Serves HTTP, HTTPS and DNS over HTTPS until it is killed, and prints where.
pub(crate) async fn serve(options: &Options) -> Result<(), Box<dyn Error>> {
    let tls = certified(&options.authority)?;
    let mut http2 = tls.clone();
    http2.alpn_protocols = vec![b"h2".to_vec()];
    let (tls, http2) = (TlsAcceptor::from(Arc::new(tls)), TlsAcceptor::from(Arc::new(http2)));
    // Created once, because the measurement is about the client, not about this server.
    let pages: Arc<[Bytes]> = (0..PAGES).map(|number| Bytes::from(page(number))).collect();
    let plain = TcpListener::bind("127.0.0.1:0").await?;
    let secure = TcpListener::bind("127.0.0.1:0").await?;
    let names = TcpListener::bind("127.0.0.1:0").await?;
    line(&format!("{} {} {}", plain.local_addr()?, secure.local_addr()?, names.local_addr()?))?;
    loop {
        let (stream, tls, serves_names) = tokio::select! {
            Ok((stream, _)) = plain.accept() => (stream, None, false),
            Ok((stream, _)) = secure.accept() => (stream, Some(tls.clone()), false),
            Ok((stream, _)) = names.accept() => (stream, Some(http2.clone()), true),
        };
        stream.set_nodelay(true)?;
        let pages = Arc::clone(&pages);
        drop(tokio::spawn(async move {
            match tls {
                None => answer_all(stream, pages).await,
                Some(tls) => match tls.accept(stream).await {
                    Ok(stream) if serves_names => answer_names(stream).await,
                    Ok(stream) => answer_all(stream, pages).await,
                    Err(_) => {}
                },
            }
        }));
    }
}

/// Configures TLS with a certificate for 127.0.0.1, and writes the authority to a file.
fn certified(authority: &Path) -> Result<ServerConfig, Box<dyn Error>> {
    // The certificate is not the authority's own, which clients would trust without looking at its signature.
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
    fs::write(authority, issuer.pem())?;
    let key = KeyPair::generate()?;
    let leaf = CertificateParams::new(["127.0.0.1".to_owned()])?.signed_by(&key, &issuer)?;
    let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
    Ok(ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![leaf.der().clone()], key)?)
}

async fn answer_all<S>(stream: S, pages: Arc<[Bytes]>)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(|request| {
        let answer = answer(&request, &pages);
        async move { Ok::<_, Infallible>(answer) }
    });
    // The error means that the client closed the connection early, as it may.
    let _ = hyper::server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

async fn answer_names<S>(stream: S)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    // As above.
    let _ = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
        .serve_connection(TokioIo::new(stream), service_fn(names::answer))
        .await;
}

fn answer(request: &Request<Incoming>, pages: &[Bytes]) -> Response<Full<Bytes>> {
    let path = request.uri().path();
    let number = path.strip_prefix("/page/").and_then(|number| number.parse::<usize>().ok());
    let found = match number {
        Some(number) => pages.get(number).cloned(),
        None if path == "/" => pages.first().cloned(),
        None => (path == "/probe").then_some(Bytes::from_static(b"ok")),
    };
    let status = if found.is_some() { StatusCode::OK } else { StatusCode::NOT_FOUND };
    let body = found.unwrap_or(Bytes::from_static(b"not found"));
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    let html = HeaderValue::from_static("text/html; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, html);
    response
}

/// A page with as much text as links, one of which is broken.
fn page(number: usize) -> String {
    let mut html = format!("<!doctype html><html><head><title>Page {number}</title></head><body>");
    for place in 1..LINKS {
        let next = (number * (LINKS - 1) + place) % PAGES;
        html.push_str(&format!(
            "<p>Some words that stand between the links of a page, and then <a \
             href=\"/page/{next}\">a link to page {next}</a>.</p>\n"
        ));
    }
    html.push_str(&format!("<a href=\"/broken/{}\">gone</a></body></html>", number % BROKEN));
    html
}

/// The server in a process of its own.
pub(crate) struct TargetProcess {
    /// Host and port of plain HTTP.
    pub(crate) plain: String,
    /// Host and port of HTTPS.
    pub(crate) secure: String,
    /// Host and port of DNS over HTTPS.
    pub(crate) names: String,
    _child: Child,
}

impl TargetProcess {
    /// Starts a server, which writes its authority to a file.
    pub(crate) async fn start(authority: &Path) -> Result<Self, Box<dyn Error>> {
        // The server is a command of this binary.
        let mut child = Command::new(std::env::current_exe()?)
            .args(["target".as_ref(), "--authority".as_ref(), authority.as_os_str()])
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let mut said = BufReader::new(child.stdout.take().ok_or("no output")?).lines();
        let addresses = said.next_line().await?.ok_or("the target ended at once")?;
        let mut addresses = addresses.split(' ').map(str::to_owned);
        let mut next = || addresses.next().ok_or("the target does not say where it is");
        Ok(Self { plain: next()?, secure: next()?, names: next()?, _child: child })
    }
}
