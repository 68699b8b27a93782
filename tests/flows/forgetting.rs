//! On-demand checks are deleted while others are requested, run and become history: the count always matches the
//! existing checks.

use futures::future::join_all;
use serde_json::json;
use vedette_domain::accounts::plan::Plan;
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::SiteId;

use crate::census::{assert_balanced, kinds};
use crate::scene::{Scene, check_message};

impl Scene {
    async fn delete_check(&self, check: &str) -> u16 {
        self.client().delete(&format!("/checks/{check}")).await.status
    }

    /// Requests a check a minute later and runs it.
    async fn run_ordered(&self, site: SiteId) -> String {
        self.service.advance_minutes(1);
        let message = self.order(site).await;
        self.service.check(&message).await;
        message.check_id().to_string()
    }
}

#[tokio::test]
async fn counters_follow_deletions_in_open_and_closed_days() {
    let scene = Scene::start().await;
    let site = scene.watch().await;
    let service = &scene.service;
    let mut checks = Vec::new();
    for time in ["2026-11-20T23:50:00Z", "2026-11-21T00:10:00Z", "2026-11-21T23:59:00Z"] {
        service.test.set_clock(time.parse().expect("a time"));
        service.run_scheduled(site, Tool::Status).await;
        checks.push(scene.run_ordered(site).await);
        checks.push(scene.run_ordered(site).await);
    }
    // Requested before midnight and deleted after it, so the check is pending in a day that is closed.
    service.test.set_clock("2026-11-22T23:59:59Z".parse().expect("a time"));
    service.run_scheduled(site, Tool::Status).await;
    let late = scene.order(site).await;
    service.advance_minutes(1);
    service.run_scheduled(site, Tool::Status).await;
    checks.push(late.check_id().to_string());
    assert_balanced(service).await;
    for check in checks.iter().rev() {
        assert_eq!(scene.delete_check(check).await, 204);
        assert_balanced(service).await;
    }
    service.check(&late).await;
    assert_balanced(service).await;
    let left = kinds(&service.test.table.dump().await);
    assert_eq!(left.into_iter().collect::<Vec<_>>(), [("sc".to_owned(), 6)]);
    assert_eq!(scene.state(site).await.on_demand, None);
}

#[tokio::test]
async fn counters_follow_deletions_among_runs_and_orders() {
    let scene = Scene::start().await;
    let site = scene.watch().await;
    let service = &scene.service;
    for _ in 0..5 {
        let old = scene.run_ordered(site).await;
        service.advance_minutes(1);
        let pending = scene.order(site).await;
        let scheduled = scene.scheduled(site, Tool::Status, service.test.now());
        let pending_id = pending.check_id().to_string();
        let deletions = [&old, &pending_id, &old, &pending_id];
        let deletions = join_all(deletions.map(|check| scene.delete_check(check)));
        let runs = join_all([&pending, &scheduled].map(|message| service.check(message)));
        let (statuses, _) = futures::join!(deletions, runs);
        assert_eq!(statuses.iter().filter(|status| **status == 204).count(), 2, "{statuses:?}");
        assert_balanced(service).await;
    }
    let left = kinds(&service.test.table.dump().await);
    assert_eq!(left.into_iter().collect::<Vec<_>>(), [("sc".to_owned(), 6)]);

    // The tool is available again, although the run of the deleted check has not happened yet.
    service.advance_minutes(1);
    let deleted = scene.order(site).await;
    assert_eq!(scene.delete_check(&deleted.check_id().to_string()).await, 204);
    service.advance_minutes(1);
    let next = scene.client().post(&format!("/sites/{site}/checks"), &json!({})).await;
    assert_eq!(next.status, 202, "{next:?}");
    for (message, _) in service.waiting() {
        service.check(&deleted).await;
        service.check(&check_message(&message)).await;
    }
    let left = assert_balanced(service).await;
    assert_eq!(left.len(), 1);
    let kinds = kinds(&service.test.table.dump().await);
    assert_eq!(kinds.get("dc"), Some(&1));
}

#[tokio::test]
async fn a_tool_idle_for_longer_than_the_history_has_no_status() {
    let scene = Scene::on_plan(Plan::Starter).await;
    let site = scene.watch().await;
    let service = &scene.service;
    let (app, team) = (&service.test.app, scene.owner.team);
    let shown = async || {
        let path = format!("/teams/{team}/sites?status=completed");
        let listed = scene.client().get(&path).await;
        assert_eq!(listed.status, 200, "{listed:?}");
        let whole = scene.client().get(&format!("/sites/{site}")).await;
        let latest = whole.body["data"]["latest_checks"]["status"].is_object();
        assert_eq!(listed.body["meta"]["total"], u64::from(latest), "list and site agree");
        latest
    };
    // If only the day changes, the directory is updated, too.
    for _ in 0..40 {
        service.advance_minutes(24 * 60);
        service.run_scheduled(site, Tool::Status).await;
    }
    assert!(shown().await);
    service.advance_minutes(29 * 24 * 60);
    assert!(shown().await, "the last day of thirty");
    service.advance_minutes(24 * 60);
    assert!(!shown().await, "past the history");
    let now = service.test.now();
    app.store.set_plan(team, Plan::Agency, true, now).await.expect("a plan");
    assert!(!shown().await, "an upgrade does not bring back what is past");

    service.run_scheduled(site, Tool::Status).await;
    service.advance_minutes(40 * 24 * 60);
    assert!(shown().await, "a year of history");
    app.store.set_plan(team, Plan::Starter, true, now).await.expect("a plan");
    assert!(!shown().await, "a downgrade cuts at once");
}
