//! `GET /teams/{team}/reports/{period}`: what a report says, and when there is none.

use serde_json::{Value, json};
use vedette_domain::accounts::plan::Plan;
use vedette_domain::checks::check::{Finish, ToolResult};
use vedette_domain::checks::tool::{RunReason, Tool};
use vedette_domain::id::{CheckId, SiteId};
use vedette_domain::message::ReconcileMessage;
use vedette_testkit::{Member, new_team, status_result};
use vedette_tests::Service;

use crate::support::new_site_with;

/// A status check that ran at a time.
async fn checked(service: &Service, site: SiteId, time: &str, code: u16, ms: f64) {
    service.test.set_clock(time.parse().expect("a timestamp"));
    let result =
        Finish::Completed(ToolResult::Status(status_result("https://x.example", code, ms)));
    let check = CheckId::automatic(site, Tool::Status, RunReason::Scheduled, service.test.now());
    service.test.end_run(site, check, result).await;
}

async fn make(service: &Service, owner: &Member, time: &str) {
    service.test.set_clock(time.parse().expect("a timestamp"));
    let message = ReconcileMessage::Report(owner.team);
    vedette_reconciler::handle(&service.test.app, &message).await.expect("made");
}

/// Two sites in Berlin, one of which is in a group and was down.
async fn two_sites() -> (Service, Member, [SiteId; 2]) {
    let service = Service::start().await;
    let owner = new_team(&service.test, Plan::Agency).await;
    let client = service.client(&owner);
    let team = format!("/teams/{}", owner.team);
    client.patch(&format!("{team}/time-zone"), &json!({ "time_zone": "Europe/Berlin" })).await;
    let groups = json!({ "groups": [{ "name": "Shops", "selector": "env:prod" }] });
    client.put(&format!("{team}/groups"), &groups).await;
    let at_once = json!({ "tools": { "status": {
        "settings": { "failures_to_open": 1, "successes_to_resolve": 1 },
    } } });
    let mut sites = Vec::new();
    for (url, tags) in [("https://shop.example", &["env:prod"][..]), ("https://blog.example", &[])]
    {
        let site = new_site_with(&service, &owner, url, &at_once).await;
        client.patch(&format!("/sites/{site}"), &json!({ "url": url, "tags": tags })).await;
        sites.push(site);
    }
    service.waiting();
    (service, owner, [sites[0], sites[1]])
}

async fn report(service: &Service, owner: &Member, period: &str) -> (u16, Value) {
    let path = format!("/teams/{}/reports/{period}", owner.team);
    let answer = service.client(owner).get(&path).await;
    (answer.status, answer.body)
}

#[tokio::test]
async fn a_report_says_what_happened_in_the_days_of_the_teams_zone() {
    let (service, owner, [shop, blog]) = two_sites().await;
    // The week is from Sunday, 22 November, 23:00 UTC to the next Sunday, 23:00 UTC. The shop is down before it begins.
    for (time, code, ms) in [
        ("2026-11-22T22:30:00Z", 503, 90.0),
        ("2026-11-22T23:10:00Z", 503, 90.0),
        ("2026-11-22T23:30:00Z", 200, 110.0),
        ("2026-11-25T12:00:00Z", 200, 130.0),
        ("2026-11-28T22:50:00Z", 503, 90.0),
        ("2026-11-28T23:10:00Z", 200, 120.0),
        ("2026-11-29T22:40:00Z", 503, 90.0),
        ("2026-11-29T23:10:00Z", 200, 500.0),
    ] {
        checked(&service, shop, time, code, ms).await;
        if time.starts_with("2026-11-25") {
            checked(&service, blog, time, 200, 40.0).await;
        }
    }
    make(&service, &owner, "2026-11-30T04:59:59Z").await;
    assert_eq!(report(&service, &owner, "2026-W48").await.0, 404, "not before 6:00 in Berlin");
    make(&service, &owner, "2026-11-30T05:00:00Z").await;
    let (status, mut body) = report(&service, &owner, "2026-W48").await;
    assert_eq!(status, 200, "{body}");
    for outage in body["data"]["outages"].as_array_mut().expect("outages") {
        assert_eq!(outage["site_uuid"], json!(shop));
        outage["issue_uuid"] = json!("<the issue>");
        outage["site_uuid"] = json!("<the shop>");
    }
    for (list, site) in [("worst_sites", shop), ("best_sites", blog)] {
        assert_eq!(body["data"][list][0]["uuid"], json!(site));
        body["data"][list][0]["uuid"] = json!("<the site>");
    }
    insta::assert_json_snapshot!(body["data"], @r#"
    {
      "before": null,
      "best_sites": [
        {
          "downtime_seconds": 0,
          "median_response_time": 40,
          "name": "blog.example",
          "uptime_percentage": 100.0,
          "uuid": "<the site>"
        }
      ],
      "broken_links": [],
      "certificates": [],
      "days": [
        {
          "date": "2026-11-23",
          "downtime_seconds": 1800,
          "outages": 1
        },
        {
          "date": "2026-11-24",
          "downtime_seconds": 0,
          "outages": 0
        },
        {
          "date": "2026-11-25",
          "downtime_seconds": 0,
          "outages": 0
        },
        {
          "date": "2026-11-26",
          "downtime_seconds": 0,
          "outages": 0
        },
        {
          "date": "2026-11-27",
          "downtime_seconds": 0,
          "outages": 0
        },
        {
          "date": "2026-11-28",
          "downtime_seconds": 600,
          "outages": 1
        },
        {
          "date": "2026-11-29",
          "downtime_seconds": 1800,
          "outages": 2
        }
      ],
      "domains": [],
      "from": "2026-11-23",
      "group": null,
      "headline": "57.14 % uptime in week 48 of 2026, with 3 outages",
      "heartbeats": [],
      "made_at": "2026-11-30T05:00:00+00:00",
      "method": [
        "Vedette made 7 of the 7 checks that were due.",
        "An outage lasts from its first failed check to the next good one, or until somebody resolves it or monitoring ends. Other problems are not downtime.",
        "Downtime is the time of all outages in the period, rounded up to whole minutes. Uptime is the share of successful checks, rounded down. So a short outage may change one and not the other.",
        "No outage opens in a maintenance window, and one that opened before counts until it ends. Paused time and checks that could not run do not count.",
        "The uptime of several sites is that of all their checks together. The median response is the median of the sites, and that of a site is the median of its hourly means.",
        "Days and times are in Europe/Berlin."
      ],
      "objectives": [],
      "outages": [
        {
          "acknowledged_at": null,
          "acknowledged_by": null,
          "cause": "http",
          "detail": "HTTP 503 Service Unavailable",
          "downtime_seconds": 1800,
          "ended_at": "2026-11-22T23:30:00+00:00",
          "issue_uuid": "<the issue>",
          "site_name": "shop.example",
          "site_uuid": "<the shop>",
          "started_at": "2026-11-22T22:30:00+00:00"
        },
        {
          "acknowledged_at": null,
          "acknowledged_by": null,
          "cause": "http",
          "detail": "HTTP 503 Service Unavailable",
          "downtime_seconds": 1200,
          "ended_at": "2026-11-28T23:10:00+00:00",
          "issue_uuid": "<the issue>",
          "site_name": "shop.example",
          "site_uuid": "<the shop>",
          "started_at": "2026-11-28T22:50:00+00:00"
        },
        {
          "acknowledged_at": null,
          "acknowledged_by": null,
          "cause": "http",
          "detail": "HTTP 503 Service Unavailable",
          "downtime_seconds": 1200,
          "ended_at": "2026-11-29T23:10:00+00:00",
          "issue_uuid": "<the issue>",
          "site_name": "shop.example",
          "site_uuid": "<the shop>",
          "started_at": "2026-11-29T22:40:00+00:00"
        }
      ],
      "performance_scores": [],
      "period": "2026-W48",
      "response_times": [],
      "sites": 2,
      "summary": "The 3 outages took 1 h 10 min in total. The longest took 30 min: shop.example on 22 Nov (HTTP 503 Service Unavailable).",
      "time_zone": "Europe/Berlin",
      "to": "2026-11-29",
      "totals": {
        "acknowledged_outages": 0,
        "checks_due": 7,
        "checks_in_maintenance": 0,
        "checks_missed": 0,
        "checks_not_run": 0,
        "downtime_seconds": 4200,
        "mean_seconds_to_acknowledge": null,
        "median_response_time": 40,
        "outages": 3,
        "total_checks": 7,
        "up_checks": 4,
        "uptime_percentage": 57.14
      },
      "undelivered_alerts": [],
      "worst_sites": [
        {
          "downtime_seconds": 4200,
          "median_response_time": 100,
          "name": "shop.example",
          "uptime_percentage": 50.0,
          "uuid": "<the site>"
        }
      ]
    }
    "#);
    let (_, of_group) = report(&service, &owner, "2026-W48?group=Shops").await;
    assert_eq!(
        (&of_group["data"]["sites"], &of_group["data"]["group"]),
        (&json!(1), &json!("Shops"))
    );
    assert_eq!(of_group["data"]["best_sites"], json!([]));
}

#[tokio::test]
async fn there_is_no_report_for_other_periods_and_groups() {
    let (service, owner, [shop, _]) = two_sites().await;
    checked(&service, shop, "2026-11-25T12:00:00Z", 200, 130.0).await;
    make(&service, &owner, "2026-11-30T05:00:00Z").await;
    for period in ["2026-W47", "2026-W49", "2026-11", "2026-W48?group=None", "2026-48", "x"] {
        assert_eq!(report(&service, &owner, period).await.0, 404, "{period}");
    }
    // The team is younger than October, and November is not over.
    make(&service, &owner, "2026-12-01T05:00:00Z").await;
    assert_eq!(report(&service, &owner, "2026-11").await.0, 200);
    assert_eq!(report(&service, &owner, "2026-10").await.0, 404);
}

#[tokio::test]
async fn a_report_does_not_change_and_is_compared_with_the_one_before() {
    let (service, owner, [shop, blog]) = two_sites().await;
    checked(&service, shop, "2026-11-25T12:00:00Z", 200, 100.0).await;
    make(&service, &owner, "2026-11-30T05:00:00Z").await;
    let before = report(&service, &owner, "2026-W48").await;
    checked(&service, shop, "2026-12-01T12:00:00Z", 200, 150.0).await;
    make(&service, &owner, "2026-12-07T05:00:00Z").await;
    service.client(&owner).delete(&format!("/sites/{blog}")).await;
    service.consume().await;
    assert_eq!(report(&service, &owner, "2026-W48").await, before);
    let (_, body) = report(&service, &owner, "2026-W49").await;
    assert_eq!(body["data"]["before"], before.1["data"]["totals"]);
    assert_eq!(
        body["data"]["response_times"],
        json!([{ "uuid": shop, "name": "shop.example", "median_response_time": 150, "before": 100 }])
    );
}
