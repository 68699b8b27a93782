//! `DELETE /checks/{check}`: which checks can be deleted, and what stays.

use futures::future::join_all;
use jiff::SignedDuration;
use serde_json::{Value, json};
use vedette_checker::{Dropped, Handled};
use vedette_domain::accounts::account::Role;
use vedette_domain::accounts::plan::Plan;
use vedette_domain::checks::check::{Finish, ToolResult};
use vedette_domain::checks::tool::Tool;
use vedette_domain::checks::tool_state::Discard;
use vedette_domain::id::{CheckId, SiteId};
use vedette_domain::message::Message;
use vedette_runs::{Recorded, record_run};
use vedette_testkit::{ApiResponse, Fault, Member, WebServer, new_team, status_result};
use vedette_tests::Service;

use crate::support::{
    assert_invalid, assert_not_found, assert_plan_required, assert_refused, assert_role_required,
    colleague, new_site, set_plan, suspend,
};

const AUTOMATIC: &str = "Automatic checks cannot be deleted.";

async fn delete(service: &Service, caller: &Member, check: &str) -> ApiResponse {
    service.client(caller).delete(&format!("/checks/{check}")).await
}

async fn get(service: &Service, caller: &Member, check: &str) -> ApiResponse {
    service.client(caller).get(&format!("/checks/{check}")).await
}

async fn try_order(service: &Service, owner: &Member, site: SiteId, tool: &str) -> ApiResponse {
    let body = json!({ "tools": [tool] });
    service.client(owner).post(&format!("/sites/{site}/checks"), &body).await
}

/// Requests a check, which then waits in its queue.
async fn order(service: &Service, owner: &Member, site: SiteId, tool: &str) -> String {
    let ordered = try_order(service, owner, site, tool).await;
    assert_eq!(ordered.status, 202, "{ordered:?}");
    ordered.body["data"][0]["uuid"].as_str().expect("an id").to_owned()
}

/// Requests a check a minute later, and runs it.
async fn run(service: &Service, owner: &Member, site: SiteId, tool: &str) -> String {
    service.advance_minutes(1);
    let check = order(service, owner, site, tool).await;
    service.consume().await;
    check
}

/// Asserts that the list of checks matches its totals with every filter. Returns the checks.
async fn listed(service: &Service, owner: &Member, site: SiteId) -> Vec<String> {
    let client = service.client(owner);
    let mut all = Vec::new();
    for filter in
        ["", "&status=pending", "&status=completed", "&status=skipped", "&automatic=false"]
    {
        let path = format!("/sites/{site}/checks?per_page=100{filter}");
        let answer = client.get(&path).await;
        let rows = answer.body["data"].as_array().expect("rows");
        assert_eq!(answer.body["meta"]["total"], rows.len(), "{filter}");
        if filter.is_empty() {
            let uuid = |row: &Value| row["uuid"].as_str().expect("an id").to_owned();
            all = rows.iter().map(uuid).collect();
        }
    }
    all
}

/// The newest check of a tool, as the site shows it. Asserts that the filters of the team's list of sites use the same
/// check.
async fn latest(service: &Service, owner: &Member, site: SiteId, tool: &str) -> Value {
    let client = service.client(owner);
    let answer = client.get(&format!("/sites/{site}")).await;
    let check = answer.body["data"]["latest_checks"][tool].clone();
    for status in ["pending", "completed", "failed", "skipped"] {
        let path = format!("/teams/{}/sites?tool={tool}&status={status}", owner.team);
        let total = client.get(&path).await.body["meta"]["total"].clone();
        assert_eq!(total, u64::from(check["status"] == status), "{status}: {check}");
    }
    check["uuid"].clone()
}

async fn used(service: &Service, owner: &Member) -> Value {
    let team = service.client(owner).get(&format!("/teams/{}", owner.team)).await;
    team.body["data"]["limits"]["manual_checks"]["used"].clone()
}

fn set_clock(service: &Service, time: &str) {
    service.test.set_clock(time.parse().expect("a time"));
}

/// A team with a site that has had its first run.
async fn watched() -> (Service, Member, WebServer, SiteId) {
    let (service, owner) = Service::with_team().await;
    let target = WebServer::start().await;
    let site = new_site(&service, &owner, &target.url).await;
    service.consume().await;
    (service, owner, target, site)
}

#[tokio::test]
async fn a_deleted_check_is_gone() {
    let (service, owner, _target, site) = watched().await;
    let check = run(&service, &owner, site, "status").await;
    assert_eq!(get(&service, &owner, &check).await.status, 200);
    let answer = delete(&service, &owner, &check).await;
    insta::assert_snapshot!(answer.shown(), @"204 null");
    assert_not_found(&get(&service, &owner, &check).await);
    assert_not_found(&delete(&service, &owner, &check).await);
    assert_eq!(listed(&service, &owner, site).await.len(), 1);
}

#[tokio::test]
async fn the_result_of_a_deleted_pending_check_is_discarded() {
    let (service, owner, target, site) = watched().await;
    let check = order(&service, &owner, site, "status").await;
    let requests = target.requests();
    assert_eq!(delete(&service, &owner, &check).await.status, 204);
    let [(message, _)] = service.waiting().try_into().expect("one message");
    let Message::Check(message) = message else { panic!("{message:?}") };
    let handled = service.check(&message).await;
    let dropped = Dropped::Discarded(Discard::NotPending);
    assert!(matches!(handled, Handled::Dropped(reason) if reason == dropped), "{handled:?}");
    assert_eq!(target.requests(), requests, "nothing is probed");
    assert_not_found(&get(&service, &owner, &check).await);
    assert_eq!(listed(&service, &owner, site).await.len(), 1);
}

#[tokio::test]
async fn a_run_in_flight_leaves_nothing_of_a_check_that_is_deleted_meanwhile() {
    let (service, owner, target, site) = watched().await;
    let app = &service.test.app;
    let check = order(&service, &owner, site, "status").await;
    let id = CheckId::parse(&check).expect("an id");
    let context = app.store.run_context(owner.team, site, Tool::Status).await.expect("read");
    let (run, state) = context.expect("a site").begin(id, app.service.time_scale);
    assert_eq!(delete(&service, &owner, &check).await.status, 204);
    let before = service.test.table.dump().await;

    let result = status_result(&target.url, 200, 1.5);
    let finish = Finish::Completed(ToolResult::Status(result));
    let recorded = record_run(app, &run, state, &finish, None).await.expect("recorded");
    assert!(matches!(recorded, Recorded::Discarded(Discard::NotPending)), "{recorded:?}");
    assert_eq!(service.test.table.dump().await, before);
}

#[tokio::test]
async fn concurrent_deletions_and_runs_end_alike_in_any_order() {
    let (service, owner) = Service::with_team().await;
    let target = WebServer::start().await;
    let mut sites = Vec::new();
    for n in 0..10 {
        sites.push(new_site(&service, &owner, &format!("{}/{n}", target.url)).await);
    }
    service.consume().await;
    let mut checks = Vec::new();
    for site in &sites {
        checks.push(order(&service, &owner, *site, "status").await);
    }
    let waiting = service.waiting();
    assert_eq!(waiting.len(), 10);
    let runs = join_all(waiting.iter().map(|(message, _)| service.deliver(message)));
    let deletions = join_all(checks.iter().map(async |check| {
        assert_eq!(delete(&service, &owner, check).await.status, 204);
    }));
    futures::join!(runs, deletions);
    for (site, check) in sites.iter().zip(&checks) {
        assert_not_found(&get(&service, &owner, check).await);
        assert_eq!(listed(&service, &owner, *site).await.len(), 1);
    }
    let path = format!("/teams/{}/sites?status=completed&tool=status", owner.team);
    assert_eq!(service.client(&owner).get(&path).await.body["meta"]["total"], 10);
}

#[tokio::test]
async fn of_many_deletions_at_once_one_succeeds() {
    let (service, owner, _target, site) = watched().await;
    let first = run(&service, &owner, site, "status").await;
    let check = run(&service, &owner, site, "status").await;
    let answers = join_all((0..50).map(|_| delete(&service, &owner, &check))).await;
    let deleted = answers.iter().filter(|answer| answer.status == 204).count();
    let missing = answers.iter().filter(|answer| answer.status == 404).count();
    assert_eq!((deleted, missing), (1, 49));
    assert_eq!(listed(&service, &owner, site).await.len(), 2);
    assert_eq!(latest(&service, &owner, site, "status").await, first);
}

#[tokio::test]
async fn the_tool_is_free_again_but_cadence_and_quota_stay() {
    let (service, owner, _target, site) = watched().await;
    let check = order(&service, &owner, site, "ssl").await;
    let cadence = "SSL checks can only be run every minute for this site.";
    let pending = "This site already has a pending ssl check.";
    assert_invalid(&try_order(&service, &owner, site, "ssl").await, "tools", pending);
    assert_eq!(delete(&service, &owner, &check).await.status, 204);
    assert_eq!(used(&service, &owner).await, 1);
    assert_invalid(&try_order(&service, &owner, site, "ssl").await, "tools", cadence);
    service.test.advance(SignedDuration::from_secs(59));
    assert_invalid(&try_order(&service, &owner, site, "ssl").await, "tools", cadence);
    service.test.advance(SignedDuration::from_secs(1));
    let next = order(&service, &owner, site, "ssl").await;
    assert_eq!(used(&service, &owner).await, 2);
    assert_eq!(latest(&service, &owner, site, "ssl").await, next);
}

#[tokio::test]
async fn nothing_is_left_to_be_done_for_a_deleted_pending_check() {
    let (service, owner, _target, site) = watched().await;
    let check = order(&service, &owner, site, "dns").await;
    service.waiting();
    assert_eq!(delete(&service, &owner, &check).await.status, 204);
    service.advance_minutes(60);
    vedette_reconciler::redeliver(&service.test.app).await.expect("redelivered");
    assert_eq!(service.waiting(), []);
    assert_eq!(listed(&service, &owner, site).await.len(), 1);
}

#[tokio::test]
async fn the_newest_check_is_then_the_one_before_it() {
    let (service, owner, _target, site) = watched().await;
    let automatic = latest(&service, &owner, site, "status").await;
    let first = run(&service, &owner, site, "status").await;
    let second = run(&service, &owner, site, "status").await;
    service.advance_minutes(1);
    let third = order(&service, &owner, site, "status").await;
    assert_eq!(latest(&service, &owner, site, "status").await, third);
    delete(&service, &owner, &third).await;
    assert_eq!(latest(&service, &owner, site, "status").await, second);
    // One that is not the newest.
    delete(&service, &owner, &first).await;
    assert_eq!(latest(&service, &owner, site, "status").await, second);
    delete(&service, &owner, &second).await;
    assert_eq!(latest(&service, &owner, site, "status").await, automatic);
    assert_eq!(listed(&service, &owner, site).await, [automatic.as_str().expect("an id")]);
}

#[tokio::test]
async fn a_newer_automatic_check_stays_the_newest() {
    let (service, owner, _target, site) = watched().await;
    let check = run(&service, &owner, site, "status").await;
    service.advance_minutes(1);
    service.run_scheduled(site, Tool::Status).await;
    let newest = latest(&service, &owner, site, "status").await;
    assert_ne!(newest, check);
    assert_eq!(delete(&service, &owner, &check).await.status, 204);
    assert_eq!(latest(&service, &owner, site, "status").await, newest);
}

#[tokio::test]
async fn a_tool_whose_only_check_is_deleted_has_none() {
    let (service, owner, _target, site) = watched().await;
    let check = run(&service, &owner, site, "broken-links").await;
    assert_eq!(latest(&service, &owner, site, "broken-links").await, check);
    delete(&service, &owner, &check).await;
    assert_eq!(latest(&service, &owner, site, "broken-links").await, json!(null));
    assert_eq!(listed(&service, &owner, site).await.len(), 1);
}

#[tokio::test]
async fn checks_of_other_tools_and_of_the_same_instant_stay() {
    let (service, owner, _target, site) = watched().await;
    service.advance_minutes(1);
    let body = json!({ "tools": ["status", "ssl", "dns"] });
    let ordered = service.client(&owner).post(&format!("/sites/{site}/checks"), &body).await;
    let uuid = |n: usize| ordered.body["data"][n]["uuid"].as_str().expect("an id").to_owned();
    assert_eq!(delete(&service, &owner, &uuid(1)).await.status, 204);
    service.consume().await;
    assert_eq!(get(&service, &owner, &uuid(0)).await.data("status"), "completed");
    assert_eq!(get(&service, &owner, &uuid(2)).await.data("status"), "skipped");
    assert_eq!(listed(&service, &owner, site).await.len(), 3);
}

#[tokio::test]
async fn a_check_of_a_closed_day_is_no_longer_counted_there() {
    let (service, owner, _target, site) = watched().await;
    set_clock(&service, "2026-11-20T23:58:00Z");
    let ended = run(&service, &owner, site, "status").await;
    set_clock(&service, "2026-11-21T00:00:30Z");
    service.advance_minutes(-1);
    let late = order(&service, &owner, site, "ssl").await;
    set_clock(&service, "2026-11-21T00:01:00Z");
    service.run_scheduled(site, Tool::Status).await;
    service.consume().await;
    let total = async |day: &str| {
        let path = format!("/sites/{site}/checks?from={day}&to={day}");
        service.client(&owner).get(&path).await.body["meta"]["total"].clone()
    };
    assert_eq!((total("2026-11-20").await, total("2026-11-21").await), (json!(3), json!(1)));
    assert_eq!(delete(&service, &owner, &ended).await.status, 204);
    assert_eq!((total("2026-11-20").await, total("2026-11-21").await), (json!(2), json!(1)));
    assert_eq!(delete(&service, &owner, &late).await.status, 204);
    assert_eq!((total("2026-11-20").await, total("2026-11-21").await), (json!(1), json!(1)));
    assert_eq!(listed(&service, &owner, site).await.len(), 2);
}

#[tokio::test]
async fn an_automatic_check_cannot_be_deleted() {
    let (service, owner, _target, site) = watched().await;
    let automatic = listed(&service, &owner, site).await.remove(0);
    assert_refused(&delete(&service, &owner, &automatic).await, 403, AUTOMATIC);
    assert_eq!(get(&service, &owner, &automatic).await.status, 200);
    // The role is checked before the kind of the check, and whether the check exists is checked before both.
    let viewer = colleague(&service, &owner, Role::Viewer).await;
    assert_role_required(&delete(&service, &viewer, &automatic).await);
    let never = CheckId::automatic(
        site,
        Tool::Status,
        vedette_domain::checks::tool::RunReason::Scheduled,
        service.test.now() + SignedDuration::from_mins(5),
    );
    assert_not_found(&delete(&service, &viewer, &never.to_string()).await);
}

#[tokio::test]
async fn ids_of_other_resources_and_checks_are_not_found() {
    let (service, owner, _target, site) = watched().await;
    let automatic = listed(&service, &owner, site).await.remove(0);
    let check = run(&service, &owner, site, "status").await;
    let stranger = new_team(&service.test, Plan::Agency).await;
    assert_not_found(&delete(&service, &stranger, &automatic).await);
    // Ids in our form that belong to no check, and other ids.
    let id = CheckId::parse(&check).expect("an id");
    let other = CheckId::on_demand(site, Tool::Dns, id.created_at(), id.unique());
    for unknown in [other.to_string(), site.to_string(), owner.team.to_string()] {
        assert_not_found(&delete(&service, &owner, &unknown).await);
    }
    assert_eq!(get(&service, &owner, &check).await.status, 200);
}

#[tokio::test]
async fn without_an_active_plan_no_check_is_deleted() {
    let (service, owner, _target, site) = watched().await;
    let check = run(&service, &owner, site, "status").await;
    suspend(&service, &owner).await;
    assert_plan_required(&delete(&service, &owner, &check).await);
    let id = CheckId::parse(&check).expect("an id");
    let never = CheckId::on_demand(site, Tool::Dns, id.created_at(), 0).to_string();
    assert_not_found(&delete(&service, &owner, &never).await);
    set_plan(&service, owner.team, Plan::Agency, true).await;
    assert_eq!(delete(&service, &owner, &check).await.status, 204);
}

#[tokio::test]
async fn past_retention_there_is_nothing_to_delete() {
    let service = Service::start().await;
    let owner = new_team(&service.test, Plan::Starter).await;
    let site = new_site(&service, &owner, "https://example.com").await;
    let check = order(&service, &owner, site, "ssl").await;
    service.consume().await;
    set_clock(&service, "2026-12-20T00:00:00Z");
    assert_not_found(&delete(&service, &owner, &check).await);
    set_clock(&service, "2026-12-19T23:59:59Z");
    assert_eq!(delete(&service, &owner, &check).await.status, 204);
}

#[tokio::test]
async fn a_check_of_a_deleted_site_is_not_found() {
    let (service, owner, _target, site) = watched().await;
    let check = run(&service, &owner, site, "status").await;
    service.client(&owner).delete(&format!("/sites/{site}")).await;
    assert_not_found(&delete(&service, &owner, &check).await);
}

#[tokio::test]
async fn a_deletion_survives_what_goes_wrong_on_the_way_to_the_table() {
    let (service, owner, _target, site) = watched().await;
    for fault in [Fault::Throttle, Fault::Conflict, Fault::LoseAnswer] {
        let check = run(&service, &owner, site, "status").await;
        service.test.faults().on_write(1, fault);
        assert_eq!(delete(&service, &owner, &check).await.status, 204, "{fault:?}");
        assert_eq!(listed(&service, &owner, site).await.len(), 1);
    }
}
