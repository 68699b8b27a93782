//! Which redirects a status probe follows.

use super::*;
use crate::ssrf_guard::Outbound;

fn number(head: &str) -> u32 {
    path(head).trim_start_matches('/').parse().expect("a number")
}

/// Redirects `/n` to `/n-1`, and answers `/0`.
async fn countdown() -> Server {
    Server::http(|head| match number(head) {
        0 => status(200),
        n => redirect(302, &format!("/{}", n - 1)),
    })
    .await
}

#[tokio::test]
async fn a_chain_is_followed_and_recorded() {
    let server = Server::http(|head| match path(head) {
        "/old/" => redirect(301, "new?x=1"),
        "/old/new?x=1" => redirect(308, "/final#part"),
        _ => status(404),
    })
    .await;
    let result = completed(&guard(), &server.url("/old/")).await;
    assert_eq!((result.up, result.code), (false, 404));
    assert!(result.redirected);
    assert_eq!(result.redirect_count, 2);
    assert_eq!(result.url, server.url("/old/").as_str());
    assert_eq!(
        result.redirects,
        [server.url("/old/new?x=1").to_string(), server.url("/final").to_string()]
    );
    assert_eq!(result.effective_url, server.url("/final").as_str());
    assert_eq!(result.error, None);
}

#[tokio::test]
async fn every_redirect_with_a_location_is_followed_and_no_other_answer() {
    let guard = guard();
    for (code, followed) in [
        (301, true),
        (302, true),
        (303, true),
        (307, true),
        (308, true),
        (200, false),
        (201, false),
        (300, false),
        (304, false),
        (305, false),
        (404, false),
    ] {
        let server = Server::http(move |head| match path(head) {
            "/" => redirect(code, "/next"),
            _ => status(200),
        })
        .await;
        let result = completed(&guard, &server.url("/")).await;
        assert_eq!(result.redirected, followed, "{code}");
        assert_eq!(result.code, if followed { 200 } else { code });
    }
}

#[tokio::test]
async fn a_location_that_leads_nowhere_makes_the_redirect_the_final_answer() {
    let long = format!("/{}", "a".repeat(http::MAX_URL));
    let guard = guard();
    for location in
        ["", " ", "http://", "http://[::1", "http://a b/", "//:80", "/\u{1}\u{ff}", &long]
    {
        // In Latin-1, so that the last byte but one is not valid text.
        let mut bytes = b"HTTP/1.1 302 Found\r\nLocation: ".to_vec();
        bytes.extend(location.chars().map(|c| c as u8).filter(|byte| *byte != 1));
        bytes.extend(b"\r\nContent-Length: 0\r\n\r\n");
        let server = Server::http(move |_| bytes.clone()).await;
        let result = completed(&guard, &server.url("/")).await;
        assert_eq!((result.up, result.code), (true, 302), "{location:.20}");
        assert_eq!((result.redirected, result.error), (false, None), "{location:.20}");
    }
    let server =
        Server::http(|_| b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n".to_vec()).await;
    assert_eq!(completed(&guard, &server.url("/")).await.code, 302);
}

#[tokio::test]
async fn ten_redirects_are_followed() {
    let server = countdown().await;
    let result = completed(&guard(), &server.url("/10")).await;
    assert_eq!((result.up, result.code, result.redirect_count), (true, 200, 10));
    assert_eq!(result.redirects.len(), 10);
}

#[tokio::test]
async fn eleven_redirects_are_no_answer() {
    let server = countdown().await;
    let result = completed(&guard(), &server.url("/11")).await;
    assert_eq!(failure_words(&result), "more than 10 redirects");
    assert_eq!((result.redirected, result.redirect_count), (true, 10));
    assert_eq!(result.effective_url, server.url("/1").as_str());
    assert_eq!(result.redirects.last(), Some(&result.effective_url));
    assert_eq!(server.connections(), 11);
}

#[tokio::test]
async fn a_loop_ends() {
    let server = Server::http(|_| redirect(302, "/")).await;
    let result = completed(&guard(), &server.url("/")).await;
    assert_eq!(failure_words(&result), "more than 10 redirects");
}

#[tokio::test]
async fn a_redirect_inward_fails_the_check_and_is_never_connected_to() {
    let inner = Server::http_at("127.0.0.2", |_| status(200)).await;
    let inward = inner.url("/latest/meta-data/");
    let names = NameServer::start([("rebound.example", Entry::addresses(&["127.0.0.2"]))]).await;
    let guard = names.guard(Outbound {
        allow: vec!["127.0.0.1/32".parse().expect("a network")],
        ..Outbound::default()
    });
    let by_name = inner.url_as("rebound.example", "/");
    for (location, address) in [
        (inward.as_str(), "127.0.0.2"),
        (by_name.as_str(), "127.0.0.2"),
        ("http://169.254.169.254/", "169.254.169.254"),
        ("//[::1]/", "::1"),
        ("http://0x7f000002/", "127.0.0.2"),
    ] {
        let target = location.to_owned();
        let server = Server::http(move |head| match path(head) {
            "/" => redirect(302, "/next"),
            _ => redirect(302, &target),
        })
        .await;
        let url = server.url("/");
        let error = probe(&guard, &of(&url)).await.expect_err("refused");
        assert_eq!(error.code, "target_forbidden");
        assert_eq!(error.data["address"], address);
        assert_eq!(error.data["url"], url.join(location).expect("a URL").as_str());
    }
    assert_eq!(inner.connections(), 0);
}

#[tokio::test]
async fn a_redirect_to_our_own_listener_is_never_connected_to() {
    let own = Server::http(|_| status(200)).await;
    let guard = guard_of(Outbound {
        allow: vec!["0.0.0.0/0".parse().expect("a network")],
        own_listeners: vec![own.address],
        ..Outbound::default()
    });
    let location = own.url("/").to_string();
    let server = Server::http(move |_| redirect(307, &location)).await;
    let error = probe(&guard, &of(&server.url("/"))).await.expect_err("refused");
    assert_eq!(error.code, "target_forbidden");
    assert_eq!(own.connections(), 0);
}

#[tokio::test]
async fn a_redirect_to_another_scheme_fails_the_check() {
    for location in ["ftp://example.com/", "mailto:a@example.com", "file:///etc/passwd"] {
        let server = Server::http(move |_| redirect(302, location)).await;
        let error = probe(&guard(), &of(&server.url("/"))).await.expect_err("refused");
        assert_eq!(
            (error.code.as_str(), &error.data["url"]),
            ("target_forbidden", &json!(location))
        );
    }
}

#[tokio::test]
async fn credentials_in_a_location_are_dropped() {
    let server = Server::http(|head| match path(head) {
        "/" => redirect(302, &format!("http://user:s3cret@{}/next", host(head))),
        _ => status(200),
    })
    .await;
    let result = completed(&guard(), &server.url("/")).await;
    assert_eq!(result.redirects, [server.url("/next").to_string()]);
    assert!(!server.heads()[1].contains("authorization"));
}

fn host(head: &str) -> &str {
    head.lines().find_map(|line| line.strip_prefix("host: ")).expect("a Host header")
}

#[tokio::test]
async fn the_request_header_stays_on_its_host() {
    let elsewhere = Server::http_at("127.0.0.2", |head| {
        let back = path(head).strip_prefix("/to/").expect("a way back");
        redirect(302, &format!("http://{back}/end"))
    })
    .await;
    let away = elsewhere.address;
    let other_port = Server::http(move |head| match path(head) {
        "/start" => redirect(302, &format!("http://{away}/to/{}", host(head))),
        _ => status(200),
    })
    .await;
    let start = other_port.url("/start").to_string();
    let first = Server::http(move |_| redirect(302, &start)).await;

    let url = first.url("/");
    let header = Some(("X-Token", "s3cret"));
    let result = probe(&guard(), &StatusProbe { header, ..of(&url) }).await.expect("completed");
    assert_eq!((result.code, result.redirect_count), (200, 3));

    let sent = |server: &Server| -> Vec<bool> {
        server.heads().iter().map(|head| head.contains("x-token: s3cret")).collect()
    };
    assert_eq!(sent(&first), [true]);
    assert_eq!(sent(&other_port), [true, true], "the same host, on the way there and back");
    assert_eq!(sent(&elsewhere), [false]);
}
