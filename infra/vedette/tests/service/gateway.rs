//! What the gateway itself answers, before and in addition to the routes.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use vedette_api::BODY_MAX;
use vedette_local::{Options, Service};
use vedette_notifier::send::{MailTransport, SendConfig};

use crate::client::Client;
use crate::pages::{browse, sign_in};
use crate::{config, mail, options, start};

#[tokio::test]
async fn a_browser_is_shown_a_page_where_there_is_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let (service, client) = start(folder.path()).await;
    for (path, accepts, is_page) in [
        ("/nowhere", "text/html,*/*;q=0.8", true),
        ("/nowhere", "application/json", false),
        ("/api/v1/nowhere", "text/html", false),
    ] {
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept: {accepts}\r\nConnection: close\r\n\r\n"
        );
        let answer = client.send_raw(request.as_bytes()).await.expect("an answer");
        assert_eq!(answer.status, 404, "{path} {accepts}");
        assert_eq!(answer.text.contains("Page not found"), is_page, "{}", answer.text);
    }
    service.stop().await;
}

#[tokio::test]
async fn unknown_paths_and_methods_are_refused_as_the_api_refuses() {
    let folder = tempfile::tempdir().expect("a folder");
    let (service, client) = start(folder.path()).await;
    let unknown = client.get("/api/v1/nothing").await;
    assert_eq!(unknown.status, 404);
    assert_eq!(unknown.body["message"], "The requested resource was not found.");
    let path = "/api/v1/sites/a%2Fb";
    for path in ["/api/v1", "/api/v1/me/", "/api/v1//me", "/api/v1/sites//checks", path, "*", "//"]
    {
        assert_eq!(client.get(path).await.status, 404, "{path}");
    }
    for method in ["PUT", "HEAD", "OPTIONS", "BREW"] {
        let refused = client.send(method, "/api/v1/me", b"").await;
        assert_eq!((refused.status, refused.headers["allow"].as_str()), (405, "GET"), "{method}");
    }
    // An encoded slash is part of the value, for the fallback too.
    assert_eq!(client.send("PUT", path, b"").await.status, 405);
    service.stop().await;
}

#[tokio::test]
async fn pages_are_served_beside_the_routes() {
    let folder = tempfile::tempdir().expect("a folder");
    let (service, client) = start(folder.path()).await;
    let page = "/channels/7c9e6679-7425-40de-944b-e07fc1f90ae7/\
                3f2504e0-4f89-41d3-9a0c-0305e82c3301/unsubscribe?key=07070707070707070707070707070707";
    let absent = client.get(page).await;
    assert_eq!(
        (absent.status, &*absent.headers["content-type"]),
        (404, "text/html; charset=utf-8")
    );
    assert_eq!(absent.headers["cache-control"], "no-store");
    let shown = client.get("/issues/01a1f860-8ec0-8100-8a55-6c1f3b7d9e01").await;
    assert_eq!(shown.status, 200);
    assert!(shown.headers["content-security-policy"].starts_with("default-src 'none'; "));
    // The gateway does not read a body that the page does not need.
    let sent = client.send("POST", page, &vec![b'x'; 2 * BODY_MAX]).await;
    assert_eq!((sent.status, &*sent.headers["connection"]), (404, "close"));
    let refused = client.send("PUT", page, b"").await;
    assert_eq!(refused.status, 404);
    assert_eq!(refused.body["message"], "The requested resource was not found.");
    service.stop().await;
}

#[tokio::test]
async fn an_untrusted_proxy_counts_as_the_source_of_its_requests() {
    let folder = tempfile::tempdir().expect("a folder");
    // People can request a link by email only if there is a mail server. Here, there is none.
    let mail = SendConfig::read(
        &|name| match name {
            "VEDETTE_SMTP" => Some("smtp://127.0.0.1:1".to_owned()),
            "VEDETTE_MAIL_FROM" => Some("alerts@vedette.test".to_owned()),
            _ => None,
        },
        MailTransport::Folder(folder.path().join("mail")),
    );
    let mail = mail.expect("a mail server");
    let service = Service::start(options(folder.path()), config(), mail, None);
    let service = service.await.expect("started");
    let client = Client::with_token_file(service.listen(), &service.token_file());
    let mut statuses = Vec::new();
    // Twenty requests are served, and one more for each half minute that this takes.
    for number in 0..60 {
        let form = format!("email=user{number}%40example.com");
        let more = format!(
            "Origin: http://localhost\r\nX-Forwarded-For: 203.0.113.{number}\r\nContent-Length: {}\r\n",
            form.len()
        );
        let request = client.head("POST", "/sign-in", &more) + &form;
        let answer = client.send_raw(request.as_bytes()).await.expect("an answer");
        statuses.push(answer.status);
    }
    assert_eq!(statuses[..20], [200; 20]);
    assert!(statuses.contains(&429), "{statuses:?}");
    service.stop().await;
}

#[tokio::test]
async fn bodies_and_heads_have_limits() {
    let folder = tempfile::tempdir().expect("a folder");
    let (service, client) = start(folder.path()).await;
    let path = client.sites_path().await;
    for (size, status) in [(BODY_MAX, 422), (BODY_MAX + 1, 413)] {
        let refused = client.send("POST", &path, &vec![b'x'; size]).await;
        assert_eq!(refused.status, status, "{size} bytes");
        assert!(refused.body["message"].is_string(), "{refused:?}");
    }
    // With `Expect`, the refusal arrives before the client sends the body.
    let too_long = format!("Expect: 100-continue\r\nContent-Length: {}\r\n", BODY_MAX + 1);
    let expecting = client.head("POST", &path, &too_long);
    assert_eq!(client.send_raw(expecting.as_bytes()).await.expect("an answer").status, 413);
    for (length, status) in [(9_000, 401), (10_240, 431)] {
        let long = "x".repeat(length);
        let request = format!(
            "GET /api/v1/me HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-Long: {long}\r\n\r\n"
        );
        let answer = client.send_raw(request.as_bytes()).await.expect("an answer");
        assert_eq!(answer.status, status, "{length}");
    }
    service.stop().await;
}

#[tokio::test]
async fn bytes_that_are_not_http_are_refused_and_harm_nobody() {
    let folder = tempfile::tempdir().expect("a folder");
    let (service, client) = start(folder.path()).await;
    let path = client.sites_path().await;
    let [short, garbled, endless] = [
        ("Content-Length: 9\r\n", "few"),
        ("Transfer-Encoding: chunked\r\n", "Z\r\n"),
        ("Content-Length: 99999999999\r\n", ""),
    ]
    .map(|(length, body)| client.head("POST", &path, length) + body);
    let many_headers = format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(200));
    let requests: &[(&[u8], Option<u16>)] = &[
        (b"", None),
        (b"\r\n\r\n", None),
        (b"GARBAGE\r\n\r\n", Some(400)),
        (b"GET\r\n\r\n", Some(400)),
        (b"GET / HTTP/9.9\r\n\r\n", Some(400)),
        (b"GET /\xff\xfe HTTP/1.1\r\nHost: localhost\r\n\r\n", Some(400)),
        (b"GET http://[::1/ HTTP/1.1\r\nHost: localhost\r\n\r\n", Some(400)),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", Some(400)),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", None),
        (b"GET /api/v1/me HTTP/1.1\r\nHost: \xff\r\n\r\n", Some(421)),
        (b"GET /api/v1/me HTTP/1.0\r\n\r\n", Some(401)),
        (b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n", Some(404)),
        (b"CONNECT x:1 HTTP/1.1\r\nHost: localhost\r\n\r\n", Some(404)),
        (b"GET /api/v1/me HTTP/1.1\r\n\r\n", Some(400)),
        (b"GET /api/v1/me HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", Some(400)),
        (b"GET /api/v1/me HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n", Some(400)),
        (b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n", Some(400)),
        (short.as_bytes(), Some(400)),
        (garbled.as_bytes(), Some(400)),
        (endless.as_bytes(), Some(413)),
        (many_headers.as_bytes(), Some(431)),
    ];
    for (request, status) in requests {
        let answer = client.send_raw(request).await;
        let request = String::from_utf8_lossy(request);
        assert_eq!(answer.map(|answer| answer.status), *status, "{request}");
    }
    assert_eq!(client.get("/api/v1/me").await.status, 200);
    service.stop().await;
}

#[tokio::test]
async fn a_stranger_is_refused_before_their_body_is_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let (service, client) = start(folder.path()).await;
    let path = client.sites_path().await;
    let head = |length: usize| {
        format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n")
    };
    // The body never arrives.
    let mut stream = client.connect().await;
    stream.write_all(head(BODY_MAX).as_bytes()).await.expect("sent");
    let refused = Client::receive(stream).await.expect("an answer");
    assert_eq!((refused.status, refused.headers["connection"].as_str()), (401, "close"));
    // The whole body arrives, and the client still gets the answer.
    let mut request = head(5 * BODY_MAX).into_bytes();
    request.resize(request.len() + 5 * BODY_MAX, b'x');
    let refused = client.send_raw(&request).await.expect("an answer");
    assert_eq!(refused.status, 401);
    service.stop().await;
}

#[tokio::test]
async fn the_bodies_of_a_user_share_a_budget() {
    let folder = tempfile::tempdir().expect("a folder");
    let (service, client) = start(folder.path()).await;
    let path = client.sites_path().await;
    // They get `100 Continue` as soon as there is memory for them, but send nothing.
    let longest = format!("Expect: 100-continue\r\nContent-Length: {BODY_MAX}\r\n");
    let mut held = Vec::new();
    for _ in 0..4 {
        let mut stream = client.connect().await;
        let head = client.head("POST", &path, &longest);
        stream.write_all(head.as_bytes()).await.expect("sent");
        let mut said = [0; 25];
        stream.read_exact(&mut said).await.expect("an answer");
        assert_eq!(&said, b"HTTP/1.1 100 Continue\r\n\r\n");
        held.push(stream);
    }
    let mut waiting = client.connect().await;
    let request = client.head("POST", &path, "Content-Length: 2\r\n") + "{}";
    waiting.write_all(request.as_bytes()).await.expect("sent");
    // Requests without a body do not wait.
    for _ in 0..20 {
        assert_eq!(client.get("/api/v1/me").await.status, 200);
    }
    assert!(waiting.try_read(&mut [0]).is_err(), "answered without its share");
    held.clear();
    assert_eq!(Client::receive(waiting).await.expect("an answer").status, 422);
    service.stop().await;
}

#[tokio::test]
async fn a_request_for_another_host_is_misdirected() {
    let folder = tempfile::tempdir().expect("a folder");
    let hosts = vec!["monitor.test".parse().expect("a name")];
    let options = Options { hosts, ..options(folder.path()) };
    let service = Service::start(options, config(), mail(folder.path()), None).await;
    let service = service.expect("started");
    let client = Client::with_token_file(service.listen(), &service.token_file());
    let ask = async |host: &str, path: &str| {
        let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        client.send_raw(request.as_bytes()).await.expect("an answer")
    };
    for host in ["monitor.test", "vedette.localhost:8787", "192.168.1.7:8787", "[::1]"] {
        assert_eq!(ask(host, "/sign-in").await.status, 200, "{host}");
        assert_eq!(ask(host, "/api/v1/me").await.status, 401, "{host}");
    }
    for host in ["evil.test", "monitor.test.evil.test", "127.0.0.1.evil.test"] {
        let page = ask(host, "/sign-in").await;
        assert_eq!(
            (page.status, &*page.headers["content-type"]),
            (421, "text/html; charset=utf-8")
        );
        assert!(page.text.contains("VEDETTE_HOSTS") && !page.text.contains(host), "{}", page.text);
        assert_eq!(page.headers["cross-origin-opener-policy"], "same-origin");
        let refused = ask(host, "/api/v1/me").await;
        assert_eq!(refused.status, 421);
        assert!(refused.body["message"].is_string(), "{refused:?}");
    }
    service.stop().await;
}

#[tokio::test]
async fn strangers_who_announce_a_body_and_send_none_delay_nobody() {
    let folder = tempfile::tempdir().expect("a folder");
    let (service, client) = start(folder.path()).await;
    // A session that has ended does not identify its user.
    let cookie = sign_in(&service, &client).await;
    assert_eq!(browse(&client, "POST", "/sign-out", &cookie, "").await.status, 303);
    let announce = async |length: usize| {
        let mut stream = client.connect().await;
        let head = format!(
            "POST /sign-in HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\n\
             Cookie: {cookie}\r\nExpect: 100-continue\r\nContent-Length: {length}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.expect("sent");
        stream
    };
    for _ in 0..40 {
        let refused = Client::receive(announce(BODY_MAX).await).await.expect("an answer");
        assert_eq!((refused.status, &*refused.headers["connection"]), (413, "close"));
    }
    let mut awaited = Vec::new();
    for _ in 0..64 {
        let mut stream = announce(4_096).await;
        let mut said = [0; 25];
        stream.read_exact(&mut said).await.expect("an answer");
        assert_eq!(&said, b"HTTP/1.1 100 Continue\r\n\r\n");
        awaited.push(stream);
    }
    let refused = Client::receive(announce(4_096).await).await.expect("an answer");
    assert_eq!((refused.status, &*refused.headers["retry-after"]), (429, "10"));
    // Clients with credentials can still send bodies.
    let path = client.sites_path().await;
    assert_eq!(client.send("POST", &path, b"{}").await.status, 422);
    assert_eq!(browse(&client, "GET", "/sign-in", "", "").await.status, 200);
    drop(awaited);
    let sign_in_mail = "email=nobody%40example.com";
    while browse(&client, "POST", "/sign-in", "", sign_in_mail).await.status == 429 {
        tokio::task::yield_now().await;
    }
    service.stop().await;
}
