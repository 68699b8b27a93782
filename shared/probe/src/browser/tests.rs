//! Tests with a real Chromium behind the proxy, if it is installed (`make lighthouse`).

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::pin::pin;
use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::*;
use crate::loopback::certificates::{Authority, CURRENT};
use crate::loopback::names::{Entry, NameServer};
use crate::loopback::{Server, installed_chromium, path, redirect, status};
use crate::ssrf_guard::{ForbiddenTarget, Outbound, SsrfGuard};

/// Long enough for a browser on a busy machine.
const TEST_TIMEOUT: Duration = Duration::from_secs(40);

/// A guard that only admits 127.0.0.2, and resolves `inner.example` to 127.0.0.1.
async fn guard() -> (NameServer, SsrfGuard) {
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

fn script(body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/javascript\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

/// Opens the page of `site` in `browser`, and waits until the page has requested `/done`.
async fn open<'a>(browser: &'a Browser, site: &Server) -> Tab<'a> {
    let (tab, _requests) = browser.open().await.expect("a tab");
    tab.post("Runtime.runIfWaitingForDebugger", json!({}));
    tab.post("Page.navigate", json!({ "url": site.url("/").as_str() }));
    while !site.heads().iter().any(|head| path(head) == "/done") {
        sleep(Duration::from_millis(20)).await;
    }
    tab
}

/// Opens the page of `site`, and returns the refusals once the page has requested `/done`; `None` if there is no
/// browser.
async fn visit(site: &Server, guard: &SsrfGuard) -> Option<Vec<ForbiddenTarget>> {
    let chromium = installed_chromium()?;
    let proxy = SsrfGuardProxy::for_nobody().await;
    // No browser trusts the tests' certificate authority.
    let trusting = ["--ignore-certificate-errors"];
    let done = async |browser: &Browser| {
        open(browser, site).await;
        Ok(())
    };
    let visit = with_browser(guard, &chromium, &proxy, &trusting, TEST_TIMEOUT, done);
    timeout(TEST_TIMEOUT, visit).await.expect("a page that loads").expect("a browser");
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
    let chromium = Chromium::at("/bin/chromium".into());
    let proxy = "127.0.0.1:3128".parse().expect("an address");
    let command = |sandbox| chromium.command_in(sandbox, proxy, Path::new("/profile"));
    let arguments = command(Sandbox::Own);
    for expected in [
        "--proxy-server=http://127.0.0.1:3128",
        "--proxy-bypass-list=<-loopback>",
        "--user-data-dir=/profile",
        "--disable-quic",
        "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
        "--dns-prefetch-disable",
        "--remote-debugging-pipe",
    ] {
        assert!(arguments.iter().any(|argument| argument == expected), "{expected}");
    }
    let has = |arguments: &[String], name| arguments.iter().any(|argument| argument == name);
    assert!(!has(&arguments, "--no-sandbox") && !has(&arguments, "--single-process"));
    assert_eq!(arguments[0], "/bin/chromium");
    let without_root = command(Sandbox::AsNobody);
    assert!(without_root.ends_with(&arguments) && without_root[0] == "unshare");
    assert!(has(&command(Sandbox::Off), "--no-sandbox"));
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

/// A shell script in place of Chromium, which records each of its starts in a file.
fn fake(folder: &Path, script: &str) -> Chromium {
    let executable = folder.join("chromium");
    let text = format!("#!/bin/sh\necho >> {}/starts\n{script}\n", folder.display());
    fs::write(&executable, text).expect("a file");
    fs::set_permissions(&executable, fs::Permissions::from_mode(0o755)).expect("permissions");
    Chromium::at(executable)
}

const ANSWER: &str = "printf '{\"id\":1,\"result\":{}}\\000' >&4; exec sleep 60";

#[tokio::test]
async fn all_files_are_kept_in_the_given_folder_until_the_browser_ends() {
    let (folder, homes) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir());
    let homes = homes.expect("a folder");
    let note = folder.path().join("note");
    let script =
        format!("echo \"$HOME\" \"$TMPDIR\" > {}; touch \"$HOME/left\"; {ANSWER}", note.display());
    let chromium = fake(folder.path(), &script).with_homes(homes.path().to_owned());
    let nowhere = "127.0.0.1:1".parse().expect("an address");
    chromium.command(nowhere, Path::new("/profile")).await.expect("it starts");
    let noted = fs::read_to_string(&note).expect("a note");
    let (home, temporary) = noted.trim().split_once(' ').expect("two folders");
    assert_eq!(home, temporary);
    let home = Path::new(home);
    assert_eq!(home.parent(), Some(homes.path()));
    assert_eq!(
        home.file_name().expect("a name").len(),
        "XXXXXX".len(),
        "as its longest path counts"
    );
    assert_eq!(fs::read_dir(homes.path()).expect("a folder").count(), 0, "removed");
}

#[tokio::test]
async fn the_sandbox_is_found_out_once_by_trying() {
    let nowhere = "127.0.0.1:1".parse().expect("an address");
    let starts = |folder: &Path| {
        fs::read_to_string(folder.join("starts")).unwrap_or_default().lines().count()
    };
    let unable = format!("case \"$*\" in *--no-sandbox*) {ANSWER};; esac; exit 1");
    let unlucky = format!("[ $(wc -l < \"${{0%/*}}/starts\") = 1 ] && exit 1; {ANSWER}");
    for (script, off, tried) in [
        (ANSWER, Some(false), 1),
        (&unable, Some(true), 3),
        (&unlucky, Some(false), 3),
        ("kill -9 $$", None, 1),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let chromium = fake(folder.path(), script);
        let clone = chromium.clone();
        let command = clone.command(nowhere, folder.path()).await;
        let is_off = command.ok().map(|command| command.contains(&"--no-sandbox".to_owned()));
        assert_eq!(is_off, off, "{script}");
        assert_eq!(starts(folder.path()), tried, "{script}");
        if off.is_some() {
            chromium.command(nowhere, folder.path()).await.expect("known");
            assert_eq!(starts(folder.path()), tried, "not tried again");
        }
    }
}

#[tokio::test]
async fn a_machine_that_starts_nothing_says_nothing_of_the_sandbox() {
    let home = tempfile::tempdir().expect("a folder");
    fs::remove_dir(home.path()).expect("a folder that goes");
    let trial = driver::try_start(&["true".to_owned()], home).await;
    assert_eq!(trial, sandbox::Trial::Unclear);
}

/// The members of the process group of the browser behind `proxy`.
fn group(proxy: &SsrfGuardProxy) -> Vec<PathBuf> {
    let processes: Vec<_> = fs::read_dir("/proc")
        .expect("Linux")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.join("stat").exists())
        .collect();
    // The name before the fields may contain anything.
    let group = |path: &Path| {
        let stat = fs::read_to_string(path.join("stat")).ok()?;
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace().map(str::to_owned);
        let is_there = fields.next()? != "Z";
        fields.nth(1).filter(|_| is_there)
    };
    let address = format!("--proxy-server=http://{}", proxy.address());
    let is_browser = |path: &&PathBuf| words(path).split('\0').any(|word| word == address);
    let Some(wanted) = processes.iter().find(is_browser).and_then(|path| group(path)) else {
        return Vec::new();
    };
    processes.into_iter().filter(|path| group(path).as_ref() == Some(&wanted)).collect()
}

/// The command line of a process.
fn words(process: &Path) -> String {
    let words = fs::read(process.join("cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&words).into_owned()
}

/// Inodes of the TCP sockets that are listening on this machine.
fn listening() -> HashSet<String> {
    const LISTEN: &str = "0A";
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(fs::read_to_string);
    let lines = tables.iter().flatten().flat_map(|table| table.lines());
    let fields = lines.map(|line| line.split_whitespace().collect::<Vec<_>>());
    let listening = fields.filter(|fields| fields.get(3) == Some(&LISTEN));
    listening.map(|fields| format!("socket:[{}]", fields[9])).collect()
}

#[tokio::test]
async fn the_browser_opens_no_port_and_inherits_nothing() {
    let Some(chromium) = installed_chromium() else { return };
    let site = Server::http(|head| match path(head) {
        "/" => html("<script>fetch('/done')</script>"),
        _ => status(200),
    })
    .await;
    let proxy = SsrfGuardProxy::for_nobody().await;
    let look = async |browser: &Browser| {
        let _tab = open(browser, &site).await;
        let group = group(&proxy);
        assert!(group.len() > 2, "{group:?}");
        let listening = listening();
        assert!(!listening.is_empty(), "ours, at least");
        for process in &group {
            // Processes in the sandbox may be hidden from us, too.
            let open = fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
            for file in open.filter_map(|file| fs::read_link(file.path()).ok()) {
                assert!(!listening.contains(&*file.to_string_lossy()), "{process:?} listens");
            }
        }
        // The other processes inherit their environment from the first one, and write their titles over it.
        let first = group.iter().find(|process| !words(process).contains("--type="));
        let environment = fs::read_to_string(first.expect("a first one").join("environ"));
        let environment = environment.expect("an environment");
        assert!(!environment.is_empty());
        for variable in environment.split_terminator('\0') {
            let name = variable.split('=').next().unwrap_or_default();
            assert!(ENVIRONMENT.contains(&name), "{variable}");
        }
        // Sandboxed, unless the system turned out not to allow it.
        if chromium.sandbox.get() != Some(&Sandbox::Off) {
            let status = |process: &PathBuf| fs::read_to_string(process.join("status"));
            let is_renderer = |process: &&PathBuf| words(process).contains("--type=renderer");
            let renderers: Vec<_> = group.iter().filter(is_renderer).map(status).collect();
            assert!(!renderers.is_empty());
            for status in renderers.into_iter().flatten() {
                assert!(
                    status.contains("Seccomp:\t2") && status.contains("CapEff:\t0000000000000000")
                );
            }
        }
        Ok(())
    };
    let guard = crate::loopback::guard();
    let looked = with_browser(&guard, &chromium, &proxy, &[], TEST_TIMEOUT, look);
    timeout(TEST_TIMEOUT, looked).await.expect("a page that loads").expect("a browser");
    assert_eq!(group(&proxy), Vec::<PathBuf>::new(), "it is gone");
}

/// The environment variables of a browser: those that we set, those that shells add, and where the script `chromium`
/// finds libraries and fonts.
const ENVIRONMENT: [&str; 10] = [
    "PATH",
    "HOME",
    "TMPDIR",
    "PWD",
    "OLDPWD",
    "SHLVL",
    "_",
    "LD_LIBRARY_PATH",
    "FONTCONFIG_FILE",
    "LC_ALL",
];

#[tokio::test]
async fn nothing_is_left_of_a_browser_whose_check_is_dropped() {
    let Some(chromium) = installed_chromium() else { return };
    let site = Server::http(|head| match path(head) {
        "/" => html("<script>fetch('/done')</script>"),
        _ => status(200),
    })
    .await;
    let proxy = SsrfGuardProxy::for_nobody().await;
    let stay = async |browser: &Browser| {
        let _tab = open(browser, &site).await;
        std::future::pending::<Result<(), CheckError>>().await
    };
    let guard = crate::loopback::guard();
    {
        let mut stayed = pin!(with_browser(&guard, &chromium, &proxy, &[], TEST_TIMEOUT, stay));
        let opened = async {
            while !site.heads().iter().any(|head| path(head) == "/done") {
                sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::select! {
            _ = &mut stayed => panic!("no end"),
            opened = timeout(TEST_TIMEOUT, opened) => opened.expect("a page that loads"),
        }
        assert!(group(&proxy).len() > 2);
    }
    let gone = async {
        while !group(&proxy).is_empty() {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(TEST_TIMEOUT, gone).await.expect("no process");
}

#[tokio::test]
async fn what_a_page_opens_is_closed_before_it_loads() {
    let Some(chromium) = installed_chromium() else { return };
    // Every way in which a page can open tabs, 45 in all. Each tab would take about fifty megabytes.
    let page = "<a target=_blank href=/popup>x</a><a target=_blank rel=noopener href=/popup>x</a>
        <form target=_blank action=/popup></form><script>
        for (let n = 0; n < 9; n++) {
            window.open('/popup?' + n);
            window.open('/popup?' + n, '_blank', 'noopener');
            for (const link of document.links) link.click();
            document.forms[0].submit();
        }
        navigator.serviceWorker.register('/worker.js').catch(() => 0);
        setTimeout(() => fetch('/done'), 1000);
        </script>";
    let site = Server::http(|head| match path(head) {
        "/" => html(page),
        popup if popup.starts_with("/popup") => {
            html("<script>window.kept = new Uint8Array(50_000_000).fill(1)</script>")
        }
        "/worker.js" => script("fetch('/worked')"),
        _ => status(200),
    })
    .await;
    let proxy = SsrfGuardProxy::for_nobody().await;
    let only_one = async |browser: &Browser| {
        while browser.count_tabs().await != 1 {
            sleep(Duration::from_millis(20)).await;
        }
    };
    let asked_for =
        |wanted: &str| site.heads().iter().filter(|head| path(head).starts_with(wanted)).count();
    let count = async |browser: &Browser| {
        let _tab = open(browser, &site).await;
        only_one(browser).await;
        assert!(group(&proxy).len() < 15, "{:?}", group(&proxy));
        assert_eq!((asked_for("/popup"), asked_for("/worked")), (0, 0));
        // If there is a way after all, whatever the page opens is closed.
        for _ in 0..45 {
            browser.open_stray(site.url("/").as_str()).await;
        }
        only_one(browser).await;
        Ok(())
    };
    let guard = crate::loopback::guard();
    let counted = with_browser(&guard, &chromium, &proxy, &[], TEST_TIMEOUT, count);
    timeout(TEST_TIMEOUT, counted).await.expect("a page that loads").expect("a browser");
}

#[tokio::test]
async fn a_browser_that_takes_too_much_memory_ends_the_check() {
    let Some(chromium) = installed_chromium() else { return };
    let proxy = SsrfGuardProxy::for_nobody().await;
    let hungry = Chromium { memory: 50_000_000, ..chromium };
    let stay = async |_: &Browser| std::future::pending::<Result<(), CheckError>>().await;
    let guard = crate::loopback::guard();
    let stayed = with_browser(&guard, &hungry, &proxy, &[], TEST_TIMEOUT, stay);
    let error = timeout(TEST_TIMEOUT, stayed).await.expect("an end").expect_err("no room");
    assert_eq!(error.code, BROWSER_EXHAUSTED);
    assert_eq!(group(&proxy), Vec::<PathBuf>::new(), "it is gone");
}

#[tokio::test]
async fn a_tab_makes_room_for_another_once_it_is_gone() {
    let Some(chromium) = installed_chromium() else { return };
    let proxy = SsrfGuardProxy::for_nobody().await;
    let count = async |browser: &Browser| {
        for _ in 0..5 {
            let mut tabs = Vec::new();
            for _ in 0..driver::MAX_TABS {
                tabs.push(browser.open().await.expect("a tab"));
                assert!(browser.count_tabs().await <= driver::MAX_TABS);
            }
            assert!(timeout(Duration::from_millis(50), browser.open()).await.is_err());
        }
        Ok(())
    };
    let guard = crate::loopback::guard();
    let counted = with_browser(&guard, &chromium, &proxy, &[], TEST_TIMEOUT, count);
    timeout(TEST_TIMEOUT, counted).await.expect("an end").expect("a browser");
}
