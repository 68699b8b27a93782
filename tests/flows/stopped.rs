//! What channels receive when the monitoring of a site that is down ends.

use serde_json::{Value, json};
use vedette_domain::accounts::plan::Plan;
use vedette_domain::alerts::channel::{EventKind, Filter};
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::{IssueId, SiteId};
use vedette_domain::message::{AlertMessage, Message};
use vedette_testkit::channels::{chat, webhook};
use vedette_tests::receivers::{self, Received};

use crate::scene::{Scene, URL};

/// The events, each with its reason.
fn reasons(received: &[Received]) -> Vec<(String, Value)> {
    let event = |received: &Received| match &received.message {
        receivers::Message::Event { body, .. } => {
            let kind = body["type"].as_str().expect("a type").to_owned();
            Some((kind, body["data"]["reason"].clone()))
        }
        _ => None,
    };
    received.iter().filter_map(event).collect()
}

fn titles(received: &[Received]) -> Vec<String> {
    let is_alert = |it: &&Received| matches!(it.message, receivers::Message::Alert(_));
    received.iter().filter(is_alert).map(Received::line).collect()
}

impl Scene {
    async fn start_down() -> (Self, SiteId) {
        let scene = Self::start().await;
        scene.add_channel("Ops", chat()).await;
        scene.add_channel("Pager", webhook()).await;
        let escalation = json!({ "enabled": true, "intervals": [15, 60, 1440] });
        scene.escalate(&json!({ "escalation": escalation })).await;
        let site = scene.watch_down(&json!({})).await;
        assert_eq!(scene.notified(), ["DOWN: site.test", "issue.opened"]);
        (scene, site)
    }

    pub(crate) async fn enable_status(&self, site: SiteId, enabled: bool) {
        let off = json!({ "enabled": false });
        let tools = json!({
            "status": { "enabled": enabled },
            "ssl": off, "dns": off, "broken-links": off, "performance": off,
        });
        let body = json!({ "url": URL, "monitoring_settings": { "tools": tools } });
        let answer = self.client().patch(&format!("/sites/{site}"), &body).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        self.service.consume().await;
        self.service.deliver_alerts().await;
    }

    /// Some days pass.
    async fn assert_that_nobody_is_reminded(&self) {
        for _ in 0..3 {
            self.service.advance_minutes(24 * 60);
            self.redeliver().await;
            assert_eq!(self.notified(), [""; 0]);
        }
    }
}

#[tokio::test]
async fn pausing_a_site_that_is_down_ends_its_alerts_but_not_its_issue() {
    let (scene, site) = Scene::start_down().await;
    scene.enable_status(site, false).await;
    let received = scene.service.receivers.take();
    assert_eq!(titles(&received), ["MONITORING STOPPED: site.test"]);
    assert_eq!(reasons(&received), [("issue.resolved".to_owned(), json!("site_paused"))]);
    assert_eq!(scene.issues("active").await.len(), 1, "clients see what they saw before");
    scene.assert_that_nobody_is_reminded().await;

    scene.enable_status(site, true).await;
    assert_eq!(scene.notified(), ["issue.opened", "DOWN: site.test"], "it still is");
    scene.turn(site, 200).await;
    assert_eq!(scene.notified(), ["RESOLVED: site.test", "issue.resolved"]);
}

#[tokio::test]
async fn a_program_learns_again_that_the_issue_is_acknowledged() {
    let scene = Scene::start().await;
    let filter = Filter { events: EventKind::ALL.into(), ..Filter::default() };
    scene.add_filtered("Pager", webhook(), filter).await;
    let site = scene.watch_down(&json!({})).await;
    scene.acknowledge(&scene.issues("active").await[0]).await;
    assert_eq!(scene.notified(), ["issue.opened", "issue.acknowledged"]);
    scene.enable_status(site, false).await;
    assert_eq!(scene.notified(), ["issue.resolved"]);
    scene.enable_status(site, true).await;
    assert_eq!(scene.notified(), ["issue.opened", "issue.acknowledged"]);
}

#[tokio::test]
async fn an_issue_that_somebody_resolves_while_its_site_is_paused_is_over_already() {
    let (scene, site) = Scene::start_down().await;
    scene.enable_status(site, false).await;
    scene.notified();
    let issue = scene.issues("active").await.remove(0);
    let id = IssueId::parse(issue["uuid"].as_str().expect("a uuid"));
    scene.service.resolve(id.expect("an id"), scene.owner.user).await;
    scene.redeliver().await;
    assert_eq!(scene.notified(), [""; 0]);
    scene.enable_status(site, true).await;
    assert_eq!(scene.notified(), [""; 0]);
    scene.turn(site, 503).await;
    assert_eq!(scene.notified(), ["DOWN: site.test", "issue.opened"]);
}

#[tokio::test]
async fn under_an_inactive_plan_nobody_is_reminded() {
    let (scene, _) = Scene::start_down().await;
    let test = &scene.service.test;
    let set = async |is_active| {
        let (team, plan) = (scene.owner.team, Plan::Agency);
        test.app.store.set_plan(team, plan, is_active, test.now()).await.expect("set");
        // What `vedette plan` requests.
        scene.service.notify(&AlertMessage::Team(team)).await;
        scene.service.deliver_alerts().await;
    };
    set(false).await;
    let received = scene.service.receivers.take();
    assert_eq!(titles(&received), ["MONITORING STOPPED: site.test"]);
    assert_eq!(reasons(&received), [("issue.resolved".to_owned(), json!("plan_inactive"))]);
    scene.assert_that_nobody_is_reminded().await;
    set(true).await;
    assert_eq!(scene.notified(), ["issue.opened", "DOWN: site.test"]);
}

#[tokio::test]
async fn a_team_that_disables_a_tool_ends_the_alerts_of_all_its_sites() {
    let scene = Scene::start().await;
    scene.add_channel("Ops", chat()).await;
    scene.add_channel("Pager", webhook()).await;
    let site = scene.post_site(URL, &json!({})).await.data("uuid");
    let path = format!("/sites/{site}");
    let inherited = json!({ "url": URL, "monitoring_settings": {} });
    assert_eq!(scene.client().patch(&path, &inherited).await.status, 200);
    scene.service.waiting();
    let site = SiteId::parse(&site).expect("an id");
    scene.turn(site, 503).await;
    assert_eq!(scene.notified(), ["DOWN: site.test", "issue.opened"]);
    let status = json!({ "status": { "enabled": false, "cadence_minutes": 5 } });
    let body = json!({ "monitoring_settings": { "tools": status } });
    let path = format!("/teams/{}/monitoring", scene.owner.team);
    assert_eq!(scene.client().patch(&path, &body).await.status, 200);
    scene.service.deliver_alerts().await;
    let received = scene.service.receivers.take();
    assert_eq!(titles(&received), ["MONITORING STOPPED: site.test"]);
    assert_eq!(reasons(&received), [("issue.resolved".to_owned(), json!("tool_disabled"))]);
}

#[tokio::test]
async fn deleting_a_site_that_is_down_ends_its_alerts() {
    let (scene, site) = Scene::start_down().await;
    assert_eq!(scene.client().delete(&format!("/sites/{site}")).await.status, 204);
    scene.service.deliver_alerts().await;
    let received = scene.service.receivers.take();
    assert_eq!(titles(&received), ["MONITORING STOPPED: site.test"]);
    assert_eq!(reasons(&received), [("issue.resolved".to_owned(), json!("site_deleted"))]);
    scene.service.consume().await;
    scene.assert_that_nobody_is_reminded().await;
    let left = scene.service.test.table.dump().await;
    let of_site =
        |(pk, sk): &&(String, String)| pk.starts_with("S#") || pk.starts_with("D#") && sk != "A";
    let left: Vec<_> = left.keys().filter(of_site).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test]
async fn a_purge_waits_until_channels_have_learnt_of_the_deletion() {
    let (scene, site) = Scene::start_down().await;
    assert_eq!(scene.client().delete(&format!("/sites/{site}")).await.status, 204);
    // The purge comes first, and its message is lost; so is that to the notifier.
    let sent = scene.service.test.queue.drain(vedette_runtime::Destination::Alerts);
    assert!(matches!(&sent[..], [(Message::Alert(AlertMessage::Issue { .. }), _)]), "{sent:?}");
    scene.service.deliver(&scene.purge(site)).await;
    assert_eq!(scene.notified(), [""; 0]);
    scene.service.advance_minutes(30);
    scene.redeliver().await;
    scene.service.deliver_alerts().await;
    assert_eq!(scene.notified(), ["MONITORING STOPPED: site.test", "issue.resolved"]);
}

#[tokio::test]
async fn a_program_learns_of_an_opening_before_the_deletion_that_follows_at_once() {
    let scene = Scene::start().await;
    scene.add_channel("Pager", webhook()).await;
    let site = scene.watch_with(&json!({ "failures_to_open": 1 })).await;
    scene.target.answer(503);
    scene.service.advance_minutes(5);
    let message = scene.scheduled(site, Tool::Status, scene.service.test.now());
    let app = &scene.service.test.app;
    Box::pin(vedette_checker::handle(app, &scene.service.engines, &message)).await.expect("run");
    assert_eq!(scene.client().delete(&format!("/sites/{site}")).await.status, 204);
    scene.service.deliver_alerts().await;
    assert_eq!(scene.notified(), ["issue.opened", "issue.resolved"]);
}
