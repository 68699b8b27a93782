//! Schedules are a projection of the table: they follow settings and plan, and are rebuilt.

use std::time::Duration;

use jiff::SignedDuration;
use serde_json::{Value, json};
use tokio::time::timeout;
use vedette_domain::id::SiteId;
use vedette_domain::limits::MAINTENANCE_GRACE;
use vedette_domain::message::{Maintenance, Message};
use vedette_domain::plan::Plan;
use vedette_domain::tool::Tool;
use vedette_reconciler::{Reconciled, reconcile, redeliver_all};
use vedette_runtime::{LocalScheduler, Presence, Schedule, Scheduler};

use crate::census::kinds;
use crate::scene::{Scene, URL};

impl Scene {
    async fn schedules(&self) -> Vec<(SiteId, Tool)> {
        let mut schedules = self.service.test.app.scheduler.list().await.expect("schedules");
        schedules.sort_unstable();
        schedules
    }

    /// Asserts that the only schedule there is fires at the slots of this cadence: not before the
    /// first after now, and then at the one after it.
    async fn assert_cadence(&self, site: SiteId, tool: Tool, minutes: u32) {
        let test = &self.service.test;
        assert_eq!(self.schedules().await, [(site, tool)]);
        let Scheduler::Local(scheduler) = &test.app.scheduler else { panic!("not local") };
        let now = test.now();
        let mut slot = test.app.service.time_scale.next_after(site, tool, minutes, now);
        for _ in 0..2 {
            test.set_clock(slot - SignedDuration::from_millis(1));
            let early = timeout(Duration::ZERO, scheduler.next()).await;
            assert!(early.is_err(), "{early:?} comes before {slot}");
            test.set_clock(slot);
            let fired = timeout(Duration::from_secs(5), scheduler.next()).await.expect("a run");
            assert_eq!(fired, self.scheduled(site, tool, slot));
            slot += SignedDuration::from_mins(i64::from(minutes));
        }
        test.set_clock(now);
    }

    /// Changes the plan as the command line does; redelivery finds it.
    async fn set_plan(&self, plan: Plan, is_active: bool) {
        let test = &self.service.test;
        let store = &test.app.store;
        store.set_plan(self.owner.team, plan, is_active, test.now()).await.expect("set");
        let sent = self.redeliver().await;
        assert_eq!(
            sent,
            [(Message::Maintenance(Maintenance::Resync(self.owner.team)), Duration::ZERO)]
        );
        self.service.deliver(&sent[0].0).await;
        self.service.waiting();
    }

    /// A client changes the monitoring settings of a site.
    async fn patch(&self, site: SiteId, settings: &Value) {
        let body = json!({ "url": URL, "monitoring_settings": settings }).to_string();
        let patched = self.client().send("PATCH", &format!("/sites/{site}"), body.into()).await;
        assert_eq!(patched.status, 200, "{patched:?}");
        self.service.work_off().await;
    }

    async fn reconcile(&self) -> Reconciled {
        reconcile(&self.service.test.app, &|_| {}).await.expect("reconciled")
    }
}

/// Settings under which one tool runs, if it is enabled, and no other.
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

#[tokio::test]
async fn every_tool_with_an_engine_is_scheduled_at_its_cadence_and_runs_at_once() {
    for tool in Tool::ALL {
        let mut scene = Scene::start().await;
        scene.service.test.app.service.tools = Tool::ALL.to_vec();
        let body = json!({ "url": URL, "monitoring_settings": only(tool, true, 1_440) });
        let path = format!("/teams/{}/sites", scene.owner.team);
        let created = scene.client().post(&path, &body).await;
        let site = SiteId::parse(&created.data("uuid")).expect("an id");
        let [(sync, _)] = <[_; 1]>::try_from(scene.service.waiting()).expect("one message");
        assert_eq!(sync, scene.sync(site));
        scene.service.deliver(&sync).await;
        let first = scene.scheduled(site, tool, scene.service.test.now());
        assert_eq!(scene.service.waiting(), [(Message::Check(first), Duration::ZERO)]);
        scene.assert_cadence(site, tool, 1_440).await;
    }
}

#[tokio::test]
async fn nothing_is_scheduled_of_a_tool_that_is_off() {
    let scene = Scene::start().await;
    let body = json!({ "url": URL, "monitoring_settings": only(Tool::Status, false, 5) });
    scene.client().post(&format!("/teams/{}/sites", scene.owner.team), &body).await;
    scene.service.work_off().await;
    assert_eq!(scene.schedules().await, []);
    assert_eq!(scene.target.requests(), 0);
    scene.service.advance_minutes(60);
    assert_eq!(scene.redeliver().await, [], "its first run is not outstanding any more");
}

#[tokio::test]
async fn first_runs_happen_once_however_often_they_are_sent() {
    let scene = Scene::start().await;
    let site = scene.create(URL, &json!({})).await;
    let app = &scene.service.test.app;
    for _ in 0..3 {
        scene.service.deliver(&scene.sync(site)).await;
        scene.reconcile().await;
        redeliver_all(app).await.expect("resent");
    }
    assert!(scene.service.waiting().len() > 3);
    redeliver_all(app).await.expect("resent");
    scene.service.work_off().await;
    scene.service.advance_minutes(10);
    assert_eq!(scene.redeliver().await, []);
    assert_eq!(scene.target.requests(), 1);
    let kinds = kinds(&scene.service.test.table.dump().await);
    assert_eq!(kinds, [("sc".to_owned(), 1)].into());
}

#[tokio::test]
async fn a_site_whose_messages_are_lost_is_found_by_redelivery() {
    let scene = Scene::start().await;
    let site = scene.create(URL, &json!({})).await;
    scene.service.waiting();
    scene.service.test.advance(Tool::Status.limits().run);
    for (message, _) in scene.redeliver().await {
        scene.service.deliver(&message).await;
    }
    assert_eq!(scene.target.requests(), 1, "the first run does not wait for the sync");
    assert_eq!(scene.schedules().await, []);
    scene.service.test.advance(MAINTENANCE_GRACE);
    let sent = scene.redeliver().await;
    assert_eq!(sent, [(scene.sync(site), Duration::ZERO)]);
    // Lost again, and found again.
    scene.service.test.advance(MAINTENANCE_GRACE);
    assert!(scene.redeliver().await.contains(&sent[0]));
    scene.service.deliver(&sent[0].0).await;
    scene.assert_cadence(site, Tool::Status, 5).await;
    scene.service.advance_minutes(60);
    assert_eq!(scene.redeliver().await, [], "nothing is outstanding");
}

#[tokio::test]
async fn schedules_follow_the_plan() {
    let scene = Scene::start().await;
    let site = scene.watch_with(&json!({ "cadence_minutes": 1 })).await;
    scene.assert_cadence(site, Tool::Status, 1).await;
    scene.set_plan(Plan::Starter, true).await;
    scene.assert_cadence(site, Tool::Status, 30).await;
    scene.set_plan(Plan::Growth, true).await;
    scene.assert_cadence(site, Tool::Status, 5).await;
    scene.set_plan(Plan::Agency, true).await;
    scene.assert_cadence(site, Tool::Status, 1).await;
}

#[tokio::test]
async fn an_inactive_plan_stops_schedules_retries_and_follow_ups() {
    let scene = Scene::start().await;
    let site = scene.watch_down(&json!({ "cadence_minutes": 5 })).await;
    scene.set_plan(Plan::Agency, false).await;
    assert_eq!(scene.schedules().await, []);
    assert_eq!(scene.state(site).await.timer, None);
    scene.service.advance_minutes(60);
    assert_eq!(scene.redeliver().await, [], "nothing is outstanding");

    scene.set_plan(Plan::Agency, true).await;
    scene.assert_cadence(site, Tool::Status, 5).await;
    scene.service.run_scheduled(site, Tool::Status).await;
    assert!(scene.state(site).await.timer.is_some(), "the issue is followed again");
}

#[tokio::test]
async fn schedules_follow_the_settings_of_a_site() {
    let scene = Scene::start().await;
    let site = scene.watch_down(&json!({ "cadence_minutes": 5 })).await;
    scene.patch(site, &only(Tool::Status, true, 60)).await;
    scene.assert_cadence(site, Tool::Status, 60).await;
    assert!(scene.state(site).await.timer.is_some());
    scene.patch(site, &only(Tool::Status, false, 60)).await;
    assert_eq!(scene.schedules().await, []);
    assert_eq!(scene.state(site).await.timer, None, "a tool that is off is not followed");
    scene.patch(site, &only(Tool::Status, true, 15)).await;
    scene.assert_cadence(site, Tool::Status, 15).await;
}

#[tokio::test]
async fn a_reconciliation_makes_lost_schedules_and_removes_strays() {
    let mut scene = Scene::start().await;
    let site = scene.watch().await;
    let team = scene.owner.team;
    let app = &mut scene.service.test.app;
    app.scheduler =
        Scheduler::Local(LocalScheduler::new(app.clock.clone(), app.service.time_scale));
    let unknown = app.entropy.site_id().expect("an id");
    for (site, tool) in [(unknown, Tool::Status), (site, Tool::Performance)] {
        let stray = Schedule { team, site, tool, cadence_minutes: 5 };
        app.scheduler.put(stray, Presence::Absent).await.expect("put");
    }
    let reconciled = scene.reconcile().await;
    assert_eq!(
        reconciled,
        Reconciled { sites: 1, put: 1, missing: 1, removed: 2, unreadable: 0, retired: 0 }
    );
    scene.assert_cadence(site, Tool::Status, 5).await;
    assert_eq!(scene.service.waiting(), [], "nothing runs because of it");
    let nothing = Reconciled { missing: 0, removed: 0, ..reconciled };
    assert_eq!(scene.reconcile().await, nothing, "once is enough");
}

#[tokio::test]
async fn a_reconciliation_finds_sites_of_every_team() {
    let mut scene = Scene::start().await;
    scene.watch().await;
    let other = vedette_testkit::new_team(&scene.service.test, Plan::Growth).await;
    let path = format!("/teams/{}/sites", other.team);
    let client = scene.service.client(&other);
    for number in 0..20 {
        let body = json!({
            "url": format!("{URL}/{number}"), "monitoring_settings": only(Tool::Status, true, 5),
        });
        assert_eq!(client.post(&path, &body).await.status, 201);
    }
    scene.service.work_off().await;
    let schedules = scene.schedules().await;
    assert_eq!(schedules.len(), 21);
    let app = &mut scene.service.test.app;
    app.scheduler =
        Scheduler::Local(LocalScheduler::new(app.clock.clone(), app.service.time_scale));
    assert_eq!(
        scene.reconcile().await,
        Reconciled { sites: 21, put: 21, missing: 21, removed: 0, unreadable: 0, retired: 0 }
    );
    assert_eq!(scene.schedules().await, schedules);
}
