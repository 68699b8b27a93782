//! A site that can't be checked is listed, and the owners of its team hear of it once, after an hour.

use jiff::Timestamp;
use serde_json::{Value, json};
use vedette_domain::alerts::channel::Channel;
use vedette_domain::checks::check::{CheckError, Finish};
use vedette_domain::checks::tool::{RunReason, Tool};
use vedette_domain::id::{CheckId, SiteId};
use vedette_domain::message::AlertMessage;
use vedette_runs::{Recorded, record_run};
use vedette_runtime::Destination;
use vedette_testkit::Spent;
use vedette_testkit::channels::{chat, mail, webhook};

use crate::census::assert_balanced;
use crate::scene::Scene;

const FORBIDDEN: &str = "target_forbidden";
const NOTICE: &str = "CANNOT BE CHECKED: site.test";

impl Scene {
    /// Records that the check that is due after five minutes could not run, and returns the cost.
    async fn cannot_run(&self, site: SiteId, code: &str) -> Spent {
        self.service.advance_minutes(5);
        self.cannot_run_now(site, code).await
    }

    async fn cannot_run_now(&self, site: SiteId, code: &str) -> Spent {
        let test = &self.service.test;
        let context = test.app.store.run_context(self.owner.team, site, Tool::Status).await;
        let context = context.expect("read").expect("a site");
        let check = CheckId::automatic(site, Tool::Status, RunReason::Scheduled, test.now());
        let (run, state) = context.begin(check, test.app.service.time_scale);
        let (message, code) = ("10.1.2.3 is a private address".to_owned(), code.to_owned());
        let error = CheckError { message, code, data: Value::Null };
        let meter = test.meter();
        meter.start();
        let recorded = record_run(&test.app, &run, state, &Finish::Failed(error), None).await;
        assert!(matches!(recorded, Ok(Recorded::Saved { .. })), "{recorded:?}");
        meter.stop()
    }

    /// A new site whose first check could not run.
    async fn unchecked(&self) -> SiteId {
        let site = self.create(crate::scene::URL, &json!({})).await;
        self.service.waiting();
        self.cannot_run_now(site, FORBIDDEN).await;
        site
    }

    async fn unchecked_sites(&self) -> Vec<(SiteId, Timestamp)> {
        let trouble = self.service.test.app.store.trouble(self.owner.team).await.expect("read");
        trouble.unchecked.into_iter().collect()
    }

    /// What each channel received after this many minutes and a pass of the reconciler.
    async fn after_minutes(&self, minutes: i64) -> Vec<String> {
        self.service.advance_minutes(minutes);
        self.service.redeliver().await;
        self.notified()
    }

    /// Whether the owners still have to hear of a site.
    async fn is_outstanding(&self) -> bool {
        self.service
            .test
            .table
            .dump()
            .await
            .keys()
            .any(|(pk, sk)| pk.starts_with("S#") && sk == "U")
    }
}

#[tokio::test]
async fn a_site_is_listed_from_the_third_cadence_until_a_check_completes() {
    let scene = Scene::start().await;
    let site = scene.watch().await;
    scene.cannot_run(site, FORBIDDEN).await;
    let since = scene.service.test.now();
    let calm = scene.cannot_run(site, FORBIDDEN).await;
    assert_eq!(scene.unchecked_sites().await, []);
    let began = scene.cannot_run(site, FORBIDDEN).await;
    assert_eq!(scene.unchecked_sites().await, [(site, since)]);
    assert_eq!(scene.cannot_run(site, FORBIDDEN).await, calm, "what repeats it costs nothing");
    // Two items, each at the price of a transaction, one of them with an entry in the work index.
    assert_eq!(began.writes, calm.writes + 5.0);
    assert_balanced(&scene.service).await;
    scene.turn(site, 200).await;
    assert_eq!(scene.unchecked_sites().await, []);
    assert!(!scene.is_outstanding().await);
    assert_balanced(&scene.service).await;
}

#[tokio::test]
async fn the_owners_hear_once_that_a_site_cannot_be_checked() {
    let scene = Scene::start().await;
    scene.add_channel("Ops", chat()).await;
    scene.add_channel("Program", webhook()).await;
    let site = scene.unchecked().await;
    let app = &scene.service.test.app;
    // A service that starts looks at all outstanding work.
    vedette_reconciler::redeliver_all(app).await.expect("redelivered");
    scene.service.deliver_alerts().await;
    assert_eq!(scene.after_minutes(59).await, [""; 0]);
    scene.service.advance_minutes(1);
    scene.service.redeliver().await;
    let received = scene.service.receivers.take();
    let lines: Vec<String> =
        received.iter().map(vedette_tests::receivers::Received::line).collect();
    assert_eq!(lines, [NOTICE]);
    let alert = received.iter().find_map(|received| match &received.message {
        vedette_tests::receivers::Message::Alert(alert) => Some(alert),
        _ => None,
    });
    let alert = alert.expect("an alert");
    assert!(alert.lines[0].ends_with(": 10.1.2.3 is a private address."), "{:?}", alert.lines);
    let page = format!("https://monitor.test/sites/{site}");
    assert_eq!(alert.link.as_ref().map(|link| link.url.as_str()), Some(page.as_str()));

    // Neither a message that comes again, nor a restart, nor another check repeats it.
    let message = AlertMessage::Unchecked { team: scene.owner.team, site };
    scene.service.notify(&message).await;
    vedette_reconciler::redeliver_all(app).await.expect("redelivered");
    scene.service.deliver_alerts().await;
    scene.cannot_run(site, FORBIDDEN).await;
    assert_eq!(scene.after_minutes(120).await, [""; 0]);

    // Once a check has completed, it may happen again.
    scene.turn(site, 200).await;
    for _ in 0..3 {
        scene.cannot_run(site, FORBIDDEN).await;
    }
    assert_eq!(scene.after_minutes(60).await, [NOTICE]);
    assert!(scene.issues("open").await.is_empty(), "it is not an issue");
}

#[tokio::test]
async fn a_lost_message_is_sent_again() {
    let scene = Scene::start().await;
    scene.add_channel("Ops", chat()).await;
    scene.unchecked().await;
    scene.service.advance_minutes(60);
    vedette_reconciler::redeliver(&scene.service.test.app).await.expect("redelivered");
    let lost = scene.service.test.queue.drain(Destination::Alerts);
    assert_eq!(lost.len(), 1, "{lost:?}");
    assert_eq!(scene.after_minutes(60).await, [NOTICE]);
}

#[tokio::test]
async fn the_owners_do_not_hear_of_it_while_it_is_expected_or_the_service_is_the_cause() {
    let scene = Scene::start().await;
    scene.add_channel("Ops", chat()).await;
    let site = scene.unchecked().await;
    let enable = async |is_enabled: bool| {
        let body = json!({ "url": crate::scene::URL, "monitoring_settings": { "tools": { "status": { "enabled": is_enabled } } } });
        let answer = scene.client().patch(&format!("/sites/{site}"), &body).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        scene.service.consume().await;
    };
    enable(false).await;
    assert_eq!(scene.after_minutes(61).await, [""; 0], "it is paused");
    enable(true).await;
    scene.cannot_run(site, "no_connectivity").await;
    assert_eq!(scene.after_minutes(61).await, [""; 0], "no site can be checked");
    scene.cannot_run(site, FORBIDDEN).await;
    assert_eq!(scene.after_minutes(61).await, [NOTICE]);
}

#[tokio::test]
async fn the_owners_hear_of_it_by_email_if_the_service_can_send_it() {
    for (sends_mail, others, notified) in
        [(true, true, Some("Mail")), (false, true, Some("Ops")), (false, false, None)]
    {
        let mut scene = Scene::start().await;
        scene.service.test.app.service.sends_mail = sends_mail;
        let mut channels = vec![scene.add_channel("Mail", mail()).await];
        if others {
            channels.push(scene.add_channel("Ops", chat()).await);
        }
        scene.unchecked().await;
        scene.service.advance_minutes(60);
        scene.service.redeliver().await;
        let received = scene.service.receivers.take();
        let got =
            |channel: &&Channel| received.iter().any(|received| received.channel == channel.id);
        let told: Vec<&str> = channels.iter().filter(got).map(|channel| &*channel.name).collect();
        assert_eq!(told, Vec::from_iter(notified), "{sends_mail} {others}");
        assert!(!scene.is_outstanding().await, "it is not tried again");
    }
}

#[tokio::test]
async fn nothing_is_left_of_a_deleted_site() {
    let scene = Scene::start().await;
    let site = scene.unchecked().await;
    let deleted = scene.client().delete(&format!("/sites/{site}")).await;
    assert_eq!(deleted.status, 204, "{deleted:?}");
    assert_eq!(scene.unchecked_sites().await, []);
    assert!(!scene.is_outstanding().await);
}
