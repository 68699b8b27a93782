//! `GET /sites/{site}/reports/performance`: the days of a report and their averages.

use jiff::civil::{Date, date};
use serde_json::json;
use vedette_domain::accounts::plan::Plan;
use vedette_domain::checks::history::{Day, Kind, Sum, day_start};
use vedette_domain::checks::tool::{CheckStatus, RunReason, Tool};
use vedette_domain::checks::tool_state::ToolState;
use vedette_domain::id::{SiteId, Trigger};
use vedette_testkit::{ApiResponse, Member, new_team};
use vedette_tests::Service;

use super::{WRONG_DAYS, days, report, set_clock};
use crate::support::{assert_invalid, new_site};

async fn performance(service: &Service, caller: &Member, site: SiteId, query: &str) -> ApiResponse {
    report(service, caller, site, &format!("performance{query}")).await
}

fn sum(values: &[f64]) -> Sum {
    let mut sum = Sum::default();
    values.iter().for_each(|value| sum.add(*value));
    sum
}

/// A day with completed performance checks. Each measured a score, a response time in milliseconds and a Speed Index in
/// seconds; some lack one of them.
fn day(date: Date, checks: &[(Option<f64>, Option<f64>, Option<f64>)]) -> Day {
    let mut day = Day::new(date, 365);
    let trigger = Trigger::Automatic(RunReason::Scheduled);
    for _ in checks {
        day.counters.add(Kind { trigger, status: CheckStatus::Completed }, day_start(date));
    }
    day.sums.score = sum(&checks.iter().filter_map(|check| check.0).collect::<Vec<_>>());
    day.sums.response_ms = sum(&checks.iter().filter_map(|check| check.1).collect::<Vec<_>>());
    day.sums.speed_s = sum(&checks.iter().filter_map(|check| check.2).collect::<Vec<_>>());
    day
}

/// Stores an open day of the tool.
async fn put_day(service: &Service, site: SiteId, day: Day) {
    let store = &service.test.app.store;
    let partition = site.partition();
    let found = store.site_tool(partition, Tool::Performance).await.expect("read");
    let (_, read) = found.expect("a site");
    let next = ToolState { rev: read.rev + 1, day: Some(day), ..read };
    let now = service.test.now();
    store.put_tool(partition, Tool::Performance, &next, now).await.expect("written");
}

async fn watched() -> (Service, Member, SiteId) {
    let (service, owner) = Service::with_team().await;
    let site = new_site(&service, &owner, "https://example.com").await;
    (service, owner, site)
}

#[tokio::test]
async fn a_report_has_a_line_for_each_day_and_totals() {
    let (service, owner, site) = watched().await;
    set_clock(&service, "2026-11-21T09:00:00Z");
    let checks = [
        (Some(90.0), Some(120.4), Some(1.005)),
        (Some(95.0), Some(130.0), Some(1.005)),
        (None, Some(141.1), None),
    ];
    put_day(&service, site, day(date(2026, 11, 20), &checks)).await;
    let answer = performance(&service, &owner, site, "?days=3").await;
    insta::assert_snapshot!(answer.shown(), @r#"
    200 {
      "data": {
        "average_performance_score": 92.5,
        "average_response_time": 131,
        "average_speed": 1.01,
        "days": [
          {
            "date": "2026-11-19T00:00:00+00:00",
            "performance_score": null,
            "response_time": null,
            "speed": null,
            "total_checks": 0
          },
          {
            "date": "2026-11-20T00:00:00+00:00",
            "performance_score": 92.5,
            "response_time": 131,
            "speed": 1.01,
            "total_checks": 3
          },
          {
            "date": "2026-11-21T00:00:00+00:00",
            "performance_score": null,
            "response_time": null,
            "speed": null,
            "total_checks": 0
          }
        ],
        "total_checks": 3
      }
    }
    "#);
}

#[tokio::test]
async fn a_new_site_has_thirty_empty_days() {
    let (service, owner, site) = watched().await;
    let answer = performance(&service, &owner, site, "").await;
    assert_eq!(days(&answer).len(), 30);
    for day in days(&answer) {
        let expected = json!({
            "date": day["date"],
            "performance_score": null,
            "response_time": null,
            "speed": null,
            "total_checks": 0,
        });
        assert_eq!(*day, expected);
    }
    assert_eq!(days(&answer)[0]["date"], "2026-10-22T00:00:00+00:00");
    assert_eq!(days(&answer)[29]["date"], "2026-11-20T00:00:00+00:00");
    for field in ["average_performance_score", "average_response_time", "average_speed"] {
        assert_eq!(answer.body["data"][field], json!(null), "{field}");
    }
    assert_eq!(answer.body["data"]["total_checks"], 0);
}

#[tokio::test]
async fn days_are_between_1_and_365() {
    let (service, owner, site) = watched().await;
    for asked in [1, 30, 365] {
        let answer = performance(&service, &owner, site, &format!("?days={asked}")).await;
        assert_eq!(days(&answer).len(), asked);
        assert_eq!(days(&answer)[asked - 1]["date"], "2026-11-20T00:00:00+00:00");
    }
    for (sent, message) in WRONG_DAYS {
        let answer = performance(&service, &owner, site, &format!("?days={sent}")).await;
        assert_invalid(&answer, "days", message);
    }
}

#[tokio::test]
async fn checks_of_other_tools_are_not_in_the_performance_report() {
    let (service, owner, site) = watched().await;
    service.consume().await;
    let list = service.client(&owner).get(&format!("/sites/{site}/checks")).await;
    assert_eq!(list.body["meta"]["total"], 1);
    let answer = performance(&service, &owner, site, "").await;
    assert_eq!(answer.body["data"]["total_checks"], 0);
}

#[tokio::test]
async fn a_day_that_retention_has_taken_is_empty() {
    let service = Service::start().await;
    let owner = new_team(&service.test, Plan::Starter).await;
    let site = new_site(&service, &owner, "https://example.com").await;
    let checks = [(Some(50.0), Some(100.0), Some(2.0))];
    put_day(&service, site, day(date(2026, 11, 20), &checks)).await;
    for (now, total) in [("2026-12-19T23:59:59Z", 1), ("2026-12-20T00:00:00Z", 0)] {
        set_clock(&service, now);
        let answer = performance(&service, &owner, site, "?days=365").await;
        assert_eq!(answer.body["data"]["total_checks"], total, "{now}");
    }
}

#[tokio::test]
async fn the_report_is_where_the_site_says_it_is() {
    let (service, owner, site) = watched().await;
    let shown = service.client(&owner).get(&format!("/sites/{site}")).await;
    let url = shown.body["data"]["reports"]["performance"].as_str().expect("a URL");
    let path = url.strip_prefix("https://monitor.test/api/v1").expect("our own");
    assert_eq!(service.client(&owner).get(path).await.status, 200);
}
