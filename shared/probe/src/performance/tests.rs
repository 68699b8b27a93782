//! Audits with a fake Lighthouse, with a real one if it is installed, and with PageSpeed Insights.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tokio::time::sleep;

use super::*;
use crate::browser::{BROWSER_UNAVAILABLE, Chromium};
use crate::loopback::{
    Server, guard, guard_of, installed_lighthouse, lighthouse_folder, path, redirect, status,
};
use crate::ssrf_guard::{Outbound, TARGET_FORBIDDEN};

fn of(url: &Url) -> PerformanceProbe<'_> {
    PerformanceProbe { url, header: None, deadline: DEADLINE }
}

fn answer(kind: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n{body}")
        .into_bytes()
}

/// A page on 127.0.0.2 that makes requests to itself, to 127.0.0.3, and to the forbidden 127.0.0.1.
struct Scene {
    site: Server,
    stranger: Server,
    inner: Server,
    guard: SsrfGuard,
}

async fn scene() -> Scene {
    let inner = Server::http(|_| status(200)).await;
    let stranger = Server::http_at("127.0.0.3", |_| status(200)).await;
    let (inward, elsewhere) = (inner.url("/"), stranger.url("/"));
    let page = format!(
        "<!doctype html><html lang=en><title>Shop</title>
        <meta name=viewport content='width=device-width'><link rel=stylesheet href=style.css>
        <h1>Hello</h1><p>Some words.</p><img src='{elsewhere}picture'><img src='/moved'>
        <iframe src='/frame'></iframe><img src='{inward}secret'>
        <script>fetch('{inward}latest').catch(() => fetch('/refused'))</script>"
    );
    let site = Server::http_at("127.0.0.2", move |head| match path(head) {
        "/" => answer("text/html", &page),
        "/frame" => answer("text/html", "<p>framed"),
        "/style.css" => answer("text/css", &"h1 { color: red }\n".repeat(2000)),
        "/moved" => redirect(302, elsewhere.as_str()),
        _ => status(200),
    })
    .await;
    let allow = ["127.0.0.2/32", "127.0.0.3/32"].map(|network| network.parse().expect("a network"));
    let guard = guard_of(Outbound { allow: allow.to_vec(), ..Outbound::default() });
    Scene { site, stranger, inner, guard }
}

#[tokio::test]
async fn a_page_is_audited_from_end_to_end() {
    let Some(lighthouse) = installed_lighthouse() else { return };
    let Scene { site, stranger, inner, guard } = scene().await;
    let url = site.url("/");
    let given = PerformanceProbe { header: Some(("X-Secret", "s3cr3t \"quoted\"")), ..of(&url) };
    let result = probe(&guard, &Auditor::Lighthouse(lighthouse), &given).await.expect("a result");
    assert_eq!(result.url, url.as_str());
    assert!(result.response_time > 0.0);
    let metrics = &result.speed_metrics;
    assert!(metrics.performance_score.is_some_and(|score| score > 10), "{metrics:?}");
    let vitals = &metrics.core_web_vitals;
    for metric in [
        &vitals.lcp,
        &vitals.fcp,
        &vitals.cls,
        &vitals.tbt,
        &vitals.ttfb,
        &vitals.speed_index,
        &vitals.interactive,
    ] {
        let measured = metric.value.is_some() && metric.score.is_some();
        assert!(measured && metric.display_value.is_some(), "{vitals:?}");
    }
    assert!(!metrics.opportunities.is_empty());
    assert_eq!((&metrics.real_user_metrics, &metrics.origin_metrics), (&None, &None));

    assert_eq!(inner.connections(), 0, "the guard holds in the browser");
    let asked = site.heads();
    let asked_for = |wanted: &str| asked.iter().filter(|head| path(head) == wanted).count();
    assert!(asked_for("/") >= 2, "once directly, once in the browser");
    assert!(asked_for("/refused") > 0 && asked_for("/frame") > 0, "{asked:?}");
    // The header is sent to the site's own host only, for every request and every redirect.
    for head in &asked {
        let header = "x-secret: s3cr3t \"quoted\"\r\n";
        assert_eq!(head.to_lowercase().matches(header).count(), 1, "{head}");
    }
    let strange = stranger.heads();
    for wanted in ["/", "/picture"] {
        assert!(strange.iter().any(|head| path(head) == wanted), "{wanted} in {strange:?}");
    }
    for head in strange {
        assert!(!head.to_lowercase().contains("secret"), "{head}");
    }
}

#[tokio::test]
async fn a_page_without_figures_fails_with_lighthouses_code() {
    let Some(lighthouse) = installed_lighthouse() else { return };
    let server = Server::http(|head| match path(head) {
        "/text" => answer("text/plain", "words"),
        _ => status(503),
    })
    .await;
    let auditor = Auditor::Lighthouse(lighthouse);
    for (page, reason) in [("/", "ERRORED_DOCUMENT_REQUEST"), ("/text", "NOT_HTML")] {
        let error = probe(&guard(), &auditor, &of(&server.url(page))).await.expect_err(page);
        assert_eq!(
            (&*error.code, &error.data["reason"]),
            (AUDIT_FAILED, &json!(reason)),
            "{error:?}"
        );
    }
}

#[tokio::test]
async fn a_check_that_fails_before_the_audit_starts_no_browser() {
    let auditor = fake("exit 1");
    let url = Url::parse("http://127.0.0.1:1/").expect("a URL");
    let error = probe(&guard(), &auditor.auditor, &of(&url)).await.expect_err("unreachable");
    assert_eq!((&*error.code, &error.data["reason"]), (AUDIT_FAILED, &json!("UNREACHABLE")));
    assert_eq!(error.message, "the page does not load: connection refused");
    let strict = guard_of(Outbound::default());
    let error = probe(&strict, &auditor.auditor, &of(&url)).await.expect_err("forbidden");
    assert_eq!(error.code, TARGET_FORBIDDEN);
    let given = PerformanceProbe { header: Some(("bad name", "x")), ..of(&url) };
    let error = probe(&guard(), &auditor.auditor, &given).await.expect_err("no header");
    assert_eq!(error.code, crate::INVALID_HEADER);
}

/// A fake Lighthouse: its script runs in the shell instead of Node.
struct Fake {
    auditor: Auditor,
    folder: tempfile::TempDir,
}

fn fake(text: &str) -> Fake {
    let folder = tempfile::tempdir().expect("a folder");
    let script = folder.path().join("audit.sh");
    fs::write(&script, text).expect("a file");
    let chromium = Chromium::trusted("chromium".into());
    let lighthouse = Lighthouse { node: "/bin/sh".into(), script, chromium };
    Fake { auditor: Auditor::Lighthouse(lighthouse), folder }
}

async fn audit_by(script: &str) -> Result<PerformanceResult, CheckError> {
    let server = Server::http(|_| status(200)).await;
    let fake = fake(script);
    probe(&guard(), &fake.auditor, &of(&server.url("/"))).await
}

#[tokio::test]
async fn any_output_of_the_audit_is_handled() {
    for (script, code, reason) in [
        ("exit 1", AUDIT_FAILED, json!("NO_REPORT")),
        ("echo broken >&2; echo '{'", AUDIT_FAILED, json!("NO_REPORT")),
        ("echo '[]'", AUDIT_FAILED, json!("NO_REPORT")),
        // More output than is read, on stdout and stderr.
        ("yes '[' | head -c 9000000", AUDIT_FAILED, json!("NO_REPORT")),
        ("yes oops | head -c 9000000 >&2", AUDIT_FAILED, json!("NO_REPORT")),
        ("echo '{\"browserError\": \"gone\"}'", BROWSER_UNAVAILABLE, Value::Null),
        (
            "echo '{\"runtimeError\": {\"code\": \"NO_FCP\", \"message\": \"m\"}}'",
            AUDIT_FAILED,
            json!("NO_FCP"),
        ),
    ] {
        let error = audit_by(script).await.expect_err(script);
        assert_eq!((&*error.code, &error.data["reason"]), (code, &reason), "{script}");
    }
    let metrics = "{\"categories\": {\"performance\": {\"score\": 0.5}}}";
    let result = audit_by(&format!("echo '{metrics}'")).await.expect("a result");
    assert_eq!(result.speed_metrics.performance_score, Some(50));
}

#[tokio::test]
async fn the_browser_knows_nothing_of_our_environment() {
    let script = "variables=$(env | cut -d= -f1 | sort | tr '\\n' ' ')
        printf '{\"runtimeError\": {\"code\": \"X\", \"message\": \"%s\"}}' \"$variables\"";
    let error = audit_by(script).await.expect_err("told");
    let ours =
        error.message.split(' ').filter(|name| !["_", "PWD", "SHLVL", "OLDPWD"].contains(name));
    assert_eq!(ours.collect::<Vec<_>>(), ["HOME", "LC_ALL", "PATH", "TMPDIR"]);
}

/// Whether a process exists and is not a zombie.
fn runs(pid: &str) -> bool {
    fs::read_to_string(Path::new("/proc").join(pid).join("stat"))
        .is_ok_and(|stat| !stat.contains(") Z "))
}

#[tokio::test]
async fn an_audit_without_end_leaves_no_process_and_no_file() {
    let server = Server::http(|_| status(200)).await;
    // It starts a child that ignores signals to end, like a browser that hangs.
    let fake = fake("(trap '' HUP TERM; sleep 300) & echo $! $$ $HOME > $0.started; sleep 300");
    let url = server.url("/");
    let given = PerformanceProbe { deadline: Duration::from_secs(2), ..of(&url) };
    let written = fake.folder.path().join("audit.sh.started");
    // Audits of other tests may leave too little time for it, or none.
    let error = loop {
        let error = probe(&guard(), &fake.auditor, &given).await.expect_err("no end");
        if written.exists() {
            break error;
        }
    };
    assert_eq!((&*error.code, &error.data["reason"]), (AUDIT_FAILED, &json!("TIMEOUT")));
    let started = fs::read_to_string(written).expect("started");
    let [child, node, home] = started.split_whitespace().collect::<Vec<_>>()[..] else {
        panic!("{started}");
    };
    for _ in 0..100 {
        if !runs(child) && !runs(node) {
            break;
        }
        sleep(Duration::from_millis(20)).await;
    }
    assert!(!runs(child) && !runs(node));
    assert!(!Path::new(home).exists());
}

#[tokio::test]
async fn audits_take_turns() {
    let fake = fake("exit 1");
    let _turn = lighthouse::permit().await;
    let url = Url::parse("http://127.0.0.1:1/").expect("a URL");
    let given = PerformanceProbe { deadline: Duration::from_millis(50), ..of(&url) };
    let error = probe(&guard(), &fake.auditor, &given).await.expect_err("busy");
    assert_eq!(error.code, AUDITOR_BUSY);
}

#[test]
fn missing_parts_of_lighthouse_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let nowhere = folder.path().as_os_str();
    let find =
        |folder: &Path| Lighthouse::find(folder, None, nowhere).map_err(|error| error.message);
    let missing = |folder: &Path| find(folder).expect_err("something is missing");
    assert_eq!(missing(folder.path()), "Lighthouse is not installed");
    let file = |name: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(&path, "").expect("a file");
        path
    };
    let script = file("audit.mjs");
    assert_eq!(missing(folder.path()), "Lighthouse is not installed");
    file("node_modules/lighthouse/package.json");
    assert_eq!(missing(folder.path()), "Node is not installed");
    let node = file("node");
    assert_eq!(missing(folder.path()), "no Chromium is installed");
    let executable = file("chromium");
    let found = find(folder.path()).expect("all there");
    assert_eq!((&found.node, &found.script), (&node, &script));
    assert_eq!(found.chromium.executable, executable);
    let node = file("node_modules/.bin/node");
    assert_eq!(find(folder.path()).expect("all there").node, node, "its own goes first");
    assert!(lighthouse_folder().join("audit.mjs").is_file());
}

/// Runs a fake PageSpeed Insights, and returns what a probe of a page makes of its answer.
async fn by_pagespeed(
    code: u16,
    body: &'static str,
) -> (Result<PerformanceResult, CheckError>, Url) {
    let site = Server::http(|_| status(200)).await;
    let service = Server::http(move |_| {
        let length = body.len();
        format!("HTTP/1.1 {code} Some\r\nContent-Length: {length}\r\n\r\n{body}").into_bytes()
    })
    .await;
    let auditor = Auditor::PageSpeed(PageSpeed::new("k3y&".to_owned(), service.url("/run")));
    assert!(!format!("{auditor:?}").contains("k3y"));
    let result = probe(&guard(), &auditor, &of(&site.url("/a?b=c&d"))).await;
    let asked = service.heads();
    assert_eq!(asked.len(), 1);
    let asked = service.url(path(&asked[0]));
    (result, asked)
}

#[tokio::test]
async fn pagespeed_audits_and_adds_field_data() {
    let body = r#"{
        "lighthouseResult": {"categories": {"performance": {"score": 0.87}},
            "audits": {"interactive": {"numericValue": 2000.4, "score": 0.9}}},
        "originLoadingExperience": {"id": "https://shop.example", "metrics": {"TTFB": {"percentile": 5}}}
    }"#;
    let (result, asked) = by_pagespeed(200, body).await;
    let result = result.expect("a result");
    assert_eq!(result.speed_metrics.performance_score, Some(87));
    assert_eq!(result.interactive_seconds(), Some(2.0));
    let page = result.speed_metrics.real_user_metrics.expect("field data");
    assert!(page.origin_fallback);
    let query: Vec<_> = asked.query_pairs().into_owned().collect();
    let expected = [
        ("url", result.url.as_str()),
        ("category", "performance"),
        ("strategy", "mobile"),
        ("key", "k3y&"),
    ];
    assert_eq!(query, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
}

#[tokio::test]
async fn pagespeeds_refusals_are_reported_without_the_key() {
    for (code, body, expected, reason) in [
        (
            500,
            r#"{"error": {"message": "Lighthouse returned error: ERRORED_DOCUMENT_REQUEST. k3y&"}}"#,
            AUDIT_FAILED,
            json!("ERRORED_DOCUMENT_REQUEST"),
        ),
        (
            200,
            r#"{"lighthouseResult": {"runtimeError": {"code": "NO_FCP", "message": "m"}}}"#,
            AUDIT_FAILED,
            json!("NO_FCP"),
        ),
        (200, "no JSON", AUDIT_FAILED, json!("NO_REPORT")),
        (
            400,
            r#"{"error": {"message": "API key k3y& not valid"}}"#,
            AUDITOR_UNAVAILABLE,
            Value::Null,
        ),
        (429, "", AUDITOR_UNAVAILABLE, Value::Null),
    ] {
        let (result, _) = by_pagespeed(code, body).await;
        let error = result.expect_err(body);
        assert_eq!((&*error.code, &error.data["reason"]), (expected, &reason), "{body}");
        assert!(!format!("{error:?}").contains("k3y"), "{error:?}");
    }
    let site = Server::http(|_| status(200)).await;
    let nowhere = Url::parse("http://127.0.0.1:1/").expect("a URL");
    let auditor = Auditor::PageSpeed(PageSpeed::new("k3y".to_owned(), nowhere));
    let error = probe(&guard(), &auditor, &of(&site.url("/"))).await.expect_err("unreachable");
    assert_eq!(error.code, AUDITOR_UNAVAILABLE);
    assert!(!format!("{error:?}").contains("k3y"), "{error:?}");
    assert!(Url::parse(PageSpeed::ENDPOINT).is_ok());
}
