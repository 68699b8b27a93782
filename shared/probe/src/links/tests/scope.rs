//! What belongs to a site, and what is ignored.

use super::*;
use crate::loopback::guard_of;
use crate::loopback::names::{Entry, NameServer};
use crate::loopback::site::Asked;
use crate::ssrf_guard::Outbound;

fn on_loopback() -> Outbound {
    Outbound { allow: vec!["127.0.0.0/8".parse().expect("a network")], ..Outbound::default() }
}

#[tokio::test]
async fn links_elsewhere_are_checked_and_not_searched_unless_ignored() {
    let elsewhere = Site::at("127.0.0.2", |asked| match asked.target.as_str() {
        "/" => Reply::html(anchors(["/further"])),
        _ => Reply::new(404),
    })
    .await;
    let other_port = Site::of(&[("/", &anchors(["/further"]))]).await;
    let page = anchors([elsewhere.url("/"), elsewhere.url("/gone"), other_port.url("/")]);
    let site = Site::of(&[("/", &page)]).await;
    let url = site.url("/");
    let result = crawl(&url).await;
    assert_eq!(broken(&result, &site), [format!("404 {} /", elsewhere.url("/gone"))]);
    assert_eq!((result.crawled, result.crawl.links), (1, 4));
    assert_eq!(elsewhere.visits(), ["GET /gone", "HEAD /", "HEAD /gone"]);
    assert_eq!(other_port.visits(), ["HEAD /"], "another port is not the site");

    let settings = LinksSettings { ignore_external_links: true, ..LinksSettings::default() };
    let without = LinksProbe { settings: &settings, ..of(&url) };
    let result = crawl_as(&guard(), &without).await;
    assert_eq!((result.found, result.crawl.links), (0, 2));
    assert_eq!(elsewhere.visits().len(), 3, "not asked again");
}

#[tokio::test]
async fn ignored_paths_are_neither_crawled_nor_checked() {
    let elsewhere = Site::at("127.0.0.2", |_| Reply::new(404)).await;
    let page = anchors([
        "/private/x".to_owned(),
        "/file.pdf".to_owned(),
        "/list?page=2".to_owned(),
        "/public".to_owned(),
        elsewhere.url("/private/x").to_string(),
        elsewhere.url("/social").to_string(),
    ]);
    let site = Site::of(&[("/private", &page), ("/private/", "")]).await;
    let url = site.url("/private");
    let social = elsewhere.url("/social").to_string();
    let settings = LinksSettings {
        ignore_paths: ["/private", "*.pdf", "/list?page=*", &social].map(str::to_owned).into(),
        ..LinksSettings::default()
    };
    let result = crawl_as(&guard(), &LinksProbe { settings: &settings, ..of(&url) }).await;
    assert_eq!(result.crawled, 1, "the site's own URL is not ignored");
    assert_eq!(
        broken(&result, &site),
        [
            "404 /public /private".to_owned(),
            format!("404 {} /private", elsewhere.url("/private/x"))
        ]
    );
    assert_eq!(site.visits(), ["GET /private", "GET /public"]);
}

#[tokio::test]
async fn the_request_header_goes_to_the_own_host_only() {
    let elsewhere = Site::at("127.0.0.2", |_| Reply::new(200)).await;
    let other_port = Site::start(|_| Reply::new(200)).await;
    let away = elsewhere.url("/landing").to_string();
    let page = anchors([elsewhere.url("/"), other_port.url("/")])
        + "<img src=/x.png><a href=/a><a href=/away>";
    let site = Site::start(move |asked| match asked.target.as_str() {
        "/" | "/a" => Reply::html(page.clone()),
        "/away" => Reply::redirect(302, &away),
        _ => Reply::new(200),
    })
    .await;
    let url = site.url("/");
    let header = Some(("X-Token", "s3cret"));
    crawl_as(&guard(), &LinksProbe { header, ..of(&url) }).await;
    let sent = |site: &Site| -> Vec<bool> {
        site.asked().iter().map(|asked| asked.header("x-token") == Some("s3cret")).collect()
    };
    assert!(sent(&site).len() >= 6 && sent(&site).iter().all(|sent| *sent));
    assert_eq!(sent(&other_port), [true], "the same host");
    assert_eq!(sent(&elsewhere), [false]);

    let header = Some(("X Token", "s3cret"));
    let error =
        probe(&guard(), &CrawlLimiter::default(), &LinksProbe { header, ..of(&url) }, |_| {}).await;
    let error = error.expect_err("not sent");
    assert_eq!(error.code, "invalid_header");
}

#[tokio::test]
async fn a_user_agent_of_the_sites_own_stays_at_home() {
    let elsewhere = Site::at("127.0.0.2", |_| Reply::new(404)).await;
    let page = anchors([elsewhere.url("/").to_string(), "/gone".to_owned()]);
    let site = Site::of(&[("/", &page)]).await;
    let url = site.url("/");
    let header = Some(("User-Agent", "Mine/1"));
    crawl_as(&guard(), &LinksProbe { header, ..of(&url) }).await;
    let names = |site: &Site| -> Vec<_> {
        let name = |name| move |asked: &Asked| asked.header(name).map(str::to_owned);
        let [agent, ours] = ["user-agent", "x-monitored-by"].map(name);
        let mut names: Vec<_> =
            site.asked().iter().map(|asked| (agent(asked), ours(asked))).collect();
        names.dedup();
        names
    };
    let ours = Some(crate::USER_AGENT.to_owned());
    assert_eq!(names(&site), [(Some("Mine/1".to_owned()), ours.clone())]);
    assert_eq!(names(&elsewhere), [(ours, None)]);
}

#[tokio::test]
async fn what_the_guard_refuses_is_not_connected_to_and_not_broken() {
    let inner = Site::at("127.0.0.2", |_| Reply::new(404)).await;
    let names = NameServer::start([("inner.example", Entry::addresses(&["127.0.0.2"]))]).await;
    let guard = names.guard(Outbound {
        allow: vec!["127.0.0.1/32".parse().expect("a network")],
        ..Outbound::default()
    });
    let by_name = format!("http://inner.example:{}/", inner.address.port());
    let page = anchors([
        inner.url("/a").to_string(),
        inner.url("/b").to_string(),
        by_name,
        "http://169.254.169.254/latest/meta-data/".to_owned(),
        "http://[::1]/".to_owned(),
        "/redirect".to_owned(),
    ]);
    let inward = inner.url("/c").to_string();
    let site = Site::start(move |asked| match asked.target.as_str() {
        "/" => Reply::html(page.clone()),
        _ => Reply::redirect(302, &inward),
    })
    .await;
    let url = site.url("/");
    let result = crawl_as(&guard, &of(&url)).await;
    assert_eq!(broken(&result, &site), [""; 0]);
    assert_eq!(result.crawl.links, 2);
    assert_eq!(result.crawl.skipped.forbidden, 5);
    assert_eq!(inner.connections(), 0);
}

#[tokio::test]
async fn a_site_that_may_not_be_reached_fails_the_check() {
    let site = Site::of(&[("/", "")]).await;
    let url = site.url("/");
    let guard = guard_of(Outbound::default());
    let error =
        probe(&guard, &CrawlLimiter::default(), &of(&url), |_| {}).await.expect_err("refused");
    assert_eq!(
        (error.code.as_str(), &error.data["address"]),
        ("target_forbidden", &"127.0.0.1".into())
    );
    assert_eq!(site.connections(), 0);
    let url = "ftp://127.0.0.1/".parse().expect("a URL");
    let error =
        probe(&guard, &CrawlLimiter::default(), &of(&url), |_| {}).await.expect_err("refused");
    assert_eq!(error.code, "target_forbidden");
}

#[tokio::test]
async fn a_crawl_that_cannot_begin_says_why() {
    let page = || Reply::html(anchors(["/gone"]));
    let elsewhere = Site::at("127.0.0.2", move |_| page()).await;
    let away = elsewhere.url("/").to_string();
    let site = Site::start(move |asked| match asked.target.as_str() {
        "/error" => Reply::new(503),
        "/away" => Reply::redirect(301, &away),
        "/loop" => Reply::redirect(301, "/loop"),
        "/to-error" => Reply::redirect(302, "/error"),
        "/text" => Reply::file("text/plain", "<a href=/gone>"),
        "/to-file" => Reply::redirect(302, "/file.pdf"),
        "/file.pdf" => Reply::new(200),
        "/robots.txt" => Reply::file("text/plain", "User-agent: *\nDisallow: /private\n"),
        "/sitemap.xml" => Reply::file("text/xml", "<url><loc>/gone</loc></url>"),
        _ => Reply::html(""),
    })
    .await;
    for (path, reason, found) in [
        ("/error", FinishReason::Unreachable, 1),
        ("/away", FinishReason::RedirectedAway, 0),
        ("/loop", FinishReason::Unreachable, 0),
        ("/to-error", FinishReason::Unreachable, 1),
        ("/text", FinishReason::NotHtml, 0),
        ("/to-file", FinishReason::NotHtml, 0),
        ("/private", FinishReason::RobotsDisallowed, 0),
        ("/", FinishReason::Completed, 0),
    ] {
        let result = crawl(&site.url(path)).await;
        assert_eq!((result.crawl.finish_reason, result.found), (reason, found), "{path}");
        // The site, and the page that its sitemap names.
        assert_eq!(result.crawled, if path == "/" { 2 } else { 0 }, "{path}");
    }
    let closed = "http://127.0.0.4:1/".parse().expect("a URL");
    let result = crawl(&closed).await;
    assert_eq!(result.crawl.finish_reason, FinishReason::Unreachable);
    let itself = BrokenLink { url: closed.to_string(), source: closed.to_string(), status: 0 };
    assert_eq!(result.urls, [itself]);
}

#[tokio::test]
async fn the_site_may_live_at_its_name_with_www() {
    let names = NameServer::start([
        ("site.example", Entry::addresses(&["127.0.0.1"])),
        ("www.site.example", Entry::addresses(&["127.0.0.1"])),
        ("other.example", Entry::addresses(&["127.0.0.1"])),
    ])
    .await;
    let guard = names.guard(on_loopback());
    let site = Site::start(|asked| {
        let host = asked.header("host").unwrap_or_default();
        let port = host.rsplit(':').next().unwrap_or_default();
        match (host.split(':').next().unwrap_or_default(), asked.target.as_str()) {
            ("site.example", path) => {
                Reply::redirect(301, &format!("http://www.site.example:{port}{path}"))
            }
            ("www.site.example", "/") => Reply::html(anchors([
                "/a".to_owned(),
                format!("http://site.example:{port}/b"),
                format!("http://other.example:{port}/"),
            ])),
            ("www.site.example", "/a") => Reply::html(anchors(["/gone"])),
            ("www.site.example", "/b") | ("other.example", _) => Reply::html(""),
            _ => Reply::new(404),
        }
    })
    .await;
    let url = format!("http://site.example:{}/", site.address.port()).parse().expect("a URL");
    let result = crawl_as(&guard, &of(&url)).await;
    assert_eq!((result.crawled, result.found), (3, 1));
    assert_eq!(result.crawl.finish_reason, FinishReason::Completed);
    assert!(result.urls[0].url.contains("www.site.example"));
}
