//! The limits of a crawl.

use super::*;
use crate::loopback::Server;

#[tokio::test]
async fn past_its_deadline_a_crawl_completes_with_what_it_found() {
    let site = Site::start(|asked| match asked.target.as_str() {
        "/" => Reply::html(anchors(["/gone", "/slow", "/tail"])),
        "/slow" => Reply::html("").after(Duration::from_secs(60)),
        _ => Reply::new(404),
    })
    .await;
    let url = site.url("/");
    let deadline = Duration::from_millis(400);
    let started = Instant::now();
    let result = crawl_as(&guard(), &LinksProbe { deadline, ..of(&url) }).await;
    assert!(started.elapsed() < Duration::from_secs(5));
    assert_eq!(result.crawl.finish_reason, FinishReason::Deadline);
    assert_eq!(broken(&result, &site), ["404 /gone /", "404 /tail /"]);
    assert_eq!(result.crawl.skipped.unchecked, 1);
    assert!(result.crawl.duration_ms >= 400);
}

#[tokio::test]
async fn a_first_page_that_never_comes_is_no_finding_at_the_deadline() {
    let silent = Server::raw(|stream| async move {
        tokio::time::sleep(Duration::from_secs(60)).await;
        drop(stream);
    })
    .await;
    let url = silent.url("/");
    let deadline = Duration::from_millis(100);
    let result = crawl_as(&guard(), &LinksProbe { deadline, ..of(&url) }).await;
    assert_eq!((result.found, result.crawl.finish_reason), (0, FinishReason::Deadline));
}

#[tokio::test]
async fn a_slow_page_does_not_hold_up_the_others() {
    let site = Site::start(|asked| match asked.target.as_str() {
        "/" => Reply::html(anchors(["/slow", "/a"])),
        "/slow" => Reply::html(anchors(["/late"])).after(Duration::from_secs(3)),
        "/a" => Reply::html(anchors(["/b"])),
        "/b" => Reply::html(anchors(["/c"])),
        "/c" => Reply::html(""),
        _ => Reply::new(404),
    })
    .await;
    let url = site.url("/");
    let deadline = Duration::from_secs(2);
    let result = crawl_as(&guard(), &LinksProbe { deadline, ..of(&url) }).await;
    assert_eq!(result.crawled, 4, "all but the slow one");
}

#[tokio::test]
async fn dropping_a_crawl_leaves_nothing_running() {
    let site = Site::start(|asked| match asked.target.as_str() {
        "/" => Reply::html(anchors((0..500).map(|number| format!("/{number}")))),
        _ => Reply::html("").after(Duration::from_millis(20)),
    })
    .await;
    let url = site.url("/");
    let guard = guard();
    let crawl = of(&url);
    let limiter = CrawlLimiter::default();
    let crawl = probe(&guard, &limiter, &crawl, |_| {});
    assert!(tokio::time::timeout(Duration::from_millis(150), crawl).await.is_err());
    tokio::time::sleep(Duration::from_millis(50)).await;
    let asked = site.asked().len();
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(site.asked().len(), asked);
}

#[tokio::test]
async fn limits_end_a_crawl_and_are_reported() {
    let site = Site::start(|asked| match asked.target.as_str() {
        "/" => Reply::html(anchors((0..10).map(|number| format!("/{number}")))),
        "/9" => Reply::new(404),
        "/0" => Reply::html(anchors(["/deep"])),
        "/deep" => Reply::html(anchors(["/deeper"])),
        "/deeper" => Reply::html(anchors(["/deepest"])),
        _ => Reply::html(""),
    })
    .await;
    let url = site.url("/");
    let all = CrawlBounds::default();
    for (limits, reason, crawled, links) in [
        (CrawlBounds { pages: 3, ..all }, FinishReason::PageLimit, 3, 11..13),
        (CrawlBounds { links: 5, ..all }, FinishReason::LinkLimit, 5, 5..6),
        (CrawlBounds { depth: 0, ..all }, FinishReason::DepthLimit, 1, 11..12),
        (CrawlBounds { depth: 2, ..all }, FinishReason::DepthLimit, 11, 13..14),
        (CrawlBounds { depth: 4, ..all }, FinishReason::Completed, 13, 14..15),
    ] {
        let result = crawl_as(&guard(), &LinksProbe { limits, ..of(&url) }).await;
        assert_eq!((result.crawl.finish_reason, result.crawled), (reason, crawled), "{limits:?}");
        assert!(links.contains(&result.crawl.links), "{limits:?} {}", result.crawl.links);
        assert_eq!(result.crawl.limits.links, limits.links);
        assert_eq!(result.crawl.limits.seconds, 20);
    }
}

#[tokio::test]
async fn endless_sites_end() {
    let site = Site::start(|asked| {
        let target = asked.target.as_str();
        if let Some(month) = target.strip_prefix("/calendar/") {
            let month: u32 = month.parse().unwrap_or(0);
            Reply::html(anchors([format!("/calendar/{}", month + 1)]))
        } else if target.starts_with("/deep") {
            Reply::html("<a href='deep/'>deeper</a>")
        } else {
            Reply::html(anchors(["/calendar/1", "/deep/"]))
        }
    })
    .await;
    let result = crawl(&site.url("/")).await;
    assert_eq!(result.crawl.finish_reason, FinishReason::DepthLimit);
    assert_eq!(result.crawl.traps, 1, "/deep/deep/deep/deep/");
    assert_eq!(result.crawled, 1 + 20 + 3);
    assert_eq!(result.found, 0);
}

#[tokio::test]
async fn a_host_that_is_gone_is_given_up() {
    let page = anchors((0..200).map(|number| format!("http://127.0.0.4:1/{number}")));
    let site = Site::of(&[("/", &page)]).await;
    let result = crawl(&site.url("/")).await;
    assert_eq!((result.found, result.crawl.links), (200, 201), "and its links are broken");
}

#[tokio::test]
async fn urls_are_cut_at_a_thousand() {
    let page = anchors((0..1_200).map(|number| format!("/{number}")));
    let site = Site::of(&[("/", &page)]).await;
    let result = crawl(&site.url("/")).await;
    assert_eq!((result.found, result.urls.len()), (1_200, 1_000));
    assert!(result.crawl.truncated);
}
