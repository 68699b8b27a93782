//! `GET /sites/{site}`: a site with its latest checks.

use serde_json::{Value, json};
use vedette_domain::accounts::plan::Plan;
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::SiteId;
use vedette_testkit::{ApiResponse, Member, WebServer, new_team};
use vedette_tests::Service;

use crate::support::{assert_not_found, guarded, masked, new_site, new_site_with, set_plan};

async fn get(service: &Service, caller: &Member, site: SiteId) -> ApiResponse {
    service.client(caller).get(&format!("/sites/{site}")).await
}

#[tokio::test]
async fn a_site_is_shown_whole_with_its_latest_checks() {
    let (service, owner) = Service::with_team().await;
    let target = WebServer::start().await;
    let site = new_site(&service, &owner, &target.url).await;
    service.consume().await;
    let run = json!({ "tools": ["ssl"] });
    service.client(&owner).post(&format!("/sites/{site}/checks"), &run).await;

    let answer = get(&service, &owner, site).await;
    insta::assert_snapshot!(masked(&answer, &target), @r#"
    200 {
      "data": {
        "created_at": "2026-11-20T09:54:00+00:00",
        "domain": "127.0.0.1",
        "enabled_checks": ["status", "ssl", "dns", "broken-links", "performance"],
        "is_pinned": false,
        "issue_settings": "<the defaults>",
        "js_rendered": false,
        "latest_checks": {
          "broken-links": null,
          "dns": null,
          "performance": null,
          "ssl": {
            "automatic": false,
            "completed_at": null,
            "created_at": "2026-11-20T09:54:00+00:00",
            "result": null,
            "run_reason": null,
            "site": "<the site>",
            "status": "pending",
            "type": "ssl",
            "updated_at": "2026-11-20T09:54:00+00:00",
            "uuid": "01a1f860-8ec0-8200-8000-000000000004"
          },
          "status": {
            "automatic": true,
            "completed_at": "2026-11-20T09:54:00+00:00",
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
            "site": "<the site>",
            "status": "completed",
            "type": "status",
            "updated_at": "2026-11-20T09:54:00+00:00",
            "uuid": "01a1f860-8ec0-8080-8000-000000000004"
          }
        },
        "monitoring": "<the defaults>",
        "name": "127.0.0.1",
        "notes": null,
        "reports": "<its own>",
        "team_uuid": "00000000-0000-4000-8000-000000000001",
        "updated_at": "2026-11-20T09:54:00+00:00",
        "url": "http://127.0.0.1:PORT",
        "uuid": "00000000-0000-4000-8000-000000000004"
      }
    }
    "#);
}

#[tokio::test]
async fn the_latest_check_is_the_newest_of_either_sort_in_whatever_state() {
    let (mut service, owner) = Service::with_team().await;
    let target = WebServer::start().await;
    let site = new_site(&service, &owner, &target.url).await;
    let latest = async |service: &Service| {
        let answer = get(service, &owner, site).await;
        let check = &answer.body["data"]["latest_checks"]["status"];
        ["status", "automatic", "created_at"].map(|field| check[field].clone())
    };
    let shown = |status: &str, automatic: bool, time: &str| -> [Value; 3] {
        [json!(status), json!(automatic), json!(format!("2026-11-20T{time}+00:00"))]
    };
    assert_eq!(latest(&service).await, [json!(null), json!(null), json!(null)]);

    service.consume().await;
    assert_eq!(latest(&service).await, shown("completed", true, "09:54:00"));

    service.advance_minutes(1);
    let run = json!({ "tools": ["status"] });
    service.client(&owner).post(&format!("/sites/{site}/checks"), &run).await;
    assert_eq!(latest(&service).await, shown("pending", false, "09:55:00"));
    service.consume().await;
    assert_eq!(latest(&service).await, shown("completed", false, "09:55:00"));

    service.advance_minutes(4);
    service.engines = guarded();
    service.run_scheduled(site, Tool::Status).await;
    assert_eq!(latest(&service).await, shown("failed", true, "09:59:00"));
    let answer = get(&service, &owner, site).await;
    let check = &answer.body["data"]["latest_checks"]["status"];
    assert_eq!(check["error"]["code"], "target_forbidden");
}

#[tokio::test]
async fn a_smaller_plan_slows_checks_down_that_were_set_faster() {
    let (service, owner) = Service::with_team().await;
    let tools = json!({ "tools": {
        "status": { "cadence_minutes": 1 },
        "dns": { "cadence_minutes": 120 },
        "broken-links": { "cadence_minutes": 720 },
    } });
    let site = new_site_with(&service, &owner, "https://example.com", &tools).await;
    let cadences = async || {
        let answer = get(&service, &owner, site).await;
        let tools = &answer.body["data"]["monitoring"]["settings"]["tools"];
        ["status", "dns", "broken-links"].map(|tool| tools[tool]["cadence_minutes"].clone())
    };
    assert_eq!(cadences().await, [1, 120, 720]);
    set_plan(&service, owner.team, Plan::Starter, true).await;
    assert_eq!(cadences().await, [30, 120, 720]);
    set_plan(&service, owner.team, Plan::Growth, true).await;
    assert_eq!(cadences().await, [5, 120, 720]);
}

#[tokio::test]
async fn a_uuid_is_read_in_any_case_and_shown_in_lower_case() {
    let (service, owner) = Service::with_team().await;
    let mut site = new_site(&service, &owner, "https://example.com/0").await;
    // Ids are numbered, so among sixteen in a row, there is one with each last digit.
    for n in 1..16 {
        if site.to_string().ends_with('f') {
            break;
        }
        site = new_site(&service, &owner, &format!("https://example.com/{n}")).await;
    }
    let upper = site.to_string().to_uppercase();
    assert_ne!(upper, site.to_string());
    let answer = service.client(&owner).get(&format!("/sites/{upper}")).await;
    assert_eq!((answer.status, answer.data("uuid")), (200, site.to_string()));
}

#[tokio::test]
async fn an_id_with_the_same_partition_key_is_not_found() {
    let (service, owner) = Service::with_team().await;
    let site = new_site(&service, &owner, "https://example.com").await;
    // Ids that differ only in bits that are not part of the partition key.
    let twin = site.to_string().replacen('0', "1", 1);
    assert_not_found(&service.client(&owner).get(&format!("/sites/{twin}")).await);
}

#[tokio::test]
async fn past_retention_a_tool_has_no_latest_check() {
    let service = Service::start().await;
    let owner = new_team(&service.test, Plan::Starter).await;
    let target = WebServer::start().await;
    let site = new_site(&service, &owner, &target.url).await;
    service.consume().await;
    // Created on 20 November; thirty days are 20 November to 19 December.
    for (now, shows) in [("2026-12-19T23:59:59Z", true), ("2026-12-20T00:00:00Z", false)] {
        service.test.set_clock(now.parse().expect("a time"));
        let answer = get(&service, &owner, site).await;
        assert_eq!(answer.body["data"]["latest_checks"]["status"].is_object(), shows, "{now}");
        let list = service.client(&owner).get(&format!("/teams/{}/sites", owner.team)).await;
        let listed = &list.body["data"][0]["latest_checks"]["status"];
        assert_eq!(listed.is_object(), shows, "{now}");
        let url = json!({ "url": target.url });
        let kept = service.client(&owner).patch(&format!("/sites/{site}"), &url).await;
        let kept = &kept.body["data"]["latest_checks"]["status"];
        assert_eq!(kept.is_object(), shows, "{now}");
    }
}

#[tokio::test]
async fn an_objective_comes_with_what_is_left_of_its_budget() {
    let (service, owner) = Service::with_team().await;
    let target = WebServer::start().await;
    target.answer(503);
    let at_once = json!({ "tools": { "status": {
        "settings": { "failures_to_open": 1, "successes_to_resolve": 1 },
    } } });
    let mut body = json!({
        "url": target.url,
        "objective": { "percentage": 99.9, "period": "month" },
        "monitoring_settings": at_once,
    });
    let path = format!("/teams/{}/sites", owner.team);
    let created = service.client(&owner).post(&path, &body).await;
    let month = json!({ "percentage": 99.9, "period": "month", "counts_maintenance": false });
    assert_eq!(created.body["data"]["objective"], month, "{created:?}");
    assert_eq!(created.body["data"].get("budget"), None, "only where one site is read");
    let site = SiteId::parse(&created.data("uuid")).expect("an id");
    let budget =
        async |service: &Service| get(service, &owner, site).await.body["data"]["budget"].clone();
    let of = |allowed: i64, used: i64, since: &str| {
        json!({
            "allowed_seconds": allowed,
            "used_seconds": used,
            "left_seconds": allowed - used,
            "since": since,
        })
    };
    let since = "2026-11-01T00:00:00+00:00";
    assert_eq!(budget(&service).await, of(2_592, 0, since), "a month is whole");

    // It is down from 9:54 to 10:09, and in maintenance from 9:55 until that is ended at 10:04.
    service.consume().await;
    service.advance_minutes(1);
    let windows = format!("/teams/{}/maintenance-windows", owner.team);
    let window = json!({ "sites": [site], "duration_minutes": 60 });
    let started = service.client(&owner).post(&windows, &window).await;
    service.advance_minutes(4);
    service.run_scheduled(site, Tool::Status).await;
    service.advance_minutes(5);
    assert_eq!(budget(&service).await, of(2_592, 60, since));
    let window = format!("{windows}/{}", started.data("uuid"));
    service.client(&owner).delete(&window).await;
    target.answer(200);
    service.advance_minutes(5);
    service.run_scheduled(site, Tool::Status).await;
    service.advance_minutes(6);
    assert_eq!(budget(&service).await, of(2_592, 6 * 60, since));

    // The last days begin with the site, 21 minutes ago. One check failed in maintenance, and they come every 5 minutes.
    body["objective"] = json!({ "percentage": 50, "period": "7_days", "counts_maintenance": true });
    let path = format!("/sites/{site}");
    let changed = service.client(&owner).patch(&path, &body).await;
    assert_eq!(changed.body["data"]["objective"]["percentage"], json!(50.0));
    let created = "2026-11-20T09:54:00+00:00";
    assert_eq!(budget(&service).await, of(630, (6 + 5) * 60, created));
    service.advance_minutes(8 * 24 * 60);
    assert_eq!(budget(&service).await, of(302_400, 0, "2026-11-21T10:15:00+00:00"));

    let none = json!({ "url": target.url, "objective": null });
    let removed = service.client(&owner).patch(&path, &none).await;
    assert_eq!(removed.body["data"].get("objective"), None);
    let shown = get(&service, &owner, site).await;
    assert_eq!([shown.body["data"].get("objective"), shown.body["data"].get("budget")], [None; 2]);
}

#[tokio::test]
async fn failed_checks_in_maintenance_count_if_maintenance_does() {
    let (service, owner) = Service::with_team().await;
    let target = WebServer::start().await;
    let site = new_site(&service, &owner, &target.url).await;
    service.consume().await;
    let window = json!({ "sites": [site], "duration_minutes": 60 });
    let windows = format!("/teams/{}/maintenance-windows", owner.team);
    service.client(&owner).post(&windows, &window).await;
    target.answer(503);
    for _ in 0..3 {
        service.advance_minutes(5);
        service.run_scheduled(site, Tool::Status).await;
    }
    for (counts, used) in [(false, 0), (true, 3 * 5 * 60)] {
        let objective =
            json!({ "percentage": 99.9, "period": "30_days", "counts_maintenance": counts });
        let body = json!({ "url": target.url, "objective": objective });
        service.client(&owner).patch(&format!("/sites/{site}"), &body).await;
        let shown = get(&service, &owner, site).await;
        assert_eq!(shown.body["data"]["budget"]["used_seconds"], json!(used), "{shown:?}");
    }
}
