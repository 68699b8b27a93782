//! A clock that jumps forward and back stops neither checks nor alerts, and everything is correct again afterwards.

use jiff::SignedDuration;
use serde_json::{Value, json};
use vedette_domain::checks::tool::Tool;
use vedette_domain::checks::tool_state::Discard;
use vedette_domain::id::{CheckId, SiteId};
use vedette_domain::issues::Fingerprint;
use vedette_domain::message::AlertMessage;
use vedette_notifier::send::SendOutcome;
use vedette_reconciler::{dispatch, rebuild_all, reconcile, redeliver_all};
use vedette_testkit::Fault;
use vedette_testkit::channels::{chat, webhook};

use crate::scene::{Scene, dropped, is_finished};

const SECOND: SignedDuration = SignedDuration::from_secs(1);
const JUMPS: [SignedDuration; 3] = [
    SignedDuration::from_secs(30),
    SignedDuration::from_hours(1),
    SignedDuration::from_hours(8_760),
];

impl Scene {
    /// Sets the clock.
    fn jump(&self, by: SignedDuration) {
        self.service.test.set_clock(self.service.test.now() + by);
    }

    /// What a process does when it starts, and after its clock was set back.
    async fn restart(&self) {
        let app = &self.service.test.app;
        self.service.waiting();
        vedette_notifier::rebuild_waits(app).await.expect("rebuilt");
        reconcile(app, &|_| {}).await.expect("reconciled");
        vedette_notifier::release(app, app.clock.now()).await.expect("released");
        redeliver_all(app).await.expect("redelivered");
        rebuild_all(app).await.expect("rebuilt");
        self.service.consume().await;
        self.service.deliver_alerts().await;
    }

    /// The current scheduled run, a minute after the previous one.
    async fn next_run(&self, site: SiteId) {
        self.service.advance_minutes(1);
        let handled = self.service.run_scheduled(site, Tool::Status).await;
        assert!(is_finished(&handled), "{handled:?}");
    }

    async fn answers(&self, site: SiteId) {
        let issue = self.issues("active").await;
        let id = issue[0]["uuid"].as_str().expect("a uuid");
        for path in [
            format!("/sites/{site}"),
            format!("/sites/{site}/checks"),
            format!("/sites/{site}/reports/uptime"),
            format!("/sites/{site}/reports/performance"),
            format!("/issues/{id}"),
        ] {
            let answer = self.client().get(&path).await;
            assert!(answer.status < 500, "{path}: {answer:?}");
        }
    }
}

fn lines(scene: &Scene) -> Vec<String> {
    let mut lines = scene.service.receivers.take_lines();
    lines.sort();
    lines
}

#[tokio::test]
async fn an_outage_by_a_fast_clock_goes_on_and_ends_by_the_right_one() {
    for by in JUMPS {
        for restarts in [false, true] {
            let scene = Scene::start().await;
            scene.add_channel("Ops", chat()).await;
            scene.add_channel("Pager", webhook()).await;
            let site = scene.watch_with(&json!({ "cadence_minutes": 1 })).await;
            scene.jump(by);
            scene.next_run(site).await;
            scene.target.answer(503);
            scene.next_run(site).await;
            assert!(is_finished(&scene.run_timer(site).await));
            scene.service.deliver_alerts().await;
            assert_eq!(lines(&scene), ["DOWN: site.test", "issue.opened"], "{by}");

            scene.jump(-by);
            if restarts {
                scene.restart().await;
            }
            scene.next_run(site).await;
            scene.answers(site).await;
            let timer = scene.timer(site).await;
            let wait = timer.due.duration_since(scene.service.test.now());
            assert!(wait <= SignedDuration::from_mins(5) + by.min(60 * SECOND), "{by}: {wait}");
            scene.target.answer(200);
            scene.next_run(site).await;
            scene.next_run(site).await;
            scene.service.deliver_alerts().await;
            assert_eq!(scene.issues("active").await, [Value::Null; 0], "{by}");
            assert_eq!(lines(&scene), ["RESOLVED: site.test", "issue.resolved"], "{by}");
        }
    }
}

#[tokio::test]
async fn a_slot_that_was_used_is_checked_once_and_beside_the_first_check() {
    let scene = Scene::start().await;
    let site = scene.watch_with(&json!({ "cadence_minutes": 1 })).await;
    scene.jump(SignedDuration::from_hours(1));
    scene.next_run(site).await;
    let used = scene.service.test.now();
    scene.jump(-SignedDuration::from_hours(1));
    scene.next_run(site).await;
    scene.service.test.set_clock(used);
    let before = scene.target.requests();
    let handled = scene.service.run_scheduled(site, Tool::Status).await;
    assert!(is_finished(&handled), "{handled:?}");
    let again = scene.service.run_scheduled(site, Tool::Status).await;
    assert_eq!(dropped(&again), vedette_checker::Dropped::Discarded(Discard::Stale));
    assert_eq!(scene.target.requests() - before, 1, "probed once");
    let newest = scene.state(site).await.automatic.expect("a check").id();
    assert_eq!(newest.created_at(), used + SignedDuration::from_millis(1));
    let listed = scene.client().get(&format!("/sites/{site}/checks")).await;
    let ids: Vec<_> = listed.body["data"]
        .as_array()
        .expect("checks")
        .iter()
        .filter_map(|check| CheckId::parse(check["uuid"].as_str()?))
        .filter(|check| check.created_at() >= used)
        .collect();
    assert_eq!(ids.len(), 2, "{listed:?}");
    // From then on, checkers do not look for rows any more.
    scene.next_run(site).await;
    assert_eq!(scene.state(site).await.used_until, None);
}

#[tokio::test]
async fn a_retry_whose_slot_was_used_is_dropped_before_the_probe() {
    let scene = Scene::start().await;
    let site = scene.watch_with(&json!({ "cadence_minutes": 1 })).await;
    scene.jump(SignedDuration::from_hours(1));
    scene.target.answer(503);
    scene.next_run(site).await;
    let retry = scene.timer(site).await;
    assert!(is_finished(&scene.run_timer(site).await));
    scene.jump(-SignedDuration::from_hours(1));
    scene.next_run(site).await;
    scene.service.test.set_clock(retry.due);
    let app = &scene.service.test.app;
    let (stored, state) = scene.stored(site).await;
    let mut next = state.clone();
    (next.rev, next.timer) = (state.rev + 1, Some(retry));
    app.store
        .put_tool(stored.id.partition(), Tool::Status, &next, app.clock.now())
        .await
        .expect("written");
    let before = scene.target.requests();
    let handled = scene.service.check(&scene.timer_message(site, retry)).await;
    assert_eq!(dropped(&handled), vedette_checker::Dropped::Discarded(Discard::Used));
    assert_eq!(scene.target.requests(), before);
}

#[tokio::test]
async fn channels_wait_for_no_time_that_a_fast_clock_said() {
    for by in &JUMPS[1..] {
        let scene = Scene::start().await;
        let site = scene.watch_with(&json!({ "cadence_minutes": 1 })).await;
        scene.jump(*by);
        let people = scene.add_channel("Ops", chat()).await;
        let program = scene.add_channel("Pager", webhook()).await;
        let why = "HTTP 500".to_owned();
        for channel in [&people, &program] {
            scene
                .service
                .receivers
                .answer(channel.id, SendOutcome::Retry { after: None, why: why.clone() });
        }
        scene.target.answer(503);
        scene.next_run(site).await;
        scene.run_timer(site).await;
        scene.service.deliver_alerts().await;
        scene.service.receivers.take();
        for channel in [&people, &program] {
            scene.service.receivers.answer(channel.id, SendOutcome::DELIVERED);
        }
        // A process dies while it sends, and the clock is corrected.
        scene.jump(-*by);
        scene.restart().await;
        assert_eq!(lines(&scene), ["DOWN: site.test", "issue.opened"], "{by}");
        // Channels are notified as usual of what is added and what fails in the meantime.
        scene.target.answer(200);
        scene.next_run(site).await;
        scene.next_run(site).await;
        scene.service.deliver_alerts().await;
        assert_eq!(lines(&scene), ["RESOLVED: site.test", "issue.resolved"], "{by}");
        scene.target.answer(503);
        scene.next_run(site).await;
        scene.run_timer(site).await;
        scene.service.deliver_alerts().await;
        assert_eq!(lines(&scene), ["DOWN: site.test", "issue.opened"], "{by}");
    }
}

#[tokio::test]
async fn reminders_go_on_after_the_clock_was_set_back() {
    for by in &JUMPS[1..] {
        let scene = Scene::start().await;
        let people = scene.add_channel("Ops", chat()).await;
        let program = scene.add_channel("Pager", webhook()).await;
        scene.escalate(&json!({ "escalation": { "enabled": true, "intervals": [15] } })).await;
        let site = scene.watch_with(&json!({ "cadence_minutes": 1 })).await;
        scene.jump(*by);
        scene.target.answer(503);
        scene.next_run(site).await;
        scene.run_timer(site).await;
        scene.service.deliver_alerts().await;
        assert_eq!(lines(&scene), ["DOWN: site.test", "issue.opened"], "{by}");
        scene.jump(-*by);
        scene.restart().await;
        assert_eq!(lines(&scene), [""; 0], "{by}");
        // The opening is in the future, so no interval can be counted from it. A day later is soon enough.
        for (wait, reminds) in [(23, false), (2, true)] {
            scene.jump(SignedDuration::from_hours(wait));
            for channel in [&people, &program] {
                let message = AlertMessage::Channel { team: channel.team, channel: channel.id };
                scene.service.notify(&message).await;
            }
            let notified = lines(&scene);
            let is_reminder =
                |line: &String| line.starts_with("STILL DOWN") || line == "issue.reminder";
            assert_eq!(notified.len(), if reminds { 2 } else { 0 }, "{by}: {notified:?}");
            assert!(notified.iter().all(is_reminder), "{by}: {notified:?}");
        }
    }
}

#[tokio::test]
async fn an_order_by_a_fast_clock_keeps_no_other_waiting() {
    let scene = Scene::start().await;
    let site = scene.watch().await;
    scene.jump(SignedDuration::from_hours(1));
    let order = scene.order(site).await;
    assert!(is_finished(&scene.service.check(&order).await));
    scene.jump(-SignedDuration::from_hours(1));
    let order = scene.order(site).await;
    assert!(is_finished(&scene.service.check(&order).await));
}

#[tokio::test]
async fn buckets_are_sent_after_the_clock_was_set_back() {
    for by in &JUMPS[1..] {
        let scene = Scene::start().await;
        let app = &scene.service.test.app;
        scene.jump(*by);
        dispatch(app).await.expect("sent");
        scene.jump(-*by);
        dispatch(app).await.expect("sent");
        let sent = app.store.sent_minute().await.expect("read").expect("a minute");
        assert_eq!(sent, app.clock.now().as_second().div_euclid(60), "{by}");
    }
}

#[tokio::test]
async fn an_issue_by_a_fast_clock_has_a_report_that_can_be_read() {
    let scene = Scene::start().await;
    let site = scene.watch_with(&json!({ "cadence_minutes": 1 })).await;
    scene.jump(SignedDuration::from_hours(8_760));
    scene.target.answer(503);
    scene.next_run(site).await;
    scene.run_timer(site).await;
    scene.jump(-SignedDuration::from_hours(8_760));
    scene.next_run(site).await;
    scene.answers(site).await;
    let state = scene.state(site).await;
    let tracker = state.trackers[&Fingerprint::StatusDown].tracker;
    let failures = tracker.failures().expect("down");
    assert!(failures.first <= scene.service.test.now(), "{failures:?}");
}

#[tokio::test]
async fn a_conflicting_write_loses_no_alert_of_a_channel() {
    let scene = Scene::start().await;
    scene.add_channel("Ops", chat()).await;
    let site = scene.watch().await;
    // By the right clock, the channel does not exist yet.
    scene.jump(SignedDuration::from_hours(-1));
    scene.service.test.faults().on_write(1, Fault::Conflict);
    scene.restart().await;
    scene.turn(site, 503).await;
    assert_eq!(lines(&scene), ["DOWN: site.test"]);
}
