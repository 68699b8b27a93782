//! The web server that is measured against: a page for probes, and a site to crawl.

use std::convert::Infallible;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use clap::Args;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::CONTENT_TYPE;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::TcpListener;
use tokio::process::{Child, Command};
use tokio_rustls::TlsAcceptor;

use crate::report::line;

/// Pages of the site that is crawled.
pub(crate) const PAGES: usize = 2_000;
/// Links on each of them.
pub(crate) const LINKS: usize = 30;
/// Distinct links of the site that lead nowhere.
pub(crate) const BROKEN: usize = 200;

/// Where the server keeps what its clients need.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// File to write the certificate authority to.
    #[arg(long)]
    authority: PathBuf,
}

/// Serves plain and encrypted HTTP, says where, and goes on until it is killed.
pub(crate) async fn serve(options: &Options) -> Result<(), Box<dyn Error>> {
    let tls = TlsAcceptor::from(Arc::new(certified(&options.authority)?));
    let plain = TcpListener::bind("127.0.0.1:0").await?;
    let secure = TcpListener::bind("127.0.0.1:0").await?;
    line(&format!("{} {}", plain.local_addr()?, secure.local_addr()?))?;
    loop {
        tokio::select! {
            Ok((stream, _)) = plain.accept() => drop(tokio::spawn(answer_all(stream))),
            Ok((stream, _)) = secure.accept() => {
                let tls = tls.clone();
                drop(tokio::spawn(async move {
                    if let Ok(stream) = tls.accept(stream).await {
                        answer_all(stream).await;
                    }
                }));
            }
        }
    }
}

/// TLS with a certificate for 127.0.0.1, whose authority is written to a file.
fn certified(authority: &Path) -> Result<ServerConfig, Box<dyn Error>> {
    let certified = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()])?;
    fs::write(authority, certified.cert.pem())?;
    let key = PrivateKeyDer::Pkcs8(certified.signing_key.serialize_der().into());
    Ok(ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![certified.cert.der().clone()], key)?)
}

async fn answer_all<S>(stream: S)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(|request| async move { Ok::<_, Infallible>(answer(&request)) });
    // Ends with an error where the client leaves in the middle, which is its right.
    let _ = hyper::server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

fn answer(request: &Request<hyper::body::Incoming>) -> Response<Full<Bytes>> {
    let path = request.uri().path();
    let number = path.strip_prefix("/page/").and_then(|number| number.parse().ok());
    let (status, body) = match number {
        Some(number) if number < PAGES => (StatusCode::OK, page(number)),
        _ if path == "/" => (StatusCode::OK, page(0)),
        _ if path == "/probe" => (StatusCode::OK, "ok".to_owned()),
        _ => (StatusCode::NOT_FOUND, "not found".to_owned()),
    };
    let mut response = Response::new(Full::from(body));
    *response.status_mut() = status;
    let html = hyper::header::HeaderValue::from_static("text/html; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, html);
    response
}

/// A page with as much text as links, one of which leads nowhere.
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

/// A server in a process of its own.
pub(crate) struct Target {
    /// Host and port of plain HTTP.
    pub(crate) plain: String,
    /// Host and port of HTTPS.
    pub(crate) secure: String,
    _child: Child,
}

impl Target {
    /// Starts one, which writes its authority to a file.
    pub(crate) async fn start(authority: &Path) -> Result<Self, Box<dyn Error>> {
        // This binary plays both sides.
        let mut child = Command::new(std::env::current_exe()?)
            .args(["target".as_ref(), "--authority".as_ref(), authority.as_os_str()])
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let mut said = BufReader::new(child.stdout.take().ok_or("no output")?).lines();
        let addresses = said.next_line().await?.ok_or("the target ended at once")?;
        let (plain, secure) = addresses.split_once(' ').ok_or("the target said nothing")?;
        Ok(Self { plain: plain.to_owned(), secure: secure.to_owned(), _child: child })
    }
}
