//! A real Chromium behind the proxy, where one is installed (`make lighthouse`).

use std::process::Stdio;
use std::time::Duration;

use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};
use url::Url;

use super::*;
use crate::guard::{Guard, Outbound, Refusal};
use crate::loopback::certificates::{Authority, CURRENT};
use crate::loopback::names::{Entry, NameServer};
use crate::loopback::{Server, installed_chromium, path, redirect, status};

/// Long enough for a browser on a busy machine.
const PATIENT: Duration = Duration::from_secs(40);

fn open(chromium: &Chromium, proxy: &GuardProxy, profile: &Path, url: &Url) -> Child {
    Command::new(&chromium.executable)
        .args(chromium.arguments(proxy.address(), profile))
        // Keeps the browser open.
        .arg("--remote-debugging-port=0")
        // The tests' authority is nobody's.
        .arg("--ignore-certificate-errors")
        .arg(url.as_str())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .expect("a browser")
}

/// Reaches 127.0.0.2 alone, and resolves `inner.example` to 127.0.0.1.
async fn guard() -> (NameServer, Guard) {
    let entries = [("inner.example", Entry::addresses(&["127.0.0.1"]))];
    let names = NameServer::start(entries).await;
    let allow = vec!["127.0.0.2/32".parse().expect("a network")];
    let guard = names.guard(Outbound { allow, ..Outbound::default() });
    (names, guard)
}

fn html(body: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// Opens the page of `site`, and gives the refusals once the page has asked for `/done`; none where
/// there is no browser.
async fn visit(site: &Server, guard: &Guard) -> Option<Vec<Refusal>> {
    let chromium = installed_chromium()?;
    let profile = tempfile::tempdir().expect("a folder");
    let proxy = GuardProxy::bind().await.expect("a port");
    let browser = open(&chromium, &proxy, profile.path(), &site.url("/"));
    let done = async {
        while !site.heads().iter().any(|head| path(head) == "/done") {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENT, proxy.serve_during(guard, done)).await.expect("a page that loads");
    Group::of(&browser).end(browser).await;
    Some(proxy.refusals())
}

#[tokio::test]
async fn a_page_reaches_nothing_that_the_guard_refuses() {
    let (inner, inner_v6) =
        (Server::http(|_| status(200)).await, Server::http_at("::1", |_| status(200)).await);
    let (_names, guard) = guard().await;
    let (v4, v6) = (inner.url("/"), inner_v6.url("/"));
    let port = v4.port().expect("a port");
    let body = format!(
        "<link rel=dns-prefetch href='//inner.example'><link rel=preconnect href='{v4}'>
        <img src='{v4}img'><iframe src='{v4}frame'></iframe><script src='{v6}script'></script>
        <script>
        const asked = ['{v4}', '{v6}', 'http://localhost:{port}/', 'http://169.254.169.254/latest/',
            'http://inner.example:{port}/', 'https://127.0.0.1:{port}/', 'http://127.1:{port}/',
            'http://0.0.0.0:{port}/', 'http://[::ffff:127.0.0.1]:{port}/', '/inward'
        ].map(url => fetch(url, {{mode: 'no-cors'}}).catch(() => null));
        for (const url of ['ws://127.0.0.1:{port}/', 'ws://[::1]:{v6_port}/', 'wss://localhost:{port}/'])
            asked.push(new Promise(end => {{ new WebSocket(url).onclose = end }}));
        navigator.sendBeacon('{v4}beacon', 'x');
        const peer = new RTCPeerConnection({{iceServers: [{{urls: 'stun:127.0.0.1:{port}'}}]}});
        peer.createDataChannel('x');
        peer.createOffer().then(offer => peer.setLocalDescription(offer));
        Promise.all(asked).then(() => setTimeout(() => fetch('/done'), 300));
        </script>",
        v6_port = v6.port().expect("a port"),
    );
    let site = Server::http_at("127.0.0.2", move |head| match path(head) {
        "/" => html(&body),
        "/inward" => redirect(302, v4.as_str()),
        _ => status(200),
    })
    .await;
    let Some(refusals) = visit(&site, &guard).await else { return };
    let heads = site.heads();
    assert_eq!((inner.connections(), inner_v6.connections()), (0, 0));
    assert!(heads.iter().any(|head| path(head) == "/inward"), "{heads:?}");
    let refused = |text: &str| refusals.iter().any(|refusal| refusal.url.contains(text));
    for text in [
        format!("http://127.0.0.1:{port}/img"),
        format!("http://127.0.0.1:{port}/frame"),
        "[::1]".to_owned(),
        format!("http://inner.example:{port}/"),
        "169.254.169.254".to_owned(),
        format!("https://127.0.0.1:{port}/"),
    ] {
        assert!(refused(&text), "{text} in {refusals:?}");
    }
}

const PAGE: &str = "<img src='/picture'><script>
    const socket = new WebSocket(location.href.replace('http', 'ws') + 'socket');
    socket.onclose = () => fetch('/done', {method: 'POST', body: 'hello'});
    </script>";

fn serve_page(head: &str) -> Vec<u8> {
    if path(head) == "/" { html(PAGE) } else { status(200) }
}

#[tokio::test]
async fn what_the_guard_admits_is_loaded() {
    let (_names, guard) = guard().await;
    let site = Server::http_at("127.0.0.2", serve_page).await;
    let Some(refusals) = visit(&site, &guard).await else { return };
    assert_eq!(refusals, []);
    let heads = site.heads();
    let head = |wanted: &str| {
        let mut heads = heads.iter();
        heads.find(|head| path(head) == wanted).unwrap_or_else(|| panic!("{wanted} in {heads:?}"))
    };
    assert!(head("/").starts_with("GET / HTTP/1.1\r\n"), "in the form that servers know");
    assert!(!head("/").to_lowercase().contains("proxy-"), "{}", head("/"));
    assert!(head("/socket").to_lowercase().contains("upgrade: websocket"));
    assert!(head("/done").starts_with("POST"));
    head("/picture");
}

#[tokio::test]
async fn encrypted_pages_pass_in_tunnels() {
    let authority = Authority::new("browser");
    let config = authority.server(&["127.0.0.1"], CURRENT, &["http/1.1"]);
    let site = Server::https(config, serve_page).await;
    let Some(refusals) = visit(&site, &crate::loopback::guard()).await else { return };
    assert_eq!(refusals, []);
    for wanted in ["/", "/picture", "/socket", "/done"] {
        assert!(site.heads().iter().any(|head| path(head) == wanted), "{wanted}");
    }
}

#[test]
fn the_arguments_shut_every_way_past_the_proxy() {
    let mut chromium = Chromium { executable: "chromium".into(), sandbox: true };
    let proxy = "127.0.0.1:3128".parse().expect("an address");
    let arguments = chromium.arguments(proxy, Path::new("/profile"));
    for expected in [
        "--proxy-server=http://127.0.0.1:3128",
        "--proxy-bypass-list=<-loopback>",
        "--user-data-dir=/profile",
        "--disable-quic",
        "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
        "--dns-prefetch-disable",
    ] {
        assert!(arguments.iter().any(|argument| argument == expected), "{expected}");
    }
    let has = |arguments: &[String], name| arguments.iter().any(|argument| argument == name);
    assert!(!has(&arguments, "--no-sandbox") && !has(&arguments, "--single-process"));
    chromium.sandbox = false;
    assert!(has(&chromium.arguments(proxy, Path::new("/profile")), "--no-sandbox"));
}

#[test]
fn the_browser_is_the_configured_one_then_the_installed_then_any() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(&path, "").expect("a file");
        path
    };
    let installed = folder.path().join("lighthouse");
    let path = std::env::join_paths([folder.path().join("a"), folder.path().join("b")]);
    let path = path.expect("a PATH");
    let find = |configured: Option<&Path>| {
        Chromium::find(configured, &installed, &path).map(|found| found.executable)
    };
    assert_eq!(find(None).expect_err("none").code, BROWSER_UNAVAILABLE);
    let chrome = file("a/google-chrome");
    assert_eq!(find(None).expect("found"), chrome);
    let chromium = file("b/chromium");
    assert_eq!(find(None).expect("found"), chromium);
    let script = file("lighthouse/chromium");
    assert_eq!(find(None).expect("found"), chromium, "nothing is unpacked yet");
    file("lighthouse/node_modules/.chromium/chromium");
    assert_eq!(find(None).expect("found"), script);
    assert_eq!(find(Some(&chrome)).expect("found"), chrome);
    let missing = folder.path().join("missing");
    assert_eq!(find(Some(&missing)).expect_err("none").code, BROWSER_UNAVAILABLE);
}
