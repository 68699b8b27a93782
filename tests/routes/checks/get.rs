//! `GET /checks/{check}`: a check of each tool in each state, as long as it is visible.

use serde_json::json;
use vedette_domain::accounts::plan::Plan;
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::SiteId;
use vedette_testkit::{ApiResponse, Member, WebServer, new_team};
use vedette_tests::Service;

use crate::support::{
    assert_not_found, masked, masked_whole, new_site, new_site_with, set_plan, timeless,
};

async fn get(service: &Service, caller: &Member, uuid: &str) -> ApiResponse {
    service.client(caller).get(&format!("/checks/{uuid}")).await
}

/// Queues one on-demand check and returns its uuid.
async fn queue(service: &Service, owner: &Member, site: SiteId, tool: &str) -> String {
    let body = json!({ "tools": [tool] });
    let queued = service.client(owner).post(&format!("/sites/{site}/checks"), &body).await;
    assert_eq!(queued.status, 202, "{queued:?}");
    queued.body["data"][0]["uuid"].as_str().expect("a uuid").to_owned()
}

/// The newest check of a site.
async fn newest(service: &Service, owner: &Member, site: SiteId) -> ApiResponse {
    let list = service.client(owner).get(&format!("/sites/{site}/checks")).await;
    let uuid = list.body["data"][0]["uuid"].as_str().expect("a check").to_owned();
    get(service, owner, &uuid).await
}

#[tokio::test]
async fn an_automatic_check_says_why_it_ran_and_was_created_at_its_slot() {
    let (service, owner) = Service::with_team().await;
    let target = WebServer::start().await;
    let site = new_site(&service, &owner, &target.url).await;
    // The run comes a minute late.
    service.advance_minutes(1);
    service.consume().await;
    let answer = newest(&service, &owner, site).await;
    insta::assert_snapshot!(masked_whole(&answer, &target), @r#"
    200 {
      "data": {
        "automatic": true,
        "completed_at": "2026-11-20T09:55:00+00:00",
        "created_at": "2026-11-20T09:54:00+00:00",
        "result": {
          "code": 200,
          "effective_url": "http://127.0.0.1:PORT",
          "phases": { "connect": "<ms>", "lookup": "<ms>" },
          "redirect_count": 0,
          "redirected": false,
          "response_time": "<ms>",
          "up": true,
          "url": "http://127.0.0.1:PORT"
        },
        "run_reason": "scheduled",
        "site": {
          "domain": "127.0.0.1",
          "name": "127.0.0.1",
          "url": "http://127.0.0.1:PORT",
          "uuid": "00000000-0000-4000-8000-000000000004"
        },
        "status": "completed",
        "type": "status",
        "updated_at": "2026-11-20T09:55:00+00:00",
        "uuid": "01a1f860-8ec0-8080-8000-000000000004"
      }
    }
    "#);
}

#[tokio::test]
async fn an_on_demand_check_is_pending_and_then_completed() {
    let (service, owner) = Service::with_team().await;
    let target = WebServer::start().await;
    let site = new_site(&service, &owner, &target.url).await;
    service.consume().await;
    let uuid = queue(&service, &owner, site, "status").await;
    let pending = get(&service, &owner, &uuid).await;
    insta::assert_snapshot!(masked(&pending, &target), @r#"
    200 {
      "data": {
        "automatic": false,
        "completed_at": null,
        "created_at": "2026-11-20T09:54:00+00:00",
        "result": null,
        "run_reason": null,
        "site": "<the site>",
        "status": "pending",
        "type": "status",
        "updated_at": "2026-11-20T09:54:00+00:00",
        "uuid": "01a1f860-8ec0-8000-8000-000000000004"
      }
    }
    "#);

    service.advance_minutes(1);
    service.consume().await;
    let completed = get(&service, &owner, &uuid).await;
    insta::assert_snapshot!(masked(&completed, &target), @r#"
    200 {
      "data": {
        "automatic": false,
        "completed_at": "2026-11-20T09:55:00+00:00",
        "created_at": "2026-11-20T09:54:00+00:00",
        "result": {
          "code": 200,
          "effective_url": "http://127.0.0.1:PORT",
          "phases": { "connect": "<ms>", "lookup": "<ms>" },
          "redirect_count": 0,
          "redirected": false,
          "response_time": "<ms>",
          "up": true,
          "url": "http://127.0.0.1:PORT"
        },
        "run_reason": null,
        "site": "<the site>",
        "status": "completed",
        "type": "status",
        "updated_at": "2026-11-20T09:55:00+00:00",
        "uuid": "01a1f860-8ec0-8000-8000-000000000004"
      }
    }
    "#);
}

#[tokio::test]
async fn a_skipped_check_has_ended_without_result_and_error() {
    let (service, owner) = Service::with_team().await;
    let target = WebServer::start().await;
    let site = new_site(&service, &owner, &target.url).await;
    let uuid = queue(&service, &owner, site, "performance").await;
    service.consume().await;
    let skipped = get(&service, &owner, &uuid).await;
    insta::assert_snapshot!(masked(&skipped, &target), @r#"
    200 {
      "data": {
        "automatic": false,
        "completed_at": "2026-11-20T09:54:00+00:00",
        "created_at": "2026-11-20T09:54:00+00:00",
        "result": null,
        "run_reason": null,
        "site": "<the site>",
        "status": "skipped",
        "type": "performance",
        "updated_at": "2026-11-20T09:54:00+00:00",
        "uuid": "01a1f860-8ec0-8800-8000-000000000004"
      }
    }
    "#);
}

#[tokio::test]
async fn what_the_guard_refuses_has_failed_and_never_opens_an_issue() {
    let (service, owner) = Service::with_team().await;
    let at_once = json!({ "tools": { "status": { "settings": { "failures_to_open": 1 } } } });
    let site = new_site_with(&service, &owner, "http://169.254.169.254/", &at_once).await;
    assert!(service.consume().await.is_empty(), "no retry: nothing was observed");
    let automatic = newest(&service, &owner, site).await;
    insta::assert_snapshot!(automatic.shown(), @r#"
    200 {
      "data": {
        "automatic": true,
        "completed_at": "2026-11-20T09:54:00+00:00",
        "created_at": "2026-11-20T09:54:00+00:00",
        "error": {
          "code": "target_forbidden",
          "data": { "address": "169.254.169.254", "url": "http://169.254.169.254/" },
          "message": "the target is forbidden: 169.254.169.254 is a link-local address (169.254.0.0/16)"
        },
        "result": null,
        "run_reason": "scheduled",
        "site": {
          "domain": "169.254.169.254",
          "name": "169.254.169.254",
          "url": "http://169.254.169.254",
          "uuid": "00000000-0000-4000-8000-000000000004"
        },
        "status": "failed",
        "type": "status",
        "updated_at": "2026-11-20T09:54:00+00:00",
        "uuid": "01a1f860-8ec0-8080-8000-000000000004"
      }
    }
    "#);

    for _ in 0..3 {
        service.advance_minutes(5);
        service.run_scheduled(site, Tool::Status).await;
        assert!(service.consume().await.is_empty());
    }
    let uuid = queue(&service, &owner, site, "status").await;
    service.consume().await;
    let on_demand = get(&service, &owner, &uuid).await;
    assert_eq!(on_demand.data("status"), "failed");
    assert_eq!(on_demand.body["data"]["error"], automatic.body["data"]["error"]);
    let client = service.client(&owner);
    for status in ["active", "resolved"] {
        let issues = client.get(&format!("/issues?status={status}")).await;
        assert_eq!(issues.body["meta"]["total"], 0);
    }
}

#[tokio::test]
async fn a_target_that_cannot_be_reached_is_a_completed_check_of_a_site_that_is_down() {
    let (service, owner) = Service::with_team().await;
    // Nobody listens on port 1.
    let site = new_site(&service, &owner, "http://127.0.0.1:1").await;
    service.consume().await;
    let answer = newest(&service, &owner, site).await;
    insta::assert_snapshot!(timeless(&answer), @r#"
    200 {
      "data": {
        "automatic": true,
        "completed_at": "2026-11-20T09:54:00+00:00",
        "created_at": "2026-11-20T09:54:00+00:00",
        "result": {
          "code": 0,
          "effective_url": "http://127.0.0.1:1",
          "error": "connection refused",
          "phases": { "connect": "<ms>", "lookup": "<ms>" },
          "redirect_count": 0,
          "redirected": false,
          "response_time": "<ms>",
          "up": false,
          "url": "http://127.0.0.1:1"
        },
        "run_reason": "scheduled",
        "site": {
          "domain": "127.0.0.1",
          "name": "127.0.0.1",
          "url": "http://127.0.0.1:1",
          "uuid": "00000000-0000-4000-8000-000000000004"
        },
        "status": "completed",
        "type": "status",
        "updated_at": "2026-11-20T09:54:00+00:00",
        "uuid": "01a1f860-8ec0-8080-8000-000000000004"
      }
    }
    "#);
}

#[tokio::test]
async fn an_error_status_is_an_answer_and_no_error() {
    let (service, owner) = Service::with_team().await;
    let target = WebServer::start().await;
    target.answer(404);
    let site = new_site(&service, &owner, &target.url).await;
    service.consume().await;
    let answer = newest(&service, &owner, site).await;
    let data = &answer.body["data"];
    assert_eq!(data["status"], "completed");
    assert_eq!(data.get("error"), None);
    assert_eq!((&data["result"]["up"], &data["result"]["code"]), (&json!(false), &json!(404)));
    assert_eq!(data["result"].get("error"), None);
    assert_eq!(data["result"].get("redirects"), None);
}

#[tokio::test]
async fn a_uuid_is_read_in_any_case_and_shown_in_lower_case() {
    let (service, owner) = Service::with_team().await;
    let site = new_site(&service, &owner, "https://example.com").await;
    let uuid = queue(&service, &owner, site, "dns").await;
    assert_ne!(uuid.to_uppercase(), uuid);
    let answer = get(&service, &owner, &uuid.to_uppercase()).await;
    assert_eq!((answer.status, answer.data("uuid")), (200, uuid));
}

#[tokio::test]
async fn ids_that_lead_to_the_site_but_to_no_check_are_not_found() {
    let (service, owner) = Service::with_team().await;
    let site = new_site(&service, &owner, "https://example.com").await;
    let uuid = queue(&service, &owner, site, "dns").await;
    // Ids that lead to the site, but not to a check.
    assert_not_found(&get(&service, &owner, &site.to_string()).await);
    service.advance_minutes(1);
    let other = new_site(&service, &owner, "https://example.org").await;
    let elsewhere = queue(&service, &owner, other, "dns").await;
    let mixed = format!("{}{}", &elsewhere[..23], &uuid[23..]);
    assert_not_found(&get(&service, &owner, &mixed).await);
}

#[tokio::test]
async fn a_check_is_gone_when_the_teams_retention_has_passed() {
    let service = Service::start().await;
    let owner = new_team(&service.test, Plan::Starter).await;
    let target = WebServer::start().await;
    let site = new_site(&service, &owner, &target.url).await;
    service.consume().await;
    let automatic = newest(&service, &owner, site).await.data("uuid");
    let on_demand = queue(&service, &owner, site, "dns").await;
    for uuid in [&automatic, &on_demand] {
        // Created on 20 November; thirty days are 20 November to 19 December.
        service.test.set_clock("2026-12-19T23:59:59Z".parse().expect("a time"));
        assert_eq!(get(&service, &owner, uuid).await.status, 200);
        service.test.set_clock("2026-12-20T00:00:00Z".parse().expect("a time"));
        assert_not_found(&get(&service, &owner, uuid).await);
    }
}

#[tokio::test]
async fn a_smaller_plan_takes_the_older_checks_away_at_once() {
    let (service, owner) = Service::with_team().await;
    let target = WebServer::start().await;
    let site = new_site(&service, &owner, &target.url).await;
    service.consume().await;
    let uuid = newest(&service, &owner, site).await.data("uuid");
    service.test.set_clock("2027-01-20T09:54:00Z".parse().expect("a time"));
    assert_eq!(get(&service, &owner, &uuid).await.status, 200);
    set_plan(&service, owner.team, Plan::Starter, true).await;
    assert_not_found(&get(&service, &owner, &uuid).await);
}
