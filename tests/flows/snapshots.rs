//! What an Alertmanager is sent: all open issues, again and again, whatever happens meanwhile.

use jiff::SignedDuration;
use serde_json::json;
use vedette_domain::alerts::channel::Channel;
use vedette_domain::alerts::channel_state::LEASE;
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::SiteId;
use vedette_domain::message::{AlertMessage, Message};
use vedette_notifier::send::SendOutcome;
use vedette_runtime::Destination;
use vedette_store::{ChannelRef, Deliveries};
use vedette_testkit::Fault;
use vedette_testkit::channels::alertmanager;

use crate::alerts::{to, watch_many};
use crate::scene::Scene;

impl Scene {
    /// Runs the checks of these sites, which answer like this.
    async fn answer(&self, sites: &[SiteId], code: u16) {
        self.target.answer(code);
        for site in sites {
            self.service.run_scheduled(*site, Tool::Status).await;
        }
    }

    /// What is sent to a channel after some minutes.
    async fn after(&self, minutes: i64, channel: &Channel) -> Vec<String> {
        self.service.test.advance(SignedDuration::from_mins(minutes));
        let message = AlertMessage::Channel { team: channel.team, channel: channel.id };
        self.service.notify(&message).await;
        self.service.deliver_alerts().await;
        to(&self.service.receivers.take(), channel)
    }

    async fn outstanding(&self, channel: &Channel) -> Deliveries {
        let store = &self.service.test.app.store;
        store.deliveries(ChannelRef::from(channel)).await.expect("read")
    }
}

#[tokio::test]
async fn all_open_issues_are_repeated_in_one_request_and_then_their_ends() {
    let scene = Scene::start().await;
    let channel = scene.add_channel("Alertmanager", alertmanager()).await;
    let sites = watch_many(&scene, 2).await;
    scene.service.advance_minutes(5);
    scene.answer(&sites, 503).await;
    assert_eq!(scene.notified(), ["Shop 0 open", "Shop 0 open, Shop 1 open"]);
    assert_eq!(scene.after(4, &channel).await, [""; 0]);
    assert_eq!(scene.after(1, &channel).await, ["Shop 0 open, Shop 1 open"]);
    scene.service.advance_minutes(1);
    scene.answer(&sites[..1], 200).await;
    assert_eq!(scene.notified(), ["Shop 0 ended, Shop 1 open"], "its end at once");
    assert_eq!(scene.after(5, &channel).await, ["Shop 0 ended, Shop 1 open"], "for a period");
    assert_eq!(scene.after(5, &channel).await, ["Shop 1 open"]);
    scene.answer(&sites[1..], 200).await;
    assert_eq!(scene.notified(), ["Shop 1 ended"]);
    assert_eq!(scene.after(5, &channel).await, ["Shop 1 ended"]);
    assert_eq!(scene.after(5, &channel).await, [""; 0]);
    let Deliveries { deliveries, queued, .. } = scene.outstanding(&channel).await;
    assert_eq!((deliveries, queued), (Vec::new(), Vec::new()), "nothing is repeated");
}

#[tokio::test]
async fn a_repeat_writes_as_much_for_many_issues_as_for_one() {
    let scene = Scene::start().await;
    let channel = scene.add_channel("Alertmanager", alertmanager()).await;
    let sites = watch_many(&scene, 10).await;
    scene.service.advance_minutes(5);
    let mut writes = Vec::new();
    for sites in [&sites[..1], &sites[1..]] {
        scene.answer(sites, 503).await;
        scene.notified();
        let meter = scene.service.test.meter();
        meter.start();
        let sent = scene.after(5, &channel).await;
        writes.push(meter.stop().writes);
        assert_eq!(sent.len(), 1, "{sent:?}");
    }
    assert_eq!(writes[0], writes[1]);
}

#[tokio::test]
async fn an_alert_that_is_refused_affects_no_other() {
    let scene = Scene::start().await;
    let channel = scene.add_channel("Alertmanager", alertmanager()).await;
    let sites = watch_many(&scene, 3).await;
    scene.service.advance_minutes(5);
    scene.service.receivers.refuse_alerts(&["Shop 1"]);
    scene.answer(&sites, 503).await;
    let all = scene.service.receivers.take();
    let [first, together, alone, refused, last] = &to(&all, &channel)[..] else {
        panic!("{all:?}")
    };
    assert_eq!(
        [first, together, alone, refused],
        ["Shop 0 open", "Shop 0 open", "Shop 0 open", ""]
    );
    assert_eq!(last, "Shop 0 open, Shop 2 open");
    assert_eq!(scene.after(5, &channel).await, ["Shop 0 open, Shop 2 open"], "it is left out");
    let Deliveries { state, .. } = scene.outstanding(&channel).await;
    assert_eq!((state.disabled, state.log.len()), (None, 1), "{:?}", state.log);
    assert_eq!(state.log[0].what, "DOWN: Shop 1");
}

#[tokio::test]
async fn a_receiver_that_fails_gets_the_current_state_once_it_works() {
    let scene = Scene::start().await;
    let channel = scene.add_channel("Alertmanager", alertmanager()).await;
    let sites = watch_many(&scene, 2).await;
    let down = SendOutcome::Retry { after: None, why: "HTTP 500".to_owned() };
    scene.service.receivers.answer(channel.id, down);
    scene.service.advance_minutes(5);
    scene.answer(&sites, 503).await;
    scene.service.advance_minutes(1);
    scene.answer(&sites[..1], 200).await;
    assert_eq!(scene.notified(), [""; 0]);
    scene.service.receivers.answer(channel.id, SendOutcome::DELIVERED);
    let sent = scene.after(10, &channel).await;
    assert_eq!(sent[0], "Shop 0 ended, Shop 1 open", "{sent:?}");
}

#[tokio::test]
async fn what_is_known_goes_on_in_quiet_time_and_the_rest_waits() {
    let scene = Scene::start().await;
    let channel = scene.add_channel("Alertmanager", alertmanager()).await;
    let sites = watch_many(&scene, 2).await;
    scene.service.advance_minutes(5);
    scene.answer(&sites[..1], 503).await;
    let quiet = json!({ "enabled": true, "starts_at": "00:00", "ends_at": "23:59" });
    scene.escalate(&json!({ "quiet_time": quiet })).await;
    assert_eq!(scene.notified(), ["Shop 0 open", "Shop 0 open"], "settings have changed");
    scene.answer(&sites[1..], 503).await;
    assert_eq!(scene.after(5, &channel).await, ["Shop 0 open"]);
    scene.answer(&sites[..1], 200).await;
    assert_eq!(scene.notified(), ["Shop 0 ended"]);
    let quiet = json!({ "enabled": false, "starts_at": "00:00", "ends_at": "23:59" });
    scene.escalate(&json!({ "quiet_time": quiet })).await;
    assert_eq!(scene.notified(), ["Shop 0 ended, Shop 1 open"]);
}

#[tokio::test]
async fn a_channel_that_is_enabled_again_gets_the_current_state() {
    let scene = Scene::start().await;
    let channel = scene.add_channel("Alertmanager", alertmanager()).await;
    let sites = watch_many(&scene, 3).await;
    scene.service.advance_minutes(5);
    scene.answer(&sites[..2], 503).await;
    let gone = SendOutcome::Gone { why: "HTTP 401".to_owned() };
    scene.service.receivers.answer(channel.id, gone);
    scene.notified();
    scene.after(5, &channel).await;
    scene.answer(&sites[1..2], 200).await;
    scene.answer(&sites[2..], 503).await;
    assert_eq!(scene.after(5, &channel).await, [""; 0]);
    scene.service.receivers.answer(channel.id, SendOutcome::DELIVERED);
    let path = format!("/teams/{}/channels/{}/enable", scene.owner.team, channel.id);
    let enabled = scene.client().post(&path, &json!({})).await;
    assert!(enabled.status < 300, "{enabled:?}");
    scene.service.deliver_alerts().await;
    let sent = to(&scene.service.receivers.take(), &channel);
    assert_eq!(sent.last().map(String::as_str), Some("Shop 0 open, Shop 1 ended, Shop 2 open"));
}

#[tokio::test]
async fn a_process_that_dies_anywhere_leaves_nothing_open_and_nothing_ended_unsaid() {
    for fault in [Fault::CrashBefore, Fault::CrashAfter] {
        for write in 1..=8 {
            let scene = Scene::start().await;
            let channel = scene.add_channel("Alertmanager", alertmanager()).await;
            let sites = watch_many(&scene, 2).await;
            scene.service.advance_minutes(5);
            scene.answer(&sites[..1], 503).await;
            let mut states = Vec::new();
            for code in [503, 200] {
                dies(&scene, &channel, (sites[1], code), (write, fault)).await;
                scene.notified();
                // The lease of the process that died expires.
                scene.service.test.advance(LEASE + SignedDuration::from_secs(60));
                scene.redeliver().await;
                let sent = scene.notified();
                let sent = if sent.is_empty() { scene.after(5, &channel).await } else { sent };
                states.extend(sent.last().cloned());
            }
            let expected = ["Shop 0 open, Shop 1 open", "Shop 0 open, Shop 1 ended"];
            assert_eq!(states, expected, "{fault:?} {write}");
            scene.after(5, &channel).await;
            assert_eq!(scene.after(5, &channel).await, ["Shop 0 open"], "{fault:?} {write}");
        }
    }
}

/// A process dies at a write of the delivery run after a check.
async fn dies(
    scene: &Scene,
    channel: &Channel,
    (site, code): (SiteId, u16),
    (write, fault): (u64, Fault),
) {
    let test = &scene.service.test;
    scene.target.answer(code);
    scene.service.advance_minutes(1);
    let message = scene.scheduled(site, Tool::Status, test.now());
    Box::pin(vedette_checker::handle(&test.app, &scene.service.engines, &message))
        .await
        .expect("run");
    for (message, _) in test.queue.drain(Destination::Alerts) {
        let Message::Alert(message) = message else { panic!("{message:?}") };
        scene.service.notify(&message).await;
    }
    test.queue.drain(Destination::Alerts);
    let message = AlertMessage::Channel { team: channel.team, channel: channel.id };
    let faults = test.faults().clone();
    faults.on_write(write, fault);
    faults.until_crash(scene.service.notify(&message)).await;
    faults.forget();
    test.queue.drain(Destination::Alerts);
}
