//! `robots.txt`, 429 and `Retry-After` on the site itself.

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;
use crate::loopback::Server;
use crate::loopback::certificates::{Authority, CURRENT};
use crate::loopback::guard_of;
use crate::ssrf_guard::Outbound;

#[tokio::test]
async fn robots_txt_is_followed_on_the_site() {
    let elsewhere = Site::at("127.0.0.2", |asked| match asked.target.as_str() {
        "/robots.txt" => Reply::file("text/plain", "User-agent: *\nDisallow: /\n"),
        _ => Reply::new(404),
    })
    .await;
    let away = elsewhere.url("/x").to_string();
    let site = Site::start(move |asked| match asked.target.as_str() {
        "/robots.txt" => Reply::file(
            "text/plain",
            "User-agent: other\nDisallow: /\n\nUser-agent: Vedette\nDisallow: /private\n",
        ),
        "/" => Reply::html(
            anchors(["/private/a", "/open", &away]) + "<img src=/private/b.png><img src=/c.png>",
        ),
        _ => Reply::new(404),
    })
    .await;
    let result = crawl(&site.url("/")).await;
    assert_eq!(
        broken(&result, &site),
        ["404 /open /".to_owned(), format!("404 {} /", elsewhere.url("/x")), "404 /c.png /".into()],
    );
    assert_eq!(result.crawl.skipped.robots, 2);
    assert!(!site.visits().iter().any(|visit| visit.contains("private")));
    let asked = site.asked();
    assert_eq!(asked[0].target, "/robots.txt", "before anything else");
    assert!(asked.iter().all(|asked| asked.header("user-agent") == Some(crate::USER_AGENT)));
}

#[tokio::test]
async fn a_robots_txt_that_fails_rules_nothing() {
    for code in [404, 403, 500, 503] {
        let site = Site::start(move |asked| match asked.target.as_str() {
            "/robots.txt" => Reply::new(code),
            "/" => Reply::html(anchors(["/gone"])),
            _ => Reply::new(404),
        })
        .await;
        assert_eq!(crawl(&site.url("/")).await.found, 1, "{code}");
    }
}

#[tokio::test]
async fn few_requests_run_beside_each_other() {
    let slow = |code| Reply::new(code).after(Duration::from_millis(5));
    let elsewhere = Site::at("127.0.0.2", move |_| slow(200)).await;
    let mut page = anchors((0..100).map(|number| format!("/{number}")));
    page += &anchors((0..30).map(|number| elsewhere.url(&format!("/{number}"))));
    let site = Site::start(move |asked| match asked.target.as_str() {
        "/" => Reply::html(page.clone()),
        _ => slow(404),
    })
    .await;
    let url = site.url("/");
    let result = crawl_at(&brisk(), &of(&url)).await;
    assert_eq!((result.found, result.crawl.links), (100, 131));
    // One more than for pages, for the sitemap.
    assert!((2..=17).contains(&site.most_under_way()), "{}", site.most_under_way());
    assert_eq!(elsewhere.most_under_way(), 2);
    assert!(site.connections() <= 20, "kept alive: {}", site.connections());
    assert!(elsewhere.connections() <= 2, "{}", elsewhere.connections());
}

/// Reads a request head.
async fn head(stream: &mut tokio::net::TcpStream) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    String::from_utf8(head).ok()
}

#[tokio::test]
async fn a_connection_closed_by_the_server_is_replaced() {
    // Answers one request on a connection, and closes it at the second.
    let server = Server::raw(|mut stream| async move {
        let Some(asked) = head(&mut stream).await else {
            return;
        };
        let page = match crate::loopback::path(&asked) {
            "/" => anchors((0..40).map(|number| format!("/{number}"))),
            _ => String::new(),
        };
        let length = page.len();
        let answer = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {length}\r\n\r\n{page}"
        );
        let _ = stream.write_all(answer.as_bytes()).await;
        let _ = head(&mut stream).await;
    })
    .await;
    let result = crawl(&server.url("/")).await;
    assert_eq!((result.found, result.crawled), (0, 41));
}

#[tokio::test]
async fn servers_that_close_after_each_answer_are_crawled() {
    let server = Server::http(|head| {
        let page = match crate::loopback::path(head) {
            "/" => anchors((0..40).map(|number| format!("/{number}"))),
            _ => String::new(),
        };
        format!("HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n{page}").into_bytes()
    })
    .await;
    let result = crawl(&server.url("/")).await;
    assert_eq!((result.found, result.crawled), (0, 41));
}

#[tokio::test]
async fn one_http2_connection_carries_the_crawl() {
    let authority = Authority::new("known");
    let config = authority.server(&["127.0.0.1"], CURRENT, &["h2"]);
    let site = Server::http2(config, |request: hyper::Request<hyper::body::Incoming>| async move {
        let (status, page) = match request.uri().path() {
            "/" => (200, anchors((0..40).map(|number| format!("/{number}")))),
            "/7" => (404, String::new()),
            _ => (200, String::new()),
        };
        hyper::Response::builder()
            .status(status)
            .header("content-type", "text/html")
            .body(http_body_util::Full::new(hyper::body::Bytes::from(page)))
            .expect("a response")
    })
    .await;
    let guard = guard_of(Outbound {
        allow: vec!["127.0.0.0/8".parse().expect("a network")],
        extra_roots: vec![authority.root()],
        ..Outbound::default()
    });
    let url = site.url("/");
    let result = crawl_as(&guard, &of(&url)).await;
    assert_eq!((result.found, result.crawled), (1, 40));
    assert_eq!(site.connections(), 1);
}
