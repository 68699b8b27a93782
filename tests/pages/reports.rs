//! The report of a site.

use vedette_domain::accounts::plan::Plan;
use vedette_domain::clock::Pause;
use vedette_testkit::new_team;

use crate::results::{HARMLESS, end, status};
use crate::site::watched;
use crate::support::{Browser, body, main_part, said};

#[tokio::test]
async fn a_report_says_day_by_day_how_a_site_was() {
    let (service, owner, site) = watched().await;
    // From 9:54 of one day to 9:54 of the third, a check every two hours; an outage from 21:54 to 3:54.
    for run in 0..24 {
        let code = if (6..9).contains(&run) { 503 } else { 200 };
        end(&service, site, status(code, if run == 3 { 400.0 } else { 100.0 })).await;
        service.advance_minutes(120);
    }
    let browser = Browser::of(&service.test, owner.user).await;
    let path = format!("/sites/{site}/report");
    let page = browser.get(&format!("{path}?from=2026-11-20&to=2026-11-21")).await;
    let page = said(&page);
    for text in [
        "85.00 % of the checks",
        "<dt>Outages</dt><dd>1</dd>",
        "<dt>Downtime</dt><dd>6 h</dd>",
        "<td>6 of 8</td>",
        "<td>137 ms</td><td>400 ms</td>",
        ">Down</a>",
        "value=\"2026-11-20\"",
        HARMLESS,
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    let csv = browser.get(&format!("{path}.csv?from=2026-11-19&to=2026-11-21")).await;
    assert_eq!(csv.headers()["content-type"], "text/csv; charset=utf-8");
    let name = "attachment; filename=\"report-2026-11-19-2026-11-21.csv\"";
    assert_eq!(csv.headers()["content-disposition"], name);
    let lines = [
        "date,checks,up_checks,uptime_percentage,mean_response_time_ms,\
         slowest_response_time_ms,incidents,down_minutes\r\n",
        "2026-11-19,0,0,,,,0,0\r\n",
        "2026-11-20,8,6,75,137,400,1,126\r\n",
        "2026-11-21,12,11,91.66,100,100,0,234\r\n",
    ];
    assert_eq!(body(&csv), lines.concat());
    let pause = |from: &str, to: &str| Pause {
        from: from.parse().expect("a timestamp"),
        to: to.parse().expect("a timestamp"),
    };
    service.test.app.health.record_pauses(vec![
        pause("2026-11-20T23:58:30Z", "2026-11-21T00:03:00Z"),
        pause("2026-11-21T10:00:00Z", "2026-11-21T10:05:00Z"),
    ]);
    let page = browser.get(&format!("{path}?from=2026-11-20&to=2026-11-21")).await;
    let page = said(&page);
    for text in [
        "<dt>Without checks</dt><dd>10 min, in which Vedette did not run</dd>",
        "2 min without checks",
        "8 min without checks",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    let csv = browser.get(&format!("{path}.csv?from=2026-11-20&to=2026-11-21")).await;
    let lines = body(&csv).lines().map(|line| line.rsplit(',').next().unwrap_or_default());
    assert_eq!(lines.collect::<Vec<_>>(), ["minutes_without_checks", "2", "8"]);
    // Without a period, the report covers the last 30 days.
    assert!(said(&browser.get(&path).await).contains("value=\"2026-10-24\""));
}

#[tokio::test]
async fn a_report_is_of_days_that_can_be_and_for_its_team() {
    let (service, owner, site) = watched().await;
    let browser = Browser::of(&service.test, owner.user).await;
    let path = format!("/sites/{site}/report");
    for (query, problem) in [
        ("from=2026-11-20&to=2026-11-19", "Must be a date on or after from."),
        ("from=2025-11-20&to=2026-11-20", "A report has at most 365 days."),
        ("from=%3Cb%3E", "Must be a date of the form YYYY-MM-DD."),
    ] {
        let refused = browser.get(&format!("{path}?{query}")).await;
        assert_eq!(refused.status(), 422, "{query}");
        assert!(main_part(&refused).contains(problem), "{}", main_part(&refused));
        assert_eq!(browser.get(&format!("{path}.csv?{query}")).await.status(), 422, "{query}");
    }
    assert_eq!(browser.get(&format!("{path}?from=2025-11-21&to=2026-11-20")).await.status(), 200);
    let stranger = new_team(&service.test, Plan::Agency).await;
    let other = Browser::of(&service.test, stranger.user).await;
    for path in [path.clone(), format!("{path}.csv")] {
        assert_eq!(other.get(&path).await.status(), 404, "{path}");
    }
}
