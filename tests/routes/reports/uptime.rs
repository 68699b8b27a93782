//! `GET /sites/{site}/reports/uptime`: the days of a report and their percentages.

use serde_json::{Value, json};
use vedette_domain::accounts::plan::Plan;
use vedette_domain::checks::check::{CheckError, Finish, ToolResult};
use vedette_domain::checks::tool::{RunReason, Tool};
use vedette_domain::id::{CheckId, SiteId};
use vedette_runs::Recorded;
use vedette_testkit::{ApiResponse, Member, WebServer, new_team, status_result};
use vedette_tests::Service;

use super::{WRONG_DAYS, days, report, set_clock};
use crate::support::{assert_invalid, new_site, set_plan};

async fn uptime(service: &Service, caller: &Member, site: SiteId, query: &str) -> ApiResponse {
    report(service, caller, site, &format!("uptime{query}")).await
}

fn status(code: u16, response_time: f64) -> Finish {
    let result = status_result("https://example.com", code, response_time);
    Finish::Completed(ToolResult::Status(result))
}

/// Saves an automatic check that ran at a time.
async fn ran(service: &Service, site: SiteId, time: &str, reason: RunReason, finish: Finish) {
    set_clock(service, time);
    let app = &service.test.app;
    let found = app.store.site_tool(site.partition(), Tool::Status).await.expect("read");
    let (_, state) = found.expect("a site");
    if reason != RunReason::Scheduled {
        // Wanted as the retry or follow-up in the table.
        let timer = vedette_domain::checks::timer::Timer { reason, due: service.test.now() };
        let next = vedette_domain::checks::tool_state::ToolState {
            rev: state.rev + 1,
            timer: Some(timer),
            ..state
        };
        let (partition, now) = (site.partition(), service.test.now());
        app.store.put_tool(partition, Tool::Status, &next, now).await.expect("written");
    }
    let check = CheckId::automatic(site, Tool::Status, reason, service.test.now());
    let recorded = service.test.end_run(site, check, finish).await;
    assert!(matches!(recorded, Recorded::Saved { .. }), "{recorded:?}");
}

async fn scheduled(service: &Service, site: SiteId, time: &str, finish: Finish) {
    ran(service, site, time, RunReason::Scheduled, finish).await;
}

/// A site without any runs yet.
async fn quiet(plan: Plan) -> (Service, Member, SiteId) {
    let service = Service::start().await;
    let owner = new_team(&service.test, plan).await;
    let site = new_site(&service, &owner, "https://example.com").await;
    service.waiting();
    (service, owner, site)
}

#[tokio::test]
async fn a_report_has_a_line_for_each_day_and_totals() {
    let (service, owner, site) = quiet(Plan::Agency).await;
    scheduled(&service, site, "2026-11-20T10:00:00Z", status(200, 81.4)).await;
    scheduled(&service, site, "2026-11-20T10:05:00Z", status(503, 120.5)).await;
    scheduled(&service, site, "2026-11-20T23:59:59Z", status(301, 99.9)).await;
    scheduled(&service, site, "2026-11-22T00:00:00Z", status(204, 250.0)).await;
    let answer = uptime(&service, &owner, site, "?days=4").await;
    insta::assert_snapshot!(answer.shown(), @r#"
    200 {
      "data": {
        "average_response_time": 186,
        "days": [
          {
            "date": "2026-11-19T00:00:00+00:00",
            "response_time": null,
            "total_checks": 0,
            "up_checks": 0,
            "uptime_percentage": null
          },
          {
            "date": "2026-11-20T00:00:00+00:00",
            "response_time": 121,
            "total_checks": 3,
            "up_checks": 2,
            "uptime_percentage": 66.66
          },
          {
            "date": "2026-11-21T00:00:00+00:00",
            "response_time": null,
            "total_checks": 0,
            "up_checks": 0,
            "uptime_percentage": null
          },
          {
            "date": "2026-11-22T00:00:00+00:00",
            "response_time": 250,
            "total_checks": 1,
            "up_checks": 1,
            "uptime_percentage": 100.0
          }
        ],
        "total_uptime_percentage": 75.0
      }
    }
    "#);
}

#[tokio::test]
async fn a_new_site_has_ninety_empty_days() {
    let (service, owner, site) = quiet(Plan::Agency).await;
    let answer = uptime(&service, &owner, site, "").await;
    assert_eq!(days(&answer).len(), 90);
    for day in days(&answer) {
        let expected = json!({
            "date": day["date"],
            "uptime_percentage": null,
            "response_time": null,
            "total_checks": 0,
            "up_checks": 0,
        });
        assert_eq!(*day, expected);
    }
    assert_eq!(days(&answer)[0]["date"], "2026-08-23T00:00:00+00:00");
    assert_eq!(days(&answer)[89]["date"], "2026-11-20T00:00:00+00:00");
    assert_eq!(answer.body["data"]["total_uptime_percentage"], json!(null));
    assert_eq!(answer.body["data"]["average_response_time"], json!(null));
}

#[tokio::test]
async fn days_are_between_1_and_365() {
    let (service, owner, site) = quiet(Plan::Agency).await;
    for (asked, first) in [
        (1, "2026-11-20T00:00:00+00:00"),
        (2, "2026-11-19T00:00:00+00:00"),
        (365, "2025-11-21T00:00:00+00:00"),
    ] {
        let answer = uptime(&service, &owner, site, &format!("?days={asked}")).await;
        assert_eq!((days(&answer).len(), &days(&answer)[0]["date"]), (asked, &json!(first)));
    }
    for (sent, message) in WRONG_DAYS {
        let answer = uptime(&service, &owner, site, &format!("?days={sent}")).await;
        assert_invalid(&answer, "days", message);
    }
    assert_eq!(uptime(&service, &owner, site, "?unknown=1").await.status, 200);
}

#[tokio::test]
async fn automatic_completed_checks_of_any_reason_count_and_no_others() {
    let (service, owner, site) = quiet(Plan::Agency).await;
    scheduled(&service, site, "2026-11-20T10:00:00Z", status(200, 10.0)).await;
    let reason = RunReason::ConfirmationRetry;
    ran(&service, site, "2026-11-20T10:02:00Z", reason, status(500, 20.0)).await;
    let reason = RunReason::IncidentFollowUp;
    ran(&service, site, "2026-11-20T10:04:00Z", reason, status(200, 15.0)).await;
    let forbidden = CheckError {
        message: "the target is forbidden".to_owned(),
        code: "target_forbidden".to_owned(),
        data: Value::Null,
    };
    scheduled(&service, site, "2026-11-20T10:06:00Z", Finish::Failed(forbidden)).await;
    let shown = uptime(&service, &owner, site, "?days=1").await;
    let expected = json!({
        "date": "2026-11-20T00:00:00+00:00",
        "uptime_percentage": 66.66,
        "response_time": 20,
        "total_checks": 3,
        "up_checks": 2,
    });
    assert_eq!(days(&shown), [expected]);

    // On demand, pending and completed; and checks of other tools.
    let target = WebServer::start().await;
    let other = new_site(&service, &owner, &target.url).await;
    service.waiting();
    let run = json!({ "tools": ["status", "ssl"] });
    service.client(&owner).post(&format!("/sites/{other}/checks"), &run).await;
    assert_eq!(days(&uptime(&service, &owner, other, "?days=1").await)[0]["total_checks"], 0);
    service.consume().await;
    let list = service.client(&owner).get(&format!("/sites/{other}/checks?automatic=false")).await;
    assert_eq!(list.body["meta"]["total"], 2);
    assert_eq!(days(&uptime(&service, &owner, other, "?days=1").await)[0]["total_checks"], 0);
}

#[tokio::test]
async fn up_is_what_the_check_found_whatever_opens_an_issue() {
    let (service, owner, site) = quiet(Plan::Agency).await;
    // No incident code, and yet not up.
    scheduled(&service, site, "2026-11-20T10:00:00Z", status(418, 5.0)).await;
    let answer = uptime(&service, &owner, site, "?days=1").await;
    assert_eq!(days(&answer)[0]["uptime_percentage"], json!(0.0));
    assert_eq!(days(&answer)[0]["up_checks"], 0);
}

#[tokio::test]
async fn the_time_until_a_connection_failed_counts_as_response_time() {
    let (service, owner, site) = quiet(Plan::Agency).await;
    scheduled(&service, site, "2026-11-20T10:00:00Z", status(200, 80.0)).await;
    scheduled(&service, site, "2026-11-20T10:05:00Z", status(0, 30_000.4)).await;
    let answer = uptime(&service, &owner, site, "?days=1").await;
    assert_eq!(days(&answer)[0]["response_time"], 30_000);
    assert_eq!(answer.body["data"]["average_response_time"], 30_000);
    assert_eq!(answer.body["data"]["total_uptime_percentage"], json!(50.0));
}

#[tokio::test]
async fn the_percentage_is_over_checks_and_the_average_over_days() {
    let (service, owner, site) = quiet(Plan::Agency).await;
    for (time, code, ms) in [
        ("2026-11-20T10:00:00Z", 500, 100.0),
        ("2026-11-21T10:00:00Z", 200, 200.0),
        ("2026-11-21T10:05:00Z", 200, 10.0),
        ("2026-11-23T10:00:00Z", 200, 1.0),
    ] {
        scheduled(&service, site, time, status(code, ms)).await;
    }
    let answer = uptime(&service, &owner, site, "?days=10").await;
    assert_eq!(answer.body["data"]["total_uptime_percentage"], json!(75.0));
    // 301 in three days.
    assert_eq!(answer.body["data"]["average_response_time"], 100);
    let fewer = uptime(&service, &owner, site, "?days=3").await;
    assert_eq!(fewer.body["data"]["total_uptime_percentage"], json!(100.0));
    assert_eq!(fewer.body["data"]["average_response_time"], 101);
}

#[tokio::test]
async fn history_shows_for_as_many_days_as_the_plan_keeps_it() {
    let (service, owner, site) = quiet(Plan::Starter).await;
    scheduled(&service, site, "2026-11-20T10:00:00Z", status(200, 10.0)).await;
    scheduled(&service, site, "2026-11-21T10:00:00Z", status(500, 20.0)).await;
    for (now, percentage, entries) in [
        ("2026-12-19T23:59:59Z", json!(50.0), 2),
        ("2026-12-20T00:00:00Z", json!(0.0), 1),
        ("2026-12-21T00:00:00Z", json!(null), 0),
    ] {
        set_clock(&service, now);
        let answer = uptime(&service, &owner, site, "").await;
        assert_eq!(days(&answer).len(), 90);
        assert_eq!(answer.body["data"]["total_uptime_percentage"], percentage, "{now}");
        let counted = days(&answer).iter().filter(|day| day["total_checks"] != 0).count();
        assert_eq!(counted, entries, "{now}");
    }
}

#[tokio::test]
async fn a_smaller_plan_shows_less_at_once() {
    let (service, owner, site) = quiet(Plan::Agency).await;
    scheduled(&service, site, "2026-11-20T10:00:00Z", status(200, 10.0)).await;
    set_clock(&service, "2027-03-01T12:00:00Z");
    let total = async || {
        let answer = uptime(&service, &owner, site, "?days=365").await;
        assert_eq!(days(&answer).len(), 365);
        answer.body["data"]["total_uptime_percentage"].clone()
    };
    assert_eq!(total().await, json!(100.0));
    set_plan(&service, owner.team, Plan::Growth, true).await;
    assert_eq!(total().await, json!(null));
}

#[tokio::test]
async fn a_day_reads_the_same_open_and_closed() {
    let (service, owner, site) = quiet(Plan::Agency).await;
    scheduled(&service, site, "2026-11-20T10:00:00Z", status(200, 33.0)).await;
    set_clock(&service, "2026-11-21T00:00:00Z");
    let open = uptime(&service, &owner, site, "?days=2").await;
    scheduled(&service, site, "2026-11-21T10:00:00Z", status(200, 10.0)).await;
    let closed = uptime(&service, &owner, site, "?days=2").await;
    assert_eq!(days(&open)[0], days(&closed)[0]);
    assert_eq!(days(&closed)[0]["response_time"], 33);
    assert_eq!(days(&closed)[1]["response_time"], 10);
}

#[tokio::test]
async fn the_report_is_where_the_site_says_it_is() {
    let (service, owner, site) = quiet(Plan::Agency).await;
    let shown = service.client(&owner).get(&format!("/sites/{site}")).await;
    let url = shown.body["data"]["reports"]["uptime"].as_str().expect("a URL");
    let path = url.strip_prefix("https://monitor.test/api/v1").expect("our own");
    assert_eq!(service.client(&owner).get(path).await.status, 200);
}
