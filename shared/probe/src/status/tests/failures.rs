//! Targets that do not respond as they should, and checks that cannot run.

use std::sync::Arc;

use http_body_util::StreamBody;
use hyper::body::{Bytes, Frame};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

use super::*;
use crate::ssrf_guard::Outbound;

async fn reads_the_head(stream: &mut TcpStream) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.expect("a request"));
    }
}

#[tokio::test]
async fn a_closed_port_refuses() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("bound");
    drop(listener);
    let url = format!("http://{address}/").parse().expect("a URL");
    let result = completed(&guard(), &url).await;
    assert_eq!(failure_words(&result), "connection refused");
    assert_eq!(result.effective_url, url.as_str());
    assert!(!result.redirected && result.redirects.is_empty());
}

#[tokio::test]
async fn a_reset_connection_is_reported() {
    let server = Server::raw(|stream| async move {
        // If a socket is closed with the request unread, it answers with a reset.
        stream.readable().await.expect("a request");
    })
    .await;
    let result = completed(&guard(), &server.url("/")).await;
    assert_eq!(failure_words(&result), "connection reset");
}

#[tokio::test]
async fn a_connection_closed_too_early_is_reported() {
    for beginning in ["", "HTTP/1.1 200 OK\r\nContent-Le"] {
        let server = Server::http(move |_| beginning.as_bytes().to_vec()).await;
        let result = completed(&guard(), &server.url("/")).await;
        assert_eq!(failure_words(&result), "connection closed before an answer");
    }
}

#[tokio::test]
async fn an_answer_that_is_not_http_is_reported() {
    let endless_head = format!("HTTP/1.1 200 OK\r\nX-Long: {}\r\n\r\n", "x".repeat(256 * 1024));
    for garbage in [
        "SSH-2.0-OpenSSH_9.9\r\n",
        "<html>hello</html>\r\n\r\n",
        "HTTP/1.1 abc OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "\0\u{1}\u{2}\u{3}",
        &endless_head,
    ] {
        let bytes = garbage.as_bytes().to_vec();
        let server = Server::http(move |_| bytes.clone()).await;
        let result = completed(&guard(), &server.url("/")).await;
        assert_eq!(failure_words(&result), "the answer is not valid HTTP", "{garbage:.40}");
    }
}

#[tokio::test]
async fn a_server_that_never_answers_runs_out_of_time() {
    let silent = Server::raw(|mut stream| async move {
        reads_the_head(&mut stream).await;
        std::future::pending::<()>().await;
    })
    .await;
    let url = silent.url("/");
    let result = probe(&guard(), &StatusProbe { deadline: HASTY, ..of(&url) }).await;
    let result = result.expect("completed");
    assert_eq!(failure_words(&result), "no answer within 0.2 s");
    assert!(result.response_time >= 200.0, "{result:?}");
}

#[tokio::test]
async fn a_head_that_trickles_in_runs_out_of_time() {
    let trickle = Server::raw(|mut stream| async move {
        reads_the_head(&mut stream).await;
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n").await;
        while stream.write_all(b"X: y\r\n").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    let url = trickle.url("/");
    let result = probe(&guard(), &StatusProbe { deadline: HASTY, ..of(&url) }).await;
    assert_eq!(failure_words(&result.expect("completed")), "no answer within 0.2 s");
}

#[tokio::test]
async fn the_deadline_is_for_the_whole_chain_and_its_hops_are_kept() {
    let server = Server::raw(|mut stream| async move {
        reads_the_head(&mut stream).await;
        tokio::time::sleep(Duration::from_millis(150)).await;
        let _ = stream.write_all(&redirect(302, "/again")).await;
    })
    .await;
    let url = server.url("/");
    let result =
        probe(&guard(), &StatusProbe { deadline: Duration::from_millis(800), ..of(&url) }).await;
    let result = result.expect("completed");
    assert_eq!(failure_words(&result), "no answer within 0.8 s");
    assert!(result.redirect_count >= 1, "{result:?}");
    assert_eq!(result.effective_url, server.url("/again").as_str());
}

#[test]
fn the_default_deadline_is_shown_in_seconds() {
    assert_eq!(format!("{} s", DEADLINE.as_secs_f64()), "30 s");
}

#[tokio::test]
async fn an_endless_body_is_left_and_the_connection_ended() {
    let left = Arc::new(Notify::new());
    let seen = Arc::clone(&left);
    let server = Server::raw(move |mut stream| {
        let left = Arc::clone(&seen);
        async move {
            reads_the_head(&mut stream).await;
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await;
            while stream.write_all(&[b'x'; 4096]).await.is_ok() {}
            left.notify_one();
        }
    })
    .await;
    let result = completed(&guard(), &server.url("/")).await;
    assert_eq!((result.up, result.error), (true, None));
    tokio::time::timeout(TEST_TIMEOUT, left.notified()).await.expect("the connection ended");
}

#[tokio::test]
async fn a_body_that_never_comes_does_not_hold_the_probe() {
    let server = Server::raw(|mut stream| async move {
        reads_the_head(&mut stream).await;
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n").await;
        std::future::pending::<()>().await;
    })
    .await;
    let started = Instant::now();
    let result = completed(&guard(), &server.url("/")).await;
    assert_eq!((result.code, result.up), (200, true));
    let waited = started.elapsed();
    assert!(waited >= BODY_TIMEOUT && waited < TEST_TIMEOUT, "{waited:?}");
    let before = (waited - BODY_TIMEOUT).as_secs_f64() * 1000.0;
    assert!(result.response_time <= before + 0.01, "to the head only: {result:?}");
}

#[tokio::test]
async fn no_more_than_the_limit_is_read_of_a_body() {
    let mut given = 0;
    let frames = futures::stream::repeat_with(|| {
        given += 1000;
        Ok::<_, std::convert::Infallible>(Frame::data(Bytes::from_static(&[0; 1000])))
    });
    let mut body = StreamBody::new(frames);
    http::read(&mut body, BODY_LIMIT, |_| {}).await.expect("bytes");
    assert_eq!(given, 66_000, "the first whole frame past 65,536");
}

#[tokio::test]
async fn a_name_without_an_address_is_down() {
    let names = NameServer::start([
        ("mail.example", Entry::addresses(&[])),
        ("broken.example", Entry::Fails),
        ("silent.example", Entry::Silent),
    ])
    .await;
    let guard = names.guard(Outbound::default());
    for (host, words) in [
        ("nowhere.example", "name does not resolve"),
        ("mail.example", "name has no address"),
        ("broken.example", "name lookup failed: SERVFAIL"),
        ("silent.example", "name lookup timed out"),
    ] {
        let url = format!("https://{host}/").parse().expect("a URL");
        assert_eq!(failure_words(&completed(&guard, &url).await), words, "{host}");
    }
}

#[tokio::test]
async fn a_redirect_to_a_name_without_an_address_is_down() {
    let names = NameServer::start([]).await;
    let guard = names.guard(Outbound {
        allow: vec!["127.0.0.0/8".parse().expect("a network")],
        ..Outbound::default()
    });
    let server = Server::http(|_| redirect(301, "https://www.example/")).await;
    let result = completed(&guard, &server.url("/")).await;
    assert_eq!(failure_words(&result), "name does not resolve");
    assert_eq!(result.effective_url, "https://www.example/");
    assert_eq!(result.redirects, ["https://www.example/"]);
}

#[tokio::test]
async fn without_a_name_server_the_check_fails() {
    let url = "https://site.example/".parse().expect("a URL");
    let error = probe(&guard(), &of(&url)).await.expect_err("nobody to ask");
    assert_eq!(error.code, "resolver_unavailable");
    assert_eq!(error.message, "no name server can be reached");
    assert_eq!(error.data, json!({ "url": url.as_str() }));
}

#[tokio::test]
async fn an_inner_target_fails_the_check_and_is_never_connected_to() {
    let server = Server::http(|_| status(200)).await;
    let names = NameServer::start([("inner.example", Entry::addresses(&["127.0.0.1"]))]).await;
    let guard = names.guard(Outbound::default());
    for url in
        [server.url("/"), server.url_as("inner.example", "/"), server.url_as("2130706433", "/")]
    {
        let error = probe(&guard, &of(&url)).await.expect_err("refused");
        assert_eq!(error.code, "target_forbidden");
        assert_eq!(error.data, json!({ "url": url.as_str(), "address": "127.0.0.1" }));
    }
    assert_eq!(server.connections(), 0);
}

#[test]
fn no_route_is_a_failed_check() {
    let url = "https://v6.example/".parse().expect("a URL");
    let error = http::Error::NoRoute
        .target_failure(&url, &Redaction::default())
        .expect_err("an observation");
    assert_eq!(error.code, "no_route");
    assert_eq!(error.data, json!({ "url": "https://v6.example/" }));
}
