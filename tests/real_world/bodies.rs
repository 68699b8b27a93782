//! Encodings and lengths of bodies.

use std::io::Write as _;
use std::sync::Arc;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use url::Url;
use vedette_domain::checks::check::StatusResult;
use vedette_domain::expectations::{CheckMethod, Expectation, Expectations, JsonPointer};
use vedette_probe::ssrf_guard::SsrfGuard;
use vedette_probe::status::{self, Expected, StatusProbe};
use vedette_testkit::loopback;
use vedette_tests::gzip;

/// A server that answers each path with these bytes, and then closes the connection.
pub(crate) struct RawServer {
    pub(crate) url: Url,
    _task: JoinSet<()>,
}

impl RawServer {
    pub(crate) async fn start(answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let answer = Arc::new(answer);
        let mut task = JoinSet::new();
        task.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(respond(stream, Arc::clone(&answer)));
            }
        });
        Self { url: format!("http://{address}/").parse().expect("a URL"), _task: task }
    }
}

async fn respond(mut stream: TcpStream, answer: Arc<impl Fn(&str) -> Vec<u8>>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read_buf(&mut head).await.unwrap_or_default() == 0 {
            return;
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let path = head.split(' ').nth(1).unwrap_or_default();
    // The client may leave before it has read everything.
    let _ = stream.write_all(&answer(path)).await;
    let _ = stream.shutdown().await;
}

/// A response with these header lines, each with its end.
pub(crate) fn response(headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n{headers}\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

/// A text in ISO 8859-2.
fn latin2(text: &str) -> Vec<u8> {
    encoded(text, &[('ż', 0xbf), ('ó', 0xf3), ('ł', 0xb3)])
}

/// A text in ISO 8859-7 or windows-1253.
fn greek(text: &str) -> Vec<u8> {
    encoded(text, &[('γ', 0xe3), ('ε', 0xe5), ('ι', 0xe9), ('α', 0xe1)])
}

/// A text in an encoding in which its letters beyond ASCII are these bytes.
fn encoded(text: &str, letters: &[(char, u8)]) -> Vec<u8> {
    let byte = |c| {
        let letter = letters.iter().find(|(letter, _)| *letter == c);
        letter.map_or_else(|| u8::try_from(c).expect("ASCII"), |(_, byte)| *byte)
    };
    text.chars().map(byte).collect()
}

async fn checked(response: Vec<u8>, expectations: Vec<Expectation>) -> StatusResult {
    let server = RawServer::start(move |_| response.clone()).await;
    let guard = SsrfGuard::new(loopback()).expect("a guard");
    let expectations = &Expectations { expectations, ..Expectations::default() };
    let probe = StatusProbe {
        url: &server.url,
        method: CheckMethod::Get,
        post: None,
        header: None,
        deadline: status::DEADLINE,
        connectivity: None,
        expected: Some(Expected { expectations, incident_codes: &[500].into() }),
    };
    status::probe(&guard, &probe).await.expect("a completed check")
}

fn contains(text: &str) -> Expectation {
    Expectation::BodyContains { text: text.to_owned() }
}

fn lacks(text: &str) -> Expectation {
    Expectation::BodyLacks { text: text.to_owned() }
}

fn json_at(path: &str, value: Value) -> Expectation {
    Expectation::JsonEquals { pointer: JsonPointer::parse(path).expect("a pointer"), value }
}

/// What is said about expectations of a response; the site is up.
async fn unmet(response: Vec<u8>, expectations: Vec<Expectation>) -> Vec<String> {
    let result = checked(response, expectations).await;
    assert!(result.up, "{result:?}");
    result.unmet().iter().map(|unmet| unmet.message.clone()).collect()
}

/// Whether a text is found. If so, the expectation that the body lacks it is the only unmet one.
async fn is_found(response: Vec<u8>, text: &str) -> bool {
    let messages = unmet(response, vec![contains(text), lacks(text)]).await;
    match &messages[..] {
        [message] if message.ends_with(", found it") => true,
        [message] if message.ends_with(", did not find it") => false,
        _ => panic!("{messages:?}"),
    }
}

#[tokio::test]
async fn texts_are_found_in_the_encoding_that_browsers_choose() {
    const HTML: &str = "Content-Type: text/html\r\n";
    let utf16: Vec<u8> = "\u{feff}żół".encode_utf16().flat_map(u16::to_be_bytes).collect();
    for (headers, body, text) in [
        (HTML, latin2("<META CHARSET = 'ISO-8859-2' /><p>żół"), "żół"),
        (HTML, greek("<!-- <meta charset=koi8-r> --><meta charset=windows-1253>γεια"), "γεια"),
        (
            HTML,
            greek("<meta content='text/html; charset=greek' http-equiv=content-type>γεια"),
            "γεια",
        ),
        ("", latin2("<title>x</title><meta charset=latin2>żół"), "żół"),
        (
            "Content-Type: application/rss+xml\r\n",
            latin2("<?xml version='1.0' encoding='iso-8859-2'?><rss>żół</rss>"),
            "żół",
        ),
        ("Content-Type: text/xml; charset=utf-8\r\n", utf16, "żół"),
        // The header comes before the page, and only markup declares an encoding.
        (
            "Content-Type: text/html; charset=iso-8859-2\r\n",
            latin2("<meta charset=koi8-r>żół"),
            "żół",
        ),
        ("Content-Type: application/json\r\n", "[\"<meta charset=koi8-r>żół\"]".into(), "żół"),
        // Two servers in a row may both name the type.
        (
            "Content-Type: text/html; charset=iso-8859-2\r\nContent-Type: text/html\r\n",
            latin2("żół"),
            "żół",
        ),
    ] {
        assert!(is_found(response(headers, &body), text).await, "{headers} {body:?}");
    }
    let late = latin2(&format!("{}<meta charset=iso-8859-2>żół", " ".repeat(1_024)));
    assert!(!is_found(response(HTML, &late), "żół").await, "after the first 1,024 bytes");
}

#[tokio::test]
async fn codings_that_are_none_are_ignored_and_several_are_undone() {
    let page = b"<h1>Shop</h1>".as_slice();
    for (headers, body) in [
        ("Content-Encoding: ISO-8859-1\r\n", page.to_vec()),
        ("Content-Encoding: binary\r\n", page.to_vec()),
        ("Content-Encoding: , utf8 ,\r\n", page.to_vec()),
        ("Content-Encoding: aws-chunked,gzip\r\n", gzip(page)),
        ("Content-Encoding: deflate, gzip\r\n", gzip(&zlib(page))),
        ("Content-Encoding: X-GZIP\r\nContent-Encoding: Deflate\r\n", zlib(&gzip(page))),
        ("Content-Encoding: gzip, gzip, identity\r\n", gzip(&gzip(page))),
    ] {
        let shop = response(headers, &body);
        assert!(is_found(shop.clone(), "Shop").await, "{headers}");
        assert!(!is_found(shop, "Fatal error").await, "{headers}");
    }
}

#[tokio::test]
async fn an_undecodable_body_decides_no_expectation() {
    let bomb = gzip(&gzip(&vec![0; 8 << 20]));
    let unsupported =
        |name: &str| format!("a body in the content encoding {name}, which Vedette cannot decode");
    for (coding, body, got) in [
        ("zstd", vec![b'x'; 9], unsupported("zstd")),
        ("gzip, DCB", gzip(b"x"), unsupported("dcb")),
        ("compress", vec![0x1f, 0x9d], unsupported("compress")),
        ("gzip, deflate", gzip(b"x"), "a body that is not valid deflate".to_owned()),
        ("br, gzip, gzip", bomb, "a body that is not valid Brotli".to_owned()),
        (
            "gzip,gzip,gzip,gzip,gzip,gzip",
            gzip(b"x"),
            "a body that is encoded more than 5 times".to_owned(),
        ),
    ] {
        let response = response(&format!("Content-Encoding: {coding}\r\n"), &body);
        let expected = vec![contains("ok"), lacks("error"), json_at("/a", json!(1))];
        assert_eq!(
            unmet(response, expected).await,
            [
                format!("expected \"ok\" in the body, got {got}"),
                format!("expected no \"error\" in the body, got {got}"),
                format!("expected 1 at /a, got {got}"),
            ]
        );
    }
}

#[tokio::test]
async fn odd_values_elsewhere_do_not_make_json_unreadable() {
    for (body, path, got) in [
        (r#"{"limits": [1e999, -1E400], "s": "ok"}"#, "/s", None),
        (r#"{"s": "ok", "emoji": "\ude00\ud83d"}"#, "/s", None),
        (r#"{"\ud800": 1, "s": "ok"}"#, "/s", None),
        (r#"{"n": 123456789012345678901234567890, "a": [1e400, {"s": "ok"}]}"#, "/a/1/s", None),
        (r#"{"s": 1e400, "s": "ok"}"#, "/s", None),
        (r#"{"s": 1e400}"#, "/s", Some("a number that is too large")),
        (r#"{"s": "\udc00"}"#, "/s", Some("a string with an incomplete Unicode escape")),
        (r#"{"s": 1e400}"#, "/s/x", Some("no value")),
        (r#"{"s": "ok", "n": 1e}"#, "/s", Some("a body that is not JSON")),
        (r#"{"s": "ok", "u": "\ud8"}"#, "/s", Some("a body that is not JSON")),
    ] {
        let response = response("Content-Type: application/json\r\n", body.as_bytes());
        let said = unmet(response, vec![json_at(path, json!("ok"))]).await;
        let expected = got.map(|got| format!("expected \"ok\" at {path}, got {got}"));
        assert_eq!(said, Vec::from_iter(expected), "{body}");
    }
}

#[tokio::test]
async fn a_body_that_breaks_off_decides_only_what_has_arrived() {
    let chunk =
        |bytes: &[u8]| [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat();
    for (headers, chunks) in [
        ("", chunk(b"{\"s\":\"ok\"}")),
        ("", b"40\r\n{\"s\":\"ok\"".to_vec()),
        ("Content-Encoding: gzip\r\n", chunk(&gzip(b"{\"s\":\"ok\"}"))),
    ] {
        let head = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n{headers}\r\n");
        let broken = [head.as_bytes(), &chunks].concat();
        let expected = vec![contains("ok"), lacks("error"), json_at("/s", json!("ok"))];
        assert_eq!(
            unmet(broken, expected).await,
            [
                "expected no \"error\" in the body, got an incomplete body",
                "expected \"ok\" at /s, got an incomplete body",
            ],
            "{head}"
        );
    }
}
