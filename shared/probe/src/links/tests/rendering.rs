//! Tests with a real Chromium, if it is installed.

use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::loopback::{guard_of, installed_chromium};
use crate::ssrf_guard::Outbound;

#[tokio::test]
async fn links_made_by_scripts_are_found_and_the_guard_holds() {
    let Some(chromium) = installed_chromium() else {
        return;
    };
    // 127.0.0.2 is not admitted.
    let inner = Site::at("127.0.0.2", |_| Reply::html("inner")).await;
    let inward = inner.url("/").to_string();
    let elsewhere = Site::at("127.0.0.3", |_| Reply::new(200)).await;
    let picture = elsewhere.url("/script.js").to_string();
    let site = Site::start(move |asked| match asked.target.as_str() {
        "/" => Reply::html(format!(
            "<!doctype html><body><a href=/static>x</a><script src='{picture}'></script><script>
               document.querySelector('a').remove();
               fetch('{inward}').catch(() => 0);
               fetch('/data').then(data => data.text()).then(text => {{
                 const a = document.createElement('a');
                 a.href = text;
                 document.body.append(a);
               }});
             </script>"
        )),
        "/data" => Reply::file("text/plain", "/made").after(Duration::from_millis(100)),
        "/made" => {
            // Pages format numbers in the reader's language.
            Reply::html(
                "<script>
                   const one = new Intl.NumberFormat(navigator.language).format(1);
                   document.write(`<a href=/gone>${one}</a><img src=/no.png>`);
                 </script>",
            )
        }
        _ => Reply::new(404),
    })
    .await;
    let guard = guard_of(Outbound {
        allow: ["127.0.0.1/32", "127.0.0.3/32"].map(|net| net.parse().expect("a network")).into(),
        ..Outbound::default()
    });
    let url = site.url("/");
    let crawl = LinksProbe {
        browser: Some(&chromium),
        header: Some(("X-Token", "s3cret")),
        deadline: Duration::from_secs(60),
        ..of(&url)
    };
    let result = crawl_as(&guard, &crawl).await;
    assert_eq!(broken(&result, &site), ["404 /gone /made", "404 /no.png /made"]);
    assert_eq!((result.crawled, result.crawl.js_rendered), (2, true));
    assert!(
        !site.visits().iter().any(|visit| visit.contains("static")),
        "taken away by the script"
    );
    assert_eq!(inner.connections(), 0);
    let sent = |asked: &crate::loopback::site::Asked| asked.header("x-token") == Some("s3cret");
    let data: Vec<_> = site.asked().into_iter().filter(|asked| asked.target == "/data").collect();
    assert!(!data.is_empty() && data.iter().all(sent), "the browser's requests have the header");
    let agent = data[0].header("user-agent").unwrap_or_default();
    assert!(agent.ends_with(crate::USER_AGENT), "{agent}");
    assert_eq!(data[0].header("x-monitored-by"), Some(crate::USER_AGENT));
    assert!(!elsewhere.asked().is_empty() && !elsewhere.asked().iter().any(sent));
    assert!(!elsewhere.asked().iter().any(|asked| asked.header("x-monitored-by").is_some()));
}

#[tokio::test]
async fn a_browser_that_does_not_start_fails_the_check() {
    let site = Site::of(&[("/", "")]).await;
    let url = site.url("/");
    let chromium = Chromium::at("/no/such/chromium".into());
    let crawl = LinksProbe { browser: Some(&chromium), ..of(&url) };
    let error =
        probe(&guard(), &CrawlLimiter::default(), &crawl, |_| {}).await.expect_err("no browser");
    assert_eq!(error.code, "browser_unavailable");
}

/// What a page may do before its links appear, and how the crawl waits for each.
#[tokio::test]
async fn a_page_is_read_when_it_has_come_to_rest() {
    let Some(chromium) = installed_chromium() else {
        return;
    };
    const LINK: &str = "function link(to) {
            const a = document.createElement('a'); a.href = to; document.body.append(a);
        }";
    const WAYS: [(&str, &str); 11] = [
        ("timer", "setTimeout(() => link('/no-timer'), 900)"),
        (
            "chain",
            "fetch('/data').then(() => setTimeout(() => fetch('/data').then(() => link('/no-chain')), 500))",
        ),
        ("drawn", "requestAnimationFrame(() => requestAnimationFrame(() => link('/no-drawn')))"),
        ("seen", "new IntersectionObserver(() => link('/no-seen')).observe(document.body)"),
        (
            "worker",
            "new Worker('data:text/javascript,setTimeout(() => postMessage(1), 100)').onmessage = () => link('/no-worker')",
        ),
        (
            "socket",
            "new WebSocket(location.href.replace('http', 'ws')).onclose = () => link('/no-socket')",
        ),
        ("dialog", "alert('hello'); link('/no-dialog')"),
        ("half", "link('/no-half'); document.body.append('\\ud800')"),
        ("popup", "window.open('/opened'); link('/no-popup')"),
        (
            "forged",
            "link('/no-forged'); Object.defineProperty(Document.prototype, 'documentElement',
                {get: () => ({outerHTML: {slice: () => ({toWellFormed: () => [0, 0]})}})})",
        ),
        // More bytes than are searched.
        (
            "long",
            "link('/no-long'); document.body.append(document.createComment('\u{20ac}'.repeat(800_000))); link('/beyond')",
        ),
    ];
    let site = Site::start(|asked| {
        let page = |script: &str| Reply::html(format!("<body><script>{LINK} {script}</script>"));
        match asked.target.as_str() {
            "/" => Reply::html(anchors(WAYS.map(|(name, _)| format!("/{name}")))),
            "/data" => Reply::file("text/plain", "x").after(Duration::from_millis(300)),
            target => match WAYS.iter().find(|(name, _)| target.strip_prefix('/') == Some(name)) {
                Some((_, script)) => page(script),
                None => Reply::new(404),
            },
        }
    })
    .await;
    let url = site.url("/");
    let deadline = Duration::from_secs(60);
    let crawl = LinksProbe { browser: Some(&chromium), deadline, ..of(&url) };
    let result = crawl_as(&guard(), &crawl).await;
    let mut found = broken(&result, &site);
    found.sort();
    let mut expected = WAYS.map(|(name, _)| format!("404 /no-{name} /{name}"));
    expected.sort();
    assert_eq!(found, expected);
    assert!(!site.visits().iter().any(|visit| visit.contains("opened")));
    assert!(!site.visits().iter().any(|visit| visit.contains("beyond")));
}

#[tokio::test]
async fn a_browser_that_leaves_fails_the_check() {
    let folder = tempfile::tempdir().expect("a folder");
    let executable = folder.path().join("chromium");
    // Answers the first command, as in a trial, and no other.
    let script =
        "#!/bin/sh\nprintf '{\"id\":1,\"result\":{\"userAgent\":\"x\"}}\\000' >&4; sleep 1\n";
    std::fs::write(&executable, script).expect("a file");
    std::fs::set_permissions(&executable, PermissionsExt::from_mode(0o755)).expect("permissions");
    let site = Site::of(&[("/", "")]).await;
    let url = site.url("/");
    let chromium = Chromium::at(executable);
    let crawl = LinksProbe { browser: Some(&chromium), ..of(&url) };
    let error =
        probe(&guard(), &CrawlLimiter::default(), &crawl, |_| {}).await.expect_err("no browser");
    assert_eq!(error.code, "browser_unavailable");
    assert_eq!(error.message, "Chromium ended during the check");
}

#[tokio::test]
async fn scripts_cannot_make_the_browser_ask_others_without_end() {
    let Some(chromium) = installed_chromium() else {
        return;
    };
    let other = Site::at("127.0.0.3", |_| Reply::new(200)).await;
    let target = other.url("/").to_string();
    let site = Site::start(move |_| {
        Reply::html(format!(
            "<script>(async () => {{
                for (let n = 0; ; n++) await fetch('{target}?' + n, {{mode: 'no-cors'}}).catch(() => 0);
            }})()</script>"
        ))
    })
    .await;
    let guard = guard_of(Outbound {
        allow: ["127.0.0.1/32", "127.0.0.3/32"].map(|net| net.parse().expect("a network")).into(),
        ..Outbound::default()
    });
    let url = site.url("/");
    let deadline = Duration::from_secs(60);
    let crawl = LinksProbe { browser: Some(&chromium), deadline, ..of(&url) };
    crawl_as(&guard, &crawl).await;
    // A connection counts as at least one KiB: 256 of them at once, then four per second.
    assert!((1..=512).contains(&other.connections()), "{}", other.connections());
}
