//! Pages that crawls read.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use url::Url;
use vedette_domain::checks::check::{FinishReason, LinksResult};
use vedette_domain::sites::settings::LinksSettings;
use vedette_probe::links::{self, CrawlBounds, CrawlLimiter, LinksProbe};
use vedette_probe::ssrf_guard::SsrfGuard;
use vedette_testkit::{START, loopback};
use vedette_tests::gzip;

use super::bodies::{RawServer, response};

const HTML: &str = "Content-Type: text/html\r\n";

struct Crawled {
    result: LinksResult,
    /// The paths of broken links.
    broken: Vec<String>,
    /// The number of requests for each path.
    asked: HashMap<String, u32>,
}

/// A crawl of a site at [`START`], with the usual bounds.
pub(crate) fn crawl_of<'a>(url: &'a Url, settings: &'a LinksSettings) -> LinksProbe<'a> {
    LinksProbe {
        url,
        header: None,
        settings,
        browser: None,
        limits: CrawlBounds::default(),
        deadline: links::DEADLINE,
        connectivity: None,
        now: START.parse().expect("a timestamp"),
    }
}

/// Crawls a site that answers paths with these bytes, and all others with 404.
async fn crawl(answer: impl Fn(&str) -> Option<Vec<u8>> + Send + Sync + 'static) -> Crawled {
    let asked = Arc::<Mutex<HashMap<String, u32>>>::default();
    let counts = Arc::clone(&asked);
    let site = RawServer::start(move |path| {
        *counts.lock().expect("no panic").entry(path.to_owned()).or_default() += 1;
        answer(path).unwrap_or_else(|| empty("404 Not Found", "").into_bytes())
    })
    .await;
    let settings = LinksSettings::default();
    let probe = LinksProbe { deadline: Duration::from_secs(60), ..crawl_of(&site.url, &settings) };
    let guard = SsrfGuard::new(loopback()).expect("a guard");
    let result = links::probe(&guard, &CrawlLimiter::default(), &probe, |_| {}).await;
    let result = result.expect("a completed crawl");
    let broken = result.urls.iter().map(|link| link.url.replace(site.url.as_str(), "/")).collect();
    let asked = asked.lock().expect("no panic").clone();
    Crawled { result, broken, asked }
}

/// Crawls a site with one page.
async fn crawl_page(page: Vec<u8>) -> Crawled {
    crawl(move |path| (path == "/").then(|| page.clone())).await
}

fn empty(status: &str, headers: &str) -> String {
    format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n{headers}\r\n")
}

#[tokio::test]
async fn links_inside_template_elements_are_not_followed() {
    for (page, broken) in [
        ("<table><template><tr><td><a href=/{id}>x</a></template></table><a href=1>", &["/1"][..]),
        (
            "<template><template><img src={src}></template><a href={url}></template><a href=2>",
            &["/2"],
        ),
        (
            "<template><link rel=icon href=/{i}><base href=/x/></template><script src=3></script>",
            &["/3"],
        ),
        ("<template><noscript><img src=/{pixel}></noscript>", &[]),
        // A shadow tree is shown.
        ("<my-card><template shadowrootmode=open><a href=/4>x</a></template></my-card>", &["/4"]),
    ] {
        assert_eq!(crawl_page(response(HTML, page.as_bytes())).await.broken, broken, "{page}");
    }
}

#[tokio::test]
async fn links_in_svg_noscript_and_preloads_are_followed() {
    for (page, broken) in [
        ("<svg><a xlink:href='/map#x'><text>x</text></a></svg>", &["/map"][..]),
        (
            "<svg><image xlink:href=/a.png></image><g><image href=/b.png></image></g></svg>",
            &["/a.png", "/b.png"],
        ),
        (
            "<svg><use xlink:href='/i.svg#a'></use><use href='/i.svg#b'/><use href='#c'/></svg>",
            &["/i.svg"],
        ),
        ("<noscript><link rel=stylesheet href=/plain.css></noscript>", &["/plain.css"]),
        (
            "<noscript><iframe src=/f></iframe><img srcset='/a.png 1x, /b.png 2x'></noscript>",
            &["/f", "/a.png", "/b.png"],
        ),
        (
            "<link rel=preload as=image imagesrcset='/s.webp 400w, /l.webp 800w' imagesizes=50vw>",
            &["/s.webp", "/l.webp"],
        ),
    ] {
        assert_eq!(crawl_page(response(HTML, page.as_bytes())).await.broken, broken, "{page}");
    }
}

#[tokio::test]
async fn pages_that_were_not_read_in_full_are_counted() {
    let long = format!("<a href=/1>{}<a href=/2>", " ".repeat(2 << 20));
    let coded = |coding, body| response(&format!("{HTML}Content-Encoding: {coding}\r\n"), body);
    let raw = |headers, body| format!("HTTP/1.1 200 OK\r\n{HTML}{headers}\r\n{body}").into_bytes();
    for (page, found, partly_read) in [
        (response(HTML, b"<a href=/1>"), 1, 0),
        (response(HTML, long.as_bytes()), 1, 1),
        (coded("gzip", &gzip(long.as_bytes())), 1, 1),
        (coded("gzip", b"<a href=/1>"), 0, 1),
        (coded("dcz", b"<a href=/1>"), 0, 1),
        (coded("UTF-8, none", b"<a href=/1>"), 1, 0),
        (raw("Transfer-Encoding: chunked\r\n", "b\r\n<a href=/1>\r\n"), 1, 1),
        (raw("Transfer-Encoding: chunked\r\n", "b\r\n<a href=/1>\r\n0\r\n\r\n"), 1, 0),
        (raw("Content-Length: 99\r\n", "<a href=/1>"), 1, 1),
        // The end of the connection ends it.
        (raw("Connection: close\r\n", "<a href=/1>"), 1, 0),
    ] {
        let said = String::from_utf8_lossy(&page[..page.len().min(150)]).into_owned();
        let Crawled { result, broken, .. } = crawl_page(page).await;
        assert_eq!(broken.len(), found, "{said}");
        assert_eq!(result.crawl.skipped.partly_read, partly_read, "{said}");
        assert_eq!(result.crawl.finish_reason, FinishReason::Completed, "{said}");
        assert_eq!(result.crawled, 1, "{said}");
    }
}

#[tokio::test]
async fn only_distinct_links_to_other_pages_count_toward_the_limit_of_a_page() {
    let others: String = (0..20_000).map(|number| format!("<img src=?{number}>")).collect();
    for (page, partly_read) in [
        ("<a href=#x>".repeat(30_000) + "<a href=/1>", 0),
        ("<img src=/x><img src=' /x#y '>".repeat(15_000) + "<a href=/1>", 0),
        ("<img src=data:,x><a href=mailto:x@x.test>".repeat(15_000) + "<a href=/1>", 0),
        ("<a href=/1>".to_owned() + &others, 1),
    ] {
        let page = response(HTML, page.as_bytes());
        let crawled = crawl(move |path| match path {
            "/" => Some(page.clone()),
            "/x" => Some(response("Content-Type: image/png\r\n", b"")),
            path if path.starts_with("/?") => Some(response("Content-Type: image/png\r\n", b"")),
            _ => None,
        })
        .await;
        assert_eq!(crawled.broken, ["/1"]);
        assert_eq!(crawled.result.crawl.skipped.partly_read, partly_read);
    }
}

#[tokio::test]
async fn the_last_valid_content_type_counts() {
    for (headers, is_page) in [
        ("Content-Type: text/plain\r\nContent-Type: text/html\r\n", true),
        ("Content-Type: text/html\r\nContent-Type: text/html; charset=utf-8\r\n", true),
        ("Content-Type: application/xhtml+xml, */*\r\n", true),
        ("Content-Type: TEXT/HTML;charset=\"utf-8\", html\r\n", true),
        ("Content-Type: text/html; title=\"a,text/plain\"\r\n", true),
        ("Content-Type: text/html, text/plain\r\n", false),
        ("Content-Type: text/html\r\nContent-Type: application/pdf\r\n", false),
    ] {
        let Crawled { result, broken, .. } = crawl_page(response(headers, b"<a href=/1>")).await;
        assert_eq!(broken.len(), usize::from(is_page), "{headers}");
        let reason = if is_page { FinishReason::Completed } else { FinishReason::NotHtml };
        assert_eq!(result.crawl.finish_reason, reason, "{headers}");
    }
}

#[tokio::test]
async fn a_date_to_come_back_is_compared_with_our_clock_if_the_server_has_none() {
    // Our clock says 09:54:00.
    for (headers, requests) in [
        ("Retry-After: Fri, 20 Nov 2026 09:53:59 GMT\r\n", 2),
        ("Retry-After: Friday, 20-Nov-26 09:54:00 GMT\r\n", 2),
        ("Retry-After: Fri Nov 20 09:00:00 2026\r\n", 2),
        ("Retry-After: Thu, 01 Jan 1970 00:00:00 GMT\r\nDate: now\r\n", 2),
        ("Retry-After: Fri, 20 Nov 2026 11:00:00 GMT\r\n", 1),
        // The server's own clock comes first.
        (
            "Retry-After: Fri, 20 Nov 2026 11:00:00 GMT\r\nDate: Fri, 20 Nov 2026 11:00:00 GMT\r\n",
            2,
        ),
    ] {
        for status in ["429 Too Many Requests", "503 Service Unavailable"] {
            let busy = empty(status, headers).into_bytes();
            let is_first = AtomicBool::new(true);
            let crawled = crawl(move |path| match path {
                "/" => Some(response(HTML, b"<a href=/busy>")),
                "/busy" if is_first.swap(false, Ordering::Relaxed) => Some(busy.clone()),
                "/busy" => Some(response(HTML, b"")),
                _ => None,
            })
            .await;
            assert_eq!(crawled.asked["/busy"], requests, "{status} {headers}");
            let skipped = crawled.result.crawl.skipped;
            assert_eq!(skipped.rate_limited, 2 - requests, "{status} {headers}");
            assert!(crawled.broken.is_empty(), "{status} {headers}");
        }
    }
}
