//! POSTs: one request, consent before it, and redirects without it.

use std::net::IpAddr;
use std::sync::Mutex;

use futures::future::BoxFuture;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use vedette_domain::expectations::{Expectation, JsonPointer};
use vedette_domain::sites::site_url::MAX_LENGTH;

use super::*;
use crate::loopback::hold;
use crate::loopback::site::{Asked, Reply, Site};
use crate::ssrf_guard::Outbound;

const BODY: &str = r#"{"password": "correct horse", "pin": 12345678}"#;

/// Consents after a time, or not at all.
#[derive(Default)]
struct Consenting {
    refuses: bool,
    after: Duration,
    asked: Mutex<Vec<Option<IpAddr>>>,
}

impl Consent for Consenting {
    fn may_post(&self, address: Option<IpAddr>) -> BoxFuture<'_, Result<(), CheckError>> {
        Box::pin(async move {
            self.asked.lock().expect("no panic").push(address);
            tokio::time::sleep(self.after).await;
            let data = serde_json::Value::Null;
            let (message, code) = ("no".to_owned(), POST_NOT_PROVEN.to_owned());
            if self.refuses { Err(CheckError { message, code, data }) } else { Ok(()) }
        })
    }
}

fn posting<'a>(url: &'a Url, consent: &'a dyn Consent) -> StatusProbe<'a> {
    let post = StatusPost { content_type: "application/json", body: BODY, consent };
    StatusProbe { post: Some(post), header: Some(("x-key", "of-the-site")), ..of(url) }
}

async fn posted(url: &Url) -> StatusResult {
    let consent = Consenting::default();
    probe(&guard(), &posting(url, &consent)).await.expect("a completed check")
}

/// Method, path, content type, length, header and body of the requests.
fn sent(site: &Site) -> Vec<String> {
    let shown = |asked: Asked| {
        let header = |name: &str| asked.header(name).unwrap_or("-").to_owned();
        let body = String::from_utf8_lossy(&asked.body).into_owned();
        let headers = ["content-type", "content-length", "x-key"].map(header).join(" ");
        format!("{} {} {headers} {body}", asked.method, asked.target).trim_end().to_owned()
    };
    site.asked().into_iter().map(shown).collect()
}

#[tokio::test]
async fn the_body_is_posted_with_its_type_and_length() {
    let site = Site::start(|_| Reply::new(201)).await;
    let url = site.url("/login");
    let result = posted(&url).await;
    assert_eq!((result.up, result.code, result.redirected), (true, 201, false));
    assert_eq!(
        sent(&site),
        [format!("POST /login application/json {} of-the-site {BODY}", BODY.len())]
    );
}

#[tokio::test]
async fn a_post_waits_for_consent_on_its_connection() {
    let site = Site::start(|_| Reply::new(200)).await;
    let (url, refusing) = (site.url("/"), Consenting { refuses: true, ..Consenting::default() });
    let error = probe(&guard(), &posting(&url, &refusing)).await.expect_err("refused");
    assert_eq!(error.code, POST_NOT_PROVEN);
    assert_eq!(*refusing.asked.lock().expect("no panic"), [Some(site.address.ip())]);
    assert_eq!((site.connections(), site.asked().len()), (1, 0));

    // The decision belongs neither to the response time nor to the deadline.
    let slow = Consenting { after: Duration::from_millis(1_500), ..Consenting::default() };
    let given = StatusProbe { deadline: Duration::from_secs(1), ..posting(&url, &slow) };
    let (result, evidence) = probe_with_evidence(&guard(), &given).await.expect("completed");
    assert!(result.up && result.response_time < 1_000.0, "{result:?}");
    assert!(evidence.timing.first_byte.expect("a phase") < 100_000, "{:?}", evidence.timing);
    assert_eq!(site.connections(), 2);
}

#[tokio::test]
async fn nobody_is_asked_about_a_target_that_cannot_be_reached() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let closed = format!("http://{}/", listener.local_addr().expect("bound"));
    let closed = closed.parse().expect("a URL");
    drop(listener);
    let consent = Consenting::default();
    let result = probe(&guard(), &posting(&closed, &consent)).await.expect("completed");
    assert_eq!(failure_words(&result), "connection refused");
    // A name that leads into our own network.
    let private = "http://10.0.0.1/".parse().expect("a URL");
    let strict = guard_of(Outbound::default());
    let error = probe(&strict, &posting(&private, &consent)).await.expect_err("forbidden");
    assert_eq!(error.code, crate::ssrf_guard::TARGET_FORBIDDEN);
    let rebound = NameServer::start([("site.example", Entry::addresses(&["127.0.0.1"]))]).await;
    let url = "http://site.example/".parse().expect("a URL");
    let guard = rebound.guard(Outbound::default());
    let error = probe(&guard, &posting(&url, &consent)).await.expect_err("forbidden");
    assert_eq!(error.code, crate::ssrf_guard::TARGET_FORBIDDEN);
    assert_eq!(*consent.asked.lock().expect("no panic"), []);
}

#[tokio::test]
async fn redirects_are_followed_with_get_and_without_the_body() {
    for code in [301, 302, 303] {
        let site = Site::start(move |asked| match asked.target.as_str() {
            "/login" => Reply::redirect(code, "/home"),
            _ => Reply::new(200),
        })
        .await;
        let url = site.url("/login");
        let consent = Consenting::default();
        let result = probe(&guard(), &posting(&url, &consent)).await.expect("completed");
        assert_eq!((result.code, result.redirect_count), (200, 1), "{code}");
        let [first, second] = <[_; 2]>::try_from(sent(&site)).expect("two requests");
        assert!(first.starts_with("POST /login "), "{first}");
        assert_eq!(second, "GET /home - - of-the-site");
        assert_eq!(consent.asked.lock().expect("no panic").len(), 1);
    }
}

#[tokio::test]
async fn a_redirect_that_asks_for_another_post_is_the_answer() {
    for code in [307, 308] {
        let site = Site::start(move |_| Reply::redirect(code, "/again")).await;
        let url = site.url("/login");
        let result = posted(&url).await;
        assert_eq!((result.up, result.code, result.redirected), (true, code, false));
        assert_eq!(site.asked().len(), 1);
        // After the POST, they are followed as ever.
        let site = Site::start(move |asked| match asked.target.as_str() {
            "/login" => Reply::redirect(303, "/moved"),
            "/moved" => Reply::redirect(code, "/home"),
            _ => Reply::new(200),
        })
        .await;
        let url = site.url("/login");
        assert_eq!(posted(&url).await.redirect_count, 2);
        let methods: Vec<_> = site.asked().into_iter().map(|asked| asked.method).collect();
        assert_eq!(methods, ["POST", "GET", "GET"]);
    }
}

#[tokio::test]
async fn another_host_gets_neither_body_nor_headers() {
    let other = Site::at("127.0.0.2", |_| Reply::new(200)).await;
    let elsewhere = other.url("/collect").to_string();
    let site = Site::start(move |_| Reply::redirect(302, &elsewhere)).await;
    let url = site.url("/login");
    assert_eq!(posted(&url).await.code, 200);
    assert_eq!(sent(&other), ["GET /collect - - -"]);
}

#[tokio::test]
async fn a_connection_that_is_lost_is_not_used_again() {
    // Reads the request and closes the connection, which clients take as a reason to try again.
    let server = Server::raw(async |mut stream| {
        let mut read = vec![0; 4 * 1024];
        let _ = stream.read(&mut read).await;
    })
    .await;
    let url = server.url("/");
    let result = posted(&url).await;
    assert!(!result.up && result.error.is_some(), "{result:?}");
    assert_eq!(server.connections(), 1);
    // Neither does one that never answers.
    let silent = Server::raw(hold).await;
    let url = silent.url("/");
    let consent = Consenting::default();
    let given = StatusProbe { deadline: HASTY, ..posting(&url, &consent) };
    let result = probe(&guard(), &given).await.expect("completed");
    assert_eq!(failure_words(&result), "no answer within 0.2 s");
    assert_eq!(silent.connections(), 1);
    // Nor one that answers with half a response.
    let broken = Server::raw(async |mut stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf").await;
        let mut read = vec![0; 4 * 1024];
        let _ = stream.read(&mut read).await;
    })
    .await;
    let url = broken.url("/");
    assert!(!posted(&url).await.up);
    assert_eq!(broken.connections(), 1);
}

/// What a check shows of a site that is posted [`BODY`], and expects something of the values at `/you` and `/pin`.
async fn shown_of(guard: &SsrfGuard, url: &Url) -> String {
    let consent = Consenting::default();
    let equals = |pointer: &str| Expectation::JsonEquals {
        pointer: JsonPointer::parse(pointer).expect("a pointer"),
        value: json!("ada"),
    };
    let expectations = Expectations {
        expectations: vec![equals("/you"), equals("/pin")],
        ..Expectations::default()
    };
    let incident_codes = &BTreeSet::new();
    let expected = Some(Expected { expectations: &expectations, incident_codes });
    let given = StatusProbe { expected, ..posting(url, &consent) };
    format!("{:#?}", probe_with_evidence(guard, &given).await)
}

#[tokio::test]
async fn what_was_posted_is_redacted_where_a_response_repeats_it() {
    let answer = r#"{"you": "correct horse", "pin": 12345678}"#;
    let site = Site::start(move |_| {
        Reply::file("application/json", answer).with("X-Echo", BODY).with("X-12345678", "1")
    })
    .await;
    let shown = shown_of(&guard(), &site.url("/")).await;
    assert!(!shown.contains("horse") && !shown.contains("12345678"), "{shown}");
    for part in [
        r#"at /you, got \"[redacted]\"""#,
        "at /pin, got [redacted]",
        r#"{\"you\": \"[redacted]\""#,
        "x-[redacted]",
    ] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
}

#[tokio::test]
async fn what_was_posted_is_redacted_where_a_redirect_repeats_it() {
    let names = NameServer::start([("12345678.example", Entry::addresses(&["10.0.0.1"]))]).await;
    // Refuses nothing, so that such a redirect is a failed check.
    let open = names.guard(Outbound {
        allow: vec!["127.0.0.0/8".parse().expect("a network")],
        ..Outbound::default()
    });
    let (near, far) = ("x".repeat(60), "x".repeat(MAX_LENGTH - 40));
    for (location, part) in [
        ("/home?you=correct+horse".to_owned(), "/home?you=[redacted]\","),
        // The cuts at 2,048 bytes and at 80 characters fall into the secret.
        (format!("/{far}correct%20horse"), "x[redact"),
        (format!("about:{near}correct%20horse"), "x[redacted]\\\", which is neither"),
        (format!("http://a b/{near}correct horse"), "which is not a URL"),
        ("https://12345678.example/".to_owned(), "https://[redacted].example/"),
        ("https://12345678.test/".to_owned(), "https://[redacted].test/"),
        ("https://12345678@10.0.0.1/correct%20horse".to_owned(), "10.0.0.1/[redacted]"),
    ] {
        let site = Site::start(move |asked| match asked.target.as_str() {
            "/login" => Reply::redirect(302, &location),
            _ => Reply::new(200),
        })
        .await;
        let shown = shown_of(&open, &site.url("/login")).await;
        assert!(shown.contains(part), "{part} in {shown}");
        assert!(!shown.contains("corr") && !shown.contains("12345678"), "{shown}");
    }
}
