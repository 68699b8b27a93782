//! The record of an outage, from the first failed check to the first good one.

use jiff::Timestamp;
use serde_json::json;
use vedette_domain::checks::history::{DayUptime, Downtime, day_of};
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::SiteId;
use vedette_domain::issues::Fingerprint;
use vedette_domain::issues::outage::{Cause, OutageRecord};
use vedette_domain::issues::record::Issue;

use crate::scene::Scene;

impl Scene {
    async fn outages(&self) -> Vec<OutageRecord> {
        let (store, period) =
            (&self.service.test.app.store, (Timestamp::UNIX_EPOCH, Timestamp::MAX));
        store.outages(self.owner.team, period, 100).await.expect("read")
    }

    async fn down(&self, site: SiteId) -> Issue {
        let store = &self.service.test.app.store;
        let issue = store.issue(site.partition(), Fingerprint::StatusDown).await.expect("read");
        issue.expect("an issue")
    }
}

#[tokio::test]
async fn an_outage_is_one_record_from_the_first_failed_check_to_the_first_good_one() {
    let scene = Scene::start().await;
    let now = || scene.service.test.now();
    let site = scene.watch_down(&json!({ "successes_to_resolve": 2 })).await;
    let opened = scene.outages().await;
    let [outage] = &opened[..] else { panic!("{opened:?}") };
    let issue = scene.down(site).await;
    assert_eq!((outage.issue, outage.site, outage.ended_at), (issue.id, site, None));
    assert_eq!(outage.opened_at, issue.lifecycle.opened_at());
    assert_eq!(outage.began_at, issue.first_failed_at());
    assert!(outage.began_at < outage.opened_at, "the first of two failed checks");
    assert_eq!((outage.cause, &*outage.detail), (Cause::Http, "HTTP 503 Service Unavailable"));

    // It is acknowledged, fails once more, and is resolved by the second good check.
    scene.acknowledge(&json!({ "uuid": issue.id.to_string() })).await;
    scene.run_timer(site).await;
    scene.target.answer(200);
    let first_good = scene.timer(site).await.due;
    scene.run_timer(site).await;
    assert_eq!(scene.outages().await, opened, "one good check of two");
    let second_good = scene.timer_message(site, scene.timer(site).await);
    scene.run_timer(site).await;
    let over = scene.outages().await;
    let [outage] = &over[..] else { panic!("{over:?}") };
    assert_eq!(outage.ended_at, Some(first_good));
    assert!(first_good < now());
    assert_eq!(outage.acknowledged.and_then(|taken| taken.by.member()), Some(scene.owner.user));
    let issue = scene.down(site).await;
    assert_eq!(issue.problem(), outage.problem(), "the issue says the same");
    assert_eq!(issue.seen.failed_checks, Some(3));
    assert!(issue.lifecycle.resolved_at() > Some(first_good), "the API does not");

    // The message is delivered again.
    scene.service.check(&second_good).await;
    assert_eq!(scene.outages().await, over);

    // Today is down, however short the outage was.
    let today = scene.state(site).await.uptime_on(day_of(now()), now());
    assert_eq!(today, DayUptime::Down(Downtime::Minutes));
}

#[tokio::test]
async fn an_outage_that_a_person_resolves_ends_then() {
    let scene = Scene::start().await;
    let site = scene.watch_down(&json!({})).await;
    scene.service.advance_minutes(40);
    let now = scene.service.test.now();
    let issue = scene.down(site).await;
    scene.service.resolve(issue.id, scene.owner.user).await;
    let outages = scene.outages().await;
    assert_eq!(outages.len(), 1);
    assert_eq!((outages[0].ended_at, outages[0].resolved_by), (Some(now), Some(scene.owner.user)));
    let today = scene.state(site).await.uptime_on(day_of(now), now);
    assert_eq!(today, DayUptime::Down(Downtime::Hour));
}

#[tokio::test]
async fn an_outage_ends_with_monitoring_unless_a_later_check_fails() {
    let scene = Scene::start().await;
    let site = scene.watch_down(&json!({})).await;
    scene.service.advance_minutes(10);
    let stopped = scene.service.test.now();
    scene.enable_status(site, false).await;
    let problem = async || {
        let issue = scene.down(site).await;
        issue.problem().or_ended(scene.state(site).await.monitoring_ended_at)
    };
    assert_eq!(problem().await.ended_at, Some(stopped));
    // The issue stays open, as before.
    assert!(scene.down(site).await.lifecycle.is_active());

    // A good check a day later does not make the outage longer.
    scene.service.advance_minutes(24 * 60);
    scene.target.answer(200);
    scene.enable_status(site, true).await;
    scene.service.advance_minutes(5);
    scene.service.run_scheduled(site, Tool::Status).await;
    assert!(!scene.down(site).await.lifecycle.is_active());
    assert_eq!(problem().await.ended_at, Some(stopped));
    assert_eq!(scene.outages().await[0].ended_at, Some(stopped));
}

#[tokio::test]
async fn the_outages_of_a_deleted_site_go_with_it() {
    let scene = Scene::start().await;
    let site = scene.watch_down(&json!({})).await;
    assert_eq!(scene.outages().await.len(), 1);
    assert_eq!(scene.client().delete(&format!("/sites/{site}")).await.status, 204);
    scene.service.deliver_alerts().await;
    scene.service.consume().await;
    assert_eq!(scene.outages().await, []);
}
