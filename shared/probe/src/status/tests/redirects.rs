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

/// A redirect whose `Location` has these bytes.
fn redirect_to(location: &[u8]) -> Vec<u8> {
    [b"HTTP/1.1 302 Found\r\nLocation: ", location, b"\r\nContent-Length: 0\r\n\r\n"].concat()
}

#[tokio::test]
async fn a_redirect_that_no_visitor_can_follow_is_a_failure() {
    let long = format!("/{}", "a".repeat(8 * 1024));
    let quoted = format!("redirected to \"javascript:{}…\", which", "a".repeat(69));
    let guard = guard();
    for (location, why) in [
        ("http://", "redirected to \"http://\", which is not a URL (empty host)"),
        ("///", "redirected to \"///\", which is not a URL (empty host)"),
        ("//:80", "redirected to \"//:80\", which is not a URL (empty host)"),
        ("http://[::1", "which is not a URL (invalid IPv6 address)"),
        ("http://a b/", "which is not a URL (invalid international domain name)"),
        ("http://a.example:99999/", "which is not a URL (invalid port number)"),
        ("https://me:s3cret@a.example:99999/", "redirected to \"https://a.example:99999/\", which"),
        ("http://me:s3@cret@a b/?to=b@c", "redirected to \"http://a b/?to=b@c\", which"),
        ("\\\\me:s3cret@a b", "redirected to \"\\\\\\\\a b\", which"),
        ("javascript:void(0)", "\"javascript:void(0)\", which is neither http nor https"),
        (&format!("javascript:{}", "a".repeat(100)), &quoted),
        ("ftp://example.com/", "which is neither http nor https"),
        ("mailto:a@example.com", "\"mailto:a@example.com\", which is neither http nor https"),
        ("file:///etc/passwd", "which is neither http nor https"),
        (&long, "redirected to a URL of more than 8 KB"),
        ("/a\r\nLocation: /b", "the response has several Location headers with different URLs"),
        (
            "http://10.0.0.1/",
            "\"http://10.0.0.1/\", but 10.0.0.1 is a private address (10.0.0.0/8)",
        ),
    ] {
        let answer = redirect_to(location.as_bytes());
        let server = Server::http(move |_| answer.clone()).await;
        let result = completed(&guard, &server.url("/")).await;
        let words = failure_words(&result);
        assert!(words.contains(why) && !words.contains("s3cret"), "{words}");
        assert_eq!(server.connections(), 1);
    }
}

#[tokio::test]
async fn a_redirect_without_a_location_is_the_final_answer() {
    let guard = guard();
    let none = b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n".to_vec();
    for answer in [none, redirect_to(b""), redirect_to(b" ")] {
        let server = Server::http(move |_| answer.clone()).await;
        let result = completed(&guard, &server.url("/")).await;
        assert_eq!((result.up, result.code), (true, 302));
        assert_eq!((result.redirected, result.error), (false, None));
    }
}

#[tokio::test]
async fn the_next_server_gets_the_bytes_of_a_location() {
    for (location, asked) in [
        (&b"/gr\xfc\xdfe?\xe4"[..], "/gr%FC%DFe?%E4"),
        ("/grüße#ä".as_bytes(), "/gr%C3%BC%C3%9Fe"),
        (b"/a b?c d|e", "/a%20b?c%20d|e"),
        (b"/%fc", "/%fc"),
    ] {
        let answer = redirect_to(location);
        let server = Server::http(move |head| match path(head) {
            "/" => answer.clone(),
            _ => status(200),
        })
        .await;
        let result = completed(&guard(), &server.url("/")).await;
        assert_eq!((result.code, result.redirect_count), (200, 1));
        assert_eq!(path(&server.heads()[1]), asked);
    }
}

#[tokio::test]
async fn a_long_url_is_followed_and_its_beginning_is_stored() {
    let server = Server::http(|head| match path(head) {
        "/" => redirect(302, &format!("/{}", "a".repeat(8_000))),
        _ => status(200),
    })
    .await;
    let result = completed(&guard(), &server.url("/")).await;
    assert_eq!((result.code, result.redirect_count), (200, 1));
    assert_eq!(path(&server.heads()[1]).len(), 8_001);
    assert_eq!(result.effective_url.len(), http::MAX_URL);
    assert_eq!(result.redirects, [result.effective_url]);
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
async fn a_redirect_inward_is_a_failure_and_is_never_connected_to() {
    let inner = Server::http_at("127.0.0.2", |_| status(200)).await;
    let inward = inner.url("/latest/meta-data/");
    let names = NameServer::start([("rebound.example", Entry::addresses(&["127.0.0.2"]))]).await;
    let guard_with = |allowed: &[&str]| {
        let allow = allowed.iter().map(|network| network.parse().expect("a network")).collect();
        names.guard(Outbound { allow, ..Outbound::default() })
    };
    // An operator who allows private networks may have forgotten one. Loopback is none.
    let guards = [guard_with(&["127.0.0.1/32"]), guard_with(&["127.0.0.1/32", "192.168.7.0/24"])];
    let by_name = inner.url_as("rebound.example", "/");
    for (location, address, may_be_private) in [
        (inward.as_str(), "127.0.0.2", false),
        (by_name.as_str(), "127.0.0.2", false),
        ("http://169.254.169.254/", "169.254.169.254", true),
        ("//[::1]/", "::1", false),
        ("http://0x7f000002/", "127.0.0.2", false),
        ("http://192.168.8.1/", "192.168.8.1", true),
        ("http://[fd00::1]/", "fd00::1", true),
    ] {
        let target = location.to_owned();
        let server = Server::http(move |head| match path(head) {
            "/" => redirect(302, "/next"),
            _ => redirect(302, &target),
        })
        .await;
        let url = server.url("/");
        let next = url.join(location).expect("a URL");
        for (guard, allows_private) in guards.iter().zip([false, true]) {
            match probe(guard, &of(&url)).await {
                Ok(result) => {
                    assert!(!(allows_private && may_be_private), "{result:?}");
                    let start = format!("redirected to \"{next}\", but {address} is ");
                    assert!(failure_words(&result).starts_with(&start), "{result:?}");
                    assert_eq!(result.effective_url, next.as_str());
                }
                Err(error) => {
                    assert!(allows_private && may_be_private, "{location}");
                    assert_eq!(error.code, "target_forbidden");
                    assert_eq!(error.data["address"], address);
                    assert_eq!(error.data["url"], next.as_str());
                }
            }
        }
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
    let result = completed(&guard, &server.url("/")).await;
    assert!(failure_words(&result).contains("is an address of this service"), "{result:?}");
    assert_eq!(own.connections(), 0);
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
async fn the_request_header_stays_at_its_origin() {
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
    assert_eq!(sent(&other_port), [false, false], "the same host");
    assert_eq!(sent(&elsewhere), [false]);
}
