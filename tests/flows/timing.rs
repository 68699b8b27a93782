//! Retries, follow-ups and on-demand checks run in time, once, and delay nothing else.

use std::time::Duration;

use jiff::SignedDuration;
use serde_json::json;
use tokio::task::JoinSet;
use vedette_checker::{Dropped, handle};
use vedette_domain::checks::tool::{RunReason, Tool};
use vedette_domain::checks::tool_state::Discard;
use vedette_domain::id::SiteId;
use vedette_domain::message::{Message, RunOrder};
use vedette_testkit::WebServer;
use vedette_tests::scheduled;

use crate::census::{assert_balanced, text};
use crate::scene::{Scene, URL, check_message, dropped, engines, is_finished};

impl Scene {
    /// A minute passes, with its scheduled run.
    async fn run_a_minute(&self, site: SiteId) {
        self.service.advance_minutes(1);
        let handled = self.service.run_scheduled(site, Tool::Status).await;
        assert!(is_finished(&handled), "{handled:?}");
    }
}

#[tokio::test]
async fn follow_ups_keep_their_interval_though_scheduled_runs_come_more_often() {
    let scene = Scene::start().await;
    let settings = json!({ "cadence_minutes": 1, "incident_follow_up_minutes": 5 });
    let site = scene.watch_down(&settings).await;
    for _ in 0..3 {
        let timer = scene.timer(site).await;
        assert_eq!(timer.due, scene.service.test.now() + SignedDuration::from_mins(5));
        for _ in 0..4 {
            scene.run_a_minute(site).await;
            assert_eq!(scene.timer(site).await, timer, "not pushed away");
            assert_eq!(scene.service.waiting(), [], "sent once");
        }
        assert!(is_finished(&scene.run_timer(site).await));
        let [(sent, delay)] = <[_; 1]>::try_from(scene.service.waiting()).expect("one message");
        assert_eq!(check_message(&sent), scene.timer_message(site, scene.timer(site).await));
        assert!(delay > Duration::from_secs(290), "{delay:?}");
    }
}

#[tokio::test]
async fn a_scheduled_run_at_the_instant_of_a_follow_up_replaces_it() {
    let scene = Scene::start().await;
    let site = scene.watch_down(&json!({ "incident_follow_up_minutes": 5 })).await;
    let timer = scene.timer(site).await;
    scene.service.test.set_clock(timer.due);
    scene.service.run_scheduled(site, Tool::Status).await;
    let next = scene.timer(site).await;
    assert_eq!(next.due, timer.due + SignedDuration::from_mins(5));
    let late = scene.service.check(&scene.timer_message(site, timer)).await;
    assert_eq!(dropped(&late), Dropped::Discarded(Discard::Stale));
    assert_eq!(scene.timer(site).await, next);
}

#[tokio::test]
async fn there_is_one_timer_at_most() {
    let scene = Scene::start().await;
    let settings = json!({ "failures_to_open": 3, "confirmation_retry_minutes": 5 });
    let site = scene.watch_with(&settings).await;
    scene.target.answer(503);
    scene.run_a_minute(site).await;
    let retry = scene.timer(site).await;
    assert_eq!(retry.reason, RunReason::ConfirmationRetry);
    assert_eq!(scene.service.waiting().len(), 1);
    scene.run_a_minute(site).await;
    assert_eq!((scene.timer(site).await, scene.service.waiting().len()), (retry, 0), "kept");
    scene.run_a_minute(site).await;
    let follow_up = scene.timer(site).await;
    assert_eq!(follow_up.reason, RunReason::IncidentFollowUp, "the issue is open");
    assert_eq!(scene.service.waiting().len(), 1);
    scene.service.test.set_clock(retry.due);
    let late = scene.service.check(&scene.timer_message(site, retry)).await;
    assert_eq!(dropped(&late), Dropped::Discarded(Discard::TimerGone));
    scene.target.answer(200);
    scene.run_a_minute(site).await;
    assert_eq!((scene.state(site).await.timer, scene.service.waiting().len()), (None, 0));
    scene.service.test.set_clock(follow_up.due + SignedDuration::from_mins(1));
    let late = scene.service.check(&scene.timer_message(site, follow_up)).await;
    assert_eq!(dropped(&late), Dropped::Discarded(Discard::TimerGone), "all is well");
}

/// Redelivers every minute until the follow-up an hour from now is due, with a scheduled run every so many minutes.
/// Asserts that the follow-up arrives when it is due, and returns how often it was sent.
async fn follow_up_of_an_hour(runs_apart: Option<i64>) -> usize {
    let scene = Scene::start().await;
    let site = scene.watch_with(&json!({ "incident_follow_up_minutes": 60 })).await;
    scene.target.answer(503);
    scene.service.advance_minutes(5);
    scene.service.run_scheduled(site, Tool::Status).await;
    scene.service.waiting();
    scene.run_timer(site).await;
    assert_eq!(scene.service.waiting(), [], "no queue delays for so long");
    let timer = scene.timer(site).await;
    let opened_at = scene.service.test.now();
    assert_eq!(timer.due, opened_at + SignedDuration::from_mins(60));

    let mut arrivals = Vec::new();
    assert_eq!(scene.redeliver().await, [], "it is not due");
    for minute in 1..60 {
        scene.service.advance_minutes(1);
        if runs_apart.is_some_and(|apart| minute % apart == 0) {
            scene.service.run_scheduled(site, Tool::Status).await;
            assert_eq!(scene.service.waiting(), [], "the reconciler sends it");
        }
        // A pass of redelivery takes some time, and these messages are too early.
        let sent = if minute < 40 { Vec::new() } else { scene.redeliver().await };
        for (message, delay) in sent {
            assert_eq!(check_message(&message), scene.timer_message(site, timer));
            assert!(delay <= Duration::from_mins(15), "as long as a queue can delay");
            let delay = SignedDuration::try_from(delay).expect("short");
            // Queues measure in real time, of which some milliseconds have passed.
            let arrival = scene.service.test.now() + delay + SignedDuration::from_millis(900);
            arrivals.push(arrival.duration_since(opened_at).as_mins());
        }
    }
    let sent = arrivals.len();
    arrivals.dedup();
    assert_eq!(arrivals, [60], "with runs {runs_apart:?} minutes apart");
    sent
}

#[tokio::test]
async fn a_follow_up_beyond_a_queues_delay_is_sent_by_redelivery_in_time() {
    assert_eq!(follow_up_of_an_hour(None).await, 1);
}

#[tokio::test]
async fn a_far_follow_up_is_in_time_though_scheduled_runs_come_between() {
    for apart in [5, 7, 15] {
        assert_eq!(follow_up_of_an_hour(Some(apart)).await, 1, "{apart} minutes apart");
    }
    // A run between a pass of the reconciler and the last moment to send the message causes another one.
    assert!(follow_up_of_an_hour(Some(1)).await <= 3);
}

#[tokio::test]
async fn a_timer_message_that_comes_too_early_is_not_lost() {
    let scene = Scene::start().await;
    let site = scene.watch_down(&json!({})).await;
    let timer = scene.timer(site).await;
    let early = scene.service.check(&scene.timer_message(site, timer)).await;
    assert_eq!(dropped(&early), Dropped::Discarded(Discard::Early));
    scene.service.test.set_clock(timer.due + Tool::Status.limits().run);
    let sent = scene.redeliver().await;
    assert_eq!(sent, [(Message::Check(scene.timer_message(site, timer)), Duration::ZERO)]);
    assert!(is_finished(&scene.service.check(&check_message(&sent[0].0)).await));
}

#[tokio::test]
async fn an_unprocessed_order_is_redelivered_and_finally_given_up() {
    let scene = Scene::start().await;
    let site = scene.watch().await;
    let order = scene.order(site).await;
    let ordered_at = scene.service.test.now();
    let is_over =
        || scene.service.test.now().duration_since(ordered_at) > Tool::Status.limits().pending;
    let mut sent_again = 0;
    loop {
        scene.service.advance_minutes(1);
        let sent = scene.redeliver().await;
        if is_over() {
            assert_eq!(sent, [], "given up");
            break;
        }
        assert_eq!(sent, [(Message::Check(order), Duration::ZERO)]);
        sent_again += 1;
    }
    assert_eq!(sent_again, 10);
    let check = scene.client().get(&format!("/checks/{}", order.check_id())).await;
    assert_eq!(check.data("status"), "failed");
    assert_eq!(text(&check.body["data"]["error"]["code"]), "timed_out");
    assert_balanced(&scene.service).await;

    let requests = scene.target.requests();
    let late = scene.service.check(&order).await;
    assert_eq!(dropped(&late), Dropped::Discarded(Discard::NotPending));
    assert_eq!(scene.target.requests(), requests);
    let again = scene.order(site).await;
    assert!(is_finished(&scene.service.check(&again).await), "the tool is free again");
    assert_eq!(scene.redeliver().await, []);
}

#[tokio::test]
async fn a_run_that_takes_longer_than_an_order_may_wait_is_not_counted_twice() {
    let scene = Scene::start().await;
    let site = scene.watch().await;
    let order = scene.order(site).await;
    let requests = scene.target.requests();
    scene.target.hang();
    let meanwhile = async {
        scene.target.asked(requests + 1).await;
        scene.service.test.advance(Tool::Status.limits().pending + SignedDuration::from_secs(1));
        assert_eq!(scene.redeliver().await, []);
        scene.target.answer(200);
    };
    let (late, ()) = tokio::join!(scene.service.check(&order), meanwhile);
    assert_eq!(dropped(&late), Dropped::Discarded(Discard::NotPending));
    let check = scene.client().get(&format!("/checks/{}", order.check_id())).await;
    assert_eq!(check.data("status"), "failed");
    assert_balanced(&scene.service).await;
}

#[tokio::test]
async fn a_target_that_hangs_delays_no_other() {
    let mut scene = Scene::start().await;
    let hanging = WebServer::start().await;
    scene.service.engines = engines(&[("site.test", &scene.target), ("hanging.test", &hanging)]);
    let stuck = scene.create("http://hanging.test", &json!({})).await;
    let mut sites = Vec::new();
    for number in 0..12 {
        sites.push(scene.create(&format!("{URL}/{number}"), &json!({})).await);
    }
    scene.service.consume().await;
    hanging.hang();
    scene.service.advance_minutes(5);
    let now = scene.service.test.now();

    let team = scene.owner.team;
    let service = std::sync::Arc::new(scene.service);
    let run = |site| {
        let service = std::sync::Arc::clone(&service);
        async move {
            let message = scheduled(team, site, Tool::Status, now);
            handle(&service.test.app, &service.engines, &message).await.expect("handled")
        }
    };
    let requests = hanging.requests();
    let held = tokio::spawn(run(stuck));
    hanging.asked(requests + 1).await;
    let mut others = JoinSet::new();
    for site in sites {
        others.spawn(run(site));
    }
    let finished = others.join_all().await;
    assert!(finished.iter().all(is_finished), "{finished:?}");
    assert_eq!(finished.len(), 12);
    assert!(!held.is_finished());
    held.abort();
}

#[tokio::test]
async fn redelivery_repeats_an_order_only_after_the_time_of_a_run() {
    let scene = Scene::start().await;
    let site = scene.watch().await;
    let order = scene.order(site).await;
    assert!(matches!(order.order, RunOrder::OnDemand { .. }));
    let run = Tool::Status.limits().run;
    scene.service.test.advance(run);
    assert_eq!(scene.redeliver().await.len(), 1);
    for _ in 0..3 {
        scene.service.test.advance(run / 4);
        assert_eq!(scene.redeliver().await, []);
    }
    scene.service.test.advance(run / 4);
    assert_eq!(scene.redeliver().await.len(), 1);
}
