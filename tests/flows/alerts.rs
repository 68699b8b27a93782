//! What channels are notified of during a site's life, when, and in which order.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use vedette_domain::alerts::AlertKind;
use vedette_domain::alerts::channel::{Channel, EventKind, Filter, Target};
use vedette_domain::alerts::channel_state::LEASE;
use vedette_domain::alerts::latency::Quantile;
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::{ChannelId, IssueId, SiteId};
use vedette_domain::issues::{Fingerprint, record};
use vedette_domain::message::{AlertMessage, Message};
use vedette_domain::sites::selector::Selector;
use vedette_notifier::send::SendOutcome;
use vedette_runs::enqueue_alert;
use vedette_store::{Audit, ChannelRef};
use vedette_testkit::channels::{add_channel, chat, mail, webhook};
use vedette_tests::reading::Reading;
use vedette_tests::receivers::{self, Received};

use crate::scene::Scene;

impl Scene {
    /// A channel that works.
    pub(crate) async fn add_channel(&self, name: &str, target: Target) -> Channel {
        self.add_filtered(name, target, Filter::default()).await
    }

    pub(crate) async fn add_filtered(&self, name: &str, target: Target, filter: Filter) -> Channel {
        add_channel(&self.service.test.app, self.owner.team, (name, target), filter).await
    }

    /// A run of the site's schedule, with the retry that follows if it failed.
    pub(crate) async fn turn(&self, site: SiteId, code: u16) {
        self.target.answer(code);
        self.service.advance_minutes(5);
        self.service.run_scheduled(site, Tool::Status).await;
        let timer = self.state(site).await.timer;
        let is_retry = |timer: &vedette_domain::checks::timer::Timer| {
            timer.reason.as_str() == "confirmation_retry"
        };
        if timer.as_ref().is_some_and(is_retry) {
            self.run_timer(site).await;
        }
    }

    /// Runs a delivery for a channel now.
    async fn look(&self, channel: &Channel) -> Vec<(Message, Duration)> {
        let message = AlertMessage::Channel { team: channel.team, channel: channel.id };
        self.service.notify(&message).await;
        self.service.deliver_alerts().await
    }

    pub(crate) fn notified(&self) -> Vec<String> {
        self.service.receivers.take_lines()
    }

    pub(crate) async fn escalate(&self, settings: &Value) {
        let path = format!("/teams/{}/monitoring", self.owner.team);
        let mut settings = settings.clone();
        settings["tools"] = json!({ "ssl": { "enabled": true, "cadence_minutes": 1440 } });
        let body = json!({ "monitoring_settings": settings });
        let answer = self.client().patch(&path, &body).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        self.service.deliver_alerts().await;
    }

    /// A run of the site's schedule now that fails, with the retry that opens the issue.
    pub(crate) async fn fail(&self, site: SiteId) {
        self.target.answer(503);
        self.service.run_scheduled(site, Tool::Status).await;
        self.run_timer(site).await;
    }

    async fn issue_id(&self) -> IssueId {
        let [issue] = &self.issues("active").await[..] else { panic!("one issue") };
        IssueId::parse(issue["uuid"].as_str().expect("a uuid")).expect("an id")
    }

    async fn snooze(&self, until: Option<Timestamp>) {
        let app = &self.service.test.app;
        let id = self.issue_id().await;
        let found = app.store.issue_with_monitor(id).await.expect("read").expect("an issue");
        let change = record::snooze(found.issue, until, app.clock.now()).expect("active");
        let place = (&found.monitor).into();
        app.store.commit_issue(place, &change, None, Audit::None).await.expect("saved");
        enqueue_alert(app, found.monitor.team(), &change).await;
        self.service.deliver_alerts().await;
    }
}

pub(crate) fn to(received: &[Received], channel: &Channel) -> Vec<String> {
    let of_channel = received.iter().filter(|received| received.channel == channel.id);
    of_channel.map(Received::line).collect()
}

#[tokio::test]
async fn people_and_programs_are_told_when_a_site_goes_down_and_comes_back() {
    let scene = Scene::start().await;
    let people = scene.add_channel("Ops", chat()).await;
    let program = scene.add_channel("Pager", webhook()).await;
    let site = scene.watch().await;
    assert_eq!(scene.notified(), [""; 0], "nothing happened");
    scene.turn(site, 503).await;
    let opened = scene.service.receivers.take();
    assert_eq!(to(&opened, &people), ["DOWN: site.test"]);
    assert_eq!(to(&opened, &program), ["issue.opened"]);
    scene.service.deliver_alerts().await;
    scene.look(&people).await;
    scene.look(&program).await;
    assert_eq!(scene.notified(), [""; 0], "once");

    scene.turn(site, 200).await;
    let resolved = scene.service.receivers.take();
    assert_eq!(to(&resolved, &people), ["RESOLVED: site.test"]);
    assert_eq!(to(&resolved, &program), ["issue.resolved"]);
    let left = scene.service.test.table.dump().await;
    let of_channels = format!("D#{}", scene.owner.team);
    let left: Vec<_> =
        left.keys().filter(|(pk, sk)| pk.starts_with(&of_channels) && sk != "A").collect();
    assert!(left.is_empty(), "channels remember nothing of what is over: {left:?}");
}

#[tokio::test]
async fn the_words_of_an_alert() {
    let scene = Scene::start().await;
    scene.add_channel("Ops", chat()).await;
    scene.add_channel("Pager", webhook()).await;
    let header = json!({ "name": "x-key", "value": "secret" });
    scene.escalate(&json!({ "request_header": header })).await;
    scene.watch_down(&json!({})).await;
    let received = scene.service.receivers.take();
    let [receivers::Message::Alert(alert), receivers::Message::Event { id, body }] =
        &received.iter().map(|received| received.message.clone()).collect::<Vec<_>>()[..]
    else {
        panic!("{received:?}")
    };
    assert_eq!(alert.title(), "DOWN: site.test");
    assert_eq!(alert.lines, ["site.test is down: HTTP 503 Service Unavailable."]);
    let facts: Vec<_> = alert.facts.iter().map(|it| (it.label, it.value.as_str())).collect();
    let expected = [
        ("Severity", "critical"),
        ("Since", "2026-11-20 09:59 UTC"),
        ("Failed checks", "2 in a row"),
        ("Team", "Observers"),
    ];
    assert_eq!(facts, expected);
    assert_eq!(alert.site_url.as_deref(), Some("http://site.test"));
    assert!(id.starts_with("msg_") && id.len() == 30, "{id}");
    let issue = scene.issue_id().await;
    let shown = scene.client().get(&format!("/issues/{issue}")).await;
    let mut expected = shown.body["data"].clone();
    // Checks are not sent, and neither is what belongs to them.
    (expected["check"], expected["previous_check"]) = (Value::Null, Value::Null);
    expected["site"]["monitoring"]["settings"]["request_header"] =
        json!({ "name": null, "value": null });
    expected["links"] = json!({ "issue": format!("https://monitor.test/issues/{issue}") });
    let expected = json!({
        "type": "issue.opened", "timestamp": "2026-11-20T10:01:00Z", "data": expected,
    });
    assert_eq!(*body, expected);
}

#[tokio::test]
async fn a_storm_is_told_in_four_messages() {
    let scene = Scene::start().await;
    let people = scene.add_channel("Ops", chat()).await;
    let program = scene.add_channel("Pager", webhook()).await;
    let mut sites = Vec::new();
    for number in 0..9 {
        sites.push(
            scene
                .create(&format!("http://site.test/{number}"), &json!({ "failures_to_open": 1 }))
                .await,
        );
    }
    scene.service.consume().await;
    scene.target.answer(503);
    scene.service.advance_minutes(5);
    for site in &sites {
        scene.service.run_scheduled(*site, Tool::Status).await;
    }
    let at_once = scene.service.receivers.take();
    assert_eq!(to(&at_once, &people).len(), 3, "one by one");
    assert_eq!(to(&at_once, &program).len(), 9, "programs are told of each");
    scene.service.test.advance(SignedDuration::from_secs(59));
    let over = scene.service.test.app.store.issue(sites[8].partition(), Fingerprint::StatusDown);
    let over = over.await.expect("read").expect("an issue");
    scene.service.resolve(over.id, scene.owner.user).await;
    let over = scene.service.receivers.take();
    assert_eq!(to(&over, &program), ["issue.resolved"]);
    assert_eq!(to(&over, &people), ["WAS DOWN: site.test"], "which waits for no opening");
    scene.look(&people).await;
    assert_eq!(scene.notified(), [""; 0]);
    scene.service.test.advance(SignedDuration::from_secs(1));
    scene.look(&people).await;
    let news = ["DOWN: 5 sites"];
    assert_eq!(scene.notified(), news, "what is over is not named among what is down");
    scene.look(&people).await;
    assert_eq!(scene.notified(), [""; 0], "being named counts as told");

    scene.target.answer(200);
    scene.service.advance_minutes(5);
    for site in &sites {
        scene.service.run_scheduled(*site, Tool::Status).await;
    }
    assert_eq!(to(&scene.service.receivers.take(), &people), ["RESOLVED: site.test"; 3]);
    scene.service.advance_minutes(1);
    scene.look(&people).await;
    assert_eq!(scene.notified(), ["RESOLVED: 5 sites"]);
}

/// Sites, each of which goes down at its first failed check.
pub(crate) async fn watch_many(scene: &Scene, count: usize) -> Vec<SiteId> {
    let mut sites = Vec::new();
    for number in 0..count {
        let url = format!("http://site.test/{number}");
        let settings = json!({ "failures_to_open": 1, "successes_to_resolve": 1 });
        let site = scene.create(&url, &settings).await;
        let body = json!({ "url": url, "name": format!("Shop {number}") });
        let named = scene.client().patch(&format!("/sites/{site}"), &body).await;
        assert_eq!(named.status, 200, "{named:?}");
        sites.push(site);
    }
    scene.service.consume().await;
    sites
}

/// What a channel's reader has read, in order.
fn read(scene: &Scene, channel: &Channel) -> Vec<Reading> {
    let received = scene.service.receivers.take().into_iter();
    let alerts = received.filter(|received| received.channel == channel.id);
    let alerts = alerts.map(|received| match received.message {
        receivers::Message::Alert(alert) => Reading::of(&channel.target, &alert),
        other => panic!("{other:?}"),
    });
    alerts.collect()
}

#[tokio::test]
async fn every_site_of_a_large_storm_is_named_in_the_alerts() {
    const SITES: usize = 60;
    let scene = Scene::start().await;
    let channels =
        [scene.add_channel("Chat", chat()).await, scene.add_channel("Mail", mail()).await];
    let sites = watch_many(&scene, SITES).await;
    for (code, kind, title) in [
        (503, AlertKind::Opened, "DOWN: 57 sites"),
        (200, AlertKind::Resolved, "RESOLVED: 57 sites"),
    ] {
        scene.target.answer(code);
        scene.service.advance_minutes(5);
        for site in &sites {
            scene.service.run_scheduled(*site, Tool::Status).await;
        }
        let mut known: [BTreeSet<String>; 2] = Default::default();
        let mut collections: [Vec<String>; 2] = Default::default();
        for _ in 0..3 {
            let received = scene.service.receivers.take();
            for (number, channel) in channels.iter().enumerate() {
                let alerts = received.iter().filter(|received| received.channel == channel.id);
                for received in alerts {
                    let receivers::Message::Alert(alert) = &received.message else { continue };
                    let reading = Reading::of(&channel.target, alert);
                    assert_eq!(reading.kind(), kind, "{}", reading.title);
                    let named = reading.named();
                    if alert.thread.is_none() {
                        collections[number].push(reading.title.clone());
                        let list = format!("https://monitor.test/teams/{}/events", channel.team);
                        assert_eq!(alert.link.as_ref().map(|link| &link.url), Some(&list));
                    }
                    for (name, _) in named.iter().filter(|(name, _)| name.starts_with("Shop ")) {
                        assert!(known[number].insert((*name).to_owned()), "{name} is told twice");
                    }
                }
            }
            scene.service.advance_minutes(1);
            for channel in &channels {
                scene.look(channel).await;
            }
        }
        for number in 0..channels.len() {
            assert_eq!(known[number].len(), SITES, "{code}: {:?}", collections[number]);
            let [first, second] = &collections[number][..] else { panic!("{collections:?}") };
            assert_eq!(first, title);
            assert!(second.ends_with(" more sites"), "{second}");
        }
    }
}

#[tokio::test]
async fn resolutions_do_not_wait_behind_openings() {
    let scene = Scene::start().await;
    let people = scene.add_channel("Ops", chat()).await;
    let sites = watch_many(&scene, 5).await;
    let fails = SendOutcome::Retry { after: None, why: "HTTP 500".to_owned() };
    scene.service.receivers.answer(people.id, fails);
    scene.target.answer(503);
    scene.service.advance_minutes(5);
    scene.service.run_scheduled(sites[0], Tool::Status).await;
    scene.target.answer(200);
    scene.service.advance_minutes(5);
    scene.service.run_scheduled(sites[0], Tool::Status).await;
    scene.target.answer(503);
    scene.service.advance_minutes(1);
    for site in &sites[1..] {
        scene.service.run_scheduled(*site, Tool::Status).await;
    }
    scene.service.receivers.answer(people.id, SendOutcome::DELIVERED);
    scene.service.advance_minutes(5);
    scene.look(&people).await;
    let notified = ["WAS DOWN: Shop 0", "DOWN: Shop 1", "DOWN: Shop 2", "DOWN: Shop 3"];
    let mut read: Vec<_> = read(&scene, &people).into_iter().map(|one| one.title).collect();
    read[1..].sort();
    assert_eq!(read[0], notified[0], "what has waited the longest goes first");
    assert_eq!(read.len(), notified.len(), "{read:?}");
    assert!(read[1..].iter().all(|title| title.starts_with("DOWN: Shop ")), "{read:?}");
}

#[tokio::test]
async fn who_resolved_an_issue_by_hand_is_named() {
    let scene = Scene::start().await;
    let people = scene.add_channel("Ops", chat()).await;
    scene.watch_down(&json!({})).await;
    let issue = scene.issue_id().await;
    scene.service.advance_minutes(10);
    scene.notified();
    scene.service.resolve(issue, scene.owner.user).await;
    let [reading] = &read(&scene, &people)[..] else { panic!("one message") };
    assert_eq!(reading.title, "RESOLVED: site.test");
    let lines =
        ["Resolved by Ada after 12 min.", "site.test was down: HTTP 503 Service Unavailable."];
    assert_eq!(reading.lines[..2], lines);
}

#[tokio::test]
async fn in_quiet_time_people_sleep_and_programs_wait() {
    let scene = Scene::start().await;
    let people = scene.add_channel("Ops", chat()).await;
    let program = scene.add_channel("Pager", webhook()).await;
    let site = scene.watch().await;
    // The stories begin at 9:54.
    let quiet = json!({ "enabled": true, "starts_at": "09:55", "ends_at": "11:00" });
    scene.escalate(&json!({ "quiet_time": quiet })).await;
    scene.turn(site, 503).await;
    scene.turn(site, 200).await;
    scene.turn(site, 503).await;
    assert_eq!(scene.notified(), [""; 0]);
    let end: Timestamp = "2026-11-20T11:00:00Z".parse().expect("a timestamp");
    scene.service.test.set_clock(end - SignedDuration::from_secs(1));
    scene.look(&people).await;
    scene.look(&program).await;
    assert_eq!(scene.notified(), [""; 0]);
    scene.service.test.set_clock(end);
    scene.redeliver().await;
    let received = scene.service.receivers.take();
    let [notified] = &received.iter().filter(|it| it.channel == people.id).collect::<Vec<_>>()[..]
    else {
        panic!("{received:?}")
    };
    let receivers::Message::Alert(alert) = &notified.message else { panic!("{notified:?}") };
    assert_eq!(alert.title(), "DOWN: site.test", "the current state");
    assert_eq!(alert.lines[1], "This also happened at 2026-11-20 10:01 UTC, for 5 min.");
    assert_eq!(to(&received, &program), ["issue.opened", "issue.resolved", "issue.opened"]);
}

#[tokio::test]
async fn quiet_time_and_alerts_follow_the_clocks_of_the_team() {
    let scene = Scene::start().await;
    let people = scene.add_channel("Ops", chat()).await;
    let site = scene.watch().await;
    // The stories begin at 9:54 in UTC, which is 15:39 in Nepal.
    let quiet = json!({ "enabled": true, "starts_at": "15:40", "ends_at": "16:45" });
    scene.escalate(&json!({ "quiet_time": quiet })).await;
    let path = format!("/teams/{}/time-zone", scene.owner.team);
    let nepal = json!({ "time_zone": "Asia/Kathmandu" });
    assert_eq!(scene.service.client(&scene.owner).patch(&path, &nepal).await.status, 200);
    scene.turn(site, 503).await;
    scene.turn(site, 200).await;
    scene.turn(site, 503).await;
    let end: Timestamp = "2026-11-20T11:00:00Z".parse().expect("a timestamp");
    scene.service.test.set_clock(end - SignedDuration::from_secs(1));
    scene.look(&people).await;
    assert_eq!(scene.notified(), [""; 0]);
    scene.service.test.set_clock(end);
    scene.redeliver().await;
    let received = scene.service.receivers.take();
    let [receivers::Message::Alert(alert)] =
        &received.iter().map(|it| &it.message).collect::<Vec<_>>()[..]
    else {
        panic!("{received:?}")
    };
    assert_eq!(alert.lines[1], "This also happened at 2026-11-20 15:46 +0545, for 5 min.");
    let since = alert.facts.iter().find(|fact| fact.label == "Since").expect("since when");
    assert_eq!(since.value, "2026-11-20 15:56 +0545");
}

#[tokio::test]
async fn alerts_held_by_quiet_time_are_sent_once_it_is_disabled() {
    let scene = Scene::start().await;
    let people = scene.add_channel("Ops", chat()).await;
    let program = scene.add_channel("Pager", webhook()).await;
    let site = scene.watch().await;
    let quiet = json!({ "enabled": true, "starts_at": "09:55", "ends_at": "23:00" });
    scene.escalate(&json!({ "quiet_time": quiet })).await;
    scene.turn(site, 503).await;
    assert_eq!(scene.notified(), [""; 0]);
    scene.escalate(&json!({ "quiet_time": { "enabled": false } })).await;
    scene.redeliver().await;
    let received = scene.service.receivers.take();
    assert_eq!(to(&received, &people), ["DOWN: site.test"]);
    assert_eq!(to(&received, &program), ["issue.opened"]);
}

#[tokio::test]
async fn an_unreported_outage_is_reported_when_it_is_over() {
    let scene = Scene::start().await;
    let people = scene.add_channel("Ops", chat()).await;
    let site = scene.watch().await;
    let down = || SendOutcome::Retry { after: None, why: "HTTP 500".to_owned() };
    scene.service.receivers.answer(people.id, down());
    scene.turn(site, 503).await;
    scene.turn(site, 200).await;
    assert_eq!(scene.notified(), [""; 0]);
    scene.service.receivers.answer(people.id, SendOutcome::DELIVERED);
    scene.service.advance_minutes(3);
    scene.redeliver().await;
    assert_eq!(scene.notified(), ["WAS DOWN: site.test"], "and no resolution");
}

#[tokio::test]
async fn a_webhook_that_fails_gets_everything_in_order_and_no_stale_reminder() {
    let scene = Scene::start().await;
    let program = scene.add_channel("Pager", webhook()).await;
    scene.escalate(&json!({ "escalation": { "enabled": true, "intervals": [15, 30] } })).await;
    let site = scene.watch().await;
    let down = SendOutcome::Retry { after: None, why: "HTTP 500".to_owned() };
    scene.service.receivers.answer(program.id, down);
    scene.turn(site, 503).await;
    for _ in 0..4 {
        scene.service.advance_minutes(5);
        scene.redeliver().await;
    }
    scene.turn(site, 200).await;
    assert_eq!(scene.notified(), [""; 0]);
    scene.service.receivers.answer(program.id, SendOutcome::DELIVERED);
    scene.service.advance_minutes(60);
    scene.redeliver().await;
    assert_eq!(scene.notified(), ["issue.opened", "issue.resolved"]);
}

#[tokio::test]
async fn once_a_failing_channel_accepts_a_message_it_gets_everything_that_waits() {
    let scene = Scene::start().await;
    let people = scene.add_channel("Ops", chat()).await;
    let program = scene.add_channel("Pager", webhook()).await;
    let site = scene.watch().await;
    let down = SendOutcome::Retry { after: None, why: "HTTP 500".to_owned() };
    for channel in [&people, &program] {
        scene.service.receivers.answer(channel.id, down.clone());
    }
    scene.turn(site, 503).await;
    for _ in 0..4 {
        scene.service.advance_minutes(5);
        scene.redeliver().await;
    }
    scene.turn(site, 200).await;
    let app = &scene.service.test.app;
    for channel in [&people, &program] {
        scene.service.receivers.answer(channel.id, SendOutcome::DELIVERED);
        vedette_actions::queue_test(app, channel).await.expect("queued");
    }
    // No time passes.
    scene.service.deliver_alerts().await;
    let received = scene.service.receivers.take();
    assert_eq!(to(&received, &people), ["TEST: Ops", "WAS DOWN: site.test"]);
    assert_eq!(to(&received, &program), ["channel.test", "issue.opened", "issue.resolved"]);
}

#[tokio::test]
async fn messages_about_a_channel_that_fails_do_not_multiply() {
    let scene = Scene::start().await;
    let people = scene.add_channel("Ops", chat()).await;
    let site = scene.watch().await;
    let down = SendOutcome::Retry { after: None, why: "HTTP 500".to_owned() };
    scene.service.receivers.answer(people.id, down);
    scene.turn(site, 503).await;
    for _ in 0..3 {
        let sent = scene.look(&people).await;
        assert!(sent.is_empty(), "one is under way: {sent:?}");
    }
    scene.service.advance_minutes(3);
    let sent = [scene.look(&people).await, scene.look(&people).await].map(|sent| sent.len());
    assert_eq!(sent, [1, 0]);
}

#[tokio::test]
async fn redelivery_sends_a_channel_one_message_for_all_that_is_due() {
    let scene = Scene::start().await;
    let people = scene.add_channel("Ops", chat()).await;
    for number in 0..3 {
        let url = format!("http://site.test/{number}");
        let site = scene.create(&url, &json!({ "failures_to_open": 1 })).await;
        scene.service.consume().await;
        scene.target.answer(503);
        let down = SendOutcome::Retry { after: None, why: "HTTP 500".to_owned() };
        scene.service.receivers.answer(people.id, down);
        scene.service.run_scheduled(site, Tool::Status).await;
    }
    scene.service.receivers.answer(people.id, SendOutcome::DELIVERED);
    scene.service.advance_minutes(30);
    for _ in 0..2 {
        let passed = Box::pin(vedette_reconciler::redeliver(&scene.service.test.app)).await;
        assert!(passed.expect("a pass").sent >= 3, "issues");
        let sent = scene.service.test.queue.drain(vedette_runtime::Destination::Alerts);
        assert_eq!(sent.len(), 1, "{sent:?}");
        scene.service.advance_minutes(5);
    }
}

#[tokio::test]
async fn reminders_come_at_their_instants_and_say_who_acknowledged() {
    let scene = Scene::start().await;
    let people = scene.add_channel("Ops", chat()).await;
    let program = scene.add_channel("Pager", webhook()).await;
    let intervals = json!({ "enabled": true, "intervals": [0, 15, 60] });
    scene.escalate(&json!({ "escalation": intervals })).await;
    scene.watch_down(&json!({})).await;
    let opened_at = scene.service.test.now();
    assert_eq!(scene.notified().len(), 2, "0 is the opening itself");
    let issue = scene.issues("active").await.remove(0);
    scene.acknowledge(&issue).await;
    for (minutes, expected) in [(14, None), (15, Some("STILL DOWN 17 min: site.test")), (16, None)]
    {
        scene.service.test.set_clock(opened_at + SignedDuration::from_mins(minutes));
        scene.redeliver().await;
        scene.look(&people).await;
        let received = scene.service.receivers.take();
        assert_eq!(to(&received, &people).first().map(String::as_str), expected, "{minutes}");
        assert_eq!(to(&received, &program).len(), usize::from(expected.is_some()), "{minutes}");
        for notified in &received {
            if let receivers::Message::Alert(alert) = &notified.message {
                assert_eq!(alert.lines[1], "Acknowledged by Ada.");
            }
        }
    }
    // Until this instant, nobody is reminded. Then people are reminded once.
    scene.snooze(Some(opened_at + SignedDuration::from_mins(90))).await;
    for (minutes, count) in [(60, 0), (89, 0), (90, 2), (95, 0)] {
        scene.service.test.set_clock(opened_at + SignedDuration::from_mins(minutes));
        scene.redeliver().await;
        assert_eq!(scene.notified().len(), count, "{minutes}");
    }
}

#[tokio::test]
async fn a_change_of_settings_moves_reminders_that_are_outstanding() {
    let scene = Scene::start().await;
    scene.add_channel("Ops", chat()).await;
    let escalation =
        |minutes: u32| json!({ "escalation": { "enabled": true, "intervals": [minutes] } });
    scene.escalate(&escalation(360)).await;
    scene.watch_down(&json!({})).await;
    scene.notified();
    scene.escalate(&escalation(30)).await;
    scene.service.advance_minutes(31);
    scene.redeliver().await;
    assert_eq!(scene.notified(), ["STILL DOWN 33 min: site.test"]);
    let left = scene.service.test.table.dump().await;
    let request = (format!("D#{}", scene.owner.team), "A".to_owned());
    assert!(!left.contains_key(&request), "it was done");
}

#[tokio::test]
async fn a_channel_that_is_gone_is_left_alone_and_the_team_learns_of_it_by_another() {
    let scene = Scene::start().await;
    let gone = scene.add_channel("Old chat", chat()).await;
    let other = scene.add_channel("Ops", chat()).await;
    let why = "HTTP 410".to_owned();
    scene.service.receivers.answer(gone.id, SendOutcome::Gone { why });
    let site = scene.watch().await;
    scene.turn(site, 503).await;
    let received = scene.service.receivers.take();
    let broken = received.iter().find_map(|received| match &received.message {
        receivers::Message::Alert(alert) if alert.state == "CHANNEL NOT WORKING" => Some(alert),
        _ => None,
    });
    let broken = broken.expect("an alert");
    assert_eq!(broken.lines[0], "Alerts are not reaching this channel: HTTP 410.");
    let page = format!("https://monitor.test/teams/{}/channels#{}", gone.team, gone.id);
    assert_eq!(broken.link.as_ref().map(|link| link.url.as_str()), Some(page.as_str()));
    let mut notified = to(&received, &other);
    notified.sort();
    assert_eq!(notified, ["CHANNEL NOT WORKING: Old chat", "DOWN: site.test"]);
    let place = ChannelRef { team: gone.team, id: gone.id };
    let deliveries = scene.service.test.app.store.deliveries(place).await.expect("read");
    assert_eq!(deliveries.state.disabled.expect("disabled").reason, "HTTP 410");
    assert!(
        deliveries.deliveries.iter().all(|delivery| delivery.due.is_none()),
        "nothing is outstanding"
    );
    scene.service.receivers.answer(gone.id, SendOutcome::DELIVERED);
    scene.turn(site, 200).await;
    assert_eq!(to(&scene.service.receivers.take(), &gone), [""; 0]);
}

#[tokio::test]
async fn a_channel_gets_what_it_wants() {
    let scene = Scene::start().await;
    let only = |events: &[EventKind]| Filter {
        events: events.iter().copied().collect(),
        ..Filter::default()
    };
    let ssl = Filter { tools: [Tool::Ssl].into(), ..Filter::default() };
    let opened = scene.add_filtered("opened", chat(), only(&[EventKind::Opened])).await;
    let resolved = scene.add_filtered("resolved", chat(), only(&[EventKind::Resolved])).await;
    let program = scene.add_filtered("program", webhook(), only(&[EventKind::Resolved])).await;
    let other = scene.add_filtered("other", chat(), ssl).await;
    let site = scene.watch().await;
    scene.turn(site, 503).await;
    let received = scene.service.receivers.take();
    assert_eq!(received.len(), 1);
    assert_eq!(to(&received, &opened), ["DOWN: site.test"]);
    scene.turn(site, 200).await;
    let received = scene.service.receivers.take();
    assert_eq!(to(&received, &resolved), ["RESOLVED: site.test"]);
    assert_eq!(to(&received, &program), ["issue.resolved"]);
    assert_eq!((to(&received, &opened).len(), to(&received, &other).len()), (0, 0));
}

#[tokio::test]
async fn a_program_that_asks_for_it_learns_in_order_who_acknowledged() {
    let scene = Scene::start().await;
    let asks = Filter { events: EventKind::ALL.into(), ..Filter::default() };
    let asks = scene.add_filtered("asks", webhook(), asks).await;
    let other = scene.add_channel("other", webhook()).await;
    let site = scene.watch().await;
    // It fails, so that the events wait for each other.
    let down = SendOutcome::Retry { after: None, why: "HTTP 500".to_owned() };
    scene.service.receivers.answer(asks.id, down);
    scene.turn(site, 503).await;
    let issue = scene.issues("active").await.remove(0);
    scene.acknowledge(&issue).await;
    scene.turn(site, 200).await;
    scene.service.receivers.answer(asks.id, SendOutcome::DELIVERED);
    scene.service.advance_minutes(60);
    scene.redeliver().await;
    let received = scene.service.receivers.take();
    let told = to(&received, &asks);
    assert_eq!(told, ["issue.opened", "issue.acknowledged", "issue.resolved"]);
    assert_eq!(to(&received, &other), ["issue.opened", "issue.resolved"]);
}

#[tokio::test]
async fn the_tags_of_a_site_decide_which_channels_are_notified_of_an_outage() {
    let scene = Scene::start().await;
    let prod = || {
        let selector = Some(Selector::parse("env:prod").expect("a selector"));
        Filter { selector, ..Filter::default() }
    };
    let people = scene.add_filtered("Ops", chat(), prod()).await;
    let program = scene.add_filtered("Pager", webhook(), prod()).await;
    let site = scene.watch().await;
    let tag = async |tags: &[&str]| {
        let body = json!({ "url": scene.stored(site).await.0.url, "tags": tags });
        let changed = scene.client().patch(&format!("/sites/{site}"), &body).await;
        assert_eq!(changed.status, 200, "{changed:?}");
        scene.service.deliver_alerts().await;
        let received = scene.service.receivers.take();
        (to(&received, &people), to(&received, &program))
    };
    let turn = async |code| {
        scene.turn(site, code).await;
        let received = scene.service.receivers.take();
        (to(&received, &people), to(&received, &program))
    };
    let nothing = || (Vec::<String>::new(), Vec::<String>::new());
    let said = |to_people: &str, to_program: &str| {
        (vec![to_people.to_owned()], vec![to_program.to_owned()])
    };
    assert_eq!(turn(503).await, nothing());
    assert_eq!(tag(&["env:test"]).await, nothing());
    assert_eq!(turn(200).await, nothing());
    // A site that gets the tag while it is down is announced, once.
    assert_eq!(turn(503).await, nothing());
    assert_eq!(tag(&["env:prod"]).await, said("DOWN: site.test", "issue.opened"));
    assert_eq!(tag(&["env:prod", "team:shop"]).await, nothing());
    // Those who were notified are notified of the end, whatever the tags are by then.
    assert_eq!(tag(&[]).await, nothing());
    assert_eq!(turn(200).await, said("RESOLVED: site.test", "issue.resolved"));
    assert_eq!(turn(503).await, nothing());
    assert_eq!(turn(200).await, nothing());
    assert_eq!(tag(&["env:prod"]).await, nothing());
    assert_eq!(turn(503).await, said("DOWN: site.test", "issue.opened"));
}

#[tokio::test]
async fn a_channel_that_gets_another_selector_is_notified_of_what_is_down() {
    let scene = Scene::start().await;
    let people = scene.add_channel("Ops", chat()).await;
    let program = scene.add_channel("Pager", webhook()).await;
    let change = async |selector: Value| {
        for channel in [&people, &program] {
            let path = format!("/teams/{}/channels/{}", channel.team, channel.id);
            let changed = scene.client().patch(&path, &json!({ "selector": selector })).await;
            assert_eq!(changed.status, 200, "{changed:?}");
        }
        scene.service.deliver_alerts().await;
        scene.notified()
    };
    assert_eq!(change(json!("!env:test, env")).await, [""; 0]);
    let site = scene.watch_down(&json!({})).await;
    assert_eq!(scene.notified(), [""; 0]);
    assert_eq!(change(json!("legacy")).await, [""; 0]);
    assert_eq!(change(Value::Null).await, ["issue.opened", "DOWN: site.test"]);
    assert_eq!(change(json!("legacy")).await, [""; 0]);
    scene.turn(site, 200).await;
    assert_eq!(scene.notified(), ["RESOLVED: site.test", "issue.resolved"]);
}

#[tokio::test]
async fn a_program_hears_of_the_end_exactly_if_it_knows_of_the_opening() {
    for (before, after, heard) in
        [(&["env:prod"][..], &[][..], &["issue.resolved"][..]), (&[], &["env:prod"], &[])]
    {
        let scene = Scene::start().await;
        let selector = Some(Selector::parse("env:prod").expect("a selector"));
        let filter = Filter { selector, ..Filter::default() };
        let program = scene.add_filtered("Pager", webhook(), filter).await;
        let site = scene.watch().await;
        let tag = async |tags: &[&str]| {
            let body = json!({ "url": scene.stored(site).await.0.url, "tags": tags });
            assert_eq!(scene.client().patch(&format!("/sites/{site}"), &body).await.status, 200);
        };
        tag(before).await;
        scene.turn(site, 503).await;
        scene.notified();
        let issue = scene.issues("active").await[0]["uuid"].as_str().and_then(IssueId::parse);
        let issue = issue.expect("an issue");
        tag(after).await;
        // The tags are known, and then the channel looks at a site that is gone, before it hears of that.
        scene.service.notify(&AlertMessage::Issue { team: program.team, issue }).await;
        let deleted = scene.client().delete(&format!("/sites/{site}")).await;
        assert_eq!(deleted.status, 204, "{deleted:?}");
        scene.look(&program).await;
        assert_eq!(scene.notified(), heard, "{before:?}");
        let left = scene.service.test.app.store.deliveries(ChannelRef::from(&program)).await;
        assert!(left.expect("read").deliveries.is_empty());
    }
}

#[tokio::test]
async fn a_channel_that_is_off_misses_what_it_is_about_at_the_time() {
    let scene = Scene::start().await;
    let selector = Some(Selector::parse("env:prod").expect("a selector"));
    let filter = || Filter { selector: selector.clone(), ..Filter::default() };
    let people = scene.add_filtered("Ops", chat(), filter()).await;
    let program = scene.add_filtered("Pager", webhook(), filter()).await;
    let site = scene.watch().await;
    let tag = async |tags: &[&str]| {
        let body = json!({ "url": scene.stored(site).await.0.url, "tags": tags });
        assert_eq!(scene.client().patch(&format!("/sites/{site}"), &body).await.status, 200);
    };
    let turn = async |what: &str| {
        for channel in [&people, &program] {
            let path = format!("/teams/{}/channels/{}/{what}", channel.team, channel.id);
            let turned = scene.client().post(&path, &json!({})).await;
            assert_eq!(turned.status, 200, "{turned:?}");
        }
        scene.service.deliver_alerts().await;
        scene.notified()
    };
    // Each outage opens and ends while the channels are off.
    for (then, now, heard) in [
        (
            &["env:prod"][..],
            &["env:prod"][..],
            &["WAS DOWN: site.test", "issue.opened", "issue.resolved"][..],
        ),
        (&[], &["env:prod"], &[]),
        // People are told what is so now, and programs what happened.
        (&["env:prod"], &[], &["issue.opened", "issue.resolved"]),
    ] {
        tag(then).await;
        assert_eq!(turn("disable").await, [""; 0]);
        scene.turn(site, 503).await;
        scene.turn(site, 200).await;
        tag(now).await;
        assert_eq!(turn("enable").await, heard, "{then:?} {now:?}");
    }
    // An outage that goes on is announced if the site matches by then.
    tag(&[]).await;
    turn("disable").await;
    scene.turn(site, 503).await;
    tag(&["env:prod"]).await;
    assert_eq!(turn("enable").await, ["issue.opened", "DOWN: site.test"]);
    // Whoever knows of an outage hears of its end. A program that has missed it also gets what follows.
    turn("disable").await;
    scene.turn(site, 200).await;
    tag(&[]).await;
    scene.turn(site, 503).await;
    let heard = turn("enable").await;
    assert_eq!(heard, ["issue.resolved", "issue.opened"]);
    scene.turn(site, 200).await;
    assert_eq!(scene.notified(), ["RESOLVED: site.test", "issue.resolved"]);
}

#[tokio::test]
async fn a_channel_with_a_delay_is_notified_of_what_lasts_and_nobody_acknowledges() {
    let scene = Scene::start().await;
    let channel = scene.add_channel("On call", chat()).await;
    let path = format!("/teams/{}/channels/{}", channel.team, channel.id);
    let times = json!({ "delay_minutes": 10, "repeat_minutes": 30 });
    assert_eq!(scene.client().patch(&path, &times).await.status, 200);
    scene.escalate(&json!({ "escalation": { "enabled": true, "intervals": [15] } })).await;
    let site = scene.watch().await;
    let after = async |minutes| {
        scene.service.advance_minutes(minutes);
        scene.redeliver().await;
        let first_word = |title: &String| title.split([' ', ':']).next().map(str::to_owned);
        scene.notified().iter().filter_map(first_word).collect::<Vec<_>>()
    };
    let decide = async |action: &str, body: Value| {
        let issue = scene.issues("active").await[0]["uuid"].clone();
        let path = format!("/issues/{}/{action}", issue.as_str().expect("an id"));
        let decided = scene.client().post(&path, &body).await;
        assert_eq!(decided.status, 200, "{decided:?}");
    };
    // An outage that is shorter is not announced, nor its end.
    scene.turn(site, 503).await;
    assert_eq!(after(3).await, [""; 0]);
    scene.turn(site, 200).await;
    assert_eq!(after(30).await, [""; 0]);
    // The others are, at that time, and again until somebody acknowledges them.
    scene.turn(site, 503).await;
    assert_eq!(after(9).await, [""; 0]);
    assert_eq!(after(1).await, ["DOWN"]);
    assert_eq!(after(29).await, [""; 0], "the team's reminders do not apply");
    assert_eq!(after(1).await, ["STILL"]);
    assert_eq!(after(30).await, ["STILL"]);
    decide("acknowledge", json!({})).await;
    assert_eq!(after(60).await, [""; 0]);
    scene.turn(site, 200).await;
    assert_eq!(scene.notified(), ["RESOLVED: site.test"]);
    // Somebody acknowledges it in time.
    scene.turn(site, 503).await;
    assert_eq!(after(5).await, [""; 0]);
    decide("acknowledge", json!({})).await;
    assert_eq!(after(60).await, [""; 0]);
    scene.turn(site, 200).await;
    assert_eq!(after(10).await, [""; 0]);
    // A snooze postpones it.
    scene.turn(site, 503).await;
    let until = scene.service.test.app.clock.now() + SignedDuration::from_hours(1);
    decide("snooze", json!({ "until": until.to_string() })).await;
    assert_eq!(after(59).await, [""; 0]);
    assert_eq!(after(2).await, ["DOWN"]);
    scene.turn(site, 200).await;
    assert_eq!(scene.notified(), ["RESOLVED: site.test"]);
    // Somebody withdraws an acknowledgement.
    scene.turn(site, 503).await;
    decide("acknowledge", json!({})).await;
    assert_eq!(after(15).await, [""; 0]);
    decide("unacknowledge", json!({})).await;
    assert_eq!(after(1).await, ["DOWN"]);
}

#[tokio::test]
async fn whoever_knows_of_an_outage_hears_that_monitoring_stopped_although_the_tags_have_changed() {
    let scene = Scene::start().await;
    let selector = Some(Selector::parse("env:prod").expect("a selector"));
    let people = scene.add_filtered("Ops", chat(), Filter { selector, ..Filter::default() }).await;
    let site = scene.watch().await;
    let tag = async |tags: &[&str]| {
        let body = json!({ "url": scene.stored(site).await.0.url, "tags": tags });
        assert_eq!(scene.client().patch(&format!("/sites/{site}"), &body).await.status, 200);
    };
    let turn = async |what: &str| {
        let path = format!("/teams/{}/channels/{}/{what}", people.team, people.id);
        assert_eq!(scene.client().post(&path, &json!({})).await.status, 200);
        scene.service.deliver_alerts().await;
        scene.notified()
    };
    tag(&["env:prod"]).await;
    scene.turn(site, 503).await;
    assert_eq!(scene.notified(), ["DOWN: site.test"]);
    turn("disable").await;
    scene.turn(site, 200).await;
    tag(&[]).await;
    scene.turn(site, 503).await;
    assert_eq!(turn("enable").await, [""; 0], "the outage goes on as far as they know");
    scene.enable_status(site, false).await;
    assert_eq!(scene.notified(), ["MONITORING STOPPED: site.test"]);
}

#[tokio::test]
async fn a_delay_also_applies_to_a_channel_that_is_told_of_ends_only() {
    let scene = Scene::start().await;
    let filter = Filter {
        events: [EventKind::Resolved].into(),
        delay_minutes: NonZeroU32::new(10),
        ..Filter::default()
    };
    scene.add_filtered("Ends", chat(), filter).await;
    let site = scene.watch().await;
    for (minutes, heard) in [(1, &[][..]), (15, &["RESOLVED: site.test"][..])] {
        scene.turn(site, 503).await;
        scene.service.advance_minutes(minutes);
        scene.redeliver().await;
        scene.turn(site, 200).await;
        assert_eq!(scene.notified(), heard, "{minutes}");
    }
}

#[tokio::test]
async fn a_channel_is_told_nothing_of_what_opened_before_it_was_there() {
    let scene = Scene::start().await;
    let site = scene.watch_down(&json!({})).await;
    scene.service.advance_minutes(1);
    scene.add_channel("Ops", chat()).await;
    scene.add_channel("Pager", webhook()).await;
    scene.turn(site, 200).await;
    assert_eq!(scene.issues("resolved").await.len(), 1);
    assert_eq!(scene.notified(), [""; 0]);
    scene.turn(site, 503).await;
    assert_eq!(scene.notified(), ["DOWN: site.test", "issue.opened"]);
}

#[tokio::test]
async fn a_leased_channel_gets_nothing_from_another_process() {
    let scene = Scene::start().await;
    let channel = scene.add_channel("Ops", chat()).await;
    let (app, place) = (&scene.service.test.app, ChannelRef::from(&channel));
    let state = app.store.channel_state(place).await.expect("read");
    let by_then_it_is_down = app.clock.now() + SignedDuration::from_mins(7);
    let leased = state.leased(by_then_it_is_down).expect("nobody sends");
    app.store.put_channel_state(place, &leased, Audit::None).await.expect("written");
    scene.watch_down(&json!({})).await;
    scene.look(&channel).await;
    assert_eq!(scene.notified(), [""; 0]);

    scene.service.test.set_clock(by_then_it_is_down + LEASE);
    scene.look(&channel).await;
    assert_eq!(scene.notified(), ["DOWN: site.test"], "whoever sent has died");
}

#[tokio::test]
async fn lost_alert_messages_are_redelivered() {
    let scene = Scene::start().await;
    let people = scene.add_channel("Ops", chat()).await;
    let program = scene.add_channel("Pager", webhook()).await;
    let site = scene.watch().await;
    scene.target.answer(503);
    scene.service.advance_minutes(5);
    let now = scene.service.test.now();
    for slot in [now, now + SignedDuration::from_secs(121)] {
        scene.service.test.set_clock(slot);
        let message = match slot == now {
            true => scene.scheduled(site, Tool::Status, slot),
            false => scene.timer_message(site, scene.timer(site).await),
        };
        let app = &scene.service.test.app;
        Box::pin(vedette_checker::handle(app, &scene.service.engines, &message))
            .await
            .expect("run");
    }
    // The message to the notifier is lost, and then those to the channels.
    let lost = scene.service.test.queue.drain(vedette_runtime::Destination::Alerts);
    assert_eq!(lost.len(), 1);
    scene.service.test.advance(SignedDuration::from_secs(30));
    Box::pin(vedette_reconciler::redeliver(&scene.service.test.app)).await.expect("sent");
    let [(Message::Alert(message), _)] =
        &scene.service.test.queue.drain(vedette_runtime::Destination::Alerts)[..]
    else {
        panic!("one message")
    };
    scene.service.notify(message).await;
    assert_eq!(scene.service.test.queue.drain(vedette_runtime::Destination::Alerts).len(), 2);
    assert_eq!(scene.notified(), [""; 0]);
    scene.service.test.advance(SignedDuration::from_secs(30));
    scene.redeliver().await;
    let received = scene.service.receivers.take();
    assert_eq!(to(&received, &people), ["DOWN: site.test"]);
    assert_eq!(to(&received, &program), ["issue.opened"]);
}

#[tokio::test]
async fn the_time_to_notify_of_an_opening_is_counted_unless_it_was_held_back() {
    let scene = Scene::start().await;
    let people = scene.add_channel("people", chat()).await;
    let program = scene.add_channel("program", webhook()).await;
    let delayed = Filter { delay_minutes: NonZeroU32::new(10), ..Filter::default() };
    let delayed = scene.add_filtered("delayed", chat(), delayed).await;
    let counts = async || {
        let channels = [&people, &program, &delayed].map(ChannelRef::from);
        let states = scene.service.test.app.store.states_of_channels(&channels).await;
        let now = scene.service.test.now();
        let states = states.expect("read");
        states.iter().map(|state| state.latencies.count(now)).collect::<Vec<_>>()
    };
    let site = scene.watch().await;
    scene.turn(site, 503).await;
    assert_eq!(counts().await, [1, 1, 0]);
    scene.service.advance_minutes(10);
    scene.redeliver().await;
    assert!(!to(&scene.service.receivers.take(), &delayed).is_empty());
    scene.turn(site, 200).await;
    assert_eq!(counts().await, [1, 1, 0], "a resolution is no opening, and a delay is a rule");

    // A receiver that fails is slow.
    let down = SendOutcome::Retry { after: None, why: "HTTP 500".to_owned() };
    scene.service.receivers.answer(people.id, down);
    scene.turn(site, 503).await;
    assert_eq!(counts().await, [1, 2, 0]);
    scene.service.receivers.answer(people.id, SendOutcome::DELIVERED);
    scene.service.advance_minutes(3);
    scene.redeliver().await;
    assert_eq!(counts().await, [2, 2, 0]);
    let place = ChannelRef::from(&people);
    let states = scene.service.test.app.store.states_of_channels(&[place]).await.expect("read");
    let slow = states[0].latencies.quantile(99, scene.service.test.now());
    assert_eq!(slow, Some(Quantile::Within(300)));
    scene.turn(site, 200).await;

    let quiet = json!({ "enabled": true, "starts_at": "00:00", "ends_at": "23:59" });
    scene.escalate(&json!({ "quiet_time": quiet })).await;
    scene.turn(site, 503).await;
    scene.escalate(&json!({ "quiet_time": { "enabled": false } })).await;
    scene.redeliver().await;
    assert_eq!(counts().await, [2, 2, 0], "quiet time held it back");
}

#[tokio::test]
async fn a_channel_gets_a_test_every_week_at_the_hour_that_its_owner_chose() {
    let scene = Scene::start().await;
    let client = scene.client();
    let path = format!("/teams/{}/channels", scene.owner.team);
    let url = "https://hooks.slack.com/services/T/B/x";
    // The tests begin on a Friday at 9:54.
    let new = json!({ "kind": "slack", "url": url, "name": "Ops", "weekly_test": "fri 12:00" });
    let added = client.post(&path, &new).await;
    assert_eq!(added.body["data"]["weekly_test"], "Fri 12:00");
    let path = format!("{path}/{}", added.data("uuid"));
    let received = async |minutes: i64| {
        scene.service.advance_minutes(minutes);
        scene.redeliver().await;
        scene.service.receivers.take_lines()
    };
    let waiting = async || client.get(&path).await.body["data"]["waiting"].clone();
    scene.service.deliver_alerts().await;
    assert_eq!(received(125).await, [""; 0]);
    assert_eq!(waiting().await, json!([]), "nobody waits for it");
    assert_eq!(client.post(&format!("{path}/resend"), &json!({})).await.status, 200);
    assert_eq!(received(0).await, [""; 0], "nor is it sent earlier");
    assert_eq!(received(1).await, ["TEST: Ops"]);
    assert_eq!(received(WEEK - 1).await, [""; 0]);
    assert_eq!(received(1).await, ["TEST: Ops"]);

    // One that fails is a failure of the channel, and is sent again.
    let channel = ChannelId::parse(&added.data("uuid")).expect("an id");
    let down = SendOutcome::Retry { after: None, why: "HTTP 500".to_owned() };
    scene.service.receivers.answer(channel, down.clone());
    assert_eq!(received(WEEK).await, [""; 0]);
    let shown = client.get(&path).await.body["data"].clone();
    assert_eq!(
        (&shown["state"], &shown["waiting"][0]["what"]),
        (&json!("failing"), &json!("test"))
    );
    scene.service.receivers.answer(channel, SendOutcome::DELIVERED);
    assert_eq!(received(1).await, ["TEST: Ops"]);
    assert_eq!(waiting().await, json!([]));

    // If the service was stopped at that hour, or the channel is off, there is none.
    assert_eq!(received(WEEK + 62).await, [""; 0]);
    client.post(&format!("{path}/disable"), &json!({})).await;
    assert_eq!(received(WEEK - 62).await, [""; 0]);
    client.post(&format!("{path}/enable"), &json!({})).await;
    assert_eq!(received(0).await, [""; 0]);
    assert_eq!(received(WEEK - 1).await, ["TEST: Ops"]);

    client.patch(&path, &json!({ "weekly_test": "Fri 13:00" })).await;
    assert_eq!(received(0).await, [""; 0]);
    assert_eq!(received(WEEK).await, [""; 0]);
    assert_eq!(received(60).await, ["TEST: Ops"]);
    // One that has failed waits while the channel is off, and ends with the setting.
    scene.service.receivers.answer(channel, down.clone());
    assert_eq!(received(WEEK).await, [""; 0]);
    client.post(&format!("{path}/disable"), &json!({})).await;
    scene.service.receivers.answer(channel, SendOutcome::DELIVERED);
    assert_eq!(received(1).await, [""; 0]);
    client.post(&format!("{path}/enable"), &json!({})).await;
    assert_eq!(received(0).await, ["TEST: Ops"]);
    scene.service.receivers.answer(channel, down);
    assert_eq!(received(WEEK - 1).await, [""; 0]);
    client.patch(&path, &json!({ "weekly_test": null })).await;
    scene.service.receivers.answer(channel, SendOutcome::DELIVERED);
    assert_eq!(received(1).await, [""; 0]);
    assert_eq!(received(WEEK).await, [""; 0]);
    let place = ChannelRef { team: scene.owner.team, id: channel };
    let deliveries = scene.service.test.app.store.deliveries(place).await.expect("read");
    assert!(deliveries.queued.is_empty(), "{:?}", deliveries.queued);
}

/// Minutes in a week.
const WEEK: i64 = 7 * 24 * 60;
