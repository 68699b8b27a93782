//! Crawls of sites on loopback.

mod bounds;
mod elsewhere;
mod judging;
mod manners;
mod reading;
mod rendering;
mod scope;
mod wide;

use std::sync::LazyLock;

use vedette_domain::checks::check::{BrokenLink, SkippedLinks};

use super::rate_limit::RateLimits;
use super::*;
use crate::loopback::guard;
use crate::loopback::site::{Reply, Site};

static DEFAULT: LazyLock<LinksSettings> = LazyLock::new(LinksSettings::default);

fn of(url: &Url) -> LinksProbe<'_> {
    LinksProbe {
        url,
        header: None,
        settings: &DEFAULT,
        browser: None,
        limits: CrawlBounds::default(),
        deadline: Duration::from_secs(20),
        connectivity: None,
        now: "2026-11-20T12:00:00Z".parse().expect("a timestamp"),
    }
}

/// The usual number of concurrent requests, without pauses.
fn brisk() -> CrawlLimiter {
    CrawlLimiter::with_limits(RateLimits {
        pause: Duration::ZERO,
        interval: Duration::ZERO,
        ..RateLimits::default()
    })
}

async fn crawl_with(
    guard: &SsrfGuard,
    limiter: &CrawlLimiter,
    crawl: &LinksProbe<'_>,
) -> LinksResult {
    let result = probe(guard, limiter, crawl, |_| {}).await.expect("completed");
    assert!(result.found as usize >= result.urls.len());
    assert_eq!(result.crawled, result.crawl.pages);
    result
}

async fn crawl_at(limiter: &CrawlLimiter, crawl: &LinksProbe<'_>) -> LinksResult {
    crawl_with(&guard(), limiter, crawl).await
}

async fn crawl_as(guard: &SsrfGuard, crawl: &LinksProbe<'_>) -> LinksResult {
    crawl_with(guard, &CrawlLimiter::default(), crawl).await
}

async fn crawl(url: &Url) -> LinksResult {
    crawl_as(&guard(), &of(url)).await
}

/// The broken links as `status url source`, without the address of the site.
fn broken(result: &LinksResult, site: &Site) -> Vec<String> {
    let origin = site.url("").to_string();
    let origin = origin.trim_end_matches('/');
    let line = |BrokenLink { url, source, status }: &BrokenLink| {
        format!("{status} {url} {source}").replace(origin, "")
    };
    result.urls.iter().map(line).collect()
}

fn anchors(paths: impl IntoIterator<Item = impl std::fmt::Display>) -> String {
    paths.into_iter().map(|path| format!("<a href='{path}'>x</a>")).collect()
}

#[tokio::test]
async fn a_site_is_crawled_and_its_broken_links_are_reported_with_their_source() {
    let site = Site::start(|asked| match asked.target.as_str() {
        "/" => Reply::html("<a href=/a>a</a><a href=b#x>b</a><a href=/gone><img src=/no.png>"),
        "/a" => Reply::html("<a href=/>home</a><a href=/gone>again</a><a href=/c/>c</a>"),
        "/b" => Reply::html("<a href=/c/>c</a><script src=/error.js></script>"),
        "/c/" => Reply::html("<a href=d>d</a><a href=../b>b</a><a href=./>self</a>"),
        "/c/d" => Reply::html("the end"),
        "/error.js" => Reply::new(500),
        "/gone" => Reply::new(410),
        _ => Reply::new(404),
    })
    .await;
    let result = crawl(&site.url("/")).await;
    assert_eq!(broken(&result, &site), ["410 /gone /", "404 /no.png /", "500 /error.js /b"],);
    assert_eq!((result.found, result.crawled), (3, 5));
    assert_eq!(result.crawl.finish_reason, FinishReason::Completed);
    assert_eq!((result.crawl.links, result.crawl.robots_txt), (8, false));
    assert_eq!(
        site.visits(),
        [
            "GET /",
            "GET /a",
            "GET /b",
            "GET /c/",
            "GET /c/d",
            "GET /error.js",
            "GET /gone",
            "GET /no.png",
            "HEAD /error.js",
            "HEAD /no.png",
        ],
        "each once, and HEAD again by GET where it fails"
    );
}

#[tokio::test]
async fn a_crawl_can_be_moved_between_threads_and_tells_how_far_it_is() {
    let site = Site::of(&[("/", &anchors(["/a", "/b", "/gone"])), ("/a", ""), ("/b", "")]).await;
    let url = site.url("/");
    let told = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let heard = std::sync::Arc::clone(&told);
    tokio::spawn(async move {
        let guard = guard();
        let heard = move |progress| heard.lock().expect("no panic").push(progress);
        probe(&guard, &CrawlLimiter::default(), &of(&url), heard).await
    })
    .await
    .expect("no panic")
    .expect("completed");
    let told = told.lock().expect("no panic");
    assert_eq!(told.last(), Some(&Progress { pages: 3, links: 4, queued: 0, found: 1 }));
    assert!(told.is_sorted_by_key(|progress| progress.links));
}

#[tokio::test]
async fn the_source_is_the_first_page_in_breadth_first_order_however_slow() {
    let site = Site::start(|asked| match asked.target.as_str() {
        "/" => Reply::html(anchors(["/slow", "/quick"])),
        "/slow" => Reply::html(anchors(["/gone"])).after(Duration::from_millis(200)),
        "/quick" => Reply::html(anchors(["/other", "/gone"])),
        _ => Reply::new(404),
    })
    .await;
    let result = crawl(&site.url("/")).await;
    assert_eq!(broken(&result, &site), ["404 /gone /slow", "404 /other /quick"]);
}
