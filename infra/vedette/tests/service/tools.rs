//! All tools on one site: a web server, its certificate and a resolver, all on this machine.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hickory_resolver::proto::op::{Metadata, ResponseCode};
use hickory_resolver::proto::rr::rdata::A;
use hickory_resolver::proto::rr::{RData, Record, RecordType};
use hickory_server::net::runtime::Time;
use hickory_server::server::{Request, RequestHandler, ResponseHandler, ResponseInfo};
use hickory_server::zone_handler::MessageResponseBuilder;
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::time::{Instant, sleep};
use tokio_rustls::TlsAcceptor;
use vedette_checker::Config;
use vedette_domain::checks::tool::Tool;
use vedette_local::Service;

use crate::client::Client;
use crate::{mail, options};

/// Longer than the first runs of all tools on a busy machine.
const PATIENCE: Duration = Duration::from_secs(180);

const PAGE: &str = "<!doctype html><html lang=en><title>Shop</title>\
    <meta name=viewport content='width=device-width'><h1>Shop</h1><a href='/gone'>Gone</a></html>";

#[tokio::test]
async fn every_tool_completes_on_a_site_of_this_machine() {
    let folder = tempfile::tempdir().expect("a folder");
    let names = ["shop.test".to_owned(), "127.0.0.1".to_owned()];
    let certified = rcgen::generate_simple_self_signed(names).expect("a certificate");
    let root = folder.path().join("root.pem");
    fs::write(&root, certified.cert.pem()).expect("written");
    let plain = web(None).await;
    let secure = web(Some(TlsAcceptor::from(Arc::new(tls(&certified, &[]))))).await;
    let (resolver, _server) = resolver(&certified).await;

    // Lighthouse is there after `make lighthouse`, which `make test` does first.
    let lighthouse = Path::new(env!("CARGO_MANIFEST_DIR")).join("../lighthouse");
    let has_lighthouse = lighthouse.join("node_modules/.ok").is_file();
    let config = Config::read(&|name| match name {
        "VEDETTE_ALLOW_TARGETS" => Some("127.0.0.0/8".to_owned()),
        "VEDETTE_THROTTLE" => Some("100000".to_owned()),
        "VEDETTE_CONNECT_TO" => Some(format!("shop.test:80:{plain},shop.test:443:{secure}")),
        "VEDETTE_EXTRA_ROOTS" => Some(root.display().to_string()),
        "VEDETTE_DOH" => Some(format!("here=https://{resolver}/dns-query")),
        "VEDETTE_RDAP" => Some("none".to_owned()),
        "VEDETTE_LIGHTHOUSE" => Some(lighthouse.display().to_string()),
        _ => None,
    })
    .expect("a configuration");
    assert_eq!(config.service.tools.contains(&Tool::Performance), has_lighthouse);
    let tools = config.service.tools.clone();
    let options = options(&folder.path().join("data"));
    let mail = mail(&options.data);
    let service = Service::start(options, config, mail, None).await.expect("started");
    let client = Client::with_token_file(service.listen(), &service.token_file());

    let site = client.add_site("http://shop.test").await;
    let asked = Instant::now();
    let latest = loop {
        let latest = client.get(&format!("/api/v1/sites/{site}")).await.body;
        let latest = latest["data"]["latest_checks"].clone();
        if tools.iter().all(|tool| latest[tool.as_str()]["status"] == "completed") {
            break latest;
        }
        assert!(asked.elapsed() < PATIENCE, "{latest:#}");
        sleep(Duration::from_millis(100)).await;
    };
    let result = |tool: &str| &latest[tool]["result"];
    assert_eq!(result("status")["code"], 200);
    assert_eq!(result("ssl")["is_valid"], true, "{}", latest["ssl"]);
    assert_eq!(result("dns")["records"]["A"][0]["ip"], "127.0.0.1");
    assert_eq!(result("broken-links")["found"], 1);
    assert_eq!(result("broken-links")["urls"][0]["url"], "http://shop.test/gone");
    if has_lighthouse {
        let metrics = &result("performance")["speed_metrics"];
        assert!(metrics["performance_score"].as_u64().is_some_and(|score| score > 50));
        assert!(metrics["core_web_vitals"]["lcp"]["value"].as_f64().is_some_and(|ms| ms > 0.0));
        let report = client.get(&format!("/api/v1/sites/{site}/reports/performance")).await;
        assert_eq!(report.body["data"]["total_checks"], 1, "{report:?}");
    }
    service.stop().await;
}

/// A server of the page; 404 for every other path.
pub(crate) async fn web(tls: Option<TlsAcceptor>) -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let tls = tls.clone();
            tokio::spawn(async move {
                match tls {
                    None => answer(stream).await,
                    Some(tls) => {
                        if let Ok(stream) = tls.accept(stream).await {
                            answer(stream).await;
                        }
                    }
                }
            });
        }
    });
    address
}

async fn answer(mut stream: impl tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin) {
    let mut request = [0; 8_192];
    let Ok(length) = stream.read(&mut request).await else { return };
    let (status, body) = match request[..length].split(|byte| *byte == b' ').nth(1) {
        Some(b"/") => ("200 OK", PAGE),
        _ => ("404 Not Found", "Gone"),
    };
    let head = format!("Content-Type: text/html\r\nContent-Length: {}", body.len());
    let answer = format!("HTTP/1.1 {status}\r\n{head}\r\nConnection: close\r\n\r\n{body}");
    let _ = stream.write_all(answer.as_bytes()).await;
    let _ = stream.shutdown().await;
}

pub(crate) fn tls(
    certified: &rcgen::CertifiedKey<rcgen::KeyPair>,
    protocols: &[&[u8]],
) -> ServerConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let key = PrivateKeyDer::Pkcs8(certified.signing_key.serialize_der().into());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certified.cert.der().clone()], key)
        .expect("a key pair");
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    config
}

/// A DNS-over-HTTPS server for which every name has one address.
async fn resolver(
    certified: &rcgen::CertifiedKey<rcgen::KeyPair>,
) -> (std::net::SocketAddr, hickory_server::Server<OneAddress>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let mut server = hickory_server::Server::new(OneAddress);
    let tls = Arc::new(tls(certified, &[b"h2"]));
    let (patience, path) = (Duration::from_secs(30), "/dns-query".to_owned());
    server
        .register_https_listener_with_tls_config(listener, patience, tls, None, path)
        .expect("a listener");
    (address, server)
}

struct OneAddress;

#[async_trait::async_trait]
impl RequestHandler for OneAddress {
    async fn handle_request<R: ResponseHandler, T: Time>(
        &self,
        request: &Request,
        mut response: R,
    ) -> ResponseInfo {
        let question = request.request_info().expect("one question").query.original().clone();
        let mut metadata = Metadata::response_from_request(&request.metadata);
        metadata.recursion_available = true;
        metadata.response_code = ResponseCode::NoError;
        let address = RData::A(A::new(127, 0, 0, 1));
        let record = Record::from_rdata(question.name().clone(), 300, address);
        let answers = (question.query_type() == RecordType::A).then_some(record);
        let message = MessageResponseBuilder::from_message_request(request).build(
            metadata,
            &answers,
            [],
            [],
            [],
        );
        response.send_response(message).await.expect("a response")
    }
}
