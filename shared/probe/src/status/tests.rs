//! Status probes against servers on loopback: requests, headers and results.

mod expectations;
mod failures;
mod posting;
mod redirects;
mod tls;
mod truncation;

use serde_json::json;
use vedette_domain::expectations::CheckMethod;

use super::*;
use crate::loopback::names::{Entry, NameServer};
use crate::loopback::{Server, guard, guard_of, path, redirect, status};

/// Long enough for anything that should succeed on a busy machine.
const TEST_TIMEOUT: Duration = Duration::from_secs(20);

/// A short timeout, for tests that run out of time.
const HASTY: Duration = Duration::from_millis(200);

fn of(url: &Url) -> StatusProbe<'_> {
    StatusProbe {
        url,
        method: CheckMethod::Get,
        post: None,
        header: None,
        deadline: TEST_TIMEOUT,
        connectivity: None,
        expected: None,
    }
}

async fn completed(guard: &SsrfGuard, url: &Url) -> StatusResult {
    probe(guard, &of(url)).await.expect("a completed check")
}

/// Checks what all failures have in common, and returns the text of this one.
fn failure_words(result: &StatusResult) -> &str {
    assert!(!result.up, "{result:?}");
    assert_eq!(result.code, 0, "{result:?}");
    assert!(result.response_time >= 0.0, "{result:?}");
    result.error.as_deref().expect("words for people")
}

#[tokio::test]
async fn an_answer_is_reported_in_full() {
    let server = Server::http(|_| status(200)).await;
    let url = server.url("/shop?a=1#top");
    let result = completed(&guard(), &url).await;
    let expected = StatusResult {
        up: true,
        code: 200,
        url: url.to_string(),
        effective_url: url.to_string(),
        response_time: result.response_time,
        redirected: false,
        redirect_count: 0,
        redirects: Vec::new(),
        error: None,
        phases: result.phases,
        judged: None,
    };
    assert_eq!(result, expected);
    assert!(result.response_time > 0.0 && result.response_time < 20_000.0);
    let phases = result.phases.expect("phases");
    assert!(phases.connect.is_some() && phases.tls.is_none(), "no TLS over plain HTTP: {phases:?}");
    let hundredths = result.response_time * 100.0;
    assert!((hundredths - hundredths.round()).abs() < 1e-6, "two decimals: {hundredths}");
}

#[tokio::test]
async fn the_request_is_a_plain_get_that_says_who_asks() {
    let server = Server::http(|_| status(200)).await;
    completed(&guard(), &server.url("/shop?a=1#top")).await;
    let mut lines: Vec<_> = server.heads()[0].trim_end().lines().map(str::to_owned).collect();
    assert_eq!(lines.remove(0), "GET /shop?a=1 HTTP/1.1");
    lines.sort();
    assert_eq!(
        lines,
        [
            "accept: */*".to_owned(),
            format!("host: {}", server.address),
            format!("user-agent: {}", crate::USER_AGENT),
            format!("x-monitored-by: {}", crate::USER_AGENT),
        ]
    );
}

#[tokio::test]
async fn up_is_every_2xx_and_3xx() {
    let guard = guard();
    for (code, up) in [
        (200, true),
        (204, true),
        (206, true),
        (299, true),
        (300, true),
        (304, true),
        (399, true),
        (400, false),
        (401, false),
        (404, false),
        (418, false),
        (429, false),
        (500, false),
        (503, false),
        (522, false),
        (999, false),
    ] {
        let server = Server::http(move |_| status(code)).await;
        let result = completed(&guard, &server.url("/")).await;
        assert_eq!((result.code, result.up, result.error), (code, up, None));
    }
}

#[tokio::test]
async fn unusual_but_sound_answers_are_answers() {
    let many_lines: String = (0..200).map(|n| format!("X-Line-{n}: {n}\r\n")).collect();
    let answers = [
        "HTTP/1.0 200 OK\r\n\r\nto the end".to_owned(),
        "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n".to_owned(),
        "HTTP/1.1 200 OK\nContent-Length: 0\n\n".to_owned(),
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n".to_owned(),
        "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\n\r\n".to_owned(),
        "HTTP/1.1 200 OK\r\nBroken Name: x\r\nContent-Length : 0\r\n\r\n".to_owned(),
        format!("HTTP/1.1 200 OK\r\n{many_lines}\r\n"),
        format!("HTTP/1.1 200 OK\r\nX-Long: {}\r\n\r\n", "x".repeat(32 * 1024)),
        // If no length is announced, what follows the head does not decide the result.
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnonsense".to_owned(),
    ];
    let guard = guard();
    for answer in answers {
        let bytes = answer.clone().into_bytes();
        let server = Server::http(move |_| bytes.clone()).await;
        let result = completed(&guard, &server.url("/")).await;
        assert_eq!((result.code, result.up), (200, true), "{result:?} to {answer:.60}");
    }
}

#[tokio::test]
async fn the_request_header_is_sent_in_place_of_ours() {
    let server = Server::http(|_| status(200)).await;
    let url = server.url("/");
    for header in [("X-Token", "s3cret"), ("user-agent", "Mine/1"), ("Host", "shop.example")] {
        let probed = probe(&guard(), &StatusProbe { header: Some(header), ..of(&url) }).await;
        assert!(probed.expect("completed").up);
    }
    for name in ["Content-Length", "transfer-encoding", "Proxy-Authorization"] {
        let given = StatusProbe { header: Some((name, "5")), ..of(&url) };
        let error = probe(&guard(), &given).await.expect_err(name);
        assert_eq!(error.code, crate::INVALID_HEADER);
    }
    let heads = server.heads();
    assert_eq!(heads.len(), 3);
    assert!(heads[0].contains("\r\nx-token: s3cret\r\n"));
    assert!(heads[1].contains("\r\nuser-agent: Mine/1\r\n"));
    assert!(heads[1].contains(&format!("\r\nx-monitored-by: {}\r\n", crate::USER_AGENT)));
    assert!(heads[2].contains("\r\nhost: shop.example\r\n") && !heads[2].contains("127.0.0.1"));
}

#[tokio::test]
async fn a_header_that_cannot_be_sent_fails_the_check_and_stays_secret() {
    let server = Server::http(|_| status(200)).await;
    let url = server.url("/");
    for (name, value) in [
        ("", "s3cret"),
        ("X Token", "s3cret"),
        ("X-Token", "s3cret\r\nX-Other: 1"),
        ("X-Token", "s3cret\0"),
        ("Content-Length", "s3cret"),
        ("Transfer-Encoding", "s3cret"),
        ("connection", "s3cret"),
    ] {
        let header = Some((name, value));
        let error = probe(&guard(), &StatusProbe { header, ..of(&url) }).await;
        let error = error.expect_err("not sent");
        assert_eq!(error.code, "invalid_header");
        assert_eq!(error.data, json!({ "name": name }));
        assert!(!error.message.contains("s3cret"), "{}", error.message);
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn a_name_is_looked_up_and_sent_as_host() {
    let names = NameServer::start([("site.example", Entry::addresses(&["127.0.0.1"]))]).await;
    let guard = names.guard(crate::ssrf_guard::Outbound {
        allow: vec!["127.0.0.0/8".parse().expect("a network")],
        ..Default::default()
    });
    let server = Server::http(|_| status(200)).await;
    let url = server.url_as("site.example", "/");
    assert!(completed(&guard, &url).await.up);
    assert!(
        server.heads()[0]
            .contains(&format!("\r\nhost: site.example:{}\r\n", server.address.port()))
    );
}

#[tokio::test]
async fn a_detour_changes_the_connection_and_nothing_else() {
    let server = Server::http(|_| status(200)).await;
    let detour = |from: &str| format!("{from}:{}", server.address).parse().expect("a detour");
    let guard = guard_of(crate::ssrf_guard::Outbound {
        allow: vec!["127.0.0.0/8".parse().expect("a network")],
        connect_to: vec![detour("site.example:80"), detour("site.example:8080")],
        ..Default::default()
    });
    for (text, host) in [
        ("http://site.example/", "site.example"),
        ("http://site.example:8080/", "site.example:8080"),
    ] {
        let result = completed(&guard, &text.parse().expect("a URL")).await;
        assert!(result.up);
        assert_eq!(result.effective_url, text);
        let head = server.heads().pop().expect("a request");
        assert!(head.contains(&format!("\r\nhost: {host}\r\n")), "{head}");
    }
}

#[tokio::test]
async fn the_next_address_is_tried_when_one_refuses() {
    let server = Server::http(|_| status(200)).await;
    // Nothing listens on this port at the other addresses.
    let names = NameServer::start([(
        "site.example",
        Entry::addresses(&["127.0.0.3", "127.0.0.1", "127.0.0.2"]),
    )])
    .await;
    let guard = names.guard(crate::ssrf_guard::Outbound {
        allow: vec!["127.0.0.0/8".parse().expect("a network")],
        ..Default::default()
    });
    assert!(completed(&guard, &server.url_as("site.example", "/")).await.up);
}
