//! What a disabled channel receives once it is enabled again.

use jiff::SignedDuration;
use serde_json::{Value, json};
use vedette_actions::{confirm_channel, enable_channel, resend_to_channel};
use vedette_domain::accounts::audit::{Actor, By};
use vedette_domain::alerts::channel::Channel;
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::SiteId;
use vedette_notifier::send::SendOutcome;
use vedette_store::{Audit, ChannelRef};
use vedette_testkit::channels::{chat, mail, webhook};
use vedette_tests::receivers::{Message, Received};

use crate::alerts::to;
use crate::scene::Scene;

impl Scene {
    /// Disables a channel.
    async fn turn_off(&self, channel: &Channel) -> Channel {
        let app = &self.service.test.app;
        let place = ChannelRef::from(channel);
        let current = app.store.channel(place).await.expect("read").expect("a channel");
        let off = current.disabled_by_hand("maintenance", app.clock.now()).expect("on before");
        app.store.put_channel(&off, Audit::None).await.expect("saved");
        off
    }

    /// Enables a channel again.
    async fn turn_on(&self, channel: &Channel) {
        let app = &self.service.test.app;
        let place = ChannelRef::from(channel);
        let current = app.store.channel(place).await.expect("read").expect("a channel");
        enable_channel(app, &current, By::operator(app.clock.now())).await.expect("enabled");
        self.service.deliver_alerts().await;
    }

    /// The site goes down and comes back, each for some minutes.
    async fn go_down_and_up(&self, site: SiteId, times: usize) {
        for _ in 0..times {
            self.turn(site, 503).await;
            self.turn(site, 200).await;
        }
    }
}

/// The events of a channel, each with the opening that it belongs to.
fn events(received: &[Received], channel: &Channel) -> Vec<(String, Value)> {
    let of_channel = received.iter().filter(|received| received.channel == channel.id);
    let event = |received: &Received| match &received.message {
        Message::Event { body, .. } => {
            (body["type"].as_str().expect("a type").to_owned(), body["data"]["opened_at"].clone())
        }
        other => panic!("{other:?}"),
    };
    of_channel.map(event).collect()
}

#[tokio::test]
async fn what_happened_while_channels_were_off_is_sent_in_order() {
    let scene = Scene::start().await;
    let people = scene.add_channel("Ops", chat()).await;
    let program = scene.add_channel("Pager", webhook()).await;
    let witness = scene.add_channel("Witness", webhook()).await;
    let site = scene.watch().await;
    scene.turn(site, 503).await;
    assert_eq!(scene.notified().len(), 3);
    scene.turn_off(&people).await;
    scene.turn_off(&program).await;
    scene.turn(site, 200).await;
    scene.turn(site, 503).await;
    scene.turn(site, 200).await;
    scene.turn(site, 503).await;
    let seen = scene.service.receivers.take();
    assert_eq!((to(&seen, &people).len(), to(&seen, &program).len()), (0, 0), "off");
    scene.turn_on(&people).await;
    scene.turn_on(&program).await;
    scene.redeliver().await;
    let received = scene.service.receivers.take();
    let expected = events(&seen, &witness);
    let kinds: Vec<_> = expected.iter().map(|(kind, _)| kind.as_str()).collect();
    let [opened, resolved] = ["issue.opened", "issue.resolved"];
    assert_eq!(kinds, [resolved, opened, resolved, opened]);
    assert_eq!(events(&received, &program), expected);
    assert_eq!(to(&received, &people), ["DOWN: site.test"], "the current state");
    scene.redeliver().await;
    assert_eq!(scene.notified(), [""; 0], "once");
    scene.turn(site, 200).await;
    assert_eq!(scene.notified().len(), 3, "and from now on as ever");
}

#[tokio::test]
async fn people_learn_of_an_outage_that_came_and_went_while_their_channel_was_off() {
    let scene = Scene::start().await;
    let people = scene.add_channel("Ops", chat()).await;
    let site = scene.watch().await;
    scene.turn_off(&people).await;
    scene.go_down_and_up(site, 1).await;
    scene.turn_on(&people).await;
    assert_eq!(scene.notified(), ["WAS DOWN: site.test"]);
    scene.redeliver().await;
    assert_eq!(scene.notified(), [""; 0], "once");
}

#[tokio::test]
async fn a_receiver_that_was_gone_gets_missed_alerts_once_it_is_enabled() {
    let scene = Scene::start().await;
    let program = scene.add_channel("Pager", webhook()).await;
    let site = scene.watch().await;
    let gone = SendOutcome::Gone { why: "HTTP 410".to_owned() };
    scene.service.receivers.answer(program.id, gone);
    scene.turn(site, 503).await;
    scene.turn(site, 200).await;
    scene.turn(site, 503).await;
    scene.service.receivers.answer(program.id, SendOutcome::DELIVERED);
    let app = &scene.service.test.app;
    resend_to_channel(app, &program, By::operator(app.clock.now())).await.expect("resent");
    scene.service.deliver_alerts().await;
    assert_eq!(scene.notified(), ["issue.opened", "issue.resolved", "issue.opened"]);
    scene.redeliver().await;
    assert_eq!(scene.notified(), [""; 0], "once");
}

#[tokio::test]
async fn beyond_a_hundred_transitions_one_message_says_that_some_are_missing() {
    let scene = Scene::start().await;
    let people = scene.add_channel("Ops", chat()).await;
    let program = scene.add_channel("Pager", webhook()).await;
    let mut sites = Vec::new();
    for number in 0..51 {
        let url = format!("http://site.test/{number}");
        let settings = json!({ "failures_to_open": 1, "successes_to_resolve": 1 });
        sites.push(scene.create(&url, &settings).await);
    }
    scene.service.consume().await;
    scene.turn_off(&people).await;
    scene.turn_off(&program).await;
    for code in [503, 200] {
        for site in &sites {
            scene.turn(*site, code).await;
        }
    }
    scene.turn(sites[0], 503).await;
    scene.turn_on(&people).await;
    scene.turn_on(&program).await;
    scene.redeliver().await;
    let received = scene.service.receivers.take();
    assert_eq!(to(&received, &program), ["channel.missed"]);
    let mut notified = to(&received, &people);
    notified.sort();
    assert_eq!(notified, ["ALERTS NOT SENT: Ops", "DOWN: site.test"]);
    scene.redeliver().await;
    assert_eq!(scene.notified(), [""; 0], "once");
    scene.turn(sites[0], 200).await;
    let received = scene.service.receivers.take();
    assert_eq!(to(&received, &program), ["issue.resolved"]);
    assert_eq!(to(&received, &people), ["RESOLVED: site.test"]);
}

#[tokio::test]
async fn after_more_than_seven_days_one_message_says_that_some_are_missing() {
    for (days, expected) in [(6, &["issue.opened", "issue.resolved"][..]), (8, &["channel.missed"])]
    {
        let scene = Scene::start().await;
        let program = scene.add_channel("Pager", webhook()).await;
        let site = scene.watch().await;
        scene.turn_off(&program).await;
        scene.go_down_and_up(site, 1).await;
        scene.service.test.advance(SignedDuration::from_hours(24 * days));
        scene.turn_on(&program).await;
        scene.redeliver().await;
        assert_eq!(scene.notified(), expected, "{days} days");
    }
}

#[tokio::test]
async fn a_channel_confirmed_again_gets_what_it_has_missed() {
    let scene = Scene::start().await;
    let mail = scene.add_channel("Mail", mail()).await;
    let site = scene.watch().await;
    let app = &scene.service.test.app;
    let unsubscribed = mail.unsubscribed(app.clock.now()).expect("on before");
    app.store.put_channel(&unsubscribed, Audit::None).await.expect("saved");
    scene.go_down_and_up(site, 1).await;
    scene.turn_on(&mail).await;
    assert_eq!(scene.notified(), ["confirmation"], "its reader has to agree");
    let place = ChannelRef::from(&mail);
    let asked = app.store.channel(place).await.expect("read").expect("a channel");
    confirm_channel(app, &asked, By { actor: Actor::Reader, now: app.clock.now() })
        .await
        .expect("saved")
        .expect("a change");
    scene.service.deliver_alerts().await;
    assert_eq!(scene.notified(), ["WAS DOWN: site.test"]);
}

#[tokio::test]
async fn a_channel_that_is_turned_on_while_a_change_is_fanned_out_learns_of_it() {
    let scene = Scene::start().await;
    let program = scene.add_channel("Pager", webhook()).await;
    let site = scene.watch_with(&json!({ "failures_to_open": 1 })).await;
    let off = scene.turn_off(&program).await;
    scene.target.answer(503);
    scene.service.advance_minutes(5);
    let test = &scene.service.test;
    let message = scene.scheduled(site, Tool::Status, test.now());
    Box::pin(vedette_checker::handle(&test.app, &scene.service.engines, &message))
        .await
        .expect("run");
    // The batch reads the state of the channel, which is off.
    test.faults().hold_read(1);
    let meanwhile = async {
        test.faults().until_held().await;
        enable_channel(&test.app, &off, By::operator(test.now())).await.expect("enabled");
        test.faults().release();
    };
    futures::join!(scene.service.deliver_alerts(), meanwhile);
    scene.service.deliver_alerts().await;
    assert_eq!(scene.notified(), ["issue.opened"]);
}

#[tokio::test]
async fn a_site_that_is_deleted_while_a_channel_is_off_is_told_as_well() {
    let scene = Scene::start().await;
    let people = scene.add_channel("Ops", chat()).await;
    let program = scene.add_channel("Pager", webhook()).await;
    let site = scene.watch_down(&json!({})).await;
    assert_eq!(scene.notified().len(), 2);
    scene.turn_off(&people).await;
    scene.turn_off(&program).await;
    assert_eq!(scene.client().delete(&format!("/sites/{site}")).await.status, 204);
    scene.service.deliver_alerts().await;
    scene.service.consume().await;
    assert_eq!(scene.notified(), [""; 0]);
    scene.turn_on(&people).await;
    scene.turn_on(&program).await;
    let received = scene.service.receivers.take();
    assert_eq!(to(&received, &people), ["MONITORING STOPPED: site.test"]);
    assert_eq!(to(&received, &program), ["issue.resolved"]);
    scene.redeliver().await;
    assert_eq!(scene.notified(), [""; 0], "once");
}
