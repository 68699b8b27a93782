//! Schedules are derived from the table: they follow settings and plan, and can be rebuilt, whatever fires the runs.

use std::time::Duration;

use jiff::SignedDuration;
use serde_json::{Value, json};
use tokio::time::timeout;
use vedette_domain::accounts::plan::Plan;
use vedette_domain::checks::limits::RECONCILE_GRACE;
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::SiteId;
use vedette_domain::message::{CheckMessage, Message, ReconcileMessage};
use vedette_reconciler::{Reconciled, dispatch, reconcile, redeliver_all};
use vedette_runtime::config::Schedules;
use vedette_runtime::{Presence, Schedule, Scheduler};
use vedette_testkit::aws::Aws;

use crate::census::kinds;
use crate::scene::{Scene, URL, check_message};

/// What fires recurring runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Timers,
    Schedules,
    Polling,
}

struct Story {
    scene: Scene,
    by: By,
    aws: Aws,
}

impl Story {
    async fn begin(by: By) -> Self {
        let mut scene = Scene::start().await;
        let aws = Aws::default();
        let deployed = match by {
            By::Timers => None,
            By::Schedules => Some(Schedules::Each),
            By::Polling => Some(Schedules::Polling),
        };
        if let Some(schedules) = deployed {
            scene.service.test.app.scheduler = scene.on_aws(&aws, schedules).scheduler;
        }
        Self { scene, by, aws }
    }

    async fn schedules(&self) -> Vec<(SiteId, Tool)> {
        let mut schedules = self.scene.service.test.app.scheduler.list().await.expect("schedules");
        schedules.sort_unstable();
        schedules
    }

    /// The runs that fire at this instant.
    async fn fired(&self) -> Vec<CheckMessage> {
        let test = &self.scene.service.test;
        let now = test.now();
        match &test.app.scheduler {
            Scheduler::Local(scheduler) => {
                let mut fired = Vec::new();
                while let Ok(run) = timeout(Duration::ZERO, scheduler.next()).await {
                    fired.push(run);
                }
                fired
            }
            Scheduler::EventBridge(_) => self.aws.account().fired(now),
            Scheduler::Polling(_) => {
                let minute = now.as_second().div_euclid(60);
                test.app.store.set_sent_minute(minute - 1).await.expect("set");
                Box::pin(dispatch(&test.app)).await.expect("dispatched");
                let sent = self.scene.service.waiting().into_iter();
                sent.map(|(message, _)| check_message(&message)).collect()
            }
        }
    }

    /// Asserts that the only schedule fires at the slots of this cadence: not before the first slot after now, and then
    /// at the next one.
    async fn assert_cadence(&self, site: SiteId, tool: Tool, minutes: u32) {
        let test = &self.scene.service.test;
        assert_eq!(self.schedules().await, [(site, tool)]);
        let cadence = SignedDuration::from_mins(i64::from(minutes));
        let now = test.now();
        let mut slot = test.app.service.time_scale.next_after(site, tool, minutes, now);
        for _ in 0..2 {
            // All except timers fire at whole minutes.
            let before = match self.by {
                By::Timers => SignedDuration::from_millis(1),
                By::Schedules | By::Polling => SignedDuration::from_mins(1),
            };
            if before < cadence {
                test.set_clock(slot - before);
                assert_eq!(self.fired().await, [], "before {slot}");
            }
            test.set_clock(slot);
            assert_eq!(self.fired().await, [self.scene.scheduled(site, tool, slot)]);
            slot += cadence;
        }
        test.set_clock(now);
    }

    /// Deletes all schedules.
    async fn lose_schedules(&self) {
        for (site, tool) in self.schedules().await {
            let scheduler = &self.scene.service.test.app.scheduler;
            scheduler.delete(site, tool).await.expect("deleted");
        }
    }

    /// Changes the plan like the command line does; redelivery finds the change.
    async fn set_plan(&self, plan: Plan, is_active: bool) {
        let Scene { service, owner, .. } = &self.scene;
        let (store, now) = (&service.test.app.store, service.test.now());
        store.set_plan(owner.team, plan, is_active, now).await.expect("set");
        let sent = self.scene.redeliver().await;
        let sync = Message::Reconcile(ReconcileMessage::SyncTeam(owner.team));
        assert_eq!(sent, [(sync.clone(), Duration::ZERO)]);
        service.deliver(&sync).await;
        service.waiting();
    }

    /// Changes the monitoring settings of a site, as a client.
    async fn patch(&self, site: SiteId, settings: &Value) {
        let body = json!({ "url": URL, "monitoring_settings": settings }).to_string();
        let client = self.scene.client();
        let patched = client.send("PATCH", &format!("/sites/{site}"), body.into()).await;
        assert_eq!(patched.status, 200, "{patched:?}");
        self.scene.service.consume().await;
    }

    async fn reconcile(&self) -> Reconciled {
        Box::pin(reconcile(&self.scene.service.test.app, &|_| {})).await.expect("reconciled")
    }
}

/// Plays a story with each kind of scheduler.
macro_rules! notified_of_each {
    ($($story:ident),* $(,)?) => {
        mod timers { $(#[tokio::test] async fn $story() { super::$story(super::By::Timers).await; })* }
        mod event_bridge { $(#[tokio::test] async fn $story() { super::$story(super::By::Schedules).await; })* }
        mod buckets { $(#[tokio::test] async fn $story() { super::$story(super::By::Polling).await; })* }
    };
}

notified_of_each!(
    every_tool_with_an_engine_is_scheduled_at_its_cadence_and_runs_at_once,
    nothing_is_scheduled_of_a_tool_that_is_off,
    first_runs_happen_once_however_often_they_are_sent,
    a_site_whose_messages_are_lost_is_found_by_redelivery,
    schedules_follow_the_plan,
    an_inactive_plan_stops_schedules_retries_and_follow_ups,
    schedules_follow_the_settings_of_a_site,
    a_reconciliation_makes_lost_schedules_and_removes_strays,
    a_reconciliation_finds_sites_of_every_team,
);

/// Settings under which only one tool runs, if it is enabled.
fn only(tool: Tool, enabled: bool, cadence_minutes: u32) -> Value {
    let tools = Tool::ALL.into_iter().map(|other| {
        let settings = if other == tool {
            json!({ "enabled": enabled, "cadence_minutes": cadence_minutes })
        } else {
            json!({ "enabled": false })
        };
        (other.to_string(), settings)
    });
    json!({ "tools": tools.collect::<serde_json::Map<_, _>>() })
}

async fn every_tool_with_an_engine_is_scheduled_at_its_cadence_and_runs_at_once(by: By) {
    for tool in Tool::ALL {
        let mut story = Story::begin(by).await;
        story.scene.service.test.app.service.tools = Tool::ALL.to_vec();
        let body = json!({ "url": URL, "monitoring_settings": only(tool, true, 1_440) });
        let path = format!("/teams/{}/sites", story.scene.owner.team);
        let created = story.scene.client().post(&path, &body).await;
        let site = SiteId::parse(&created.data("uuid")).expect("an id");
        let [(sync, _)] = <[_; 1]>::try_from(story.scene.service.waiting()).expect("one message");
        assert_eq!(sync, story.scene.sync(site));
        story.scene.service.deliver(&sync).await;
        let first = story.scene.scheduled(site, tool, story.scene.service.test.now());
        assert_eq!(story.scene.service.waiting(), [(Message::Check(first), Duration::ZERO)]);
        story.assert_cadence(site, tool, 1_440).await;
    }
}

async fn nothing_is_scheduled_of_a_tool_that_is_off(by: By) {
    let story = Story::begin(by).await;
    let body = json!({ "url": URL, "monitoring_settings": only(Tool::Status, false, 5) });
    story.scene.client().post(&format!("/teams/{}/sites", story.scene.owner.team), &body).await;
    story.scene.service.consume().await;
    assert_eq!(story.schedules().await, []);
    assert_eq!(story.scene.target.requests(), 0);
    story.scene.service.advance_minutes(60);
    assert_eq!(story.scene.redeliver().await, [], "its first run is not outstanding any more");
}

async fn first_runs_happen_once_however_often_they_are_sent(by: By) {
    let story = Story::begin(by).await;
    let site = story.scene.create(URL, &json!({})).await;
    let app = &story.scene.service.test.app;
    for _ in 0..3 {
        story.scene.service.deliver(&story.scene.sync(site)).await;
        story.reconcile().await;
        redeliver_all(app).await.expect("resent");
    }
    assert!(story.scene.service.waiting().len() > 3);
    redeliver_all(app).await.expect("resent");
    story.scene.service.consume().await;
    story.scene.service.advance_minutes(10);
    assert_eq!(story.scene.redeliver().await, []);
    assert_eq!(story.scene.target.requests(), 1);
    let kinds = kinds(&story.scene.service.test.table.dump().await);
    assert_eq!(kinds, [("sc".to_owned(), 1)].into());
}

async fn a_site_whose_messages_are_lost_is_found_by_redelivery(by: By) {
    let story = Story::begin(by).await;
    let site = story.scene.create(URL, &json!({})).await;
    story.scene.service.waiting();
    story.scene.service.test.advance(Tool::Status.limits().run);
    for (message, _) in story.scene.redeliver().await {
        story.scene.service.deliver(&message).await;
    }
    assert_eq!(story.scene.target.requests(), 1, "the first run does not wait for the sync");
    assert_eq!(story.schedules().await, []);
    story.scene.service.test.advance(RECONCILE_GRACE);
    let sent = story.scene.redeliver().await;
    assert_eq!(sent, [(story.scene.sync(site), Duration::ZERO)]);
    // They are lost again, and found again.
    story.scene.service.test.advance(RECONCILE_GRACE);
    assert!(story.scene.redeliver().await.contains(&sent[0]));
    story.scene.service.deliver(&sent[0].0).await;
    story.assert_cadence(site, Tool::Status, 5).await;
    story.scene.service.advance_minutes(60);
    assert_eq!(story.scene.redeliver().await, [], "nothing is outstanding");
}

async fn schedules_follow_the_plan(by: By) {
    let story = Story::begin(by).await;
    let site = story.scene.watch_with(&json!({ "cadence_minutes": 1 })).await;
    story.assert_cadence(site, Tool::Status, 1).await;
    story.set_plan(Plan::Starter, true).await;
    story.assert_cadence(site, Tool::Status, 30).await;
    story.set_plan(Plan::Growth, true).await;
    story.assert_cadence(site, Tool::Status, 5).await;
    story.set_plan(Plan::Agency, true).await;
    story.assert_cadence(site, Tool::Status, 1).await;
}

async fn an_inactive_plan_stops_schedules_retries_and_follow_ups(by: By) {
    let story = Story::begin(by).await;
    let site = story.scene.watch_down(&json!({ "cadence_minutes": 5 })).await;
    story.set_plan(Plan::Agency, false).await;
    assert_eq!(story.schedules().await, []);
    assert_eq!(story.scene.state(site).await.timer, None);
    story.scene.service.advance_minutes(60);
    assert_eq!(story.scene.redeliver().await, [], "nothing is outstanding");

    story.set_plan(Plan::Agency, true).await;
    story.assert_cadence(site, Tool::Status, 5).await;
    story.scene.service.run_scheduled(site, Tool::Status).await;
    assert!(story.scene.state(site).await.timer.is_some(), "the issue is followed again");
}

async fn schedules_follow_the_settings_of_a_site(by: By) {
    let story = Story::begin(by).await;
    let site = story.scene.watch_down(&json!({ "cadence_minutes": 5 })).await;
    story.patch(site, &only(Tool::Status, true, 60)).await;
    story.assert_cadence(site, Tool::Status, 60).await;
    assert!(story.scene.state(site).await.timer.is_some());
    story.patch(site, &only(Tool::Status, false, 60)).await;
    assert_eq!(story.schedules().await, []);
    assert_eq!(story.scene.state(site).await.timer, None, "a tool that is off is not followed");
    story.patch(site, &only(Tool::Status, true, 15)).await;
    story.assert_cadence(site, Tool::Status, 15).await;
}

async fn a_reconciliation_makes_lost_schedules_and_removes_strays(by: By) {
    let story = Story::begin(by).await;
    let site = story.scene.watch().await;
    let team = story.scene.owner.team;
    story.lose_schedules().await;
    let app = &story.scene.service.test.app;
    let unknown = app.entropy.site_id().expect("an id");
    for (site, tool) in [(unknown, Tool::Status), (site, Tool::Performance)] {
        let stray = Schedule { team, site, tool, cadence_minutes: 5 };
        app.scheduler.put(stray, Presence::Absent).await.expect("put");
    }
    let reconciled = story.reconcile().await;
    assert_eq!(
        reconciled,
        Reconciled { sites: 1, put: 1, missing: 1, removed: 2, unreadable: 0, retired: 0 }
    );
    story.assert_cadence(site, Tool::Status, 5).await;
    assert_eq!(story.scene.service.waiting(), [], "nothing runs because of it");
    let nothing = Reconciled { missing: 0, removed: 0, ..reconciled };
    assert_eq!(story.reconcile().await, nothing, "once is enough");
}

async fn a_reconciliation_finds_sites_of_every_team(by: By) {
    let story = Story::begin(by).await;
    story.scene.watch().await;
    let other = vedette_testkit::new_team(&story.scene.service.test, Plan::Growth).await;
    let path = format!("/teams/{}/sites", other.team);
    let client = story.scene.service.client(&other);
    for number in 0..20 {
        let body = json!({
            "url": format!("{URL}/{number}"), "monitoring_settings": only(Tool::Status, true, 5),
        });
        assert_eq!(client.post(&path, &body).await.status, 201);
    }
    story.scene.service.consume().await;
    let schedules = story.schedules().await;
    assert_eq!(schedules.len(), 21);
    story.lose_schedules().await;
    assert_eq!(
        story.reconcile().await,
        Reconciled { sites: 21, put: 21, missing: 21, removed: 0, unreadable: 0, retired: 0 }
    );
    assert_eq!(story.schedules().await, schedules);
}
