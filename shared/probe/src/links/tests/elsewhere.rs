//! What a crawl requests from hosts that did not ask to be crawled.

use vedette_domain::id::TeamId;

use super::*;
use crate::loopback::guard_of;
use crate::loopback::names::{Entry, NameServer};
use crate::ssrf_guard::Outbound;

const LINKS: u32 = 3_000;

/// The crawls of a team.
fn of_team(limiter: &CrawlLimiter, number: usize) -> CrawlLimiter {
    let team = TeamId::parse(&format!("0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e0{number}"));
    limiter.of_team(Some(team.expect("an id")))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn four_crawls_at_once_are_no_weapon() {
    let third = Site::at("127.0.0.2", |asked| match asked.target.as_str() {
        "/robots.txt" => Reply::new(404),
        _ => Reply::new(200).after(Duration::from_millis(1)),
    })
    .await;
    // One name per crawl.
    let name = |crawl: usize| format!("name{crawl}.third.com");
    let guard = guard_of(Outbound {
        allow: vec!["127.0.0.0/8".parse().expect("a network")],
        connect_to: (0..4)
            .map(|crawl| format!("{}:80:{}", name(crawl), third.address).parse().expect("a detour"))
            .collect(),
        ..Outbound::default()
    });
    let limiter = brisk();
    let crawl = async |crawl: usize| {
        let link = |number| format!("http://{}/{number}", name(crawl));
        let site = Site::of(&[("/", &anchors((0..LINKS).map(link)))]).await;
        let url = site.url("/");
        let deadline = Duration::from_secs(120);
        crawl_with(&guard, &of_team(&limiter, crawl), &LinksProbe { deadline, ..of(&url) }).await
    };
    for result in futures::future::join_all((0..4).map(crawl)).await {
        assert_eq!((result.found, result.crawl.links), (0, 1 + 500));
        assert_eq!(result.crawl.skipped.over_limit, LINKS - 500);
        assert_eq!(result.crawl.limits.links_per_domain, 500);
        assert_eq!(result.crawl.finish_reason, FinishReason::Completed);
    }
    assert_eq!(third.visits().len(), 4 * 500);
    assert_eq!(third.asked().len(), 4 * 500 + 4, "with a robots.txt for each crawl");
    assert!((3..=4).contains(&third.most_under_way()), "{}", third.most_under_way());
}

#[tokio::test]
async fn robots_txt_is_followed_elsewhere_where_there_are_many_links() {
    let rules = "User-agent: *\nDisallow: /private\n";
    for (links, robots) in [(10, false), (11, true)] {
        let elsewhere = Site::at("127.0.0.2", move |asked| match asked.target.as_str() {
            "/robots.txt" => Reply::file("text/plain", rules),
            _ => Reply::new(404),
        })
        .await;
        let page = anchors((1..links).map(|number| elsewhere.url(&format!("/private/{number}"))))
            + &anchors([elsewhere.url("/open")]);
        let site = Site::of(&[("/", &page)]).await;
        let url = site.url("/");
        let result = crawl_at(&brisk(), &of(&url)).await;
        let asked = elsewhere.asked();
        assert_eq!(asked[0].target == "/robots.txt", robots, "{links}");
        assert!(asked.iter().all(|asked| asked.header("user-agent") == Some(crate::USER_AGENT)));
        let (found, skipped) = if robots { (1, links - 1) } else { (links, 0) };
        assert_eq!((result.found, result.crawl.skipped.robots), (found, skipped));
        assert!(!result.crawl.robots_txt, "the site has none");
    }
}

#[tokio::test]
async fn a_host_that_withholds_its_robots_txt_is_left_alone_and_not_broken() {
    let busy = || Reply::new(429).with("Retry-After", "0");
    let replies: [(fn() -> Reply, _); 5] = [
        (|| Reply::new(503), (0, 11, 0)),
        (|| Reply::new(500), (0, 11, 0)),
        (busy, (0, 0, 11)),
        (|| Reply::new(403), (11, 0, 0)),
        (|| Reply::redirect(302, "/elsewhere"), (11, 0, 0)),
    ];
    for (reply, counted) in replies {
        let elsewhere = Site::at("127.0.0.2", move |asked| match asked.target.as_str() {
            "/robots.txt" => reply(),
            _ => Reply::new(404),
        })
        .await;
        let page = anchors((0..11).map(|number| elsewhere.url(&format!("/{number}"))));
        let site = Site::of(&[("/", &page)]).await;
        let url = site.url("/");
        let result = crawl_at(&brisk(), &of(&url)).await;
        let SkippedLinks { unchecked, rate_limited, .. } = result.crawl.skipped;
        assert_eq!((result.found, unchecked, rate_limited), counted);
        assert_eq!(elsewhere.visits().is_empty(), result.found == 0);
    }
}

#[tokio::test]
async fn sitemaps_elsewhere_are_not_asked_for() {
    let elsewhere = Site::at("127.0.0.2", |_| Reply::new(404)).await;
    let index = format!(
        "<sitemapindex><sitemap><loc>{}</loc></sitemap></sitemapindex>",
        elsewhere.url("/huge.xml")
    );
    let site = Site::start(move |asked| match asked.target.as_str() {
        "/" => Reply::html(""),
        "/sitemap.xml" => Reply::file("text/xml", index.clone()),
        _ => Reply::new(404),
    })
    .await;
    crawl(&site.url("/")).await;
    assert_eq!(elsewhere.connections(), 0);
}

#[tokio::test]
async fn a_request_counts_at_the_address_that_it_is_sent_to_alone() {
    let names = NameServer::start([
        ("first.example", Entry::addresses(&["127.0.0.1", "127.0.0.2"])),
        ("second.example", Entry::addresses(&["127.0.0.2", "127.0.0.1"])),
    ])
    .await;
    let guard = names.guard(Outbound {
        allow: vec!["127.0.0.0/8".parse().expect("a network")],
        ..Outbound::default()
    });
    let site = Site::of(&[("/", &anchors((0..9).map(|number| format!("/{number}"))))]).await;
    let limiter = CrawlLimiter::with_limits(RateLimits { in_flight: 1, ..RateLimits::default() });
    for (name, busy, pages) in [
        ("first", "127.0.0.2", 1),
        ("first", "127.0.0.1", 0),
        // Nothing listens at its first address.
        ("second", "127.0.0.3", 1),
    ] {
        let others = of_team(&limiter, 1);
        let _turn = others.acquire(busy.parse().expect("an address"), true).await.expect("a turn");
        let url = format!("http://{name}.example:{}/", site.address.port());
        let url = url.parse().expect("a URL");
        let deadline = Duration::from_secs(if pages == 0 { 1 } else { 20 });
        let result = crawl_with(&guard, &limiter, &LinksProbe { deadline, ..of(&url) }).await;
        assert_eq!((result.crawled, result.found), (pages, 9 * pages), "{name} {busy}");
    }
}

#[tokio::test]
async fn a_busy_address_delays_no_other_host() {
    let elsewhere = Site::at("127.0.0.2", |_| Reply::new(404)).await;
    let guard = guard_of(Outbound {
        allow: vec!["127.0.0.0/8".parse().expect("a network")],
        connect_to: (0..80)
            .map(|host| format!("host{host}.third.com:80:127.0.0.3:9").parse().expect("a detour"))
            .collect(),
        ..Outbound::default()
    });
    let busy = (0..80).map(|host| format!("http://host{host}.third.com/"));
    let site = Site::of(&[("/", &anchors(busy.chain([elsewhere.url("/x").to_string()])))]).await;
    let pace =
        RateLimits { in_flight: 1, max_wait: Duration::from_millis(20), ..RateLimits::default() };
    let limiter = CrawlLimiter::with_limits(pace);
    let others = of_team(&limiter, 1);
    let address = "127.0.0.3".parse().expect("an address");
    let _turn = others.acquire(address, true).await.expect("a turn");
    let url = site.url("/");
    let deadline = Duration::from_secs(3);
    let result = crawl_with(&guard, &limiter, &LinksProbe { deadline, ..of(&url) }).await;
    assert_eq!(broken(&result, &site), [format!("404 {} /", elsewhere.url("/x"))]);
    assert_eq!(result.crawl.skipped.unchecked, 80, "and is not broken");
}

#[tokio::test]
async fn robots_txt_and_sitemaps_lead_to_no_other_domain() {
    let third = Site::at("127.0.0.3", |_| Reply::file("text/plain", "")).await;
    let away = third.url("/").to_string();
    let elsewhere = {
        let away = away.clone();
        Site::at("127.0.0.2", move |asked| match asked.target.as_str() {
            "/robots.txt" => Reply::redirect(302, &away),
            _ => Reply::new(404),
        })
        .await
    };
    let page = anchors((0..11).map(|number| elsewhere.url(&format!("/{number}"))));
    let site = Site::start(move |asked| match asked.target.as_str() {
        "/" => Reply::html(page.clone()),
        "/robots.txt" | "/sitemap.xml" => Reply::redirect(302, &away),
        _ => Reply::new(404),
    })
    .await;
    let url = site.url("/");
    let result = crawl_at(&brisk(), &of(&url)).await;
    assert_eq!((result.found, result.crawl.robots_txt), (11, false), "as if they were absent");
    assert_eq!(third.connections(), 0);
}

#[tokio::test]
async fn robots_txt_is_followed_within_its_domain() {
    let elsewhere = Site::at("127.0.0.2", |asked| match asked.header("host") {
        Some("third.com") => Reply::redirect(301, "http://www.third.com/robots.txt"),
        _ => Reply::file("text/plain", "User-agent: *\nDisallow: /\n"),
    })
    .await;
    let detour = |host| format!("{host}:80:{}", elsewhere.address).parse().expect("a detour");
    let guard = guard_of(Outbound {
        allow: vec!["127.0.0.0/8".parse().expect("a network")],
        connect_to: ["third.com", "www.third.com"].map(detour).into(),
        ..Outbound::default()
    });
    let page = anchors((0..11).map(|number| format!("http://third.com/{number}")));
    let site = Site::of(&[("/", &page)]).await;
    let url = site.url("/");
    let result = crawl_with(&guard, &brisk(), &of(&url)).await;
    assert_eq!((result.found, result.crawl.skipped.robots), (0, 11));
}
