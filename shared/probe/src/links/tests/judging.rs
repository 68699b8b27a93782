//! Which links are broken.

use super::*;
use crate::loopback::Server;

#[tokio::test]
async fn the_first_answer_decides() {
    const CODES: [u16; 18] =
        [200, 201, 204, 206, 300, 301, 302, 303, 304, 307, 308, 400, 401, 404, 410, 418, 500, 503];
    let site = Site::start(|asked| match asked.target.trim_matches('/').parse() {
        Ok(code @ 300..400) => Reply::redirect(code, "/fine"),
        Ok(code) => Reply::new(code),
        Err(_) if asked.target == "/" => Reply::html(anchors(CODES)),
        Err(_) => Reply::html(""),
    })
    .await;
    let url = site.url("/");
    let codes =
        |result: &LinksResult| -> Vec<u16> { result.urls.iter().map(|link| link.status).collect() };
    let result = crawl(&url).await;
    let fine = [200, 301, 302, 303];
    let expected: Vec<_> = CODES.into_iter().filter(|code| !fine.contains(code)).collect();
    assert_eq!(codes(&result), expected);

    let settings = LinksSettings { ignore_redirects: true, ..LinksSettings::default() };
    let without = LinksProbe { settings: &settings, ..of(&url) };
    let result = crawl_as(&guard(), &without).await;
    let expected: Vec<_> = expected.into_iter().filter(|code| !(300..400).contains(code)).collect();
    assert_eq!(codes(&result), expected, "redirects are not findings");
}

#[tokio::test]
async fn only_a_redirect_with_a_target_is_one() {
    let site = Site::start(|asked| match asked.target.as_str() {
        "/" => Reply::html(anchors(["/cached", "/nowhere", "/there"])),
        "/there" => Reply::redirect(308, "/fine"),
        "/fine" => Reply::html(""),
        "/cached" => Reply::new(304),
        _ => Reply::new(307),
    })
    .await;
    let url = site.url("/");
    let settings = LinksSettings { ignore_redirects: true, ..LinksSettings::default() };
    let without = LinksProbe { settings: &settings, ..of(&url) };
    let result = crawl_as(&guard(), &without).await;
    assert_eq!(broken(&result, &site), ["304 /cached /", "307 /nowhere /"]);
}

#[tokio::test]
async fn no_answer_is_status_0() {
    let closed = Server::http_at("127.0.0.2", |_| Vec::new()).await;
    let garbage = Server::http_at("127.0.0.3", |_| b"SSH-2.0-x\r\n".to_vec()).await;
    let page = format!(
        "<a href='{}'><a href='{}'><a href='http://127.0.0.4:1/'><a href='http://no-such.invalid/'>\
         <a href='http://'><img src='https://a b/'>",
        closed.url("/"),
        garbage.url("/"),
    );
    let site = Site::of(&[("/", &page)]).await;
    let names = crate::loopback::names::NameServer::start([]).await;
    let guard = names.guard(crate::ssrf_guard::Outbound {
        allow: vec!["127.0.0.0/8".parse().expect("a network")],
        ..Default::default()
    });
    let url = site.url("/");
    let result = crawl_as(&guard, &of(&url)).await;
    let expected = [
        format!("0 {} /", closed.url("/")),
        format!("0 {} /", garbage.url("/")),
        "0 http://127.0.0.4:1/ /".to_owned(),
        "0 http://no-such.invalid/ /".to_owned(),
        "0 http:// /".to_owned(),
        "0 https://a b/ /".to_owned(),
    ];
    assert_eq!(broken(&result, &site), expected);
    assert_eq!((result.found, result.crawl.links), (6, 7));
}

#[tokio::test]
async fn a_link_that_fails_with_head_is_requested_with_get() {
    let site = Site::start(|asked| match (asked.is_head(), asked.target.as_str()) {
        (_, "/") => Reply::html(
            "<img src=/405><img src=/501><img src=/403><img src=/404><img src=/500><img src=/200>\
             <img src=/308><img src=/gone>",
        ),
        (_, "/200") => Reply::new(200),
        (_, "/308") => Reply::redirect(308, "/200"),
        (_, "/gone") => Reply::new(404),
        (true, path) => Reply::new(path.trim_matches('/').parse().unwrap_or(404)),
        (false, _) => Reply::new(200),
    })
    .await;
    let result = crawl(&site.url("/")).await;
    assert_eq!(broken(&result, &site), ["308 /308 /", "404 /gone /"]);
    let visits = site.visits();
    assert!(!visits.contains(&"GET /200".to_owned()), "a file is not fetched to be checked");
    assert!(!visits.contains(&"GET /308".to_owned()));
    assert!(visits.contains(&"GET /405".to_owned()));
}

#[tokio::test]
async fn a_server_that_is_silent_to_head_is_asked_again() {
    let silent = Server::http_at("127.0.0.2", |head| {
        if head.starts_with("HEAD") { Vec::new() } else { crate::loopback::status(200) }
    })
    .await;
    let page = anchors((0..12).map(|number| silent.url(&format!("/{number}"))));
    let site = Site::of(&[("/", &page)]).await;
    assert_eq!(crawl(&site.url("/")).await.found, 0);
}

#[tokio::test]
async fn retry_after_of_the_own_site_is_respected() {
    let asked_before = std::sync::Mutex::new(std::collections::HashSet::new());
    let site = Site::start(move |asked| {
        let again = !asked_before.lock().expect("no panic").insert(asked.target.clone());
        match asked.target.as_str() {
            "/" => Reply::html(anchors(["/busy", "/always", "/down"])),
            "/busy" if again => Reply::html(anchors(["/found"])),
            "/busy" => Reply::new(429).with("Retry-After", "0"),
            "/always" => Reply::new(503).with("Retry-After", "0"),
            "/down" => Reply::new(503),
            _ => Reply::new(404),
        }
    })
    .await;
    let result = crawl(&site.url("/")).await;
    let found = ["503 /always /", "503 /down /", "404 /found /busy"];
    assert_eq!(broken(&result, &site), found);
    assert_eq!(result.crawl.skipped, SkippedLinks::default());
    let visits = site.visits();
    let count = |visit: &str| visits.iter().filter(|other| *other == visit).count();
    assert_eq!(["GET /busy", "GET /always", "GET /down"].map(count), [2, 3, 1]);
}

#[tokio::test]
async fn a_link_to_a_throttling_host_is_not_broken() {
    let gets_better = std::sync::atomic::AtomicBool::new(false);
    let elsewhere = Site::at("127.0.0.2", move |asked| match asked.target.as_str() {
        "/busy" if gets_better.swap(true, std::sync::atomic::Ordering::Relaxed) => Reply::new(404),
        "/busy" | "/always" => Reply::new(429).with("Retry-After", "0"),
        "/soon" => Reply::new(503)
            .with("Date", "Sat, 21 Nov 2026 10:00:00 GMT")
            .with("Retry-After", "Sat, 21 Nov 2026 09:59:59 GMT"),
        "/down" => Reply::new(503),
        _ => Reply::new(200),
    })
    .await;
    let closed = Site::at("127.0.0.3", |_| {
        Reply::new(503)
            .with("Date", "Sat, 21 Nov 2026 10:00:00 GMT")
            .with("Retry-After", "Saturday, 21-Nov-26 11:00:00 GMT")
    })
    .await;
    let page = anchors(["/busy", "/always", "/soon", "/down"].map(|path| elsewhere.url(path)))
        + &anchors((0..8).map(|number| closed.url(&format!("/{number}"))));
    let site = Site::of(&[("/", &page)]).await;
    let url = site.url("/");
    let result = crawl_at(&brisk(), &of(&url)).await;
    let found: Vec<_> = result.urls.iter().map(|link| (link.status, link.url.as_str())).collect();
    let [busy, down] = ["/busy", "/down"].map(|path| elsewhere.url(path).to_string());
    assert_eq!(found, [(404, busy.as_str()), (503, down.as_str())]);
    assert_eq!(result.crawl.skipped.rate_limited, 2 + 8);
    let visits = elsewhere.visits();
    let count = |visit: &str| visits.iter().filter(|other| *other == visit).count();
    assert_eq!(["HEAD /busy", "HEAD /always", "HEAD /soon"].map(count), [2, 3, 3]);
    assert!(closed.visits().len() <= 2, "asked no more: {:?}", closed.visits());
}

#[tokio::test]
async fn redirects_of_pages_are_followed_as_further_links() {
    let elsewhere = Site::at("127.0.0.2", |_| Reply::new(404)).await;
    let away = elsewhere.url("/").to_string();
    let site = Site::start(move |asked| match asked.target.as_str() {
        "/" => Reply::html(anchors(["/old", "/loop", "/round", "/dead", "/away"])),
        "/old" => Reply::redirect(301, "new#part"),
        "/new" => Reply::html(anchors(["/gone"])),
        "/loop" => Reply::redirect(302, "/loop"),
        "/round" => Reply::redirect(302, "/trip"),
        "/trip" => Reply::redirect(303, "/round"),
        "/dead" => Reply::redirect(301, "/not-there"),
        "/away" => Reply::redirect(302, &away),
        _ => Reply::new(404),
    })
    .await;
    let result = crawl(&site.url("/")).await;
    assert_eq!(broken(&result, &site), ["404 /not-there /dead", "404 /gone /new"]);
    assert_eq!(result.crawled, 2);
    assert_eq!(elsewhere.visits().len(), 0, "elsewhere, the first answer is all that counts");
}
