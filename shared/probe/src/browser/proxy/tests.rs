//! What the proxy forwards, tunnels, refuses and limits.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::sleep;

use super::*;
use crate::loopback::{Server, guard, guard_of, path, status};
use crate::ssrf_guard::Outbound;

/// The header with which the proxy's browser authenticates.
fn proof(proxy: &SsrfGuardProxy) -> String {
    let credentials = proxy.credentials().to_json();
    let text = |name: &str| credentials[name].as_str().expect("text").to_owned();
    let pair = STANDARD.encode(format!("{}:{}", text("username"), text("password")));
    format!("Proxy-Authorization: Basic {pair}\r\n")
}

/// What the proxy answers to a `request` of its browser.
async fn ask(proxy: &SsrfGuardProxy, guard: &SsrfGuard, request: &str) -> String {
    let (line, headers) = request.split_once("\r\n").expect("a head");
    ask_as(proxy, guard, &format!("{line}\r\n{}{headers}", proof(proxy))).await
}

/// What the proxy answers to a `request` of any client, until the connection ends. The client keeps it open.
async fn ask_as(proxy: &SsrfGuardProxy, guard: &SsrfGuard, request: &str) -> String {
    let exchange = async {
        let mut stream = TcpStream::connect(proxy.address()).await.expect("the proxy");
        stream.write_all(request.as_bytes()).await.expect("sent");
        let mut answer = Vec::new();
        // A reset ends an answer, too.
        let _ = timeout(Duration::from_secs(10), stream.read_to_end(&mut answer)).await;
        String::from_utf8(answer).expect("text")
    };
    proxy.serve_during(guard, exchange).await
}

/// The status line's code, when the browser asks for the connection to be closed.
async fn code(proxy: &SsrfGuardProxy, guard: &SsrfGuard, request: &str) -> u16 {
    let request = format!("{request} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    let answer = ask(proxy, guard, &request).await;
    answer.get(9..12).and_then(|code| code.parse().ok()).unwrap_or_else(|| panic!("{answer}"))
}

#[tokio::test]
async fn requests_are_passed_on_as_servers_know_them() {
    let server = Server::http(|head| {
        let mut answer = format!("HTTP/1.1 200 OK\r\nX-Path: {}\r\n", path(head));
        answer.push_str("Keep-Alive: timeout=5\r\nConnection: X-Mine\r\nX-Mine: 1\r\n");
        answer.push_str("Content-Length: 5\r\n\r\nhello");
        answer.into_bytes()
    })
    .await;
    let proxy = SsrfGuardProxy::for_nobody().await;
    let request = format!(
        "GET {} HTTP/1.1\r\nHost: else.example\r\nProxy-Connection: keep-alive\r\n\
         Connection: close, X-Hop\r\nX-Hop: 1\r\n\
         Cookie: a=b\r\n\r\n",
        server.url("/a?b=c")
    );
    let answer = ask(&proxy, &guard(), &request).await.to_lowercase();
    assert!(answer.starts_with("http/1.1 200 "), "{answer}");
    assert!(answer.contains("x-path: /a?b=c\r\n") && answer.ends_with("\r\n\r\nhello"), "{answer}");
    assert!(!answer.contains("keep-alive") && !answer.contains("x-mine"), "{answer}");
    let mut lines: Vec<_> =
        server.heads()[0].trim_end().to_lowercase().lines().map(str::to_owned).collect();
    lines.sort();
    let host = format!("host: {}", server.address);
    assert_eq!(lines, ["connection: close", "cookie: a=b", "get /a?b=c http/1.1", &*host]);
}

#[tokio::test]
async fn a_tunnel_carries_both_ways() {
    let server = Server::http(|head| format!("echo {}", path(head)).into_bytes()).await;
    let proxy = SsrfGuardProxy::for_nobody().await;
    let request = format!(
        "CONNECT {} HTTP/1.1\r\nHost: x\r\n\r\nGET /inside HTTP/1.1\r\n\r\n",
        server.address
    );
    let answer = ask(&proxy, &guard(), &request).await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert!(answer.ends_with("\r\n\r\necho /inside"), "{answer}");
}

#[tokio::test]
async fn only_its_own_browser_is_served() {
    let server = Server::http(|_| status(200)).await;
    let (proxy, other) = (SsrfGuardProxy::for_nobody().await, SsrfGuardProxy::for_nobody().await);
    assert_ne!(proof(&proxy), proof(&other), "made for one run");
    let lines = [
        format!("GET {} HTTP/1.1", server.url("/")),
        format!("CONNECT {} HTTP/1.1", server.address),
    ];
    let basic = |pair: &str| format!("Proxy-Authorization: Basic {}\r\n", STANDARD.encode(pair));
    for line in &lines {
        for proof in [String::new(), basic("vedette:"), basic(":"), proof(&other)] {
            let request = format!("{line}\r\nHost: x\r\n{proof}Connection: close\r\n\r\n");
            let answer = ask_as(&proxy, &guard(), &request).await.to_lowercase();
            assert!(answer.starts_with("http/1.1 407 "), "{proof} {answer}");
            assert!(answer.contains("proxy-authenticate: basic realm="), "{answer}");
        }
    }
    assert_eq!(server.connections(), 0);
    assert_eq!(code(&proxy, &guard(), &format!("GET {}", server.url("/"))).await, 200);
}

#[tokio::test]
async fn what_the_guard_refuses_is_not_connected_to() {
    let server = Server::http(|_| status(200)).await;
    let proxy = SsrfGuardProxy::for_nobody().await;
    let guard = guard_of(Outbound::default());
    assert_eq!(code(&proxy, &guard, &format!("GET {}", server.url("/"))).await, 403);
    assert_eq!(code(&proxy, &guard, &format!("CONNECT {}", server.address)).await, 403);
    assert_eq!(code(&proxy, &guard, "CONNECT [::1]:80").await, 403);
    assert_eq!(code(&proxy, &guard, "CONNECT 169.254.169.254:443").await, 403);
    assert_eq!(server.connections(), 0);
    let refused: Vec<_> = proxy.refusals().into_iter().map(|refusal| refusal.url).collect();
    let address = server.address;
    assert_eq!(
        refused,
        [
            format!("http://{address}/"),
            format!("https://{address}/"),
            "https://[::1]:80/".to_owned(),
            "https://169.254.169.254/".to_owned(),
        ]
    );
    for _ in 0..MAX_REFUSALS {
        proxy.record_refusal(proxy.refusals()[0].clone());
    }
    assert_eq!(proxy.refusals().len(), MAX_REFUSALS);
}

#[tokio::test]
async fn what_is_no_request_to_a_proxy_is_refused() {
    let proxy = SsrfGuardProxy::for_nobody().await;
    let guard = guard();
    assert_eq!(code(&proxy, &guard, "GET /").await, 400);
    assert_eq!(code(&proxy, &guard, "GET ftp://127.0.0.1/").await, 400);
    assert_eq!(code(&proxy, &guard, "GET https://127.0.0.1/").await, 400);
    assert_eq!(code(&proxy, &guard, &format!("GET http://{}/", proxy.address())).await, 508);
    assert_eq!(code(&proxy, &guard, &format!("CONNECT {}", proxy.address())).await, 508);
    // Nothing listens on that port, and no host has that name.
    assert_eq!(code(&proxy, &guard, "CONNECT 127.0.0.1:1").await, 502);
    assert_eq!(code(&proxy, &guard, "GET http://name.invalid/").await, 502);
    let long = format!("GET http://127.0.0.1/{}", "a".repeat(HEAD_BYTES));
    assert!([414, 431].contains(&code(&proxy, &guard, &long).await));
    assert_eq!(proxy.refusals(), []);
}

#[tokio::test]
async fn the_bytes_are_bounded() {
    let server = Server::http(|_| {
        let body = "a".repeat(100_000);
        format!("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n{body}").into_bytes()
    })
    .await;
    let mut proxy = SsrfGuardProxy::for_nobody().await;
    proxy.budget = Budget::new(150_000);
    let get = format!("GET {}", server.url("/"));
    let request = format!("{get} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    assert!(ask(&proxy, &guard(), &request).await.ends_with(&"a".repeat(100_000)));
    assert!(!proxy.is_exhausted());
    assert!(!ask(&proxy, &guard(), &request).await.ends_with(&"a".repeat(100_000)));
    assert!(proxy.is_exhausted());
    assert_eq!(code(&proxy, &guard(), &get).await, 429);
    assert_eq!(server.connections(), 2);
}

#[tokio::test]
async fn what_is_sent_to_others_than_the_site_is_bounded() {
    let site = Server::http(|_| status(200)).await;
    let other = Server::http_at("127.0.0.2", |_| status(200)).await;
    let allow = vec!["127.0.0.0/8".parse().expect("a network")];
    let guard = guard_of(Outbound { allow, ..Outbound::default() });
    let (home, elsewhere) = (site.url("/"), other.address);
    let mut proxy = SsrfGuardProxy::bind(&home, ProxyLimits::CRAWL).await.expect("a port");
    proxy.sent = SendLimiter::new(Duration::from_secs(2));
    // On a busy machine the limit refills between requests, so more of them pass before one is
    // refused. The limit may also be met after connecting, which makes a 502.
    let mut others = Vec::new();
    while others.last() != Some(&429) && others.len() < 1_000 {
        assert_eq!(code(&proxy, &guard, &format!("GET {home}")).await, 200);
        others.push(code(&proxy, &guard, &format!("GET http://{elsewhere}/")).await);
    }
    assert_eq!((others.first(), others.last()), (Some(&200), Some(&429)), "{others:?}");
    assert_eq!((site.connections(), other.connections()), (others.len(), others.len() - 1));

    // Later data in a connection counts, too.
    proxy.sent = SendLimiter::new(Duration::from_secs(2));
    let began = Instant::now();
    let long = "a".repeat(1_000_000);
    let head = format!("CONNECT {elsewhere} HTTP/1.1\r\nHost: x\r\n\r\n");
    let answer = ask(&proxy, &guard, &format!("{head}{long}")).await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert!(proxy.sent.is_exhausted(elsewhere.ip(), began));
}

#[test]
fn a_host_is_the_same_with_and_without_www() {
    let host = |url: &str| host_of(&url.parse().expect("a URL")).to_owned();
    assert_eq!(host("https://www.example.com/"), host("http://example.com:8080/"));
    assert_ne!(host("https://cdn.example.com/"), host("http://example.com/"));
}

#[tokio::test]
async fn an_idle_connection_is_closed() {
    let server = Server::raw(|mut stream| async move {
        let _ = stream.write_all(b"hello").await;
        sleep(Duration::from_secs(60)).await;
    })
    .await;
    let stream = TcpStream::connect(server.address).await.expect("connected");
    let mut metered = Metered::new(stream, Budget::new(1000), None, Duration::from_millis(50));
    let mut taken = Vec::new();
    let error = metered.read_to_end(&mut taken).await.expect_err("an end");
    assert_eq!((error.kind(), &*taken), (io::ErrorKind::TimedOut, &b"hello"[..]));
}

#[tokio::test]
async fn connections_end_with_the_work() {
    let server = Server::raw(|mut stream| async move {
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest).await;
    })
    .await;
    let proxy = SsrfGuardProxy::for_nobody().await;
    let guard = guard();
    let open = async {
        let mut stream = TcpStream::connect(proxy.address()).await.expect("the proxy");
        let head = format!("CONNECT {} HTTP/1.1\r\nHost: x\r\n", server.address);
        let request = format!("{head}{}\r\n", proof(&proxy));
        stream.write_all(request.as_bytes()).await.expect("sent");
        let mut head = [0; 12];
        stream.read_exact(&mut head).await.expect("an answer");
        assert_eq!(&head, b"HTTP/1.1 200");
        stream
    };
    let mut stream = proxy.serve_during(&guard, open).await;
    let mut rest = Vec::new();
    let ended = timeout(Duration::from_secs(10), stream.read_to_end(&mut rest)).await;
    assert!(ended.is_ok(), "still open");
    let address = proxy.address();
    drop(proxy);
    assert!(TcpStream::connect(address).await.is_err(), "still listening");
}
