//! `GET /issues/{issue}`: an issue from opening to resolution.

use serde_json::{Value, json};
use vedette_domain::accounts::account::Role;
use vedette_domain::accounts::plan::Plan;
use vedette_domain::id::IssueId;
use vedette_domain::issues::Fingerprint;
use vedette_testkit::{ApiResponse, Member};
use vedette_tests::Service;

use super::{broken, next_run, only, open};
use crate::support::{assert_not_found, colleague, masked, new_site, set_plan};

async fn get(service: &Service, caller: &Member, uuid: impl ToString) -> ApiResponse {
    service.client(caller).get(&format!("/issues/{}", uuid.to_string())).await
}

/// What happened to an issue, with the names of the people who did it.
fn timeline(answer: &ApiResponse) -> Vec<String> {
    let entries = answer.body["data"]["timeline"].as_array().expect("a timeline");
    let shown = entries.iter().map(|entry| {
        let time = entry["timestamp"].as_str().expect("a time");
        let by = entry["user"]["name"].as_str().unwrap_or("nobody");
        format!("{} {} by {by}", &time[11..16], entry["key"].as_str().expect("a key"))
    });
    shown.collect()
}

fn minute_of<'a>(answer: &'a ApiResponse, path: &str) -> &'a str {
    let value = path.split('.').fold(&answer.body["data"], |value, name| &value[name]);
    value.as_str().map_or("null", |time| &time[11..16])
}

#[tokio::test]
async fn an_open_issue_is_shown_whole() {
    let (service, owner) = Service::with_team().await;
    let (_site, target) = broken(&service, &owner).await;
    let issue = only(&service, &owner).await;
    let answer = get(&service, &owner, issue).await;
    insta::assert_snapshot!(masked(&answer, &target), @r#"
    200 {
      "data": {
        "acknowledged_at": null,
        "acknowledged_by": null,
        "check": {
          "automatic": true,
          "completed_at": "2026-11-20T09:54:00+00:00",
          "created_at": "2026-11-20T09:54:00+00:00",
          "result": {
            "code": 503,
            "effective_url": "http://127.0.0.1:PORT",
            "phases": { "connect": "<ms>", "lookup": "<ms>" },
            "redirect_count": 0,
            "redirected": false,
            "response_time": "<ms>",
            "up": false,
            "url": "http://127.0.0.1:PORT"
          },
          "run_reason": "scheduled",
          "site": "<the site>",
          "status": "completed",
          "type": "status",
          "updated_at": "2026-11-20T09:54:00+00:00",
          "uuid": "01a1f860-8ec0-8080-8000-000000000004"
        },
        "context": {
          "failures": 1,
          "first_failed_at": "2026-11-20T09:54:00+00:00",
          "last_failed_at": "2026-11-20T09:54:00+00:00",
          "measured": {
            "code": 503,
            "effective_url": "http://127.0.0.1:PORT",
            "error": null,
            "incident_status_codes": [400, 401, 403, 404, 405, 408, 410, 429, 500, 501, 502, 503, 504, 521, 522, 523, 524],
            "redirect_count": 0,
            "response_time": "<ms>",
            "up": false
          }
        },
        "created_at": "2026-11-20T09:54:00+00:00",
        "fingerprint": "status:down",
        "is_active": true,
        "last_evaluated_at": "2026-11-20T09:54:00+00:00",
        "opened_at": "2026-11-20T09:54:00+00:00",
        "previous_check": null,
        "resolved_at": null,
        "resolved_by": null,
        "severity": "critical",
        "site": {
          "created_at": "2026-11-20T09:54:00+00:00",
          "domain": "127.0.0.1",
          "enabled_checks": ["status", "ssl", "dns", "broken-links", "performance"],
          "is_pinned": false,
          "issue_settings": { "<all else>": "<the defaults>", "status": { "failures_to_open": 1 } },
          "js_rendered": false,
          "monitoring": {
            "<all else>": "<the defaults>",
            "settings": { "tools": { "status": { "settings": { "failures_to_open": 1 } } } }
          },
          "name": "127.0.0.1",
          "notes": null,
          "reports": "<its own>",
          "team_uuid": "00000000-0000-4000-8000-000000000001",
          "updated_at": "2026-11-20T09:54:00+00:00",
          "url": "http://127.0.0.1:PORT",
          "uuid": "00000000-0000-4000-8000-000000000004"
        },
        "status": "open",
        "summary": "127.0.0.1 is down: HTTP 503 Service Unavailable",
        "team_uuid": "00000000-0000-4000-8000-000000000001",
        "timeline": [{ "key": "opened", "timestamp": "2026-11-20T09:54:00+00:00", "user": null }],
        "type": "status",
        "updated_at": "2026-11-20T09:54:00+00:00",
        "uuid": "01a1f860-8ec0-8100-8000-000000000004"
      }
    }
    "#);
}

#[tokio::test]
async fn people_are_shown_whole_where_they_took_and_resolved_an_issue() {
    let (service, owner) = Service::with_team().await;
    let (_site, target) = broken(&service, &owner).await;
    let issue = only(&service, &owner).await;
    let grace = colleague(&service, &owner, Role::Member).await;
    service.advance_minutes(1);
    service.acknowledge(issue, grace.user).await;
    service.advance_minutes(1);
    service.resolve(issue, owner.user).await;

    let mut answer = get(&service, &owner, issue).await;
    for field in ["site", "check", "previous_check", "context"] {
        answer.body["data"][field] = json!("left out here");
    }
    insta::assert_snapshot!(masked(&answer, &target), @r#"
    200 {
      "data": {
        "acknowledged_at": "2026-11-20T09:55:00+00:00",
        "acknowledged_by": {
          "email": "grace-00000000-0000-4000-8000-000000000005@example.com",
          "email_verified_at": "2026-11-20T09:54:00+00:00",
          "name": "Grace"
        },
        "check": "left out here",
        "context": "left out here",
        "created_at": "2026-11-20T09:54:00+00:00",
        "fingerprint": "status:down",
        "is_active": false,
        "last_evaluated_at": "2026-11-20T09:54:00+00:00",
        "opened_at": "2026-11-20T09:54:00+00:00",
        "previous_check": "left out here",
        "resolved_at": "2026-11-20T09:56:00+00:00",
        "resolved_by": {
          "email": "ada-00000000-0000-4000-8000-000000000002@example.com",
          "email_verified_at": "2026-11-20T09:54:00+00:00",
          "name": "Ada"
        },
        "severity": "critical",
        "site": "left out here",
        "status": "resolved",
        "summary": "127.0.0.1 is down: HTTP 503 Service Unavailable",
        "team_uuid": "00000000-0000-4000-8000-000000000001",
        "timeline": [
          { "key": "opened", "timestamp": "2026-11-20T09:54:00+00:00", "user": null },
          {
            "key": "acknowledged",
            "timestamp": "2026-11-20T09:55:00+00:00",
            "user": {
              "email": "grace-00000000-0000-4000-8000-000000000005@example.com",
              "email_verified_at": "2026-11-20T09:54:00+00:00",
              "name": "Grace"
            }
          },
          {
            "key": "resolved",
            "timestamp": "2026-11-20T09:56:00+00:00",
            "user": {
              "email": "ada-00000000-0000-4000-8000-000000000002@example.com",
              "email_verified_at": "2026-11-20T09:54:00+00:00",
              "name": "Ada"
            }
          }
        ],
        "type": "status",
        "updated_at": "2026-11-20T09:56:00+00:00",
        "uuid": "01a1f860-8ec0-8100-8000-000000000004"
      }
    }
    "#);
}

#[tokio::test]
async fn an_issue_lives_through_all_its_states_in_one_record() {
    let (service, owner) = Service::with_team().await;
    let (site, target) = broken(&service, &owner).await;
    let issue = only(&service, &owner).await;
    let states = |answer: &ApiResponse| {
        let data = &answer.body["data"];
        (data["status"].clone(), data["is_active"].clone())
    };

    let open = get(&service, &owner, issue).await;
    assert_eq!(states(&open), (json!("open"), json!(true)));
    assert_eq!(timeline(&open), ["09:54 opened by nobody"]);

    service.advance_minutes(1);
    service.acknowledge(issue, owner.user).await;
    let taken = get(&service, &owner, issue).await;
    assert_eq!(states(&taken), (json!("acknowledged"), json!(true)));
    assert_eq!(timeline(&taken), ["09:54 opened by nobody", "09:55 acknowledged by Ada"]);
    assert_eq!(minute_of(&taken, "acknowledged_at"), "09:55");
    assert_eq!(minute_of(&taken, "updated_at"), "09:55");

    target.answer(200);
    next_run(&service, site).await;
    let resolved = get(&service, &owner, issue).await;
    assert_eq!(states(&resolved), (json!("resolved"), json!(false)));
    assert_eq!(minute_of(&resolved, "resolved_at"), "10:00");
    assert_eq!(resolved.body["data"]["resolved_by"], json!(null), "the check did");
    assert_eq!(resolved.body["data"]["acknowledged_by"]["name"], "Ada", "as it was taken");
    assert_eq!(minute_of(&resolved, "acknowledged_at"), "09:55");

    target.answer(500);
    next_run(&service, site).await;
    let reopened = get(&service, &owner, issue).await;
    assert_eq!(states(&reopened), (json!("open"), json!(true)));
    assert_eq!(
        timeline(&reopened),
        [
            "09:54 opened by nobody",
            "09:55 acknowledged by Ada",
            "10:00 resolved by nobody",
            "10:05 opened by nobody",
        ]
    );
    let data = &reopened.body["data"];
    assert_eq!(data["uuid"], issue.to_string());
    assert_eq!(minute_of(&reopened, "created_at"), "09:54");
    assert_eq!(minute_of(&reopened, "opened_at"), "10:05");
    for field in ["acknowledged_by", "acknowledged_at", "resolved_by", "resolved_at"] {
        assert_eq!(data.get(field), Some(&Value::Null), "{field}");
    }
    assert_eq!(data["summary"], "127.0.0.1 is down: HTTP 500 Internal Server Error");
}

#[tokio::test]
async fn checks_follow_an_active_issue_and_stand_still_once_it_is_resolved() {
    let (service, owner) = Service::with_team().await;
    let (site, target) = broken(&service, &owner).await;
    let issue = only(&service, &owner).await;
    let seen = async || {
        let answer = get(&service, &owner, issue).await;
        ["check.created_at", "previous_check.created_at", "last_evaluated_at", "opened_at"]
            .map(|path| minute_of(&answer, path).to_owned())
    };
    assert_eq!(seen().await, ["09:54", "null", "09:54", "09:54"]);
    next_run(&service, site).await;
    assert_eq!(seen().await, ["09:59", "09:54", "09:59", "09:54"]);
    service.acknowledge(issue, owner.user).await;
    next_run(&service, site).await;
    assert_eq!(seen().await, ["10:04", "09:59", "10:04", "09:54"]);
    target.answer(200);
    next_run(&service, site).await;
    assert_eq!(seen().await, ["10:09", "10:04", "10:09", "09:54"]);
    next_run(&service, site).await;
    assert_eq!(seen().await, ["10:09", "10:04", "10:09", "09:54"], "it is over");
}

#[tokio::test]
async fn resolved_by_hand_an_issue_keeps_the_checks_it_was_last_judged_by() {
    let (service, owner) = Service::with_team().await;
    let (site, _target) = broken(&service, &owner).await;
    let issue = only(&service, &owner).await;
    next_run(&service, site).await;
    next_run(&service, site).await;
    let judged = async || {
        let data = &get(&service, &owner, issue).await.body["data"];
        ["check", "previous_check", "last_evaluated_at"].map(|field| data[field].clone())
    };
    let before = judged().await;
    service.advance_minutes(1);
    service.resolve(issue, owner.user).await;
    assert_eq!(judged().await, before);
}

#[tokio::test]
async fn of_a_long_timeline_the_newest_hundred_entries_are_shown() {
    let (service, owner) = Service::with_team().await;
    let (site, target) = broken(&service, &owner).await;
    let issue = only(&service, &owner).await;
    for _ in 0..50 {
        for status in [200, 503] {
            target.answer(status);
            next_run(&service, site).await;
        }
    }
    let shown = timeline(&get(&service, &owner, issue).await);
    assert_eq!(shown.len(), 100, "of a hundred and one");
    assert_eq!(shown[0], "09:59 resolved by nobody");
    assert_eq!(shown[99], "18:14 opened by nobody");
}

#[tokio::test]
async fn on_demand_checks_are_never_those_of_an_issue() {
    let (service, owner) = Service::with_team().await;
    let (site, _target) = broken(&service, &owner).await;
    let issue = only(&service, &owner).await;
    let before = get(&service, &owner, issue).await;
    service.advance_minutes(1);
    let run = json!({ "tools": ["status"] });
    service.client(&owner).post(&format!("/sites/{site}/checks"), &run).await;
    service.consume().await;
    assert_eq!(get(&service, &owner, issue).await.body, before.body);
}

#[tokio::test]
async fn checks_that_are_not_there_any_more_are_null() {
    let (service, owner) = Service::with_team().await;
    let site = new_site(&service, &owner, "https://example.com").await;
    let issue = open(&service, site, Fingerprint::SslExpiring).await;
    let answer = get(&service, &owner, issue).await;
    let data = &answer.body["data"];
    for field in ["check", "previous_check", "last_evaluated_at"] {
        assert_eq!(data.get(field), Some(&Value::Null), "{field}");
    }
    assert_eq!(data["type"], "ssl");
    assert_eq!(data["severity"], "warning");
    assert_eq!(data["fingerprint"], "ssl:expiring");
}

#[tokio::test]
async fn checks_past_retention_are_not_shown_with_an_issue() {
    let (service, owner) = Service::with_team().await;
    let (_site, _target) = broken(&service, &owner).await;
    let issue = only(&service, &owner).await;
    set_plan(&service, owner.team, Plan::Starter, true).await;
    // Judged on 20 November; thirty days are 20 November to 19 December.
    for (now, shows) in [("2026-12-19T23:59:59Z", true), ("2026-12-20T00:00:00Z", false)] {
        service.test.set_clock(now.parse().expect("a time"));
        let answer = get(&service, &owner, issue).await;
        assert_eq!(answer.body["data"]["check"].is_object(), shows, "{now}");
    }
}

#[tokio::test]
async fn a_uuid_is_read_in_any_case_and_shown_in_lower_case() {
    let (service, owner) = Service::with_team().await;
    let (_site, _target) = broken(&service, &owner).await;
    let issue = only(&service, &owner).await.to_string();
    assert_ne!(issue.to_uppercase(), issue);
    let answer = get(&service, &owner, issue.to_uppercase()).await;
    assert_eq!((answer.status, answer.data("uuid")), (200, issue));
}

#[tokio::test]
async fn ids_that_lead_to_the_site_but_to_no_issue_are_not_found() {
    let (service, owner) = Service::with_team().await;
    let (site, _target) = broken(&service, &owner).await;
    // Ids that lead to the site, but not to an issue.
    assert_not_found(&get(&service, &owner, site).await);
    let later = service.test.now() + jiff::SignedDuration::from_secs(1);
    assert_not_found(
        &get(&service, &owner, IssueId::new(site, Fingerprint::StatusDown, later)).await,
    );
    let now = service.test.now();
    assert_not_found(
        &get(&service, &owner, IssueId::new(site, Fingerprint::SslInvalid, now)).await,
    );
}
