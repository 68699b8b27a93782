//! Every page says so when the service cannot do its work.

use vedette_runtime::health::ServiceProblem;
use vedette_testkit::TestApp;

use crate::support::{Browser, body};

/// The text as a page shows it.
const WHAT: &str = "Nothing can be saved (disk full): ";

#[tokio::test]
async fn every_page_says_what_is_wrong_until_it_is_over() {
    let (test, owner) = TestApp::with_team().await;
    let (stranger, browser) = (Browser::new(&test), Browser::of(&test, owner.user).await);
    let parts = ["", "/events", "/settings", "/channels", "/members", "/plan", "/sites/new"];
    let pages = parts.map(|part| format!("/teams/{}{part}", owner.team));
    let pages =
        ["/", "/sessions", "/tokens", "/sign-in"].map(str::to_owned).into_iter().chain(pages);
    let pages: Vec<String> = pages.collect();
    for is_degraded in [true, false] {
        if is_degraded {
            let problem = ServiceProblem::NotWritable { why: "disk full".to_owned() };
            test.app.health.report(problem, test.now());
        } else {
            test.app.health.report_over(|_| true);
        }
        for path in &pages {
            let page = browser.get(path).await;
            // Between the app bar and the page's own part, where the script keeps it as it is, too.
            let band = body(&page).split_once("<div id=\"band\">").expect("a place for it").1;
            let (band, _) = band.split_once("<main").expect("the main part");
            assert_eq!(band.contains(WHAT), is_degraded, "{path}: {band}");
            assert_eq!(band.contains("Since <time"), is_degraded, "{path}: {band}");
        }
        let refused = browser.get("/sites/0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01").await;
        assert_eq!((refused.status().as_u16(), body(&refused).contains(WHAT)), (404, is_degraded));
        for path in ["/sign-in", "/sign-in/x"] {
            let page = stranger.get(path).await;
            let page = body(&page);
            assert_eq!(page.contains("This service has a problem."), is_degraded, "{path}: {page}");
            assert!(!page.contains(WHAT), "{path} tells a stranger what is wrong");
        }
    }
}
