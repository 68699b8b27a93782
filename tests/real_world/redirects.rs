//! Redirects that no visitor can follow, and those that browsers follow.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use url::Url;
use vedette_domain::checks::check::{CheckError, StatusResult};
use vedette_domain::checks::tool::Tool;
use vedette_domain::expectations::CheckMethod;
use vedette_domain::id::SiteId;
use vedette_domain::locations::{Answer, Question, RemoteStatus};
use vedette_probe::ssrf_guard::{Outbound, SsrfGuard};
use vedette_probe::status::{self, StatusProbe};
use vedette_testkit::loopback;
use vedette_tests::Service;

/// A web server on loopback that answers each request with bytes.
pub(crate) struct RawSite {
    pub(crate) address: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
    _tasks: JoinSet<()>,
}

impl RawSite {
    /// Answers what this function returns for the head of a request.
    pub(crate) async fn start(answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> Self {
        Self::at("127.0.0.1", answer).await
    }

    /// The same at another address, which counts as another host.
    pub(crate) async fn at(
        ip: &str,
        answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind((ip, 0)).await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let (heads, answer) = (Arc::<Mutex<Vec<String>>>::default(), Arc::new(answer));
        let mut tasks = JoinSet::new();
        let seen = Arc::clone(&heads);
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((mut stream, _)) = listener.accept().await {
                let (seen, answer) = (Arc::clone(&seen), Arc::clone(&answer));
                connections.spawn(async move {
                    let mut head = Vec::new();
                    while !head.ends_with(b"\r\n\r\n") {
                        let Ok(byte) = stream.read_u8().await else { return };
                        head.push(byte);
                    }
                    let head = String::from_utf8_lossy(&head).into_owned();
                    let bytes = answer(&head);
                    seen.lock().expect("no panic").push(head);
                    // The client may have left.
                    let _ = stream.write_all(&bytes).await;
                });
            }
        });
        Self { address, heads, _tasks: tasks }
    }

    pub(crate) fn url(&self, path: &str) -> Url {
        format!("http://{}{path}", self.address).parse().expect("a URL")
    }

    /// The heads of the requests so far.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.heads.lock().expect("no panic").clone()
    }
}

/// The path in a request.
pub(crate) fn path(head: &str) -> &str {
    head.split(' ').nth(1).expect("a request line")
}

/// A page, with these lines in its head.
pub(crate) fn page(lines: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n{lines}Content-Length: {length}\r\n\r\n{body}")
        .into_bytes()
}

/// A redirect, with these lines in its head.
pub(crate) fn redirect(location: &[u8], lines: &str) -> Vec<u8> {
    let end = format!("\r\nConnection: close\r\n{lines}Content-Length: 0\r\n\r\n");
    [b"HTTP/1.1 302 Found\r\nLocation: ", location, end.as_bytes()].concat()
}

/// What a status check finds, with these settings.
pub(crate) async fn checked(
    outbound: Outbound,
    url: &Url,
    header: Option<(&str, &str)>,
) -> StatusResult {
    probed(outbound, url, header).await.expect("a completed check")
}

async fn probed(
    outbound: Outbound,
    url: &Url,
    header: Option<(&str, &str)>,
) -> Result<StatusResult, CheckError> {
    let probe = StatusProbe {
        url,
        method: CheckMethod::Get,
        post: None,
        header,
        deadline: Duration::from_secs(20),
        connectivity: None,
        expected: None,
    };
    status::probe(&SsrfGuard::new(outbound).expect("a guard"), &probe).await
}

#[tokio::test]
async fn a_site_that_redirects_to_nowhere_is_down_for_everybody_who_checks_it() {
    let service = Service::start().await;
    let too_long = [b"/", &[b'x'; 9_000][..]].concat();
    for location in [
        &b"data:text/html,hello"[..],
        b"tel:+49301234",
        b"about:blank",
        b"itms-apps://apps.example/1",
        b"http://:8080/",
        b"https://",
        b"////",
        b"http://[fe80::1/",
        b"http://shop.test:70000/",
        b"http://sh op.test/",
        b"http://sh\xf6p.test/",
        b"http://192.168.1.1/admin",
        b"http://[fd00::1]/",
        b"http://169.254.169.254/latest",
        b"http://0.0.0.0/",
        &too_long,
    ] {
        let answer = redirect(location, "");
        let site = RawSite::start(move |_| answer.clone()).await;
        let (url, shown) = (site.url("/"), String::from_utf8_lossy(location));
        let result = checked(loopback(), &url, None).await;
        assert_eq!((result.up, result.code), (false, 0), "{shown}: {result:?}");
        assert!(result.error.is_some_and(|why| why.starts_with("redirected to ")), "{shown}");
        // An agent or outpost agrees.
        let question = Question::new(url, None, Duration::from_secs(9));
        let saw = service.engines.look_for(&question).await;
        assert!(matches!(&saw, Answer::Checked(RemoteStatus { code: 0, .. })), "{shown}: {saw:?}");
        assert_eq!(site.heads().len(), 2, "{shown}");
    }
}

#[tokio::test]
async fn an_operator_who_allows_private_networks_learns_that_one_is_missing() {
    for (allowed, location) in [
        ("10.0.0.0/8", "http://192.168.1.1/"),
        ("fd00::/8", "http://172.16.0.1/"),
        ("192.168.7.0/24", "http://192.168.8.1/"),
    ] {
        let site = RawSite::start(move |_| redirect(location.as_bytes(), "")).await;
        let mut outbound = loopback();
        outbound.allow.push(allowed.parse().expect("a network"));
        let error = probed(outbound, &site.url("/"), None).await.expect_err("not judged");
        assert_eq!(
            (error.code.as_str(), &error.data["url"]),
            ("target_forbidden", &json!(location))
        );
    }
}

#[tokio::test]
async fn a_redirect_to_vedette_itself_is_a_failure_if_no_visitor_gets_there() {
    for (own, location, is_down) in [
        ("127.0.0.1:7", "http://127.0.0.1:7/", true),
        ("[::1]:7", "http://[::1]:7/", true),
        ("0.0.0.0:7", "http://127.0.0.1:7/", true),
        ("127.0.0.1:7", "http://0.0.0.0:7/", true),
        ("192.0.2.1:7", "http://192.0.2.1:7/", false),
    ] {
        let site = RawSite::start(move |_| redirect(location.as_bytes(), "")).await;
        let mut outbound = loopback();
        for network in ["0.0.0.0/32", "192.0.2.1/32"] {
            outbound.allow.push(network.parse().expect("a network"));
        }
        outbound.own_listeners.push(own.parse().expect("an address"));
        match probed(outbound, &site.url("/"), None).await {
            Ok(result) => assert_eq!((is_down, result.up, result.code), (true, false, 0), "{own}"),
            Err(error) => assert_eq!((is_down, error.code.as_str()), (false, "target_forbidden")),
        }
    }
}

#[tokio::test]
async fn a_server_gets_the_bytes_that_another_one_wrote() {
    let long = format!("/?next={}", "y".repeat(7_900));
    for (location, asked) in [
        (&b"/caf\xe9"[..], "/caf%E9"),
        ("/日本?見".as_bytes(), "/%E6%97%A5%E6%9C%AC?%E8%A6%8B"),
        (b"/a?q=\xa9&r=%a9", "/a?q=%A9&r=%a9"),
        (b"/\xff\xfe/x y", "/%FF%FE/x%20y"),
        (long.as_bytes(), &long),
    ] {
        let answer = redirect(location, "");
        let site = RawSite::start(move |head| match path(head) {
            "/" => answer.clone(),
            _ => page("", "hello"),
        })
        .await;
        let result = checked(loopback(), &site.url("/"), None).await;
        assert_eq!((result.up, result.code, result.redirect_count), (true, 200, 1));
        assert_eq!(path(&site.heads()[1]), asked);
        assert!(result.effective_url.len() <= 2_048);
        assert_eq!(result.redirects, [result.effective_url]);
    }
}

#[tokio::test]
async fn an_issue_opens_and_says_where_the_site_redirects() {
    let (service, owner) = Service::with_team().await;
    let site = RawSite::start(|_| redirect(b"http://10.0.0.7/", "")).await;
    let off = json!({ "enabled": false });
    let status = json!({ "enabled": true, "cadence_minutes": 1 });
    let tools = json!({
        "status": status, "ssl": off, "dns": off, "broken-links": off, "performance": off,
    });
    let body = json!({ "url": site.url("/"), "monitoring_settings": { "tools": tools } });
    let client = service.client(&owner);
    let created = client.post(&format!("/teams/{}/sites", owner.team), &body).await;
    let id = SiteId::parse(&created.data("uuid")).expect("a site");
    service.consume().await;
    service.advance_minutes(1);
    service.run_scheduled(id, Tool::Status).await;
    let issues = client.get("/issues").await;
    let shown = issues.body.to_string();
    assert!(shown.contains("status:down"), "{shown}");
    let checks = client.get(&format!("/sites/{id}/checks?type=status")).await.body;
    let why = "redirected to \"http://10.0.0.7/\", but 10.0.0.7 is a private address (10.0.0.0/8)";
    assert_eq!(checks["data"][0]["result"]["error"], why);
}
