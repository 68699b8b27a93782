//! `POST /sites/{site}/checks`: which checks can be requested, and what happens to them.

use futures::future::join_all;
use jiff::SignedDuration;
use lambda_http::Body;
use serde_json::{Value, json};
use vedette_checker::Handled;
use vedette_domain::accounts::account::{Role, Scope};
use vedette_domain::accounts::plan::Plan;
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::SiteId;
use vedette_domain::message::{Message, RunOrder};
use vedette_testkit::{ApiResponse, Fault, Member, WebServer, new_team};
use vedette_tests::Service;

use crate::support::{
    assert_invalid, colleague, masked, new_site, new_site_with, new_token, suspend,
};

const QUOTA: &str = "Your current plan has reached its monthly on-demand check limit.";

async fn run(service: &Service, caller: &Member, site: SiteId, tools: &[&str]) -> ApiResponse {
    let body = json!({ "tools": tools });
    service.client(caller).post(&format!("/sites/{site}/checks"), &body).await
}

async fn used(service: &Service, owner: &Member) -> Value {
    let team = service.client(owner).get(&format!("/teams/{}", owner.team)).await;
    team.body["data"]["limits"]["manual_checks"]["used"].clone()
}

/// A site that answers and has had its first runs.
async fn watched(service: &Service, owner: &Member) -> (SiteId, WebServer) {
    let target = WebServer::start().await;
    let site = new_site(service, owner, &target.url).await;
    service.consume().await;
    service.advance_minutes(1);
    (site, target)
}

#[tokio::test]
async fn checks_are_queued_in_the_order_asked_for() {
    let (service, owner) = Service::with_team().await;
    let (site, target) = watched(&service, &owner).await;
    let queued = run(&service, &owner, site, &["broken-links", "status"]).await;
    insta::assert_snapshot!(masked(&queued, &target), @r#"
    202 {
      "data": [
        {
          "automatic": false,
          "completed_at": null,
          "created_at": "2026-11-20T09:55:00+00:00",
          "result": null,
          "run_reason": null,
          "site": "<the site>",
          "status": "pending",
          "type": "broken-links",
          "updated_at": "2026-11-20T09:55:00+00:00",
          "uuid": "01a1f861-7920-8600-8000-000000000004"
        },
        {
          "automatic": false,
          "completed_at": null,
          "created_at": "2026-11-20T09:55:00+00:00",
          "result": null,
          "run_reason": null,
          "site": "<the site>",
          "status": "pending",
          "type": "status",
          "updated_at": "2026-11-20T09:55:00+00:00",
          "uuid": "01a1f861-7920-8000-8000-000000000004"
        }
      ]
    }
    "#);
    assert_eq!(used(&service, &owner).await, 2);
    assert_eq!(target.requests(), 1, "nothing runs within the request");
}

#[tokio::test]
async fn without_tools_all_enabled_ones_are_queued() {
    let (service, owner) = Service::with_team().await;
    let off = json!({ "tools": { "ssl": { "enabled": false }, "dns": { "enabled": false } } });
    for (n, body) in ["", "{}", r#"{"automatic": false, "reason": "none"}"#].into_iter().enumerate()
    {
        let url = format!("https://example.com/{n}");
        let site = new_site_with(&service, &owner, &url, &off).await;
        let path = format!("/sites/{site}/checks");
        let body = if body.is_empty() { Body::Empty } else { Body::from(body) };
        let queued = service.client(&owner).send("POST", &path, body).await;
        assert_eq!(queued.status, 202, "{queued:?}");
        let types: Vec<_> = queued.body["data"]
            .as_array()
            .expect("checks")
            .iter()
            .map(|check| check["type"].as_str().expect("a tool"))
            .collect();
        assert_eq!(types, ["status", "broken-links", "performance"]);
    }
}

#[tokio::test]
async fn each_check_gets_a_message_of_its_own() {
    let (service, owner) = Service::with_team().await;
    let site = new_site(&service, &owner, "https://example.com").await;
    service.waiting();
    let queued = run(&service, &owner, site, &["dns", "ssl"]).await;
    let mut expected: Vec<_> = queued.body["data"]
        .as_array()
        .expect("checks")
        .iter()
        .map(|check| check["uuid"].as_str().expect("a uuid").to_owned())
        .collect();
    let mut sent: Vec<_> = service
        .waiting()
        .into_iter()
        .map(|(message, delay)| match message {
            Message::Check(check) => match check.order {
                RunOrder::OnDemand { check } if delay.is_zero() => check.to_string(),
                order => panic!("{order:?}"),
            },
            Message::Reconcile(_) | Message::Alert(_) | Message::Mail(_) => panic!("no check"),
        })
        .collect();
    expected.sort();
    sent.sort();
    assert_eq!(sent, expected);
}

#[tokio::test]
async fn a_status_check_completes_and_a_tool_without_an_engine_is_skipped() {
    let (service, owner) = Service::with_team().await;
    let (site, target) = watched(&service, &owner).await;
    run(&service, &owner, site, &["status", "ssl"]).await;
    service.consume().await;
    let answer = service.client(&owner).get(&format!("/sites/{site}")).await;
    let latest = &answer.body["data"]["latest_checks"];
    assert_eq!(latest["status"]["status"], "completed");
    assert_eq!(latest["ssl"]["status"], "skipped");
    assert_eq!(target.requests(), 2);
}

#[tokio::test]
async fn tools_are_a_list_of_different_tools() {
    let (service, owner) = Service::with_team().await;
    let site = new_site(&service, &owner, "https://example.com").await;
    let client = service.client(&owner);
    let options = "must be one of status, ssl, dns, broken-links, performance";
    for (sent, at, complaint) in [
        (json!([]), "", "must have at least 1 item"),
        (json!(null), "", "must not be empty"),
        (json!(""), "", "must not be empty"),
        (json!("status"), "", "must be an array"),
        (json!({ "0": "status" }), "", "must be an array"),
        (json!(["status", "status"]), ".1", "has a duplicate value"),
        (json!(["status", "ssl", "status"]), ".2", "has a duplicate value"),
        (json!(["uptime"]), ".0", options),
        (json!(["ssl", "links"]), ".1", options),
        (json!(["STATUS"]), ".0", options),
        (json!([1]), ".0", options),
        (json!([null]), ".0", "must not be empty"),
    ] {
        // A minute holds ten of these requests.
        service.advance_minutes(1);
        let refused =
            client.post(&format!("/sites/{site}/checks"), &json!({ "tools": sent })).await;
        let field = format!("tools{at}");
        assert_invalid(&refused, &field, &format!("The {field} field {complaint}."));
    }
    assert_eq!(used(&service, &owner).await, 0);
}

#[tokio::test]
async fn automatic_is_false_where_it_is_sent() {
    let (service, owner) = Service::with_team().await;
    let site = new_site(&service, &owner, "https://example.com").await;
    let client = service.client(&owner);
    let path = format!("/sites/{site}/checks");
    for (sent, complaint) in [
        (json!(true), "must be false"),
        (json!(null), "must not be empty"),
        (json!("false"), "must be true or false"),
        (json!(0), "must be true or false"),
    ] {
        let refused = client.post(&path, &json!({ "automatic": sent })).await;
        assert_invalid(&refused, "automatic", &format!("The automatic field {complaint}."));
    }
    let both = client.post(&path, &json!({ "automatic": true, "tools": ["x"] })).await;
    insta::assert_snapshot!(both.shown(), @r#"
    422 {
      "errors": {
        "automatic": ["The automatic field must be false."],
        "tools.0": ["The tools.0 field must be one of status, ssl, dns, broken-links, performance."]
      },
      "message": "The tools.0 field must be one of status, ssl, dns, broken-links, performance. (and 1 more error)"
    }
    "#);
    let sent = client.post(&path, &json!({ "automatic": false, "tools": ["dns"] })).await;
    assert_eq!(sent.status, 202);
}

#[tokio::test]
async fn a_body_is_a_json_object_or_nothing() {
    let (service, owner) = Service::with_team().await;
    let site = new_site(&service, &owner, "https://example.com").await;
    for (body, message) in [
        ("[]", "The request body must be a JSON object."),
        (r#"["status"]"#, "The request body must be a JSON object."),
        ("null", "The request body must be a JSON object."),
        ("{", "The request body must be valid JSON."),
    ] {
        let path = format!("/sites/{site}/checks");
        let refused = service.client(&owner).send("POST", &path, body.into()).await;
        assert_invalid(&refused, "body", message);
    }
}

#[tokio::test]
async fn a_tool_is_enabled_on_the_site() {
    let (service, owner) = Service::with_team().await;
    let off =
        json!({ "tools": { "ssl": { "enabled": false }, "broken-links": { "enabled": false } } });
    let site = new_site_with(&service, &owner, "https://example.com", &off).await;
    for (tools, message) in [
        (["status", "ssl"], "SSL checks are not enabled for this site."),
        (["broken-links", "ssl"], "Broken links checks are not enabled for this site."),
    ] {
        let refused = run(&service, &owner, site, &tools).await;
        assert_invalid(&refused, "tools", message);
    }
    assert_eq!(used(&service, &owner).await, 0);
}

#[tokio::test]
async fn a_site_without_enabled_tools_has_nothing_to_run() {
    let (service, owner) = Service::with_team().await;
    let tools = Tool::ALL.map(|tool| (tool.to_string(), json!({ "enabled": false })));
    let off = json!({ "tools": Value::Object(tools.into_iter().collect()) });
    let site = new_site_with(&service, &owner, "https://example.com", &off).await;
    let path = format!("/sites/{site}/checks");
    let refused = service.client(&owner).send("POST", &path, Body::Empty).await;
    assert_invalid(&refused, "tools", "No checks are enabled for this site.");
}

#[tokio::test]
async fn a_pending_check_keeps_all_that_were_asked_for_from_the_queue() {
    let (service, owner) = Service::with_team().await;
    let (site, _target) = watched(&service, &owner).await;
    assert_eq!(run(&service, &owner, site, &["ssl", "broken-links"]).await.status, 202);
    // However long it waits.
    service.advance_minutes(60);
    for (tools, tool) in [
        (["status", "ssl"].as_slice(), "ssl"),
        (&["broken-links"], "broken-links"),
        (&["broken-links", "ssl"], "broken-links"),
    ] {
        let refused = run(&service, &owner, site, tools).await;
        let message = format!("This site already has a pending {tool} check.");
        assert_invalid(&refused, "tools", &message);
    }
    let checks = service.client(&owner).get(&format!("/sites/{site}/checks?type=status")).await;
    assert_eq!(checks.body["meta"]["total"], 1, "the first run only");
    assert_eq!(used(&service, &owner).await, 2);

    service.consume().await;
    assert_eq!(run(&service, &owner, site, &["status", "ssl"]).await.status, 202);
}

#[tokio::test]
async fn a_tool_runs_again_when_its_cadence_has_passed_since_it_was_queued() {
    let (service, owner) = Service::with_team().await;
    let (site, _target) = watched(&service, &owner).await;
    let every = [
        ("status", "Status", 60, "minute"),
        ("ssl", "SSL", 60, "minute"),
        ("dns", "DNS", 60, "minute"),
        ("broken-links", "Broken links", 300, "5 minutes"),
        ("performance", "Performance", 300, "5 minutes"),
    ];
    for (tool, label, seconds, cadence) in every {
        assert_eq!(run(&service, &owner, site, &[tool]).await.status, 202);
        service.test.advance(SignedDuration::from_secs(seconds - 1));
        service.consume().await;
        let refused = run(&service, &owner, site, &[tool]).await;
        let message = format!("{label} checks can only be run every {cadence} for this site.");
        assert_invalid(&refused, "tools", &message);
        service.test.advance(SignedDuration::from_secs(1));
        assert_eq!(run(&service, &owner, site, &[tool]).await.status, 202, "{tool}");
        service.consume().await;
    }
}

#[tokio::test]
async fn the_cadence_of_one_site_is_not_that_of_another() {
    let (service, owner) = Service::with_team().await;
    let (site, _target) = watched(&service, &owner).await;
    let (other, _other_target) = watched(&service, &owner).await;
    assert_eq!(run(&service, &owner, site, &["status"]).await.status, 202);
    assert_eq!(run(&service, &owner, other, &["status"]).await.status, 202);
}

#[tokio::test]
async fn automatic_checks_do_not_stand_in_the_way() {
    let (service, owner) = Service::with_team().await;
    let (site, target) = watched(&service, &owner).await;
    target.answer(503);
    service.run_scheduled(site, Tool::Status).await;
    assert_eq!(run(&service, &owner, site, &["status"]).await.status, 202);
}

#[tokio::test]
async fn a_refusal_names_the_first_broken_rule_of_enabled_quota_pending_cadence() {
    let service = Service::start().await;
    let owner = new_team(&service.test, Plan::Starter).await;
    let off = json!({ "tools": { "dns": { "enabled": false } } });
    let target = WebServer::start().await;
    let site = new_site_with(&service, &owner, &target.url, &off).await;
    // Forty-eight of fifty are used. Then one tool is pending, and another one was checked too recently.
    for _ in 0..11 {
        service.advance_minutes(5);
        let tools = ["status", "ssl", "broken-links", "performance"];
        assert_eq!(run(&service, &owner, site, &tools).await.status, 202);
        service.consume().await;
    }
    service.advance_minutes(5);
    for tools in [["status", "ssl"], ["broken-links", "performance"]] {
        assert_eq!(run(&service, &owner, site, &tools).await.status, 202);
        if tools[0] == "status" {
            service.consume().await;
        }
    }
    assert_eq!(used(&service, &owner).await, 48);

    for (tools, message) in [
        (["status", "broken-links", "dns"].as_slice(), "DNS checks are not enabled for this site."),
        (&["status", "broken-links", "performance"], QUOTA),
        (&["status", "broken-links"], "This site already has a pending broken-links check."),
        (&["status", "ssl"], "Status checks can only be run every minute for this site."),
    ] {
        assert_invalid(&run(&service, &owner, site, tools).await, "tools", message);
    }
    assert_eq!(used(&service, &owner).await, 48);
}

/// Uses up this many checks of the quota.
async fn use_up(service: &Service, owner: &Member, site: SiteId, checks: usize) {
    let tools = ["ssl", "dns", "broken-links", "performance", "status"];
    let mut left = checks;
    while left > 0 {
        let now = &tools[..left.min(tools.len())];
        assert_eq!(run(service, owner, site, now).await.status, 202);
        service.consume().await;
        service.advance_minutes(5);
        left -= now.len();
    }
}

#[tokio::test]
async fn the_quota_is_the_months_and_begins_anew_with_the_next() {
    let service = Service::start().await;
    let owner = new_team(&service.test, Plan::Starter).await;
    let (site, _target) = watched(&service, &owner).await;
    use_up(&service, &owner, site, 48).await;

    let refused = run(&service, &owner, site, &["status", "ssl", "dns"]).await;
    assert_invalid(&refused, "tools", QUOTA);
    assert_eq!(used(&service, &owner).await, 48, "all of them or none");
    assert_eq!(run(&service, &owner, site, &["status", "ssl"]).await.status, 202);
    service.consume().await;
    service.test.set_clock("2026-11-30T23:59:59.999Z".parse().expect("a time"));
    assert_invalid(&run(&service, &owner, site, &["dns"]).await, "tools", QUOTA);
    assert_eq!(used(&service, &owner).await, 50);

    service.test.set_clock("2026-12-01T00:00:00Z".parse().expect("a time"));
    assert_eq!(used(&service, &owner).await, 0);
    assert_eq!(run(&service, &owner, site, &["dns"]).await.status, 202);
    assert_eq!(used(&service, &owner).await, 1);
}

#[tokio::test]
async fn the_last_of_the_quota_goes_to_one_of_two_requests_at_once() {
    let service = Service::start().await;
    let owner = new_team(&service.test, Plan::Starter).await;
    let (site, _target) = watched(&service, &owner).await;
    let (other, _other_target) = watched(&service, &owner).await;
    use_up(&service, &owner, site, 49).await;

    let both = [site, other].map(|site| run(&service, &owner, site, &["dns"]));
    let (queued, refused): (Vec<_>, Vec<_>) =
        join_all(both).await.into_iter().partition(|answer| answer.status == 202);
    assert_eq!(queued.len(), 1);
    assert_invalid(&refused[0], "tools", QUOTA);
    assert_eq!(used(&service, &owner).await, 50);
}

#[tokio::test]
async fn of_many_requests_at_once_one_is_queued_and_counted() {
    let (service, owner) = Service::with_team().await;
    let (site, _target) = watched(&service, &owner).await;
    let answers = join_all((0..40).map(|_| run(&service, &owner, site, &["status"]))).await;
    let with = |status: u16| answers.iter().filter(move |answer| answer.status == status);
    assert_eq!(with(202).count(), 1);
    assert_eq!(with(422).count(), 9);
    assert_eq!(with(429).count(), 30);
    for answer in with(422) {
        assert_invalid(answer, "tools", "This site already has a pending status check.");
    }
    for answer in with(429) {
        assert_eq!(answer.body, json!({ "message": "Too many requests. Please slow down." }));
        assert_eq!(answer.header("retry-after"), "60");
    }
    assert_eq!(used(&service, &owner).await, 1);
    assert_eq!(service.waiting().len(), 1, "one message");
    let pending = service.client(&owner).get(&format!("/sites/{site}/checks?status=pending")).await;
    assert_eq!(pending.body["meta"]["total"], 1);
}

#[tokio::test]
async fn an_order_survives_what_goes_wrong_on_the_way_to_the_table() {
    let (service, owner) = Service::with_team().await;
    let site = new_site(&service, &owner, "https://example.com").await;
    let tools = ["ssl", "dns", "performance"];
    for (tool, fault) in
        tools.into_iter().zip([Fault::Throttle, Fault::Conflict, Fault::LoseAnswer])
    {
        service.test.faults().on_write(1, fault);
        let queued = run(&service, &owner, site, &[tool]).await;
        assert_eq!(queued.status, 202, "{fault:?}: {queued:?}");
    }
    assert_eq!(used(&service, &owner).await, 3);
}

#[tokio::test]
async fn ten_requests_a_minute_count_whatever_becomes_of_them() {
    let (service, owner) = Service::with_team().await;
    let site = new_site(&service, &owner, "https://example.com").await;
    let client = service.client(&owner);
    let path = format!("/sites/{site}/checks");
    service.test.advance(SignedDuration::from_secs(42));
    for n in 1..=10 {
        let answer = client.post(&path, &json!({ "tools": [] })).await;
        assert_eq!(answer.status, 422);
        assert_eq!(answer.header("x-ratelimit-limit"), "10");
        assert_eq!(answer.header("x-ratelimit-remaining"), (10 - n).to_string());
        assert_eq!(answer.header("retry-after"), "");
    }
    let refused = client.post(&path, &json!({ "tools": ["dns"] })).await;
    insta::assert_snapshot!(refused.shown(), @r#"429 { "message": "Too many requests. Please slow down." }"#);
    assert_eq!(refused.header("retry-after"), "18");
    assert_eq!(refused.header("x-ratelimit-limit"), "10");
    assert_eq!(refused.header("x-ratelimit-remaining"), "0");
    assert_eq!(used(&service, &owner).await, 0);

    // The limit of ten applies neither to reading nor to other users.
    let read = client.get(&path).await;
    assert_eq!((read.status, read.header("x-ratelimit-limit")), (200, "1000000"));
    let member = colleague(&service, &owner, Role::Member).await;
    assert_eq!(run(&service, &member, site, &["ssl"]).await.status, 202);

    service.test.advance(SignedDuration::from_secs(18));
    let answer = client.post(&path, &json!({ "tools": ["dns"] })).await;
    assert_eq!((answer.status, answer.header("x-ratelimit-remaining")), (202, "9"));
}

#[tokio::test]
async fn the_ten_are_the_users_however_many_tokens_and_sites_there_are() {
    let (service, owner) = Service::with_team().await;
    let mut clients = vec![service.client(&owner)];
    for _ in 0..2 {
        let secret = new_token(&service, owner.user, &[Scope::ChecksRun]).await;
        clients.push(service.client_with(Some(&format!("Bearer {secret}"))));
    }
    let mut answers = Vec::new();
    for n in 0..4 {
        let site = new_site(&service, &owner, &format!("https://example.com/{n}")).await;
        for client in &clients {
            answers.push(client.post(&format!("/sites/{site}/checks"), &json!({})).await.status);
        }
    }
    assert_eq!(answers.iter().filter(|status| **status == 429).count(), 2);
    assert_eq!(answers[10..], [429, 429]);
}

#[tokio::test]
async fn refused_tokens_do_not_use_up_the_ten() {
    let (service, owner) = Service::with_team().await;
    let site = new_site(&service, &owner, "https://example.com").await;
    for _ in 0..12 {
        let nobody = service.client_with(Some("Bearer garbage"));
        assert_eq!(nobody.post(&format!("/sites/{site}/checks"), &json!({})).await.status, 401);
    }
    let answer = run(&service, &owner, site, &["dns"]).await;
    assert_eq!((answer.status, answer.header("x-ratelimit-remaining")), (202, "9"));
}

#[tokio::test]
async fn what_plan_or_settings_forbid_by_the_time_it_would_run_is_skipped() {
    let (service, owner) = Service::with_team().await;
    let (site, target) = watched(&service, &owner).await;
    let queued = run(&service, &owner, site, &["status"]).await;
    let uuid = queued.body["data"][0]["uuid"].as_str().expect("a uuid");
    suspend(&service, &owner).await;
    let requests = target.requests();
    service.consume().await;
    assert_eq!(target.requests(), requests);

    let now = service.test.now();
    let store = &service.test.app.store;
    store.set_plan(owner.team, Plan::Agency, true, now).await.expect("a team");
    let check = service.client(&owner).get(&format!("/checks/{uuid}")).await;
    assert_eq!((check.status, check.data("status")), (200, "skipped".to_owned()));
    assert_eq!(used(&service, &owner).await, 1, "what was queued is never refunded");
}

#[tokio::test]
async fn on_demand_results_open_no_issue_and_do_not_count_towards_one() {
    let (service, owner) = Service::with_team().await;
    let target = WebServer::start().await;
    let settings = json!({ "tools": { "status": { "settings": { "failures_to_open": 2 } } } });
    let site = new_site_with(&service, &owner, &target.url, &settings).await;
    service.consume().await;
    target.answer(503);
    for _ in 0..3 {
        service.advance_minutes(1);
        assert_eq!(run(&service, &owner, site, &["status"]).await.status, 202);
        assert!(service.consume().await.is_empty(), "no confirmation retry either");
    }
    let client = service.client(&owner);
    let checks = client.get(&format!("/sites/{site}/checks?automatic=false")).await;
    assert_eq!(checks.body["data"][0]["result"]["up"], false);
    assert_eq!(client.get("/issues").await.body["meta"]["total"], 0);

    // One automatic failure is still the first.
    service.advance_minutes(1);
    let Handled::Finished(first) = service.run_scheduled(site, Tool::Status).await else {
        panic!("it ran")
    };
    assert!(first.issues.is_empty());
    // A success on demand does not change this.
    target.answer(200);
    run(&service, &owner, site, &["status"]).await;
    service.consume().await;
    target.answer(503);
    service.advance_minutes(1);
    service.run_scheduled(site, Tool::Status).await;
    assert_eq!(client.get("/issues").await.body["meta"]["total"], 1);
}
