//! Cookies within a chain of redirects and within a crawl.

use std::time::Duration;

use url::Url;
use vedette_domain::checks::check::{FinishReason, LinksResult};
use vedette_domain::locations::{Answer, Question, RemoteStatus};
use vedette_domain::sites::settings::LinksSettings;
use vedette_probe::links::{self, CrawlLimiter, LinksProbe};
use vedette_probe::ssrf_guard::SsrfGuard;
use vedette_testkit::loopback;
use vedette_tests::Service;

use crate::crawls::crawl_of;
use crate::redirects::{RawSite, checked, page, path, redirect};

fn cookies(head: &str) -> &str {
    head.lines().find_map(|line| line.strip_prefix("cookie: ")).unwrap_or_default()
}

/// What a crawl finds, with a request header of the site.
pub(crate) async fn crawled(url: &Url, header: Option<(&str, &str)>) -> LinksResult {
    let settings = LinksSettings::default();
    let probe =
        LinksProbe { header, deadline: Duration::from_secs(20), ..crawl_of(url, &settings) };
    let guard = SsrfGuard::new(loopback()).expect("a guard");
    let limiter = CrawlLimiter::default();
    links::probe(&guard, &limiter, &probe, |_| {}).await.expect("a completed crawl")
}

#[tokio::test]
async fn a_site_that_redirects_until_it_gets_its_cookie_is_up_if_browsers_send_it() {
    let service = Service::start().await;
    for (lines, is_sent) in [
        ("Set-Cookie: seen=1\r\n", true),
        ("Set-Cookie: seen=1; path=/a; HttpOnly; SameSite=Strict\r\n", true),
        ("Set-Cookie: seen=1; Domain=127.0.0.1; Max-Age=5\r\n", true),
        ("Set-Cookie: old=1; Max-Age=0\r\nSet-Cookie: seen=1\r\n", true),
        ("Set-Cookie: seen=1; Expires=Fri, 31-Dec-9999 23:59:59 GMT\r\n", true),
        ("Set-Cookie: seen=1; Secure\r\n", false),
        ("Set-Cookie: seen=1; Path=/b\r\n", false),
        ("Set-Cookie: seen=1; Domain=0.0.1\r\n", false),
        ("Set-Cookie: seen=1; Expires=Thu, 01-Jan-70 00:00:01 GMT\r\n", false),
        ("Set-Cookie: seen=1\r\nSet-Cookie: seen=; Max-Age=-1\r\n", false),
        ("Set-Cookie: __Host-seen=1; Path=/\r\n", false),
    ] {
        let site = RawSite::start(move |head| match cookies(head).contains("seen=1") {
            true => page("", "hello"),
            false => redirect(b"/a/b", lines),
        })
        .await;
        let url = site.url("/a/b");
        let result = checked(loopback(), &url, None).await;
        let error = (!is_sent).then_some("more than 10 redirects");
        assert_eq!((result.up, result.error.as_deref()), (is_sent, error), "{lines}");
        let question = Question::new(url, None, Duration::from_secs(9));
        let Answer::Checked(RemoteStatus { code, .. }) = service.engines.look_for(&question).await
        else {
            panic!("a status")
        };
        assert_eq!(code, if is_sent { 200 } else { 0 }, "{lines}");
    }
}

#[tokio::test]
async fn a_cookie_replaces_the_one_in_the_request_header_of_the_site() {
    // Many servers read the first of several cookies with one name.
    let site = RawSite::start(|head| match cookies(head) {
        "lang=de; s=new" => page("", "hello"),
        _ => redirect(b"/", "Set-Cookie: s=new\r\n"),
    })
    .await;
    let header = Some(("Cookie", "s=old; lang=de"));
    let result = checked(loopback(), &site.url("/"), header).await;
    assert_eq!((result.up, result.redirect_count), (true, 1));
}

#[tokio::test]
async fn a_cookie_reaches_the_hosts_that_it_names() {
    for (attribute, expected) in [
        ("; Domain=shop.test", "a=1"),
        ("", ""),
        ("; Domain=test", ""),
        ("; Domain=other.test", ""),
    ] {
        let target = RawSite::start(|_| page("", "hello")).await;
        let port = target.address.port();
        let location = format!("http://www.shop.test:{port}/");
        let lines = format!("Set-Cookie: a=1{attribute}\r\n");
        let first = RawSite::start(move |_| redirect(location.as_bytes(), &lines)).await;
        let mut outbound = loopback();
        for detour in [
            format!("login.shop.test:80:{}", first.address),
            format!("www.shop.test:{port}:{}", target.address),
        ] {
            outbound.connect_to.push(detour.parse().expect("a detour"));
        }
        let url = "http://login.shop.test/".parse().expect("a URL");
        assert!(checked(outbound, &url, None).await.up);
        assert_eq!(cookies(&target.heads()[0]), expected, "{attribute}");
    }
}

#[tokio::test]
async fn a_crawl_keeps_the_cookies_of_its_entry_on_its_own_host() {
    // The entry redirects to itself, to a page that sets the cookie, or in a circle that takes two cookies.
    for number in 0..3 {
        let elsewhere = RawSite::at("127.0.0.2", |_| page("", "")).await;
        let link = elsewhere.url("/");
        let site = RawSite::start(move |head| match (path(head), cookies(head)) {
            ("/robots.txt", _) => page("", "User-agent: *\nDisallow:\n"),
            ("/set", "a=1") if number == 2 => redirect(b"/", "Set-Cookie: b=1\r\n"),
            ("/set", _) => redirect(b"/", "Set-Cookie: a=1\r\n"),
            ("/", "") if number == 0 => redirect(b"/", "Set-Cookie: a=1\r\n"),
            ("/", "a=1") if number == 2 => redirect(b"/set", ""),
            ("/", "") => redirect(b"/set", ""),
            (_, "") => redirect(b"/", ""),
            // Later pages set no cookies.
            ("/", _) => page(
                "Set-Cookie: c=1\r\n",
                &format!("<a href=/x>x</a><a href=/gone>y</a><a href={link}>z</a>"),
            ),
            ("/x", _) => page("Set-Cookie: d=1\r\n", "<a href=/y>y</a>"),
            ("/y", _) => page("", ""),
            _ => b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_vec(),
        })
        .await;
        let result = crawled(&site.url("/"), None).await;
        assert_eq!(result.crawl.finish_reason, FinishReason::Completed, "{number}");
        assert_eq!(result.crawled, 3, "{number}");
        let gone = site.url("/gone").to_string();
        assert!(result.urls.iter().any(|link| link.url == gone && link.status == 404));
        let heads = site.heads();
        let sent = |of| heads.iter().filter(move |head| path(head) == of).map(|head| cookies(head));
        let expected = if number == 2 { "a=1; b=1; c=1" } else { "a=1; c=1" };
        for of in ["/x", "/y", "/gone"] {
            assert!(sent(of).all(|sent| sent == expected), "{number} {of}");
            assert!(sent(of).next().is_some(), "{number} {of}");
        }
        let elsewhere = elsewhere.heads();
        assert!(!elsewhere.is_empty() && elsewhere.iter().all(|head| cookies(head).is_empty()));
    }
}

#[tokio::test]
async fn a_crawl_ends_if_its_entry_redirects_in_circles() {
    for lines in ["", "Set-Cookie: a=1\r\n", "Set-Cookie: a=1; Secure\r\n"] {
        let site = RawSite::start(move |head| match path(head) {
            "/" => redirect(b"/", lines),
            _ => b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_vec(),
        })
        .await;
        let result = crawled(&site.url("/"), None).await;
        assert_eq!(result.crawl.finish_reason, FinishReason::Unreachable, "{lines}");
        let visits = site.heads().iter().filter(|head| path(head) == "/").count();
        assert_eq!(visits, if lines == "Set-Cookie: a=1\r\n" { 2 } else { 1 }, "{lines}");
    }
}
