//! Uptime figures: they say 100 % only if no check failed.

use serde_json::{Value, json};
use vedette_domain::checks::check::{Finish, ToolResult};
use vedette_domain::checks::history::{CheckCount, Day, Kind, day_of};
use vedette_domain::checks::report::{Span, uptime};
use vedette_domain::checks::tool::{CheckStatus, RunReason, Tool};
use vedette_domain::id::{CheckId, SiteId, Trigger};
use vedette_http::resource::UptimeResource;
use vedette_testkit::{START, status_result};
use vedette_tests::Service;

use crate::pages::Visitor;

/// A day with automatic checks, of which some found the site down.
fn day(checks: u32, failed: u32) -> Day {
    let at = START.parse().expect("a timestamp");
    let mut day = Day::new(day_of(at), 90);
    let trigger = Trigger::Automatic(RunReason::Scheduled);
    for _ in 0..checks {
        day.counters.add(Kind { trigger, status: CheckStatus::Completed }, at);
    }
    day.sums.up = checks - failed;
    day
}

#[test]
fn a_figure_is_100_only_if_no_check_failed() {
    for (checks, failed, figure, words) in [
        (20_001, 1, 99.99, "99.99"),
        (20_001, 0, 100.0, "100"),
        (43_200, 2, 99.99, "99.99"),
        (86_400, 1, 99.99, "99.99"),
        (30_000, 29_999, 0.0, "0.00"),
        (6, 1, 83.33, "83.33"),
        (7, 2, 71.42, "71.42"),
        (11, 1, 90.9, "90.90"),
        (10_000, 1, 99.99, "99.99"),
        (10_000, 43, 99.57, "99.57"),
    ] {
        let day = day(checks, failed);
        let report = uptime(Span { from: day.date, to: day.date }, [&day]);
        let report = serde_json::to_value(UptimeResource::from(report)).expect("JSON");
        assert_eq!(report["total_uptime_percentage"], json!(figure), "{failed} of {checks}");
        assert_eq!(report["days"][0]["uptime_percentage"], json!(figure), "{failed} of {checks}");
        let shown = CheckCount { checks, failed }.uptime().expect("checks");
        assert_eq!(shown.to_string(), words, "{failed} of {checks}");
    }
}

/// Ends checks every five minutes; the last ones find the site down.
async fn checked(service: &Service, site: SiteId, checks: usize, failed: usize) {
    for number in 0..checks {
        let code = if number < checks - failed { 200 } else { 503 };
        let result = status_result("https://shop.test/", code, 100.0);
        let finish = Finish::Completed(ToolResult::Status(result));
        let now = service.test.now();
        let check = CheckId::automatic(site, Tool::Status, RunReason::Scheduled, now);
        service.test.end_run(site, check, finish).await;
        service.advance_minutes(5);
    }
}

#[tokio::test]
async fn api_pages_print_and_files_show_the_same_figure() {
    for (checks, failed, figure, words) in [
        (7, 2, 71.42, "71.42"),
        (6, 1, 83.33, "83.33"),
        (12, 1, 91.66, "91.66"),
        (3, 0, 100.0, "100"),
    ] {
        let (service, owner) = Service::with_team().await;
        let path = format!("/teams/{}/sites", owner.team);
        let body = json!({ "url": "https://shop.test/" });
        let created = service.client(&owner).post(&path, &body).await;
        let site = SiteId::parse(&created.data("uuid")).expect("an id");
        checked(&service, site, checks, failed).await;

        let path = format!("/sites/{site}/reports/uptime?days=1");
        let report = service.client(&owner).get(&path).await.body["data"].clone();
        assert_eq!(report["total_uptime_percentage"], json!(figure));
        assert_eq!(report["days"][0]["uptime_percentage"], json!(figure));

        let visitor = Visitor::signed_in(&service.test, owner.user).await;
        let shown = format!("{words}\u{202f}%");
        for path in ["/".to_owned(), format!("/sites/{site}")] {
            let page = visitor.get(&path).await;
            assert!(page.contains(&shown), "{path} lacks {shown}: {page}");
        }
        let report = visitor.get(&format!("/sites/{site}/report")).await;
        assert!(report.contains(&format!("{words} % of the checks")), "{report}");
        let csv = visitor.get(&format!("/sites/{site}/report.csv")).await;
        let row = format!("2026-11-20,{checks},{},{},", checks - failed, Value::from(figure));
        assert!(csv.contains(row.trim_end_matches(".0,")), "{row}: {csv}");
    }
}
