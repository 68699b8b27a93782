//! Responses that end before their announced length, and responses that only seem to.

use std::io;

use http_body_util::{Full, StreamBody};
use hyper::body::{Bytes, Frame};
use hyper::header::CONTENT_LENGTH;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;
use crate::loopback::certificates::{Authority, CURRENT};
use crate::ssrf_guard::Outbound;

/// A guard that trusts `authority` and admits loopback.
fn trusting(authority: &Authority) -> SsrfGuard {
    guard_of(Outbound {
        allow: vec!["127.0.0.0/8".parse().expect("a network")],
        extra_roots: vec![authority.root()],
        ..Default::default()
    })
}

#[tokio::test]
async fn a_response_that_ends_before_its_length_is_not_up() {
    for (sent, words) in [
        ("cut off", "the response ended after 7 of 100 bytes"),
        ("", "the response ended after 0 of 100 bytes"),
    ] {
        let response = format!("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{sent}");
        let server = Server::http(move |_| response.clone().into_bytes()).await;
        let result = completed(&guard(), &server.url("/")).await;
        assert_eq!(failure_words(&result), words);
        assert_eq!(result.effective_url, server.url("/").as_str());
    }
}

#[tokio::test]
async fn a_response_whose_connection_is_reset_is_not_up() {
    let server = Server::raw(|mut stream| async move {
        // One byte of the request stays unread, so the socket answers with a reset when it is closed.
        let mut head = [0; 20];
        stream.read_exact(&mut head).await.expect("a request");
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\ncut off").await;
    })
    .await;
    let result = completed(&guard(), &server.url("/")).await;
    assert!(!failure_words(&result).is_empty(), "{result:?}");
}

#[tokio::test]
async fn a_response_over_tls_that_ends_before_its_length_is_not_up() {
    let authority = Authority::new("Truncation Root");
    let config = authority.server(&["127.0.0.1"], CURRENT, &["http/1.1"]);
    let response = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\ncut off";
    let server = Server::https(config, |_| response.to_vec()).await;
    let result = completed(&trusting(&authority), &server.url("/")).await;
    assert_eq!(failure_words(&result), "the response ended after 7 of 100 bytes");
}

#[tokio::test]
async fn a_response_over_http2_that_ends_before_its_length_is_not_up() {
    let authority = Authority::new("Truncation Root");
    for is_reset in [false, true] {
        let config = authority.server(&["127.0.0.1"], CURRENT, &["h2"]);
        let server = Server::http2(config, move |_| async move {
            let data = Ok::<_, io::Error>(Frame::data(Bytes::from_static(b"cut off")));
            let end = is_reset.then(|| Err(io::Error::other("reset")));
            let frames = futures::stream::iter([Some(data), end].into_iter().flatten());
            let mut response = hyper::Response::new(StreamBody::new(frames));
            response.headers_mut().insert(CONTENT_LENGTH, 100.into());
            response
        })
        .await;
        let result = completed(&trusting(&authority), &server.url("/")).await;
        let words = failure_words(&result);
        // A reset may overtake the head.
        assert!(is_reset || words.starts_with("the response ended after "), "{words}");
    }
}

#[tokio::test]
async fn a_body_that_ends_with_its_connection_is_whole_even_if_tls_does_not_say_goodbye() {
    let authority = Authority::new("Truncation Root");
    let config = authority.server(&["127.0.0.1"], CURRENT, &["http/1.1"]);
    let acceptor = tokio_rustls::TlsAcceptor::from(std::sync::Arc::new(config));
    let server = Server::raw(move |stream| {
        let acceptor = acceptor.clone();
        async move {
            let mut stream = acceptor.accept(stream).await.expect("a handshake");
            let mut head = [0; 1024];
            let _ = stream.read(&mut head).await;
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nwhole").await;
            let _ = stream.flush().await;
        }
    })
    .await;
    let mut url = server.url("/");
    url.set_scheme("https").expect("a scheme");
    let (result, evidence) =
        probe_with_evidence(&trusting(&authority), &of(&url)).await.expect("a completed check");
    assert!(result.up, "{result:?}");
    let body = evidence.body.expect("a body");
    assert_eq!((body.text.as_deref(), body.is_cut), (Some("whole"), false));
}

#[tokio::test]
async fn a_failing_status_stays_what_it_is() {
    for code in [404, 503] {
        let server = Server::http(move |_| {
            format!("HTTP/1.1 {code} No\r\nContent-Length: 100\r\n\r\ncut off").into_bytes()
        })
        .await;
        let result = completed(&guard(), &server.url("/")).await;
        assert_eq!((result.code, result.up, result.error), (code, false, None));
    }
}

#[tokio::test]
async fn responses_that_have_no_body_or_are_not_read_to_their_end_are_up() {
    let long = "x".repeat(BODY_LIMIT);
    for (code, response) in [
        (204, "HTTP/1.1 204 No Content\r\n\r\n".to_owned()),
        (304, "HTTP/1.1 304 Not Modified\r\nContent-Length: 100\r\n\r\n".to_owned()),
        // Anything after the part that is read does not count.
        (200, format!("HTTP/1.1 200 OK\r\nContent-Length: 10000000\r\n\r\n{long}")),
    ] {
        let server = Server::http(move |_| response.clone().into_bytes()).await;
        let result = completed(&guard(), &server.url("/")).await;
        assert_eq!((result.code, result.up, result.error), (code, true, None));
    }
}

#[tokio::test]
async fn responses_over_http2_that_have_no_body_are_up() {
    let authority = Authority::new("Truncation Root");
    for code in [200, 204, 304] {
        let config = authority.server(&["127.0.0.1"], CURRENT, &["h2"]);
        let server = Server::http2(config, move |_| async move {
            let mut response = hyper::Response::new(Full::<Bytes>::default());
            *response.status_mut() = hyper::StatusCode::from_u16(code).expect("a status");
            let announced = if code == 304 { 100 } else { 0 };
            response.headers_mut().insert(CONTENT_LENGTH, announced.into());
            response
        })
        .await;
        let result = completed(&trusting(&authority), &server.url("/")).await;
        assert_eq!((result.code, result.up, result.error), (code, true, None));
    }
}
