//! What the nightly run repairs.

use std::time::Duration;

use serde_json::json;
use vedette_domain::accounts::plan::Plan;
use vedette_domain::checks::tool::{RunReason, Tool};
use vedette_domain::id::SiteId;
use vedette_domain::issues::Fingerprint;
use vedette_domain::issues::record;
use vedette_domain::message::{Message, ReconcileMessage};
use vedette_reconciler::{Gauge, Gauges, REDELIVERY};
use vedette_runtime::Destination;
use vedette_runtime::config::Schedules;
use vedette_store::{Audit, ChannelRef, Grant};
use vedette_testkit::aws::Aws;
use vedette_testkit::{granted, new_team};

use crate::reconciliation::partition;
use crate::scene::{Scene, URL};
use vedette_testkit::channels::{chat, webhook};
use vedette_tests::receivers::{self, Received};

impl Scene {
    /// Runs the nightly run and everything that it requests; returns the messages that are delayed.
    async fn rebuild(&self) -> Vec<(Message, Duration)> {
        assert_eq!(
            vedette_reconciler::rebuild_all(&self.service.test.app).await.expect("asked"),
            1
        );
        let delayed = self.service.consume().await;
        self.service.deliver_alerts().await;
        delayed
    }

    /// A site with its own path, which has its schedules.
    async fn watch_another(&self, path: &str) -> SiteId {
        let status = json!({ "cadence_minutes": 5 });
        let site = self.create(&format!("{URL}/{path}"), &status).await;
        self.service.deliver(&self.sync(site)).await;
        self.service.waiting();
        site
    }
}

#[tokio::test]
async fn a_timer_that_is_missing_is_set_again() {
    let scene = Scene::start().await;
    let site = scene.watch_down(&json!({ "incident_follow_up_minutes": 10 })).await;
    scene.service.consume().await;
    let (before, partition) = (scene.state(site).await, site.partition());
    let app = &scene.service.test.app;
    let lost = before.without_timer();
    app.store.put_tool(partition, Tool::Status, &lost, app.clock.now()).await.expect("written");

    let delayed = scene.rebuild().await;
    let timer = scene.timer(site).await;
    assert_eq!(timer.reason, RunReason::IncidentFollowUp);
    assert_eq!(timer.due.duration_since(app.clock.now()).as_mins(), 10);
    let [(message, _)] = &delayed[..] else { panic!("{delayed:?}") };
    assert_eq!(*message, Message::Check(scene.timer_message(site, timer)));
    let writes = scene.service.test.faults().writes();
    assert!(scene.rebuild().await.is_empty(), "what is there stays");
    assert_eq!(scene.service.test.faults().writes(), writes);
}

#[tokio::test]
async fn a_tool_that_does_not_run_gets_no_timer() {
    let scene = Scene::start().await;
    let site = scene.watch_down(&json!({})).await;
    let off = json!({ "url": URL, "monitoring_settings": { "tools": { "status": { "enabled": false } } } });
    let answer = scene.client().patch(&format!("/sites/{site}"), &off).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    scene.service.consume().await;
    assert_eq!(scene.state(site).await.timer, None);
    assert!(scene.rebuild().await.is_empty());
    assert_eq!(scene.state(site).await.timer, None);
}

#[tokio::test]
async fn a_team_of_many_sites_is_looked_at_in_slices() {
    let scene = Scene::start().await;
    let sites: Vec<_> =
        (0..201).map(|number| json!({ "url": format!("http://site.test/{number}") })).collect();
    let path = format!("/teams/{}/sites/bulk", scene.owner.team);
    for sites in sites.chunks(100) {
        let created = scene.client().post(&path, &json!({ "sites": sites })).await;
        assert_eq!(created.status, 200, "{created:?}");
    }
    scene.service.waiting();
    let app = &scene.service.test.app;
    let team = scene.owner.team;
    let first = ReconcileMessage::Rebuild { team, after: None };
    vedette_reconciler::handle(app, &first).await.expect("done");
    let sent = scene.service.test.queue.drain(Destination::Reconcile);
    let [
        (Message::Reconcile(ReconcileMessage::Report(_)), _),
        (Message::Reconcile(next @ ReconcileMessage::Rebuild { after: Some(_), .. }), _),
    ] = &sent[..]
    else {
        panic!("{sent:?}")
    };
    vedette_reconciler::handle(app, next).await.expect("done");
    assert!(scene.service.test.queue.drain(Destination::Reconcile).is_empty(), "that was all");
}

#[tokio::test]
async fn an_undelivered_alert_is_due_again_after_a_rebuild() {
    let scene = Scene::start().await;
    let people = scene.add_channel("Ops", chat()).await;
    let program = scene.add_channel("Pager", webhook()).await;
    let site = scene.watch_down(&json!({})).await;
    let notified = scene.service.receivers.take();
    let lines = |notified: &[Received]| notified.iter().map(Received::line).collect::<Vec<_>>();
    assert_eq!(lines(&notified), ["DOWN: site.test", "issue.opened"]);
    let app = &scene.service.test.app;
    for place in [&people, &program].map(ChannelRef::from) {
        for delivery in app.store.deliveries(place).await.expect("read").deliveries {
            app.store.delete_delivery_state(place, &delivery).await.expect("deleted");
        }
    }
    scene.rebuild().await;
    let again = scene.service.receivers.take();
    assert_eq!(lines(&again), ["DOWN: site.test", "issue.opened"]);
    let receivers::Message::Event { id, .. } = &notified[1].message else { panic!("{notified:?}") };
    let receivers::Message::Event { id: repeated, .. } = &again[1].message else {
        panic!("{again:?}")
    };
    assert_eq!(id, repeated, "a program can tell that it had the event");
    scene.rebuild().await;
    assert_eq!(scene.service.receivers.take_lines(), [""; 0], "once");
    assert!(scene.state(site).await.timer.is_some());
}

#[tokio::test]
async fn a_rebuild_leaves_outbox_entries_to_the_fan_out() {
    let scene = Scene::start().await;
    let program = scene.add_channel("Pager", webhook()).await;
    let site = scene.watch_down(&json!({})).await;
    assert_eq!(scene.service.receivers.take_lines(), ["issue.opened"]);
    let app = &scene.service.test.app;
    let place = ChannelRef::from(&program);
    let deliveries = app.store.deliveries(place).await.expect("read");
    app.store.delete_delivery_state(place, &deliveries.deliveries[0]).await.expect("deleted");

    let issue = app.store.issue(site.partition(), Fingerprint::StatusDown).await.expect("read");
    let issue = issue.expect("an issue");
    let change = record::acknowledge(issue, scene.owner.user, app.clock.now()).expect("open");
    let (site, _) = scene.stored(site).await;
    app.store.commit_issue((&site).into(), &change, None, Audit::None).await.expect("saved");
    let missing = || async {
        vedette_notifier::rebuild(app, scene.owner.team).await.expect("rebuilt").missing
    };
    assert_eq!(missing().await, 0, "the acknowledgement stands in the outbox");
    vedette_runs::enqueue_alert(app, site.team, &change).await;
    scene.service.deliver_alerts().await;
    assert_eq!(missing().await, 1);
}

#[tokio::test]
async fn an_issue_that_is_resolved_during_a_rebuild_is_not_opened_again() {
    let scene = Scene::start().await;
    scene.add_channel("Pager", webhook()).await;
    let site = scene.watch_down(&json!({})).await;
    assert_eq!(scene.service.receivers.take_lines(), ["issue.opened"]);
    let test = &scene.service.test;
    // The first batch reads the issues.
    test.faults().hold_read(1);
    let meanwhile = async {
        test.faults().until_held().await;
        scene.turn(site, 200).await;
        assert_eq!(scene.service.receivers.take_lines(), ["issue.resolved"]);
        test.faults().release();
    };
    let rebuild = Box::pin(vedette_notifier::rebuild(&test.app, scene.owner.team));
    let (rebuilt, ()) = futures::join!(rebuild, Box::pin(meanwhile));
    assert_eq!(rebuilt.expect("rebuilt").missing, 0);
    scene.service.deliver_alerts().await;
    assert_eq!(scene.service.receivers.take_lines(), [""; 0]);
}

#[tokio::test]
async fn alerts_that_cannot_be_derived_again_wake_no_channel_and_wake_each_once_in_the_end() {
    let scene = Scene::start().await;
    scene.add_channel("Ops", chat()).await;
    scene.add_channel("Pager", webhook()).await;
    let test = &scene.service.test;
    let woken = || test.queue.drain(Destination::Alerts).len();
    let settings = json!({
        "tools": { "ssl": { "enabled": true, "cadence_minutes": 1440 } },
        "escalation": { "enabled": true, "intervals": [15, 60] },
    });
    let path = format!("/teams/{}/monitoring", scene.owner.team);
    let saved = scene.client().patch(&path, &json!({ "monitoring_settings": settings })).await;
    assert_eq!(saved.status, 200, "{saved:?}");
    woken();
    // The message that asks for this comes again until it succeeds.
    test.faults().refuse_writes(true);
    for _ in 0..5 {
        let synced = vedette_notifier::sync(&test.app, scene.owner.team).await;
        assert!(synced.is_err(), "it is requested still");
        assert_eq!(woken(), 0);
    }
    test.faults().refuse_writes(false);
    vedette_notifier::sync(&test.app, scene.owner.team).await.expect("derived");
    assert_eq!(woken(), 2);
}

#[tokio::test]
async fn an_id_always_has_the_same_body() {
    let scene = Scene::start().await;
    let program = scene.add_channel("Pager", webhook()).await;
    let site = scene.watch_down(&json!({})).await;
    let (app, place) = (&scene.service.test.app, ChannelRef::from(&program));
    let forget = async || {
        for delivery in app.store.deliveries(place).await.expect("read").deliveries {
            app.store.delete_delivery_state(place, &delivery).await.expect("deleted");
        }
        scene.rebuild().await;
    };
    let issue = scene.issues("active").await.remove(0);
    scene.acknowledge(&issue).await;
    forget().await;
    let renamed = json!({ "url": URL, "name": "Shop" });
    assert_eq!(scene.client().patch(&format!("/sites/{site}"), &renamed).await.status, 200);
    forget().await;
    let received = scene.service.receivers.take();
    let mut bodies = std::collections::BTreeMap::new();
    for notified in &received {
        let receivers::Message::Event { id, body } = &notified.message else {
            panic!("{notified:?}")
        };
        assert_eq!(body["type"], "issue.opened");
        assert_eq!(bodies.entry(id).or_insert(body), &body, "{id}");
    }
    assert_eq!((received.len(), bodies.len()), (3, 2), "the site has another name now");
}

#[tokio::test]
async fn schedules_that_were_lost_are_made_again_and_others_stay() {
    for schedules in [Schedules::Each, Schedules::Polling] {
        let mut scene = Scene::start().await;
        let aws = Aws::default();
        scene.service.test.app.scheduler = scene.on_aws(&aws, schedules).scheduler;
        let site = scene.watch_down(&json!({})).await;
        scene.service.deliver(&scene.sync(site)).await;
        scene.service.waiting();
        let app = &scene.service.test.app;
        let list = || async {
            let mut all = app.scheduler.list().await.expect("listed");
            all.sort_unstable();
            all
        };
        let before = list().await;
        assert!(!before.is_empty(), "{schedules:?}");
        let writes = aws.account().calls_of("UpdateSchedule");
        scene.rebuild().await;
        assert_eq!(list().await, before, "{schedules:?}");
        assert_eq!(aws.account().calls_of("UpdateSchedule"), writes, "what is there stays");

        app.scheduler.delete(site, Tool::Status).await.expect("deleted");
        assert_ne!(list().await, before, "{schedules:?}");
        scene.rebuild().await;
        assert_eq!(list().await, before, "{schedules:?}");
    }
}

#[tokio::test]
async fn what_cannot_be_read_stops_no_other_rebuild() {
    let mut scene = Scene::start().await;
    scene.service.test.app.scheduler = scene.on_aws(&Aws::default(), Schedules::Each).scheduler;
    let channel = scene.add_channel("Ops", chat()).await;
    let site = scene.watch_down(&json!({})).await;
    scene.service.deliver(&scene.sync(site)).await;
    let [half, whole] = [scene.watch_another("half").await, scene.watch_another("whole").await];
    let test = &scene.service.test;
    test.table.set(&partition(half), "T#status", "doc", "spoilt").await;
    test.table.set(&partition(whole), "A", "cfg", "spoilt").await;
    let place = format!("C#{}", scene.owner.team);
    test.table.set(&place, &channel.id.to_string(), "target", "spoilt").await;
    assert!(test.app.store.channels(scene.owner.team).await.is_err(), "the channel is spoilt");

    let before = scene.state(site).await;
    let (lost, now) = (before.without_timer(), test.app.clock.now());
    test.app.store.put_tool(site.partition(), Tool::Status, &lost, now).await.expect("written");
    test.app.scheduler.delete(site, Tool::Status).await.expect("deleted");
    let rebuild = ReconcileMessage::Rebuild { team: scene.owner.team, after: None };
    vedette_reconciler::handle(&test.app, &rebuild).await.expect("rebuilt");
    assert!(scene.state(site).await.timer.is_some());
    let schedules = test.app.scheduler.list().await.expect("listed");
    assert!(schedules.contains(&(site, Tool::Status)), "{schedules:?}");
}

#[tokio::test]
async fn what_cannot_be_read_is_left_out_of_the_gauge() {
    let scene = Scene::start().await;
    let site = scene.watch_down(&json!({ "cadence_minutes": 5 })).await;
    scene.service.deliver(&scene.sync(site)).await;
    let test = &scene.service.test;
    let read = async || Box::pin(vedette_reconciler::gauge(&test.app)).await.expect("read");
    let due = |gauges: &Gauges| gauges.values().map(|gauge| gauge.due).sum::<u64>();
    let [half, whole] = [scene.watch_another("half").await, scene.watch_another("whole").await];
    let stranger = new_team(test, Plan::Agency).await;
    scene.service.advance_minutes(30);
    let all = read().await;
    test.table.set(&partition(half), "T#status", "doc", "spoilt").await;
    test.table.set(&partition(whole), "A", "cfg", "spoilt").await;
    test.table.set(&format!("T#{}", stranger.team), "A", "plan", "spoilt").await;
    assert!(test.app.store.team(stranger.team, test.app.clock.now()).await.is_err());
    let rest = read().await;
    assert!(0 < due(&rest) && due(&rest) < due(&all), "{rest:?} of {all:?}");
}

#[tokio::test]
async fn the_gauge_tells_when_runs_are_due_and_none_are_done() {
    let scene = Scene::start().await;
    let site = scene.watch_down(&json!({ "cadence_minutes": 5 })).await;
    scene.service.deliver(&scene.sync(site)).await;
    scene.service.waiting();
    let app = &scene.service.test.app;
    let read = || async {
        let gauge = Box::pin(vedette_reconciler::gauge(app));
        let gauges = granted([&REDELIVERY, &Grant::NONE], gauge).await.expect("read");
        let measured: Vec<_> = gauges.keys().copied().collect();
        assert_eq!(measured, [Tool::Status, Tool::Ssl, Tool::Dns]);
        gauges[&Tool::Status]
    };
    // Nothing is sent for half an hour.
    scene.service.advance_minutes(30);
    let Gauge { due, done } = read().await;
    assert!(due > 0, "{due}");
    assert_eq!(done, 0);

    let period = jiff::SignedDuration::from_mins(5);
    let slot =
        app.service.time_scale.latest_at_or_before(site, Tool::Status, 5, app.clock.now() - period);
    scene.service.check(&scene.scheduled(site, Tool::Status, slot)).await;
    assert_eq!(read().await.done, 1);
}
