//! Maintenance windows over time: nobody is notified of what is wrong in a window, but people are notified of what is
//! still wrong after it.

use serde_json::{Value, json};
use vedette_checker::Handled;
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::SiteId;
use vedette_testkit::channels::{chat, webhook};
use vedette_tests::receivers;

use crate::scene::{Scene, URL, is_finished};

impl Scene {
    fn windows(&self) -> String {
        format!("/teams/{}/maintenance-windows", self.owner.team)
    }

    /// Starts a window that takes some minutes, and returns its path.
    async fn start_window(&self, sites: Value, minutes: u32) -> String {
        self.start_with(
            json!({ "name": "Deployment", "sites": sites, "duration_minutes": minutes }),
        )
        .await
    }

    async fn start_selecting(&self, selector: &str, minutes: u32) -> String {
        self.start_with(json!({ "selector": selector, "duration_minutes": minutes })).await
    }

    async fn start_with(&self, body: Value) -> String {
        let started = self.client().post(&self.windows(), &body).await;
        assert_eq!(started.status, 201, "{started:?}");
        format!("{}/{}", self.windows(), started.data("uuid"))
    }

    /// A run of the site's schedule some minutes later.
    async fn run_after(&self, minutes: i64, site: SiteId, code: u16) -> Handled {
        self.target.answer(code);
        self.service.advance_minutes(minutes);
        self.service.run_scheduled(site, Tool::Status).await
    }

    async fn uptime(&self, site: SiteId) -> Value {
        let report = self.client().get(&format!("/sites/{site}/reports/uptime?days=1")).await;
        report.body["data"].clone()
    }

    /// Whether each check of a site was in a window, the newest first; the API omits what is not.
    async fn marks(&self, site: SiteId) -> Vec<Option<bool>> {
        let listed = self.client().get(&format!("/sites/{site}/checks")).await;
        let checks = listed.body["data"].as_array().expect("checks").clone();
        checks.iter().map(|check| check.get("in_maintenance").and_then(Value::as_bool)).collect()
    }
}

#[tokio::test]
async fn a_failure_that_outlasts_its_window_is_reported_afterwards() {
    let scene = Scene::start().await;
    scene.add_channel("Ops", chat()).await;
    scene.add_channel("Pager", webhook()).await;
    let site = scene.watch().await;
    let untouched = scene.uptime(site).await;
    assert!(untouched.get("outside_maintenance").is_none(), "{untouched}");
    // The story begins at 9:54.
    scene.start_window(json!([site]), 30).await;
    for _ in 0..3 {
        assert!(is_finished(&scene.run_after(5, site, 503).await));
    }
    assert!(scene.issues("active").await.is_empty());
    assert!(scene.service.consume().await.is_empty(), "no retry in the window");
    assert_eq!(scene.state(site).await.failing_since, None);
    assert_eq!(scene.marks(site).await, [Some(true), Some(true), Some(true), None]);

    // It ends at 10:24, when the next check runs. As usual, a single failure may be a hiccup.
    scene.run_timer(site).await;
    assert_eq!(scene.service.test.now().to_string(), "2026-11-20T10:24:00Z");
    assert!(scene.issues("active").await.is_empty());
    scene.run_timer(site).await;
    let active = scene.issues("active").await;
    assert_eq!(active.len(), 1, "{active:?}");
    assert_eq!(active[0]["opened_at"], "2026-11-20T10:26:00+00:00");
    scene.redeliver().await;
    let received = scene.service.receivers.take();
    let alerts: Vec<_> = received
        .iter()
        .filter_map(|received| match &received.message {
            receivers::Message::Alert(alert) => Some(alert),
            _ => None,
        })
        .collect();
    let [alert] = alerts[..] else { panic!("{received:?}") };
    assert_eq!(alert.title(), "DOWN: site.test");
    let since = alert.facts.iter().find(|fact| fact.label == "Since").expect("since when");
    assert_eq!(since.value, "2026-11-20 10:24 UTC", "not since the window");
    assert_eq!(received.len(), 2, "{received:?}");

    let report = scene.uptime(site).await;
    assert_eq!(report["total_uptime_percentage"], json!(16.66), "1 of 6");
    let outside = json!({ "uptime_percentage": 33.33, "total_checks": 3, "up_checks": 1 });
    assert_eq!(report["outside_maintenance"], outside);
    assert_eq!(report["days"][0]["outside_maintenance"], outside);
    assert_eq!(report["days"][0]["total_checks"], 6);
}

#[tokio::test]
async fn a_failure_that_ends_within_its_window_is_not_reported() {
    let scene = Scene::start().await;
    scene.add_channel("Ops", chat()).await;
    let site = scene.watch().await;
    scene.start_window(Value::Null, 30).await;
    scene.run_after(5, site, 503).await;
    scene.run_after(5, site, 503).await;
    scene.run_after(5, site, 200).await;
    assert_eq!(scene.state(site).await.timer, None, "nothing needs another check");
    scene.run_after(30, site, 200).await;
    scene.redeliver().await;
    assert_eq!(scene.notified(), [""; 0]);
    assert!(scene.issues("resolved").await.is_empty());
    // A failure before the window and one after it count as two in a row.
    scene.run_after(5, site, 503).await;
    scene.start_window(json!([site]), 10).await;
    scene.run_after(5, site, 200).await;
    scene.run_after(6, site, 503).await;
    assert_eq!(scene.issues("active").await.len(), 1);
}

#[tokio::test]
async fn an_issue_from_before_a_window_gets_no_reminders_in_it_and_is_resolved_after_it() {
    let scene = Scene::start().await;
    scene.add_channel("Ops", chat()).await;
    scene.escalate(&json!({ "escalation": { "enabled": true, "intervals": [15, 60] } })).await;
    let site = scene.watch().await;
    scene.turn(site, 503).await;
    scene.redeliver().await;
    assert_eq!(scene.notified(), ["DOWN: site.test"]);
    let window = scene.start_window(json!([site]), 60).await;
    for _ in 0..3 {
        scene.run_after(10, site, 503).await;
        scene.redeliver().await;
    }
    assert_eq!(scene.notified(), [""; 0]);
    let timer = scene.timer(site).await;
    assert_eq!(timer.reason.as_str(), "incident_follow_up");
    assert_eq!(timer.due.to_string(), "2026-11-20T11:01:00Z", "when the window ends");

    // Somebody ends it early: the reminder that was held is due, and only one.
    let ended = scene.client().post(&format!("{window}/end"), &json!({})).await;
    assert_eq!(ended.status, 200);
    scene.redeliver().await;
    assert_eq!(scene.notified(), ["STILL DOWN 32 min: site.test"]);

    // In another window it recovers, and the first check after it resolves the issue.
    scene.start_window(Value::Null, 20).await;
    scene.run_after(5, site, 200).await;
    scene.run_after(5, site, 200).await;
    assert_eq!(scene.issues("active").await.len(), 1, "not in the window");
    scene.run_timer(site).await;
    assert_eq!(scene.issues("resolved").await.len(), 1);
    scene.redeliver().await;
    let [resolved] = <[String; 1]>::try_from(scene.notified()).expect("one alert");
    assert!(resolved.starts_with("RESOLVED: site.test"), "{resolved}");
}

#[tokio::test]
async fn a_program_gets_no_reminder_in_a_window_either() {
    let scene = Scene::start().await;
    scene.add_channel("Program", webhook()).await;
    scene.escalate(&json!({ "escalation": { "enabled": true, "intervals": [15, 60] } })).await;
    let site = scene.watch().await;
    scene.turn(site, 503).await;
    scene.redeliver().await;
    assert_eq!(scene.notified().len(), 1, "the opening");
    let window = scene.start_window(json!([site]), 60).await;
    for _ in 0..3 {
        scene.run_after(10, site, 503).await;
        scene.redeliver().await;
    }
    assert_eq!(scene.notified(), [""; 0]);
    let ended = scene.client().post(&format!("{window}/end"), &json!({})).await;
    assert_eq!(ended.status, 200);
    scene.redeliver().await;
    assert_eq!(scene.notified().len(), 1, "the reminder that was held");
}

#[tokio::test]
async fn a_window_with_a_selector_is_for_the_sites_whose_tags_match_at_the_time() {
    let scene = Scene::start().await;
    let site = scene.watch().await;
    let other = scene.watch_url(&format!("{URL}/other")).await;
    scene.tag(site, &["env:prod"]).await;
    scene.start_selecting("env:prod, !legacy", 60).await;
    for _ in 0..2 {
        scene.run_after(5, site, 503).await;
        scene.run_after(0, other, 503).await;
    }
    assert_eq!(scene.marks(site).await, [Some(true), Some(true), None]);
    assert_eq!(scene.marks(other).await, [None; 3]);
    let active = scene.issues("active").await;
    assert_eq!(active.len(), 1, "{active:?}");
    assert_eq!(active[0]["site"]["uuid"], json!(other));

    // A new site joins, and a site leaves when its tags change.
    scene.target.answer(200);
    let new = scene.watch_url(&format!("{URL}/new")).await;
    scene.tag(new, &["env:prod", "team:shop"]).await;
    scene.tag(site, &["env:prod", "legacy"]).await;
    scene.run_after(5, new, 503).await;
    scene.run_after(0, site, 503).await;
    assert_eq!(scene.marks(new).await, [Some(true), None]);
    assert_eq!(scene.marks(site).await[0], None);
}

#[tokio::test]
async fn reminders_wait_for_a_window_while_the_tags_of_the_site_match() {
    let scene = Scene::start().await;
    scene.add_channel("Ops", chat()).await;
    scene.add_channel("Program", webhook()).await;
    scene.escalate(&json!({ "escalation": { "enabled": true, "intervals": [15, 60] } })).await;
    let site = scene.watch().await;
    scene.tag(site, &["env:prod"]).await;
    scene.turn(site, 503).await;
    scene.redeliver().await;
    assert_eq!(scene.notified().len(), 2, "the opening");
    scene.start_selecting("env:prod", 60).await;
    for _ in 0..3 {
        scene.run_after(10, site, 503).await;
        scene.redeliver().await;
    }
    assert_eq!(scene.notified(), [""; 0]);
    scene.tag(site, &[]).await;
    scene.redeliver().await;
    assert_eq!(scene.notified().len(), 2, "the reminders that were held");
}

#[tokio::test]
async fn a_window_that_recurs_covers_each_of_its_instances() {
    let scene = Scene::start().await;
    let site = scene.create(URL, &json!({})).await;
    scene.service.consume().await;
    let nightly = json!({
        "starts_at": "2026-11-21T02:00",
        "time_zone": "Europe/Berlin",
        "duration_minutes": 60,
        "recurrence": "FREQ=DAILY",
    });
    assert_eq!(scene.client().post(&scene.windows(), &nightly).await.status, 201);
    for day in ["2026-11-21", "2026-11-22", "2027-04-01"] {
        let hour = if day.starts_with("2027") { "00" } else { "01" };
        let start = format!("{day}T{hour}:00:00Z").parse().expect("a timestamp");
        scene.service.test.set_clock(start);
        scene.run_after(0, site, 503).await;
        scene.run_after(59, site, 503).await;
        assert_eq!(scene.marks(site).await[..2], [Some(true); 2], "{day}");
        assert!(scene.issues("active").await.is_empty());
        scene.run_after(1, site, 200).await;
        assert_eq!(scene.marks(site).await[0], None, "{day}");
    }
}

#[tokio::test]
async fn checks_on_demand_run_in_a_window() {
    let scene = Scene::start().await;
    let site = scene.watch().await;
    scene.start_window(json!([site]), 30).await;
    scene.service.advance_minutes(1);
    let order = scene.order(site).await;
    assert!(is_finished(&scene.service.check(&order).await));
    assert_eq!(scene.marks(site).await, [Some(true), None]);
}
