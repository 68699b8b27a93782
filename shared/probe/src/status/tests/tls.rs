//! Certificates and TLS versions as a status probe sees them.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use http_body_util::{Full, StreamBody};
use hyper::body::{Bytes, Frame};
use hyper::{Response, Version};
use rustls::HandshakeKind;
use rustls::pki_types::CertificateDer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::TlsAcceptor;

use super::*;
use crate::loopback::certificates::{Authority, CURRENT};
use crate::ssrf_guard::Outbound;

fn trusting(roots: Vec<CertificateDer<'static>>) -> SsrfGuard {
    guard_of(Outbound {
        allow: vec!["127.0.0.0/8".parse().expect("a network")],
        extra_roots: roots,
        ..Outbound::default()
    })
}

#[tokio::test]
async fn a_certificate_of_an_extra_root_is_accepted() {
    let authority = Authority::new("known");
    let guard = trusting(vec![authority.root()]);
    for protocols in [&[][..], &["http/1.1"]] {
        let config = authority.server(&["127.0.0.1"], CURRENT, protocols);
        let server = Server::https(config, |_| status(200)).await;
        let result = completed(&guard, &server.url("/")).await;
        assert_eq!((result.up, result.error), (true, None));
        assert!(server.heads()[0].starts_with("GET / HTTP/1.1\r\n"));
    }
}

#[tokio::test]
async fn a_name_is_verified_behind_a_detour() {
    let authority = Authority::new("known");
    let config = authority.server(&["site.example"], CURRENT, &[]);
    let server = Server::https(config, |_| status(200)).await;
    let detour = |host: &str| format!("{host}:443:{}", server.address).parse().expect("a detour");
    let guard = guard_of(Outbound {
        allow: vec!["127.0.0.0/8".parse().expect("a network")],
        connect_to: vec![detour("site.example"), detour("other.example")],
        extra_roots: vec![authority.root()],
        ..Outbound::default()
    });
    for text in ["https://site.example/", "https://site.example./"] {
        assert!(completed(&guard, &text.parse().expect("a URL")).await.up, "{text}");
    }
    let result = completed(&guard, &"https://other.example/".parse().expect("a URL")).await;
    assert_eq!(failure_words(&result), "TLS: certificate is for another name");
}

#[tokio::test]
async fn a_certificate_that_no_client_accepts_is_down() {
    let (known, unknown) = (Authority::new("known"), Authority::new("unknown"));
    let guard = trusting(vec![known.root()]);
    for (config, words) in [
        (known.server(&["127.0.0.1"], (2020, 2021), &[]), "TLS: certificate expired"),
        (known.server(&["127.0.0.1"], (2119, 2120), &[]), "TLS: certificate not yet valid"),
        (known.server(&["127.0.0.2"], CURRENT, &[]), "TLS: certificate is for another name"),
        (unknown.server(&["127.0.0.1"], CURRENT, &[]), "TLS: certificate from an unknown issuer"),
    ] {
        let server = Server::https(config, |_| status(200)).await;
        let result = completed(&guard, &server.url("/")).await;
        assert_eq!(failure_words(&result), words);
        assert_eq!(server.heads(), [""; 0], "nothing was asked");
    }
}

#[tokio::test]
async fn a_server_for_known_clients_only_is_down() {
    let authority = Authority::new("known");
    let config = authority.server_for_known_clients(&["127.0.0.1"]);
    let server = Server::https(config, |_| status(200)).await;
    let result = completed(&trusting(vec![authority.root()]), &server.url("/")).await;
    assert_eq!(failure_words(&result), "TLS: the server asks for a client certificate");
}

#[tokio::test]
async fn a_server_without_tls_is_down() {
    let plain = Server::raw(|mut stream| async move {
        let _ = stream.read_u8().await;
        let _ = stream.write_all(&status(400)).await;
        // Waits until the client leaves, so that no reset overtakes the answer.
        let _ = stream.read_to_end(&mut Vec::new()).await;
    })
    .await;
    let url = format!("https://{}/", plain.address).parse().expect("a URL");
    let result = completed(&guard(), &url).await;
    assert_eq!(failure_words(&result), "TLS: the server does not speak TLS");

    let closing = Server::raw(|mut stream| async move {
        let mut hello = [0; 4096];
        let _ = stream.read(&mut hello).await;
    })
    .await;
    let url = format!("https://{}/", closing.address).parse().expect("a URL");
    let result = completed(&guard(), &url).await;
    assert_eq!(failure_words(&result), "TLS: connection closed in the handshake");
}

#[tokio::test]
async fn every_probe_sees_the_certificate_anew() {
    let authority = Authority::new("known");
    let config = authority.server(&["127.0.0.1"], CURRENT, &[]);
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let handshakes = Arc::<Mutex<Vec<_>>>::default();
    let seen = Arc::clone(&handshakes);
    let server = Server::raw(move |stream| {
        let (acceptor, seen) = (acceptor.clone(), Arc::clone(&seen));
        async move {
            let mut stream = acceptor.accept(stream).await.expect("TLS");
            seen.lock().expect("no panic").push(stream.get_ref().1.handshake_kind());
            let _ = stream.read(&mut [0; 4096]).await;
            let _ = stream.write_all(&status(200)).await;
            let _ = stream.shutdown().await;
        }
    })
    .await;
    let url = format!("https://{}/", server.address).parse().expect("a URL");
    let guard = trusting(vec![authority.root()]);
    for _ in 0..3 {
        assert!(completed(&guard, &url).await.up);
    }
    let handshakes = handshakes.lock().expect("no panic").clone();
    assert_eq!(handshakes, [Some(HandshakeKind::Full); 3]);
}

#[tokio::test]
async fn the_header_is_not_sent_in_clear_text_after_tls() {
    let plain = Server::http(|_| status(200)).await;
    let location = plain.url("/").to_string();
    let authority = Authority::new("known");
    let config = authority.server(&["127.0.0.1"], CURRENT, &[]);
    let server = Server::https(config, move |_| redirect(302, &location)).await;
    let url = server.url("/");
    let header = Some(("X-Token", "s3cret"));
    let guard = trusting(vec![authority.root()]);
    let result = probe(&guard, &StatusProbe { header, ..of(&url) }).await.expect("completed");
    assert_eq!((result.code, result.redirects), (200, vec![plain.url("/").to_string()]));
    assert!(server.heads()[0].contains("x-token: s3cret"));
    assert!(!plain.heads()[0].contains("x-token"));
}

#[tokio::test]
async fn http2_is_spoken_where_offered() {
    let authority = Authority::new("known");
    let config = authority.server(&["127.0.0.1"], CURRENT, &["h2", "http/1.1"]);
    let server = Server::http2(config, |request| async move {
        assert_eq!(request.version(), Version::HTTP_2);
        let sent = |name: &str| request.headers().get(name).map(|value| value.as_bytes().to_vec());
        let told = request.uri().path() == "/a"
            && request.uri().query() == Some("b=c")
            && sent("x-token").as_deref() == Some(b"s3cret")
            && sent("user-agent").as_deref() == Some(crate::USER_AGENT.as_bytes())
            && sent("host").is_none();
        let code = if told { 203 } else { 500 };
        Response::builder().status(code).body(Full::new(Bytes::from("hello"))).expect("an answer")
    })
    .await;
    let url = server.url("/a?b=c");
    let header = Some(("X-Token", "s3cret"));
    let guard = trusting(vec![authority.root()]);
    let result = probe(&guard, &StatusProbe { header, ..of(&url) }).await.expect("completed");
    assert_eq!((result.code, result.up, result.error), (203, true, None));
}

#[tokio::test]
async fn http2_takes_the_site_header_for_host_as_authority() {
    let authority = Authority::new("known");
    let config = authority.server(&["127.0.0.1"], CURRENT, &["h2"]);
    let server = Server::http2(config, |request| async move {
        let named = request.uri().authority().is_some_and(|host| host == "shop.example");
        let code = if named { 200 } else { 500 };
        Response::builder().status(code).body(Full::new(Bytes::new())).expect("an answer")
    })
    .await;
    let url = server.url("/");
    let header = Some(("Host", "shop.example"));
    let guard = trusting(vec![authority.root()]);
    let result = probe(&guard, &StatusProbe { header, ..of(&url) }).await.expect("completed");
    assert_eq!(result.code, 200);
}

#[tokio::test]
async fn an_endless_http2_body_is_left() {
    let authority = Authority::new("known");
    let config = authority.server(&["127.0.0.1"], CURRENT, &["h2"]);
    let server = Server::http2(config, |_| async move {
        let frames = futures::stream::repeat_with(|| {
            Ok::<_, Infallible>(Frame::data(Bytes::from_static(&[b'x'; 4096])))
        });
        Response::new(StreamBody::new(frames))
    })
    .await;
    let result = completed(&trusting(vec![authority.root()]), &server.url("/")).await;
    assert_eq!((result.up, result.error), (true, None));
}

#[tokio::test]
async fn a_broken_http2_answer_is_reported() {
    let authority = Authority::new("known");
    let config = authority.server(&["127.0.0.1"], CURRENT, &["h2"]);
    // Negotiates h2 with ALPN, but answers with HTTP/1.1.
    let server = Server::https(config, |_| status(200)).await;
    let result = completed(&trusting(vec![authority.root()]), &server.url("/")).await;
    let words = failure_words(&result);
    assert!(
        ["the server broke the HTTP protocol", "connection closed before an answer"]
            .contains(&words),
        "{words}"
    );
}
