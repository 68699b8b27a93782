//! TLS that Vedette does not support.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use jiff::Timestamp;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use url::Url;
use vedette_domain::checks::check::{SslResult, StatusResult};
use vedette_domain::expectations::CheckMethod;
use vedette_probe::ssl::{self, HTTPS_PORT, SslProbe};
use vedette_probe::ssrf_guard::{Outbound, SsrfGuard};
use vedette_probe::status::{self, StatusProbe};
use vedette_testkit::loopback;

/// A server that supports a suite in a version, and refuses a client that does not offer it with these bytes.
async fn server(
    version: [u8; 2],
    suite: u16,
    refusal: &'static [u8],
) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let clients = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&clients);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::SeqCst);
            let mut header = [0; 5];
            stream.read_exact(&mut header).await.expect("a record");
            let mut hello = vec![0; usize::from(u16::from_be_bytes([header[3], header[4]]))];
            stream.read_exact(&mut hello).await.expect("a ClientHello");
            let suites = offered(&hello);
            let answer = if suites.contains(&suite) {
                let mut answer = vec![22, 3, 3, 0, 42, 2, 0, 0, 38];
                answer.extend(version);
                answer.extend([7; 33].map(|byte: u8| byte));
                answer[43] = 0;
                answer.extend(suite.to_be_bytes());
                answer.push(0);
                answer
            } else {
                refusal.to_vec()
            };
            stream.write_all(&answer).await.expect("an answer");
        }
    });
    (address, clients)
}

/// The suites in a ClientHello.
fn offered(hello: &[u8]) -> Vec<u16> {
    // After the header of the message, the version and the random value.
    let rest = &hello[38..];
    let rest = &rest[1 + usize::from(rest[0])..];
    let length = usize::from(u16::from_be_bytes([rest[0], rest[1]]));
    rest[2..2 + length].chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect()
}

/// What the status and the ssl check find at `https://site.test/`.
pub(crate) async fn results(guard: &SsrfGuard) -> (StatusResult, SslResult) {
    let url: Url = "https://site.test/".parse().expect("a URL");
    let of_status = StatusProbe {
        url: &url,
        method: CheckMethod::Get,
        post: None,
        header: None,
        deadline: status::DEADLINE,
        connectivity: None,
        expected: None,
    };
    let status = status::probe(guard, &of_status).await.expect("completed");
    let now: Timestamp = "2026-11-20T10:05:00Z".parse().expect("a timestamp");
    let of_ssl =
        SslProbe { url: &url, port: HTTPS_PORT, deadline: ssl::DEADLINE, now, connectivity: None };
    (status, ssl::probe(guard, &of_ssl).await.expect("completed"))
}

/// What the status and the ssl check say about a server.
async fn said_about(address: SocketAddr) -> [String; 2] {
    let detour = format!("site.test:443:{address}").parse().expect("a detour");
    let guard = SsrfGuard::new(Outbound { connect_to: vec![detour], ..loopback() });
    let (status, ssl) = results(&guard.expect("a guard")).await;
    assert_eq!((status.code, ssl.is_valid), (0, false));
    [status.error.unwrap_or_default(), ssl.failure_message.unwrap_or_default()]
}

#[tokio::test]
async fn a_server_without_a_common_suite_is_told_what_vedette_lacks() {
    const HANDSHAKE_FAILURE: &[u8] = &[21, 3, 3, 0, 2, 2, 40];
    const PROTOCOL_VERSION: &[u8] = &[21, 3, 1, 0, 2, 2, 70];
    const CLOSED: &[u8] = &[];
    let (tls12, tls11, tls10) = ([3, 3], [3, 2], [3, 1]);
    for (version, suite, refusal, said) in [
        (tls12, 0xc00a, HANDSHAKE_FAILURE, "cipher suite TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA"),
        (tls12, 0xc014, CLOSED, "cipher suite TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA"),
        (tls12, 0x009d, HANDSHAKE_FAILURE, "cipher suite TLS_RSA_WITH_AES_256_GCM_SHA384"),
        (tls12, 0x009e, HANDSHAKE_FAILURE, "cipher suite TLS_DHE_RSA_WITH_AES_128_GCM_SHA256"),
        (tls12, 0x1304, HANDSHAKE_FAILURE, "cipher suite TLS_AES_128_CCM_SHA256"),
        (
            tls11,
            0x002f,
            PROTOCOL_VERSION,
            "TLS 1.1, with cipher suite TLS_RSA_WITH_AES_128_CBC_SHA",
        ),
        (
            tls10,
            0x000a,
            HANDSHAKE_FAILURE,
            "TLS 1.0, with cipher suite TLS_RSA_WITH_3DES_EDE_CBC_SHA",
        ),
    ] {
        let (address, clients) = server(version, suite, refusal).await;
        let said = format!("TLS: Vedette does not support the server's {said}");
        assert_eq!(said_about(address).await, [said.clone(), said]);
        assert_eq!(clients.load(Ordering::SeqCst), 4, "one further connection for each check");
    }
}

#[tokio::test]
async fn a_server_that_refuses_every_client_is_quoted_as_it_is() {
    for (refusal, said) in [
        (&[21, 3, 3, 0, 2, 2, 40][..], "TLS: the server refused the handshake"),
        (&[21, 3, 1, 0, 2, 2, 70], "TLS: no common protocol version"),
        (&[21, 3, 3, 0, 2, 2, 112], "TLS: the server does not know this name"),
    ] {
        // No client offers this suite, which is reserved.
        let (address, _) = server([3, 3], 0x0a0a, refusal).await;
        assert_eq!(said_about(address).await, [said; 2]);
    }
}
