//! Queues deliver at least once, in any order, early and late: every check counts once, and a run that is no longer
//! wanted does not even send a request.

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use vedette_checker::{Dropped, Handled, handle_body};
use vedette_domain::accounts::plan::Plan;
use vedette_domain::checks::timer::Timer;
use vedette_domain::checks::tool::{CheckStatus, RunReason, Tool};
use vedette_domain::checks::tool_state::Discard;
use vedette_domain::id::{CheckId, SiteId};
use vedette_domain::message::{CheckMessage, RunOrder};
use vedette_runtime::SLOT_PLACEHOLDER;
use vedette_tests::Service;

use crate::census::{assert_balanced, comparable, kinds};
use crate::scene::{Scene, URL, dropped, is_finished};

/// One message of each kind for a site that is down: its confirmation retry, the scheduled run after it and an
/// on-demand check.
async fn one_of_each(scene: &Scene) -> (SiteId, Vec<CheckMessage>) {
    let site = scene.watch().await;
    scene.target.answer(503);
    scene.service.advance_minutes(5);
    scene.service.run_scheduled(site, Tool::Status).await;
    let retry = scene.timer_message(site, scene.timer(site).await);
    scene.service.waiting();
    let on_demand = scene.order(site).await;
    scene.service.advance_minutes(5);
    let next = scene.scheduled(site, Tool::Status, scene.service.test.now());
    (site, vec![on_demand, retry, next])
}

#[tokio::test]
async fn a_message_delivered_twice_in_a_row_counts_once() {
    let scene = Scene::start().await;
    let (_, messages) = one_of_each(&scene).await;
    for message in &messages {
        assert!(is_finished(&scene.service.check(message).await), "{message:?}");
        let requests = scene.target.requests();
        let table = scene.service.test.table.dump().await;
        let again = dropped(&scene.service.check(message).await);
        let expected = match message.order {
            RunOrder::OnDemand { .. } => Discard::NotPending,
            RunOrder::Automatic { .. } => Discard::Stale,
        };
        assert_eq!(again, Dropped::Discarded(expected));
        assert_eq!(scene.target.requests(), requests, "a duplicate is not probed");
        assert_eq!(scene.service.test.table.dump().await, table);
    }
    assert_balanced(&scene.service).await;
}

#[tokio::test]
async fn a_message_delivered_twice_at_once_counts_once() {
    let (once, twice) = tokio::join!(Scene::start(), Scene::start());
    let (_, messages) = one_of_each(&once).await;
    for message in &messages {
        once.service.check(message).await;
    }
    let (_, messages) = one_of_each(&twice).await;
    for message in &messages {
        let (one, other) = tokio::join!(twice.service.check(message), twice.service.check(message));
        let finished = [&one, &other].into_iter().filter(|handled| is_finished(handled)).count();
        assert_eq!(finished, 1, "{one:?} {other:?}");
    }
    assert_balanced(&twice.service).await;
    let table = comparable(twice.service.test.table.dump().await);
    assert_eq!(table, comparable(once.service.test.table.dump().await));
}

#[tokio::test]
async fn different_messages_at_once_count_each() {
    let scene = Scene::start().await;
    let site = scene.watch().await;
    let on_demand = scene.order(site).await;
    scene.service.advance_minutes(5);
    let now = scene.service.test.now();
    let earlier = now - SignedDuration::from_secs(60);
    let messages = [earlier, now].map(|slot| scene.scheduled(site, Tool::Status, slot));
    let (one, two, three) = tokio::join!(
        scene.service.check(&on_demand),
        scene.service.check(&messages[0]),
        scene.service.check(&messages[1]),
    );
    assert!(is_finished(&one), "{one:?}");
    assert!(is_finished(&three), "{three:?}");
    let kinds = kinds(&scene.service.test.table.dump().await);
    // The earlier slot counts only if it was saved first.
    let scheduled = 2 + u64::from(is_finished(&two));
    assert_eq!(kinds, [("dc".to_owned(), 1), ("sc".to_owned(), scheduled)].into());
    assert_eq!(scene.state(site).await.automatic.expect("run").id().created_at(), now);
    assert_balanced(&scene.service).await;
}

/// All permutations of some messages.
fn permutations<T: Copy>(items: &[T]) -> Vec<Vec<T>> {
    if items.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (place, &first) in items.iter().enumerate() {
        let rest: Vec<T> = [&items[..place], &items[place + 1..]].concat();
        all.extend(permutations(&rest).into_iter().map(|mut order| {
            order.insert(0, first);
            order
        }));
    }
    all
}

#[tokio::test]
async fn in_any_order_slots_rise_and_what_comes_too_late_is_not_probed() {
    // In minutes after the failing run, which set a retry for minute 2: the retry, that run again, and two scheduled
    // runs.
    for (number, order) in permutations(&[2, 0, 5, 10]).into_iter().enumerate() {
        let scene = Scene::start().await;
        let site = scene.watch_with(&json!({ "cadence_minutes": 60 })).await;
        scene.target.answer(503);
        scene.service.advance_minutes(5);
        let failed_at = scene.service.test.now();
        scene.service.run_scheduled(site, Tool::Status).await;
        let retry = scene.timer(site).await;
        assert_eq!(retry.due, failed_at + SignedDuration::from_mins(2));
        scene.service.advance_minutes(20);

        let mut last = 0;
        let mut counted = 0;
        for &minute in &order {
            let requests = scene.target.requests();
            let message = if minute == 2 {
                scene.timer_message(site, retry)
            } else {
                scene.scheduled(site, Tool::Status, failed_at + SignedDuration::from_mins(minute))
            };
            let handled = scene.service.check(&message).await;
            let counts = minute > last;
            assert_eq!(is_finished(&handled), counts, "{minute} of {order:?}: {handled:?}");
            let probed = scene.target.requests() - requests;
            assert_eq!(probed, usize::from(counts), "{minute} of {order:?}");
            last = last.max(minute);
            counted += u64::from(counts);
        }
        let kinds = kinds(&scene.service.test.table.dump().await);
        assert_eq!(
            kinds.values().sum::<u64>(),
            2 + counted,
            "{order:?}, the order numbered {number}"
        );
        let state = scene.state(site).await;
        assert_eq!(
            state.automatic.expect("run").id().created_at(),
            failed_at + SignedDuration::from_mins(10)
        );
        assert_eq!(state.timer.expect("a follow-up").reason, RunReason::IncidentFollowUp);
        assert_balanced(&scene.service).await;
    }
}

#[tokio::test]
async fn independent_messages_leave_the_same_table_in_any_order() {
    let mut tables = Vec::new();
    for order in permutations(&[0, 1, 2]) {
        let scene = Scene::start().await;
        let one = scene.watch().await;
        let other = scene.create(&format!("{URL}/other"), &json!({})).await;
        scene.service.consume().await;
        let on_demand = scene.order(one).await;
        scene.service.advance_minutes(5);
        let now = scene.service.test.now();
        let messages = [
            on_demand,
            scene.scheduled(one, Tool::Status, now),
            scene.scheduled(other, Tool::Status, now),
        ];
        for place in order {
            let handled = scene.service.check(&messages[place]).await;
            assert!(is_finished(&handled), "{handled:?}");
        }
        tables.push(comparable(scene.service.test.table.dump().await));
    }
    for table in &tables[1..] {
        assert_eq!(table, &tables[0]);
    }
}

#[tokio::test]
async fn a_timer_message_that_the_table_does_not_ask_for_does_nothing() {
    let scene = Scene::start().await;
    let site = scene.watch().await;
    scene.target.answer(503);
    scene.service.advance_minutes(5);
    scene.service.run_scheduled(site, Tool::Status).await;
    let timer = scene.timer(site).await;
    scene.service.advance_minutes(3);
    let requests = scene.target.requests();
    let table = scene.service.test.table.dump().await;
    let second = SignedDuration::from_secs(1);
    for other in [
        Timer { due: timer.due - second, ..timer },
        Timer { due: timer.due + second, ..timer },
        Timer { reason: RunReason::IncidentFollowUp, ..timer },
    ] {
        let handled = scene.service.check(&scene.timer_message(site, other)).await;
        assert_eq!(dropped(&handled), Dropped::Discarded(Discard::TimerGone), "{other:?}");
    }
    let unknown = CheckId::on_demand(site, Tool::Status, timer.due, 1);
    let order = RunOrder::OnDemand { check: unknown };
    let handled = scene
        .service
        .check(&CheckMessage { team: scene.owner.team, site, tool: Tool::Status, order })
        .await;
    assert_eq!(dropped(&handled), Dropped::Discarded(Discard::NotPending));
    assert_eq!(scene.target.requests(), requests);
    assert_eq!(scene.service.test.table.dump().await, table);
}

#[tokio::test]
async fn messages_of_a_deleted_site_are_dropped_unprobed() {
    let scene = Scene::start().await;
    let (site, messages) = one_of_each(&scene).await;
    assert_eq!(scene.client().delete(&format!("/sites/{site}")).await.status, 204);
    let requests = scene.target.requests();
    let unpurged = scene.service.test.table.dump().await;
    for message in &messages {
        assert_eq!(dropped(&scene.service.check(message).await), Dropped::Gone);
    }
    assert_eq!(scene.service.test.table.dump().await, unpurged);
    scene.service.consume().await;
    for message in &messages {
        assert_eq!(dropped(&scene.service.check(message).await), Dropped::Gone);
    }
    scene.service.deliver(&scene.sync(site)).await;
    scene.service.deliver(&scene.purge(site)).await;
    assert_eq!(scene.target.requests(), requests);
}

/// The effect of an inactive plan on messages of each kind.
async fn assert_nothing_runs(scene: &Scene, site: SiteId, messages: &[CheckMessage]) {
    let requests = scene.target.requests();
    for message in messages {
        let handled = scene.service.check(message).await;
        match (message.order, &handled) {
            (RunOrder::OnDemand { .. }, Handled::Finished(finished)) => {
                assert_eq!(finished.check.status, CheckStatus::Skipped);
            }
            (RunOrder::Automatic { .. }, Handled::Dropped(_)) => {}
            _ => panic!("{message:?}: {handled:?}"),
        }
    }
    assert_eq!(scene.target.requests(), requests, "nothing is probed");
    let state = scene.state(site).await;
    assert_eq!((state.timer, state.pending), (None, None), "nothing is outstanding");
    assert_balanced(&scene.service).await;
}

#[tokio::test]
async fn under_an_inactive_plan_nothing_runs_and_orders_are_skipped() {
    let scene = Scene::start().await;
    let (site, messages) = one_of_each(&scene).await;
    let test = &scene.service.test;
    let store = &test.app.store;
    store.set_plan(scene.owner.team, Plan::Agency, false, test.now()).await.expect("set");
    assert_nothing_runs(&scene, site, &messages).await;
}

#[tokio::test]
async fn of_a_tool_that_was_switched_off_nothing_runs_and_orders_are_skipped() {
    let scene = Scene::start().await;
    let (site, messages) = one_of_each(&scene).await;
    let off = json!({ "tools": { "status": { "enabled": false } } });
    let body = json!({ "url": URL, "monitoring_settings": off }).to_string();
    let patched = scene.client().send("PATCH", &format!("/sites/{site}"), body.into()).await;
    assert_eq!(patched.status, 200, "{patched:?}");
    assert_nothing_runs(&scene, site, &messages).await;
}

#[tokio::test]
async fn of_a_tool_without_an_engine_nothing_runs_and_orders_are_skipped() {
    let scene = Scene::start().await;
    let tool = Tool::Ssl;
    assert!(!scene.service.test.app.service.tools.contains(&tool));
    let path = format!("/teams/{}/sites", scene.owner.team);
    let created = scene.client().post(&path, &json!({ "url": URL })).await;
    let site = SiteId::parse(&created.data("uuid")).expect("an id");
    let first = scene.scheduled(site, tool, scene.service.test.now());
    assert_eq!(dropped(&scene.service.check(&first).await), Dropped::NotWanted);
    scene.service.waiting();
    let path = format!("/sites/{site}/checks");
    let ordered = scene.client().post(&path, &json!({ "tools": [tool] })).await;
    assert_eq!(ordered.status, 202, "{ordered:?}");
    for (message, _) in scene.service.waiting() {
        scene.service.deliver(&message).await;
    }
    let listed = scene.client().get(&format!("{path}?status=skipped")).await;
    assert_eq!(listed.body["meta"]["total"], 1, "{listed:?}");
    assert_eq!(scene.target.requests(), 0);
    assert_balanced(&scene.service).await;
}

#[tokio::test]
async fn a_slot_in_the_future_is_refused_beyond_what_clocks_may_differ() {
    let scene = Scene::start().await;
    let site = scene.watch().await;
    let ahead = |seconds| {
        let slot = scene.service.test.now() + SignedDuration::from_secs(seconds);
        scene.scheduled(site, Tool::Status, slot)
    };
    let requests = scene.target.requests();
    let handled = scene.service.check(&ahead(61)).await;
    assert_eq!(dropped(&handled), Dropped::Discarded(Discard::Early));
    assert_eq!(scene.target.requests(), requests);
    assert!(is_finished(&scene.service.check(&ahead(59)).await));
}

#[tokio::test]
async fn a_queue_that_is_always_late_checks_every_site_once_a_minute() {
    let scene = Scene::start().await;
    let site = scene.watch_with(&json!({ "cadence_minutes": 1 })).await;
    let test = &scene.service.test;
    let time_scale = test.app.service.time_scale;
    let mut slot = time_scale.next_after(site, Tool::Status, 1, test.now());
    let mut probed = Vec::new();
    for _ in 0..10 {
        test.set_clock(slot + SignedDuration::from_secs(90));
        let requests = scene.target.requests();
        let Handled::Finished(finished) =
            scene.service.check(&scene.scheduled(site, Tool::Status, slot)).await
        else {
            panic!("not run")
        };
        assert_eq!(scene.target.requests() - requests, 1);
        probed.push(finished.check.id.created_at());
        slot = time_scale.next_after(site, Tool::Status, 1, slot);
    }
    let minutes: Vec<_> =
        probed.windows(2).map(|slots| slots[1].duration_since(slots[0])).collect();
    assert_eq!(minutes, [SignedDuration::from_mins(1); 9], "every slot, once");

    // Once the queue has caught up, the slot that ran ahead of its message is not probed again.
    test.set_clock(slot);
    let caught_up = scene.service.check(&scene.scheduled(site, Tool::Status, slot)).await;
    assert_eq!(dropped(&caught_up), Dropped::Discarded(Discard::Stale));
    assert_balanced(&scene.service).await;
}

#[tokio::test]
async fn only_the_newest_slot_of_a_delayed_queue_is_probed() {
    let scene = Scene::start().await;
    let site = scene.watch_with(&json!({ "cadence_minutes": 1 })).await;
    let test = &scene.service.test;
    let time_scale = test.app.service.time_scale;
    let next = |slot| time_scale.next_after(site, Tool::Status, 1, slot);
    let slots = std::iter::successors(Some(next(test.now())), |slot| Some(next(*slot)));
    let slots: Vec<_> = slots.take(60).collect();
    test.set_clock(slots[59] + SignedDuration::from_secs(10));
    let requests = scene.target.requests();
    for slot in &slots {
        scene.service.check(&scene.scheduled(site, Tool::Status, *slot)).await;
    }
    assert_eq!(scene.target.requests() - requests, 1);
    assert_eq!(scene.state(site).await.automatic.expect("a run").id().created_at(), slots[59]);
    assert_balanced(&scene.service).await;
}

async fn deliver_unfilled(scene: &Scene, site: SiteId, sent_at: Timestamp) -> Handled {
    let body = json!({
        "team": scene.owner.team, "site": site, "tool": "status", "reason": "scheduled", "slot": SLOT_PLACEHOLDER,
    });
    let Service { test, engines, .. } = &scene.service;
    let body = body.to_string();
    Box::pin(handle_body(&test.app, engines, &body, sent_at, None)).await.expect("handled")
}

#[tokio::test]
async fn a_slot_that_the_scheduler_left_unfilled_is_that_of_the_cadence() {
    let scene = Scene::start().await;
    let site = scene.watch_with(&json!({ "cadence_minutes": 15 })).await;
    scene.service.advance_minutes(20);
    let now = scene.service.test.now();
    let slot = |at| {
        scene.service.test.app.service.time_scale.latest_at_or_before(site, Tool::Status, 15, at)
    };
    let Handled::Finished(finished) = deliver_unfilled(&scene, site, now).await else {
        panic!("not run")
    };
    let expected = CheckId::automatic(site, Tool::Status, RunReason::Scheduled, slot(now));
    assert_eq!(finished.check.id, expected);

    // A message that is delivered again, or late, names the same run as the first time.
    for seconds in [0, 60, 899] {
        scene.service.test.set_clock(slot(now) + SignedDuration::from_secs(seconds));
        let handled = deliver_unfilled(&scene, site, slot(now)).await;
        assert_eq!(dropped(&handled), Dropped::Discarded(Discard::Stale));
    }
    let next = slot(now) + SignedDuration::from_mins(15);
    scene.service.test.set_clock(next);
    assert!(is_finished(&deliver_unfilled(&scene, site, next).await));

    scene.client().delete(&format!("/sites/{site}")).await;
    assert_eq!(dropped(&deliver_unfilled(&scene, site, next).await), Dropped::Gone);
}

#[tokio::test]
async fn an_unreadable_message_fails_alone() {
    let scene = Scene::start().await;
    let Service { test, engines, .. } = &scene.service;
    for body in ["", "{}", "null", r#"{"sync":"0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01"}"#] {
        let handled = handle_body(&test.app, engines, body, test.now(), None).await;
        assert!(handled.is_err(), "{body}: {handled:?}");
    }
    assert!(vedette_reconciler::handle_body(&test.app, r#"{"redelivery":true}"#).await.is_err());
}
