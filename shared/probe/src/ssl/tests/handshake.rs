//! Handshakes that succeed, fail or stall.

use rustls::version::{TLS12, TLS13};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;
use vedette_domain::checks::check::CheckError;

use super::SslFailure::{ConnectionFailed, HostnameMismatch, NoCertificate, UntrustedChain};
use super::*;
use crate::loopback::names::{Entry, NameServer};
use crate::ssrf_guard::TARGET_FORBIDDEN;

/// Reads the client's first message, answers with `bytes`, and waits until the client has left, so that no reset
/// overtakes them.
async fn answers(bytes: &'static [u8]) -> Server {
    Server::raw(move |mut stream: TcpStream| async move {
        let _ = stream.read(&mut [0; 4096]).await;
        let _ = stream.write_all(bytes).await;
        let _ = stream.read_to_end(&mut Vec::new()).await;
    })
    .await
}

async fn probed(server: &Server) -> SslResult {
    completed(&guard_to(SITE, server.address, &[]), SITE).await
}

#[tokio::test]
async fn each_version_of_tls_is_reported() {
    let authority = Authority::new("known");
    for (version, protocol, suite) in
        [(&TLS12, "TLSv1.2", "TLS_ECDHE_ECDSA_WITH_"), (&TLS13, "TLSv1.3", "TLS_AES_")]
    {
        let mut config = authority.issue(&[SITE], CURRENT, |_| {}).serve(&[version], None);
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let result = serve(config, SITE, &[authority.root()]).await;
        assert_eq!(verdict(&result), (None, true, ""));
        let info = result.info.expect("a certificate");
        assert_eq!(info.protocol.as_deref(), Some(protocol));
        assert_eq!(info.alpn.as_deref(), Some("http/1.1"));
        assert!(info.cipher_suite.expect("a suite").starts_with(suite));
    }
}

#[tokio::test]
async fn a_connection_ends_in_order() {
    let authority = Authority::new("known");
    for version in [&TLS12, &TLS13] {
        let config = authority.issue(&[SITE], CURRENT, |_| {}).serve(&[version], None);
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let (ended, mut end) = mpsc::unbounded_channel();
        let server = Server::raw(move |stream| {
            let (acceptor, ended) = (acceptor.clone(), ended.clone());
            async move {
                let mut stream = acceptor.accept(stream).await.expect("TLS");
                // Without the client's close_notify, rustls reports the end as an error.
                let last = stream.read(&mut [0; 16]).await.map_err(|error| error.kind());
                ended.send(last).expect("awaited");
            }
        })
        .await;
        let result = completed(&guard_to(SITE, server.address, &[authority.root()]), SITE).await;
        assert!(result.is_valid, "{result:?}");
        assert_eq!(end.recv().await, Some(Ok(0)));
    }
}

#[tokio::test]
async fn a_server_that_does_not_end_is_left() {
    let authority = Authority::new("known");
    let acceptor = TlsAcceptor::from(Arc::new(authority.server(&[SITE], CURRENT, &[])));
    for is_silent in [true, false] {
        let acceptor = acceptor.clone();
        let server = Server::raw(move |stream| {
            let acceptor = acceptor.clone();
            async move {
                let mut stream = acceptor.accept(stream).await.expect("TLS");
                while !is_silent && stream.write_all(&[0; 4096]).await.is_ok() {}
                std::future::pending::<()>().await;
            }
        })
        .await;
        let started = Instant::now();
        let result = completed(&guard_to(SITE, server.address, &[authority.root()]), SITE).await;
        assert!(result.is_valid, "{result:?}");
        assert!(started.elapsed() < TEST_TIMEOUT, "{:?}", started.elapsed());
    }
}

#[tokio::test]
async fn a_server_for_known_clients_is_judged_by_its_own_certificate() {
    let (known, unknown) = (Authority::new("known"), Authority::new("unknown"));
    for (version, protocol) in [(&TLS12, "TLSv1.2"), (&TLS13, "TLSv1.3")] {
        for (authority, name, failure, verified) in [
            (&known, SITE, None, true),
            (&known, "other.example", Some(HostnameMismatch), true),
            (&unknown, SITE, Some(UntrustedChain), false),
        ] {
            let identity = authority.issue(&[name], CURRENT, |_| {});
            let config = identity.serve(&[version], Some(&known));
            let result = serve(config, SITE, &[known.root()]).await;
            let (found, trusted, _) = verdict(&result);
            assert_eq!((found, trusted), (failure, verified), "{protocol} {name}");
            let info = result.info.expect("a certificate");
            assert_eq!(info.protocol.as_deref(), Some(protocol));
        }
    }
}

#[tokio::test]
async fn a_server_without_the_key_of_its_certificate_shows_nothing() {
    let authority = Authority::new("known");
    let victim = authority.issue(&[SITE], CURRENT, |_| {});
    let own = authority.issue(&[SITE], CURRENT, |_| {});
    // Also a key of another kind.
    let other = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519).expect("a key");
    for key in [own.key, other] {
        let thief = Identity { chain: victim.chain.clone(), key };
        for version in [&TLS12, &TLS13] {
            let config = thief.serve(&[version], None);
            let result = serve(config, SITE, &[authority.root()]).await;
            let words = "the server does not hold the key of the certificate that it presents";
            assert_eq!(verdict(&result), (Some(NoCertificate), false, words));
            assert_eq!(result.ip.as_deref(), Some("127.0.0.1"));
        }
    }
}

#[tokio::test]
async fn a_server_without_a_certificate_is_reported() {
    for (bytes, words) in [
        // Alerts: a fatal protocol_version, as servers with TLS 1.0 send it; handshake_failure, as servers with only
        // anonymous ciphers send it; internal_error; unrecognized_name.
        (&b"\x15\x03\x01\x00\x02\x02\x46"[..], "TLS: no common protocol version"),
        (b"\x15\x03\x03\x00\x02\x02\x28", "TLS: the server refused the handshake"),
        (b"\x15\x03\x03\x00\x02\x02\x50", "TLS: internal error of the server"),
        (b"\x15\x03\x03\x00\x02\x02\x70", "TLS: the server does not know this name"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "TLS: the server does not speak TLS"),
        (b"SSH-2.0-OpenSSH_9.9\r\n", "TLS: the server does not speak TLS"),
        // A ServerHello of TLS 1.0.
        (
            b"\x16\x03\x01\x00\x2a\x02\x00\x00\x26\x03\x01\
              01234567890123456789012345678901\x00\x00\x2f\x00",
            "TLS: Vedette does not support the server's TLS 1.0, with cipher suite \
             TLS_RSA_WITH_AES_128_CBC_SHA",
        ),
    ] {
        let server = answers(bytes).await;
        let result = probed(&server).await;
        assert_eq!(verdict(&result), (Some(NoCertificate), false, words));
        assert_eq!(result.ip.as_deref(), Some("127.0.0.1"));
    }
}

#[tokio::test]
async fn a_connection_that_ends_is_reported() {
    let closed = Server::raw(|mut stream| async move {
        let _ = stream.read(&mut [0; 4096]).await;
    })
    .await;
    let result = probed(&closed).await;
    let words = "TLS: connection closed in the handshake";
    assert_eq!(verdict(&result), (Some(ConnectionFailed), false, words));

    let reset = Server::raw(|stream| async move {
        // If a socket is closed with the message unread, it answers with a reset.
        stream.readable().await.expect("a message");
    })
    .await;
    let result = probed(&reset).await;
    let words = "TLS: connection reset";
    assert_eq!(verdict(&result), (Some(ConnectionFailed), false, words));
    assert_eq!(result.ip.as_deref(), Some("127.0.0.1"));

    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("bound");
    drop(listener);
    let result = completed(&guard_to(SITE, address, &[]), SITE).await;
    assert_eq!(verdict(&result), (Some(ConnectionFailed), false, "connection refused"));
    assert_eq!(result.ip, None);
}

#[tokio::test]
async fn a_silent_server_runs_out_of_time() {
    let silent = Server::raw(|stream| async move {
        std::future::pending::<()>().await;
        drop(stream);
    })
    .await;
    let url = "https://site.example/".parse().expect("a URL");
    let probe = SslProbe { deadline: HASTY, ..probe_of(&url) };
    let guard = guard_to(SITE, silent.address, &[]);
    let result = super::probe(&guard, &probe).await.expect("a completed check");
    assert_eq!(verdict(&result), (Some(ConnectionFailed), false, "no certificate within 0.2 s"));
    assert_eq!(result.ip.as_deref(), Some("127.0.0.1"));
}

/// Forwards the client's first message to the server at `address`, and then only what the server sends: the handshake
/// stalls.
async fn stalling(address: SocketAddr) -> Server {
    Server::raw(move |mut client| async move {
        let mut server = TcpStream::connect(address).await.expect("the server");
        let mut hello = [0; 16 * 1024];
        let length = client.read(&mut hello).await.expect("a message");
        server.write_all(&hello[..length]).await.expect("the server");
        // Ends with the client.
        let _ = tokio::io::copy(&mut server, &mut client).await;
    })
    .await
}

#[tokio::test]
async fn a_certificate_is_judged_even_when_the_server_stalls_after_it() {
    let authority = Authority::new("known");
    // In TLS 1.2 the server has to send another message after its certificate.
    let config = authority.issue(&[SITE], CURRENT, |_| {}).serve(&[&TLS12], None);
    let server = Server::https(config, |_| status(200)).await;
    let stalling = stalling(server.address).await;
    let url = "https://site.example/".parse().expect("a URL");
    let deadline = Duration::from_secs(1);
    let probe = SslProbe { deadline, ..probe_of(&url) };
    let guard = guard_to(SITE, stalling.address, &[authority.root()]);
    let result = super::probe(&guard, &probe).await.expect("a completed check");
    assert_eq!(verdict(&result), (None, true, ""));
    let info = result.info.expect("a certificate");
    assert_eq!((info.protocol.as_deref(), info.cipher_suite), (Some("TLSv1.2"), None));
}

#[tokio::test]
async fn a_name_without_an_address_is_reported() {
    let name_server = NameServer::start([("empty.example", Entry::addresses(&[]))]).await;
    let guard = name_server.guard(Outbound::default());
    for (host, words) in
        [("gone.example", "name does not resolve"), ("empty.example", "name has no address")]
    {
        let result = completed(&guard, host).await;
        assert_eq!(verdict(&result), (Some(ConnectionFailed), false, words));
        assert_eq!((result.domain.as_str(), result.ip), (host, None));
    }
}

#[tokio::test]
async fn port_443_is_asked_whatever_the_url_says() {
    let authority = Authority::new("known");
    let server = Server::https(authority.server(&[SITE], CURRENT, &[]), |_| status(200)).await;
    let guard = guard_to(SITE, server.address, &[authority.root()]);
    for url in [
        "https://site.example/",
        "https://site.example:8443/shop?a=b#c",
        "http://site.example/",
        "http://user:pass@site.example:8080/",
    ] {
        let url = url.parse().expect("a URL");
        let result = super::probe(&guard, &probe_of(&url)).await.expect("a completed check");
        assert_eq!((result.is_valid, result.domain.as_str()), (true, SITE), "{url}");
    }
    assert_eq!(server.connections(), 4);
}

#[tokio::test]
async fn ipv6_is_probed() {
    if TcpListener::bind("[::1]:0").await.is_err() {
        // This machine has no IPv6.
        return;
    }
    let authority = Authority::new("known");
    for (names, failure) in [(["::1"], None), (["::2"], Some(HostnameMismatch))] {
        let config = authority.server(&names, CURRENT, &[]);
        let server = Server::https_at("::1", config, |_| status(200)).await;
        let guard = guard_to("[::1]", server.address, &[authority.root()]);
        let result = completed(&guard, "[::1]").await;
        assert_eq!(result.failure_type, failure, "{result:?}");
        assert_eq!((result.domain.as_str(), result.ip.as_deref()), ("::1", Some("::1")));
    }
}

#[tokio::test]
async fn a_forbidden_target_fails_the_check() {
    let guard = guard_of(Outbound::default());
    for text in ["https://127.0.0.1/", "http://10.0.0.1:8080/", "https://[::1]/"] {
        let url: Url = text.parse().expect("a URL");
        let error: CheckError = super::probe(&guard, &probe_of(&url)).await.expect_err("refused");
        assert_eq!(error.code, TARGET_FORBIDDEN, "{text}");
    }
}

#[tokio::test]
async fn no_name_server_fails_the_check() {
    let guard = guard();
    let url = "https://site.example/".parse().expect("a URL");
    let error = super::probe(&guard, &probe_of(&url)).await.expect_err("not resolved");
    assert_eq!(error.code, crate::ssrf_guard::RESOLVER_UNAVAILABLE);
    assert_eq!(error.data, json!({ "url": "https://site.example/" }));
}

#[tokio::test]
async fn a_host_that_no_certificate_can_be_for_is_reported() {
    let server = answers(b"").await;
    let host = "a..example";
    let guard = guard_to(host, server.address, &[]);
    let result = completed(&guard, host).await;
    let words = http::Error::ServerName.to_string();
    assert_eq!(verdict(&result), (Some(NoCertificate), false, &*words));
    assert_eq!(server.connections(), 0);
}
