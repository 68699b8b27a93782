//! Days are counted, closed and changed afterwards: whatever happens around midnight, the counters match the rows.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp, ToSpan};
use serde_json::{Value, json};
use vedette_domain::accounts::plan::Plan;
use vedette_domain::checks::history::{day_of, day_start};
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::SiteId;
use vedette_domain::message::CheckMessage;

use crate::census::{assert_balanced, checks};
use crate::scene::{Scene, is_finished};

fn at(text: &str) -> Timestamp {
    text.parse().expect("a timestamp")
}

impl Scene {
    fn set_clock(&self, text: &str) {
        self.service.test.set_clock(at(text));
    }

    /// Runs a scheduled check of this slot.
    async fn run_slot(&self, site: SiteId, slot: &str) {
        let handled = self.service.check(&self.scheduled(site, Tool::Status, at(slot))).await;
        assert!(is_finished(&handled), "{slot}: {handled:?}");
        assert_balanced(&self.service).await;
    }

    async fn run(&self, message: &CheckMessage) {
        let handled = self.service.check(message).await;
        assert!(is_finished(&handled), "{handled:?}");
        assert_balanced(&self.service).await;
    }

    /// A field of a date's day item; null if there is no such item.
    async fn day(&self, date: &str, field: &str) -> Value {
        let dump = self.service.test.table.dump().await;
        let sk = format!("T#status#{}", date.replace('-', ""));
        let item = dump.into_iter().find(|((_, found), _)| *found == sk);
        item.map(|(_, item)| item[field].clone()).unwrap_or_default()
    }

    /// The uptime report of the last days: (total, up) for each day.
    async fn reported(&self, site: SiteId, days: u32) -> Vec<(u64, u64)> {
        let path = format!("/sites/{site}/reports/uptime?days={days}");
        let report = self.client().get(&path).await;
        let days = report.body["data"]["days"].as_array().expect("days").clone();
        let count = |day: &Value, field: &str| day[field].as_u64().expect("a count");
        days.iter().map(|day| (count(day, "total_checks"), count(day, "up_checks"))).collect()
    }
}

#[tokio::test]
async fn the_first_run_of_a_day_closes_the_day_before() {
    let scene = Scene::start().await;
    let site = scene.watch().await;
    scene.set_clock("2026-11-20T23:59:59.999Z");
    scene.run_slot(site, "2026-11-20T23:59:59.999Z").await;
    assert_eq!(scene.day("2026-11-20", "v").await, json!(null), "still open");
    scene.target.answer(503);
    scene.set_clock("2026-11-21T00:00:00Z");
    scene.run_slot(site, "2026-11-21T00:00:00Z").await;
    assert_eq!(scene.day("2026-11-20", "v").await, json!(1));
    assert_eq!(scene.reported(site, 3).await, [(0, 0), (2, 2), (1, 0)]);
}

#[tokio::test]
async fn days_without_checks_leave_no_trace() {
    let scene = Scene::start().await;
    let site = scene.watch().await;
    scene.set_clock("2026-11-24T08:00:00Z");
    scene.run_slot(site, "2026-11-24T08:00:00Z").await;
    for date in ["2026-11-21", "2026-11-22", "2026-11-23", "2026-11-24"] {
        assert_eq!(scene.day(date, "d").await, json!(null), "{date}");
    }
    assert_eq!(scene.reported(site, 5).await, [(1, 1), (0, 0), (0, 0), (0, 0), (1, 1)]);
}

#[tokio::test]
async fn a_late_slot_changes_the_day_that_was_closed() {
    let scene = Scene::start().await;
    let site = scene.watch().await;
    // A request after midnight opens the new day before yesterday's last run is saved.
    scene.set_clock("2026-11-21T00:00:20Z");
    let order = scene.order(site).await;
    assert_eq!(scene.day("2026-11-20", "v").await, json!(1));
    scene.run_slot(site, "2026-11-20T23:59:00Z").await;
    assert_eq!(scene.day("2026-11-20", "v").await, json!(2));
    scene.run(&order).await;
    scene.run_slot(site, "2026-11-21T00:00:10Z").await;
    assert_eq!(scene.reported(site, 2).await, [(2, 2), (1, 1)]);
}

#[tokio::test]
async fn a_late_slot_makes_the_day_that_never_was_open() {
    let scene = Scene::start().await;
    let site = scene.watch().await;
    scene.set_clock("2026-11-22T00:00:20Z");
    let order = scene.order(site).await;
    scene.target.answer(503);
    scene.run_slot(site, "2026-11-21T23:59:00Z").await;
    assert_eq!(scene.day("2026-11-20", "v").await, json!(1));
    assert_eq!(scene.day("2026-11-21", "v").await, json!(1));
    scene.run(&order).await;
    assert_eq!(scene.reported(site, 3).await, [(1, 1), (1, 0), (0, 0)]);
}

#[tokio::test]
async fn an_order_from_before_midnight_ends_on_its_own_day() {
    for closes_before in [false, true] {
        let scene = Scene::start().await;
        let site = scene.watch().await;
        scene.set_clock("2026-11-20T23:59:50Z");
        let order = scene.order(site).await;
        scene.set_clock("2026-11-21T00:00:10Z");
        if closes_before {
            scene.run_slot(site, "2026-11-21T00:00:00Z").await;
        }
        scene.run(&order).await;
        scene.run_slot(site, "2026-11-21T00:00:10Z").await;
        let path = format!("/sites/{site}/checks?to=2026-11-20&automatic=false&status=completed");
        let listed = scene.client().get(&path).await;
        assert_eq!(listed.body["meta"]["total"], 1, "{listed:?}");
    }
}

#[tokio::test]
async fn a_check_is_deleted_from_the_day_it_belongs_to() {
    for closes_before in [false, true] {
        for runs_before in [false, true] {
            let scene = Scene::start().await;
            let site = scene.watch().await;
            scene.set_clock("2026-11-20T23:59:50Z");
            let order = scene.order(site).await;
            scene.set_clock("2026-11-21T00:00:10Z");
            if runs_before {
                scene.run(&order).await;
            }
            if closes_before {
                scene.run_slot(site, "2026-11-21T00:00:00Z").await;
            }
            let path = format!("/checks/{}", order.check_id());
            assert_eq!(scene.client().delete(&path).await.status, 204);
            assert_balanced(&scene.service).await;
            let late = scene.service.check(&order).await;
            assert!(!is_finished(&late), "{late:?}");
            assert_balanced(&scene.service).await;
        }
    }
}

#[tokio::test]
async fn a_day_keeps_the_retention_of_its_first_check() {
    let scene = Scene::on_plan(Plan::Starter).await;
    let site = scene.watch().await;
    let test = &scene.service.test;
    let store = &test.app.store;
    store.set_plan(scene.owner.team, Plan::Agency, true, test.now()).await.expect("set");
    scene.set_clock("2026-11-20T12:00:00Z");
    scene.run_slot(site, "2026-11-20T12:00:00Z").await;
    scene.set_clock("2026-11-21T12:00:00Z");
    scene.run_slot(site, "2026-11-21T12:00:00Z").await;
    scene.set_clock("2026-11-22T12:00:00Z");
    scene.run_slot(site, "2026-11-22T12:00:00Z").await;
    assert_eq!(scene.day("2026-11-20", "u").await, "2026-12-20", "30 days, as at its first check");
    assert_eq!(scene.day("2026-11-21", "u").await, "2027-11-21", "365 days");
    for (date, instant) in [("2026-11-20", "2027-12-25"), ("2026-11-21", "2027-12-26")] {
        let expires_at = at(&format!("{instant}T00:00:00Z")).as_second();
        assert_eq!(scene.day(date, "ttl").await, expires_at, "400 days");
    }
}

/// Numbers that look random but are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (self.0 >> 33) % sides
    }
}

/// A site to which random things happen, and its messages in queues.
struct Walk {
    scene: Scene,
    site: SiteId,
    dice: Dice,
    orders: Vec<CheckMessage>,
    ordered: Vec<CheckMessage>,
}

impl Walk {
    async fn step(&mut self) {
        let Self { scene, site, dice, .. } = self;
        scene.target.answer(if dice.roll(3) == 0 { 503 } else { 200 });
        match dice.roll(13) {
            0..=2 => {
                let minutes = dice.roll(300);
                scene.service.advance_minutes(i64::try_from(minutes).expect("small"));
                scene.service.run_scheduled(*site, Tool::Status).await;
            }
            3..=5 => {
                // Soon after the last slot, which may be days late.
                let last = scene.state(*site).await.automatic.expect("a run").id().created_at();
                let minutes = i64::try_from(1 + dice.roll(400)).expect("small");
                let slot = last + SignedDuration::from_mins(minutes);
                scene.service.check(&scene.scheduled(*site, Tool::Status, slot)).await;
            }
            6 | 7 => {
                let days = i64::try_from(dice.roll(3)).expect("small");
                let now = scene.service.test.now();
                let midnight = day_start(day_of(now)) + SignedDuration::from_hours(24 * (days + 1));
                scene.service.test.set_clock(now.max(midnight - 5.minutes()));
            }
            8 => {
                if scene.state(*site).await.timer.is_some() {
                    scene.run_timer(*site).await;
                }
            }
            9 | 10 => {
                scene.service.advance_minutes(1);
                if scene.state(*site).await.pending.is_none() {
                    let order = scene.order(*site).await;
                    self.orders.push(order);
                    self.ordered.push(order);
                }
            }
            11 => {
                if let Some(order) = self.orders.pop() {
                    scene.service.check(&order).await;
                }
            }
            _ => {
                if !self.ordered.is_empty() {
                    let count = u64::try_from(self.ordered.len()).expect("small");
                    let place = usize::try_from(dice.roll(count)).expect("small");
                    let order = self.ordered.swap_remove(place);
                    let path = format!("/checks/{}", order.check_id());
                    assert_eq!(scene.client().delete(&path).await.status, 204);
                }
            }
        }
        self.scene.service.waiting();
    }

    /// Compares every page of a filtered list with the rows.
    async fn assert_listed(&self, filter: &str, admits: impl Fn(Timestamp, &str) -> bool) {
        let dump = self.scene.service.test.table.dump().await;
        let expected: Vec<String> = checks(&dump)
            .into_iter()
            .filter(|(created_at, _, kind)| admits(*created_at, kind))
            .map(|(_, id, _)| id)
            .collect();
        let mut listed = Vec::new();
        for page in 1.. {
            let path = format!("/sites/{}/checks?per_page=17&page={page}{filter}", self.site);
            let answer = self.scene.client().get(&path).await;
            assert_eq!(answer.body["meta"]["total"], expected.len(), "{filter}");
            let ids = answer.body["data"].as_array().expect("checks").clone();
            listed
                .extend(ids.iter().map(|check| check["uuid"].as_str().expect("an id").to_owned()));
            if answer.body["links"]["next"].is_null() {
                break;
            }
        }
        assert_eq!(listed, expected, "{filter}");
    }
}

async fn walk(seed: u64) {
    let scene = Scene::start().await;
    // With this cadence, a run that is days late is less than a cadence late. So each slot counts, on a day that is
    // already closed.
    let site = scene.watch_with(&json!({ "cadence_minutes": 10_080 })).await;
    let (orders, ordered) = (Vec::new(), Vec::new());
    let mut walk = Walk { scene, site, dice: Dice(seed), orders, ordered };
    for _ in 0..50 {
        walk.step().await;
        assert_balanced(&walk.scene.service).await;
    }
    let census = assert_balanced(&walk.scene.service).await;
    assert!(census.len() > 6, "{} days", census.len());
    let dump = walk.scene.service.test.table.dump().await;
    let changed = dump.values().filter(|item| item["v"].as_u64() > Some(1)).count();
    assert!(changed > 1, "closed days were changed: {changed}");

    let days: Vec<_> = census.keys().map(|(_, _, date)| *date).collect();
    let middle = days[days.len() / 2];
    walk.assert_listed("", |_, _| true).await;
    walk.assert_listed("&automatic=false", |_, kind| kind.starts_with('d')).await;
    walk.assert_listed("&run_reason=scheduled", |_, kind| kind.starts_with('s')).await;
    walk.assert_listed("&status=pending", |_, kind| kind.ends_with('p')).await;
    walk.assert_listed(&format!("&from={middle}"), |at, _| day_of(at) >= middle).await;
    walk.assert_listed(&format!("&to={middle}&status=completed"), |at, kind| {
        day_of(at) <= middle && kind.ends_with('c')
    })
    .await;

    let today = day_of(walk.scene.service.test.now());
    let reported = walk.scene.reported(site, 60).await;
    let up: BTreeMap<_, _> = census.iter().map(|((_, _, date), day)| (*date, day.up())).collect();
    let expected = (0..60).rev().map(|ago| {
        let date = today.saturating_sub(ago.days());
        up.get(&date).copied().unwrap_or_default()
    });
    assert_eq!(reported, expected.collect::<Vec<_>>());
}

#[tokio::test]
async fn a_random_walk_over_weeks_keeps_counters_lists_and_reports_true() {
    walk(0).await;
}

#[tokio::test]
async fn a_second_random_walk_keeps_counters_lists_and_reports_true() {
    walk(3).await;
}
