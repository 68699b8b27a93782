//! The static files of the pages.

use lambda_http::http::HeaderValue;
use vedette_testkit::TestApp;

use crate::support::{ask, body, head, send};

#[tokio::test]
async fn what_pages_are_shown_with_is_kept_for_good_and_found_by_what_is_in_it() {
    let test = TestApp::start().await;
    let page = ask(&test, "GET", "/sign-in").await;
    let policy = page.headers()["content-security-policy"].to_str().expect("text");
    assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    let links = body(&page).split("<link ").skip(1);
    let paths: Vec<&str> =
        links.filter_map(|link| link.split("href=\"").nth(1)?.split('"').next()).collect();
    assert_eq!(paths.len(), 2);
    for path in paths {
        let mut request = head("GET", path);
        request.headers.insert("accept-encoding", HeaderValue::from_static("gzip"));
        let file = send(&test, &request, "").await;
        assert_eq!(file.status(), 200, "{path}");
        assert_eq!(file.headers()["cache-control"], "public, max-age=31536000, immutable");
        assert_eq!(file.headers().contains_key("content-encoding"), path.ends_with(".css"));
    }
    assert_eq!(ask(&test, "GET", "/assets/app-0000000000000000.css").await.status(), 404);
}
