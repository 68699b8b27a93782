//! Responses that are compared with expectations.

use std::io::{self, Write as _};

use flate2::Compression;
use flate2::write::GzEncoder;
use futures::stream::{self, StreamExt as _};
use http_body_util::StreamBody;
use hyper::body::{Bytes, Frame};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use vedette_domain::expectations::{BODY_SEARCHED, Expectation, JSON_MAX, JsonPointer};

use super::*;
use crate::loopback::certificates::{Authority, CURRENT};
use crate::loopback::hold;
use crate::loopback::site::{Reply, Site};
use crate::ssrf_guard::Outbound;

fn contains(text: &str) -> Expectation {
    Expectation::BodyContains { text: text.to_owned() }
}

fn json_at(pointer: &str, value: serde_json::Value) -> Expectation {
    Expectation::JsonEquals { pointer: JsonPointer::parse(pointer).expect("a pointer"), value }
}

fn expecting(expectations: Vec<Expectation>) -> Expectations {
    Expectations { expectations, ..Expectations::default() }
}

/// The result of a check that expects something of a site that is down with a 503.
async fn checked(url: &Url, expectations: &Expectations, deadline: Duration) -> StatusResult {
    let incident_codes = &[503].into();
    let expected = Some(Expected { expectations, incident_codes });
    let header = Some(("authorization", "Bearer of-the-site"));
    let probe = StatusProbe { expected, method: expectations.method, deadline, header, ..of(url) };
    super::probe(&guard(), &probe).await.expect("a completed check")
}

/// What is said about an expectation of a reply; empty if it is met.
async fn said_of(reply: Reply, expected: Expectation) -> String {
    let site = Site::start(move |_| reply.clone()).await;
    let result = checked(&site.url("/"), &expecting(vec![expected]), TEST_TIMEOUT).await;
    assert!(result.up, "{result:?}");
    let unmet = result.judged.expect("judged").into_iter();
    unmet.map(|unmet| unmet.message).collect()
}

#[tokio::test]
async fn body_headers_and_time_are_judged() {
    let page = || Reply::html("<h1>Welcome</h1>").with("X-Cache", "HIT");
    assert_eq!(said_of(page(), contains("Welcome")).await, "");
    assert_eq!(
        said_of(page(), contains("Goodbye")).await,
        "expected \"Goodbye\" in the body, did not find it"
    );
    let hit = |value: &str| Expectation::HeaderEquals {
        name: "x-cache".to_owned(),
        value: value.to_owned(),
    };
    assert_eq!(said_of(page(), hit("HIT")).await, "");
    assert_eq!(
        said_of(page(), hit("MISS")).await,
        "expected \"MISS\" in the header x-cache, got \"HIT\""
    );
    let health = || Reply::file("application/json", r#"{"status":"degraded"}"#);
    assert_eq!(said_of(health(), json_at("/status", json!("degraded"))).await, "");
    assert_eq!(
        said_of(health(), json_at("/status", json!("ok"))).await,
        "expected \"ok\" at /status, got \"degraded\""
    );
    let late = page().after(Duration::from_millis(20));
    let said = said_of(late, Expectation::ResponseTime { max_ms: 5 }).await;
    assert!(said.starts_with("expected an answer within 5 ms, got it after "), "{said}");
}

#[tokio::test]
async fn the_body_does_not_count_toward_the_response_time() {
    let server = Server::raw(|mut stream| async move {
        let mut head = [0; 1024];
        let _ = stream.read(&mut head).await;
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\no").await;
        // Longer than a body is waited for when nothing is expected of it.
        tokio::time::sleep(BODY_TIMEOUT * 2).await;
        let _ = stream.write_all(b"k!").await;
        hold(stream).await;
    })
    .await;
    let expectations = expecting(vec![contains("ok!"), Expectation::ResponseTime { max_ms: 900 }]);
    let result = checked(&server.url("/"), &expectations, TEST_TIMEOUT).await;
    assert_eq!(result.judged, Some(Vec::new()), "{result:?}");
    assert!(result.response_time < 900.0);
}

#[tokio::test]
async fn a_body_that_does_not_end_is_unmet_and_not_down() {
    let server = Server::raw(|mut stream| async move {
        let mut head = [0; 1024];
        let _ = stream.read(&mut head).await;
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\nok").await;
        hold(stream).await;
    })
    .await;
    let expectations = expecting(vec![contains("ok"), contains("end")]);
    let deadline = Duration::from_millis(800);
    let result = checked(&server.url("/"), &expectations, deadline).await;
    assert!(result.up);
    let messages: Vec<_> = result.unmet().iter().map(|unmet| unmet.message.as_str()).collect();
    assert_eq!(
        messages,
        ["expected \"end\" in the body, got a body that does not end within 0.8 s"]
    );
}

#[tokio::test]
async fn a_truncated_body_is_down_before_expectations_are_judged() {
    let response = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\ncut off";
    let server = Server::http(|_| response.to_vec()).await;
    let expectations = expecting(vec![contains("cut")]);
    let result = checked(&server.url("/"), &expectations, TEST_TIMEOUT).await;
    assert_eq!(failure_words(&result), "the response ended after 7 of 100 bytes");
    assert_eq!(result.judged, None);
}

#[tokio::test]
async fn a_body_that_breaks_off_without_an_announced_length_is_undecided_and_not_down() {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (response, is_cut) in [
        (format!("{chunked}3\r\ncut\r\n0\r\n\r\n"), false),
        (format!("{chunked}3\r\ncut\r\n"), true),
        (format!("{chunked}9\r\ncut"), true),
        (format!("{chunked}3\r\ncut\r\nnonsense"), true),
        ("HTTP/1.0 200 OK\r\n\r\ncut".to_owned(), false),
    ] {
        let server = Server::http(move |_| response.clone().into_bytes()).await;
        let lacks = Expectation::BodyLacks { text: "error".to_owned() };
        let expectations = expecting(vec![contains("cut"), lacks]);
        let result = checked(&server.url("/"), &expectations, TEST_TIMEOUT).await;
        assert!(result.up, "{result:?}");
        let messages: Vec<_> = result.unmet().iter().map(|unmet| unmet.message.as_str()).collect();
        let cut = ["expected no \"error\" in the body, got an incomplete body"];
        assert_eq!(messages, if is_cut { &cut[..] } else { &[] });
    }
}

#[tokio::test]
async fn a_stream_of_http2_that_is_reset_is_undecided_and_not_down() {
    let authority = Authority::new("Reset Root");
    let config = authority.server(&["127.0.0.1"], CURRENT, &["h2"]);
    let server = Server::http2(config, move |_| async move {
        let data = Ok::<_, io::Error>(Frame::data(Bytes::from_static(b"cut off")));
        let reset = async {
            // A reset may overtake what was sent before it.
            tokio::time::sleep(HASTY).await;
            Err(io::Error::other("reset"))
        };
        hyper::Response::new(StreamBody::new(Box::pin(
            stream::iter([data]).chain(stream::once(reset)),
        )))
    })
    .await;
    let guard = guard_of(Outbound {
        allow: vec!["127.0.0.0/8".parse().expect("a network")],
        extra_roots: vec![authority.root()],
        ..Outbound::default()
    });
    let expectations = &expecting(vec![contains("cut"), contains("end")]);
    let expected = Some(Expected { expectations, incident_codes: &BTreeSet::new() });
    let url = server.url("/");
    let result = super::probe(&guard, &StatusProbe { expected, ..of(&url) }).await;
    let result = result.expect("a completed check");
    assert!(result.up, "{result:?}");
    let messages: Vec<_> = result.unmet().iter().map(|unmet| unmet.message.as_str()).collect();
    assert_eq!(messages, ["expected \"end\" in the body, got an incomplete body"]);
}

#[tokio::test]
async fn a_site_that_is_down_is_not_judged() {
    let site = Site::start(|_| Reply::new(503)).await;
    let expectations = expecting(vec![contains("x")]);
    let result = checked(&site.url("/"), &expectations, TEST_TIMEOUT).await;
    assert_eq!((result.code, result.judged), (503, None));
    // A code that does not count as an incident is an answer like any other.
    let site = Site::start(|_| Reply::new(404)).await;
    let result = checked(&site.url("/"), &expectations, TEST_TIMEOUT).await;
    assert_eq!((result.code, result.unmet().len()), (404, 1));
    let nobody = "http://127.0.0.1:1/".parse().expect("a URL");
    let result = checked(&nobody, &expectations, TEST_TIMEOUT).await;
    assert_eq!((result.code, result.judged), (0, None));
}

#[tokio::test]
async fn head_asks_for_no_body() {
    let site = Site::start(|asked| match asked.target.as_str() {
        "/" => Reply::redirect(302, "/home"),
        _ => Reply::html("x".repeat(100)),
    })
    .await;
    let expected = vec![Expectation::HeaderContains {
        name: "content-type".to_owned(),
        value: "html".to_owned(),
    }];
    let expectations = Expectations { method: CheckMethod::Head, ..expecting(expected) };
    let result = checked(&site.url("/"), &expectations, TEST_TIMEOUT).await;
    assert_eq!((result.up, result.judged), (true, Some(Vec::new())));
    let methods: Vec<_> = site.asked().into_iter().map(|asked| asked.method).collect();
    assert_eq!(methods, ["HEAD", "HEAD"]);
}

#[tokio::test]
async fn encoded_bodies_and_other_characters_are_read() {
    let gzip = |text: &[u8]| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).expect("memory");
        encoder.finish().expect("memory")
    };
    let packed = |text: &[u8]| Reply::html(gzip(text)).with("Content-Encoding", "gzip");
    assert_eq!(said_of(packed(b"<h1>Welcome"), contains("Welcome")).await, "");
    assert_eq!(said_of(packed(b"{\"a\":1}"), json_at("/a", json!(1))).await, "");
    let unknown = Reply::html("x").with("Content-Encoding", "zstd");
    assert_eq!(
        said_of(unknown, contains("x")).await,
        "expected \"x\" in the body, got a body in the content encoding zstd, which Vedette cannot \
         decode"
    );
    // A broken encoding neither hides a text nor proves that there is none.
    let broken = |coding: &'static str| {
        Reply::html(&b"\x1f\x8b\x08 not what it says"[..]).with("Content-Encoding", coding)
    };
    for (coding, name) in [("gzip", "gzip"), ("deflate", "deflate"), ("br", "Brotli")] {
        let got = format!("got a body that is not valid {name}");
        let lacks = Expectation::BodyLacks { text: "error".to_owned() };
        for (expected, said) in [
            (contains("ok"), format!("expected \"ok\" in the body, {got}")),
            (lacks, format!("expected no \"error\" in the body, {got}")),
            (json_at("/a", json!(1)), format!("expected 1 at /a, {got}")),
        ] {
            assert_eq!(said_of(broken(coding), expected).await, said, "{coding}");
        }
    }
    let cut = Reply::html(gzip(b"<h1>Welcome")[..24].to_vec()).with("Content-Encoding", "gzip");
    assert_eq!(
        said_of(cut, contains("Goodbye")).await,
        "expected \"Goodbye\" in the body, got a body that is not valid gzip"
    );
    let latin = Reply::file("text/html; charset=\"ISO-8859-1\"", &b"Gr\xfc\xdfe"[..]);
    assert_eq!(said_of(latin, contains("Grüße")).await, "");
    let other = Reply::file("text/html; charset=utf-8", "Grüße");
    assert_eq!(said_of(other, contains("Grüße")).await, "");
}

#[tokio::test]
async fn what_is_long_is_read_to_its_limit() {
    let at_end = |length: usize| Reply::html([vec![b' '; length], b"end".to_vec()].concat());
    assert_eq!(said_of(at_end(BODY_SEARCHED - 3), contains("end")).await, "");
    assert_eq!(
        said_of(at_end(BODY_SEARCHED - 2), contains("end")).await,
        "expected \"end\" in the body (its first 512 KB), did not find it"
    );
    let long = Reply::html(format!("\"{}\"", "x".repeat(JSON_MAX)));
    assert_eq!(
        said_of(long, json_at("", json!("x"))).await,
        "expected \"x\" as the body, got more than 64 KB"
    );
}

#[tokio::test]
async fn no_message_repeats_the_request_header() {
    let site = Site::start(|asked| {
        let sent = asked.header("authorization").unwrap_or_default().to_owned();
        Reply::file("application/json", json!({ "sent": sent }).to_string()).with("X-Echo", &sent)
    })
    .await;
    let expectations = expecting(vec![
        json_at("/sent", json!("x")),
        Expectation::HeaderEquals { name: "x-echo".to_owned(), value: "x".to_owned() },
    ]);
    let result = checked(&site.url("/"), &expectations, TEST_TIMEOUT).await;
    let messages: Vec<_> = result.unmet().iter().map(|unmet| unmet.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "expected \"x\" at /sent, got \"[redacted]\"",
            "expected \"x\" in the header x-echo, got \"[redacted]\"",
        ]
    );
}
