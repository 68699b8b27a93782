//! Packed checks: no answer of the API depends on where a check is stored, and no fault loses one.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use vedette_domain::accounts::plan::Plan;
use vedette_domain::checks::check::{Finish, ToolResult};
use vedette_domain::checks::history::block::{BlockVersion, SHAPES_MAX};
use vedette_domain::checks::tool::Tool;
use vedette_domain::checks::tool_state::{Keeping, ToolChange, ToolState};
use vedette_domain::id::SiteId;
use vedette_domain::locations::Votes;
use vedette_domain::message::CheckMessage;
use vedette_domain::sites::site::Site;
use vedette_store::{Changes, StoreError};
use vedette_testkit::{ApiResponse, Fault, Spent, status_result};

use crate::census::assert_balanced;
use crate::scene::{Scene, URL, is_finished};

impl Scene {
    /// Runs a scheduled check five minutes later.
    async fn run_next(&self, site: SiteId) {
        self.service.advance_minutes(5);
        let message = self.scheduled(site, Tool::Status, self.service.test.now());
        let handled = self.service.check(&message).await;
        assert!(is_finished(&handled), "{handled:?}");
    }

    /// Runs a scheduled check of a slot at its time, or now if that has passed.
    async fn run_at(&self, site: SiteId, slot: &str) -> CheckMessage {
        let slot = at(slot);
        self.service.test.set_clock(self.service.test.now().max(slot));
        let message = self.scheduled(site, Tool::Status, slot);
        let handled = self.service.check(&message).await;
        assert!(is_finished(&handled), "{slot}: {handled:?}");
        message
    }

    /// The ids of the checks in a site's history, newest first; each check is also found by its id.
    async fn listed(&self, site: SiteId) -> Vec<String> {
        let listed = self.client().get(&format!("/sites/{site}/checks?per_page=100")).await;
        assert_eq!(listed.status, 200, "{listed:?}");
        let checks = listed.body["data"].as_array().expect("checks").clone();
        assert_eq!(listed.body["meta"]["total"], checks.len());
        for check in &checks {
            let id = check["uuid"].as_str().expect("an id");
            let shown = self.client().get(&format!("/checks/{id}")).await;
            assert_eq!((shown.status, &shown.body["data"]), (200, check), "{id}");
        }
        checks.iter().map(|check| check["uuid"].as_str().expect("an id").to_owned()).collect()
    }

    /// Sort keys of a site's items with this prefix, and when the items expire.
    async fn forgotten_at(&self, site: SiteId, prefix: &str) -> BTreeMap<String, Timestamp> {
        let pk = format!("S#{:016x}", site.partition().0);
        let found = self.service.test.table.expiries().await.into_iter();
        let found = found.filter(|((of, sk), _)| *of == pk && sk.starts_with(prefix));
        found.map(|((_, sk), expires_at)| (sk, expires_at)).collect()
    }

    /// Everything that the API returns about a site: its history by pages and filters, each check, its issues and its
    /// reports; and what each answer read from the table.
    async fn told(&self, site: SiteId) -> BTreeMap<String, (Value, Spent)> {
        let meter = self.service.test.meter();
        let ask = async |path: String| {
            meter.start();
            let ApiResponse { status, mut body, .. } = self.client().get(&path).await;
            let spent = meter.stop();
            assert_eq!(status, 200, "{path}: {body}");
            without_measured(&mut body);
            (path, (body, spent))
        };
        // The first use of a token on a day is recorded.
        self.client().get("/me").await;
        let mut told = BTreeMap::new();
        let mut checks = Vec::new();
        let mut paths = vec![format!("/sites/{site}"), "/issues".to_owned()];
        paths.push(format!("/sites/{site}/reports/uptime"));
        for filter in
            ["", "&status=failed", "&status=completed", "&automatic=0", "&run_reason=scheduled"]
        {
            for (size, page) in [(100, 1), (100, 2), (100, 3), (7, 1), (7, 9), (7, 30)] {
                paths.push(format!("/sites/{site}/checks?per_page={size}&page={page}{filter}"));
            }
        }
        for path in paths {
            let (path, (body, spent)) = ask(path).await;
            if path.contains("per_page=100") {
                let shown = body["data"].as_array().expect("checks").iter();
                checks.extend(shown.map(|check| check["uuid"].as_str().expect("an id").to_owned()));
            }
            told.insert(path, (body, spent));
        }
        for check in checks {
            let (path, answer) = ask(format!("/checks/{check}")).await;
            told.insert(path, answer);
        }
        told
    }
}

fn at(text: &str) -> Timestamp {
    text.parse().expect("a timestamp")
}

/// Removes what differs between any two runs.
fn without_measured(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !name.contains("response") && name != "phases");
            fields.values_mut().for_each(without_measured);
        }
        Value::Array(values) => values.iter_mut().for_each(without_measured),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Says for each scheduled check of a night into which blocks it may be packed.
type Packs = fn(usize) -> Option<BlockVersion>;

/// A night of checks with an outage, an on-demand check and a check that cannot run.
async fn night(writes_blocks: Packs) -> (Scene, SiteId) {
    let mut scene = Scene::start().await;
    scene.service.test.app.service.writes_blocks = writes_blocks(0);
    let site = scene.watch_url(&format!("{URL}/{}", "long/".repeat(30))).await;
    for check in 1..=250 {
        scene.service.test.app.service.writes_blocks = writes_blocks(check);
        match check {
            60 => scene.target.answer(503),
            70 => scene.target.answer(200),
            _ => {}
        }
        scene.run_next(site).await;
        if check == 30 {
            let message = scene.order(site).await;
            assert!(is_finished(&scene.service.check(&message).await));
        }
    }
    assert_balanced(&scene.service).await;
    (scene, site)
}

#[tokio::test]
async fn no_answer_shows_where_a_check_is_stored() {
    let (rows, site) = night(|_| None).await;
    assert_eq!(rows.service.test.table.blocks().await, BTreeMap::new());
    let expected = rows.told(site).await;
    // All checks are packed; or there are two versions, of which only one packs, or packs more, and the deployment is
    // rolled back and tried again. Blocks have fewer checks than a page of rows, so some answers take more requests one
    // after another, and a process with another version begins a new block.
    let versions: [(Packs, u32); 3] = [
        (|_| Some(BlockVersion::Two), 1),
        (
            |check| {
                let is_deployed = check.is_multiple_of(3) || !(50..120).contains(&check);
                is_deployed.then_some(BlockVersion::Two)
            },
            1,
        ),
        (|check| Some(if check / 20 % 2 == 0 { BlockVersion::Two } else { BlockVersion::One }), 3),
    ];
    for (writes_blocks, more) in versions {
        let (packed, same) = night(writes_blocks).await;
        assert!(packed.service.test.table.blocks().await.len() > 2);
        assert_eq!(site, same);
        for (path, (told, spent)) in packed.told(site).await {
            let (expected, rows) = &expected[&path];
            assert_eq!(told, *expected, "{path}");
            let most = rows.rounds + more;
            assert!(spent.rounds <= most, "{path}: {spent:?}, where rows take {rows:?}");
            if !path.starts_with("/checks/") {
                assert!(spent.reads <= rows.reads, "{path}: {spent:?}, where rows take {rows:?}");
            }
        }
    }
}

#[tokio::test]
async fn whatever_happens_to_the_write_a_check_counts_once() {
    for fault in [Fault::CrashBefore, Fault::CrashAfter, Fault::LoseAnswer, Fault::Conflict] {
        let scene = Scene::start().await;
        let site = scene.watch().await;
        let faults = scene.service.test.faults().clone();
        // The last one closes a block, which is written before the tool's item.
        while scene.service.test.table.blocks().await.len() < 2 {
            scene.service.advance_minutes(5);
            let message = scene.scheduled(site, Tool::Status, scene.service.test.now());
            faults.on_write(1, fault);
            let handled = faults.until_crash(scene.service.check(&message)).await;
            let survives = !matches!(fault, Fault::CrashBefore | Fault::CrashAfter);
            assert_eq!(handled.as_ref().map(is_finished), survives.then_some(true), "{fault:?}");
            let again = is_finished(&scene.service.check(&message).await);
            let is_closed = scene.service.test.table.blocks().await.len() == 2;
            let is_missing = match fault {
                Fault::CrashAfter => is_closed,
                fault => fault == Fault::CrashBefore,
            };
            assert_eq!(again, is_missing, "{fault:?}");
            let latest = scene.state(site).await.latest().expect("a check");
            assert_eq!(latest.id(), message.check_id());
        }
        assert_balanced(&scene.service).await;
    }
}

#[tokio::test]
async fn a_block_that_cannot_be_read_stops_nothing() {
    let scene = Scene::start().await;
    let site = scene.watch().await;
    scene.run_next(site).await;
    let state = scene.state(site).await;
    let broken =
        ToolState { rev: state.rev + 1, block: Some(vec![250, 1, 2].into()), ..state.clone() };
    let (store, now) = (&scene.service.test.app.store, scene.service.test.now());
    store.put_tool(site.partition(), Tool::Status, &broken, now).await.expect("written");
    let listed = async || {
        let path = format!("/sites/{site}/checks");
        let listed = scene.client().get(&path).await;
        assert_eq!(listed.status, 200, "{listed:?}");
        listed.body["data"].as_array().expect("checks").len()
    };
    assert_eq!(listed().await, 0);
    for _ in 0..3 {
        scene.run_next(site).await;
    }
    assert_eq!(listed().await, 3);
    let aside = scene.service.test.table.sizes().await;
    let aside = aside.into_keys().filter(|(_, sk)| sk.starts_with("H#status#bx#"));
    assert_eq!(aside.count(), 1);
    assert_eq!(store.unreadable_blocks(10).await.expect("read"), 1, "doctor tells of it");
    assert_eq!(scene.redeliver().await, [], "nothing is outstanding");
    assert_eq!(scene.client().get(&format!("/sites/{site}")).await.status, 200);
    let gone =
        scene.client().get(&format!("/checks/{}", state.latest().expect("a check").id())).await;
    assert_eq!(
        (gone.status, gone.body["message"].is_string()),
        (404, true),
        "{}",
        json!(gone.body)
    );
}

#[tokio::test]
async fn a_check_of_ten_seconds_to_midnight_is_found_though_an_order_has_closed_its_day() {
    let scene = Scene::start().await;
    let site = scene.watch().await;
    let mut expected: BTreeSet<_> = scene.listed(site).await.into_iter().collect();
    for slot in ["2026-11-20T23:58:50Z", "2026-11-20T23:59:20Z"] {
        expected.insert(scene.run_at(site, slot).await.check_id().to_string());
    }
    scene.service.test.set_clock(at("2026-11-21T00:00:05Z"));
    let order = scene.order(site).await;
    assert_eq!(scene.state(site).await.block, None, "the order closes the block with its day");
    let late = scene.run_at(site, "2026-11-20T23:59:50Z").await;
    assert!(is_finished(&scene.service.check(&order).await));
    let next = scene.run_at(site, "2026-11-21T00:00:20Z").await;
    expected.extend([order, late, next].map(|message| message.check_id().to_string()));
    let listed = scene.listed(site).await;
    assert!(listed.is_sorted_by(|newer, older| newer > older), "{listed:?}");
    assert_eq!(BTreeSet::from_iter(listed), expected);
    // The row of the late check expires with the block of its day.
    let rows = scene.forgotten_at(site, "H#status#sc#").await;
    let blocks = scene.forgotten_at(site, "H#status#b#").await;
    assert_eq!((rows.len(), blocks.len()), (1, 1));
    assert_eq!(rows.values().next(), blocks.values().next());
    assert_balanced(&scene.service).await;
}

#[tokio::test]
async fn a_plan_that_changes_at_noon_changes_nothing_about_the_blocks_of_the_day() {
    let days = |days| SignedDuration::from_hours(24 * days);
    for (before, after) in [(Plan::Starter, Plan::Agency), (Plan::Agency, Plan::Starter)] {
        let scene = Scene::on_plan(before).await;
        let site = scene.watch_url(&format!("{URL}/{}", "long/".repeat(80))).await;
        let [kept, kept_then] = [before, after].map(|plan| plan.limits().history_retention_days);
        scene.run_at(site, "2026-11-20T11:55:00Z").await;
        scene.service.test.set_clock(at("2026-11-20T12:00:00Z"));
        let (store, now) = (&scene.service.test.app.store, scene.service.test.now());
        store.set_plan(scene.owner.team, after, true, now).await.expect("set");
        // Enough checks to close one block in the afternoon and another one when the day ends.
        let next = |slot: Timestamp| slot + SignedDuration::from_mins(2);
        let slots = std::iter::successors(Some(next(now)), |slot| Some(next(*slot)));
        for slot in slots.take(100) {
            scene.run_at(site, &slot.to_string()).await;
        }
        assert!(!scene.forgotten_at(site, "H#status#b#").await.is_empty());
        scene.run_at(site, "2026-11-21T00:05:00Z").await;
        scene.run_at(site, "2026-11-22T00:05:00Z").await;
        let blocks = scene.forgotten_at(site, "H#status#b#").await;
        let mut ends: Vec<_> = blocks.into_values().collect();
        let last = ends.pop().expect("the block of the day after");
        assert!(ends.len() > 1);
        let end = |day: &str, kept| at(day) + days(i64::from(kept) + 2);
        let today = end("2026-11-20T00:00:00Z", kept);
        assert!(ends.iter().all(|end| *end == today), "{ends:?}, not {today}");
        assert_eq!(last, end("2026-11-21T00:00:00Z", kept_then));
        assert_balanced(&scene.service).await;
    }
}

#[tokio::test]
async fn a_site_that_answers_in_more_ways_than_a_block_knows_begins_another_one() {
    let scene = Scene::start().await;
    let site = scene.watch().await;
    let ways = u16::try_from(3 * SHAPES_MAX).expect("few");
    let mut expected = vec![200];
    for status in 200..200 + ways {
        scene.target.answer(status);
        scene.run_next(site).await;
        expected.push(status);
    }
    expected.reverse();
    assert_eq!(scene.service.test.table.blocks().await.values().sum::<usize>(), expected.len());
    let closed = scene.forgotten_at(site, "H#status#b#").await;
    assert_eq!(closed.len(), 2, "of the first check and 23 other answers, 8 are in the open block");
    let listed = scene.client().get(&format!("/sites/{site}/checks?per_page=100")).await;
    let checks = listed.body["data"].as_array().expect("checks").iter();
    let codes: Vec<_> = checks.map(|check| check["result"]["code"].clone()).collect();
    assert_eq!(codes, expected);
    assert_balanced(&scene.service).await;
}

#[tokio::test]
async fn a_site_deleted_while_a_block_is_open_leaves_nothing() {
    let scene = Scene::start().await;
    let site = scene.watch().await;
    // A closed block, one that could not be read, and the open one.
    scene.run_at(site, "2026-11-21T00:05:00Z").await;
    let state = scene.state(site).await;
    let broken = ToolState { rev: state.rev + 1, block: Some(vec![250].into()), ..state };
    let (store, now) = (&scene.service.test.app.store, scene.service.test.now());
    store.put_tool(site.partition(), Tool::Status, &broken, now).await.expect("written");
    let last = scene.run_at(site, "2026-11-21T00:10:00Z").await;
    let kept = scene.forgotten_at(site, "H#").await;
    assert_eq!(kept.len(), 2, "{kept:?}");
    assert!(scene.state(site).await.block.is_some());

    assert_eq!(scene.client().delete(&format!("/sites/{site}")).await.status, 204);
    let shown = scene.client().get(&format!("/checks/{}", last.check_id())).await;
    assert_eq!(shown.status, 404, "at once");
    scene.service.consume().await;
    let left = scene.service.test.table.sizes().await.into_keys();
    let of_site = format!("S#{:016x}", site.partition().0);
    assert_eq!(left.filter(|(pk, _)| *pk == of_site).collect::<Vec<_>>(), []);
    assert_eq!(store.unreadable_blocks(10).await.expect("read"), 0);
}

#[tokio::test]
async fn an_order_deleted_while_a_block_is_open_leaves_the_block() {
    let scene = Scene::start().await;
    let site = scene.watch().await;
    scene.run_next(site).await;
    let order = scene.order(site).await;
    scene.run_next(site).await;
    let packed = scene.state(site).await.block;
    let path = format!("/checks/{}", order.check_id());
    assert_eq!(scene.client().delete(&path).await.status, 204);
    assert_eq!(scene.state(site).await.block, packed);
    scene.run_next(site).await;
    assert_eq!(scene.listed(site).await.len(), 4);
    assert_balanced(&scene.service).await;
}

/// A run of a scheduled check with this response time, before it is saved.
async fn answered_in(scene: &Scene, message: &CheckMessage, ms: f64) -> Changed {
    let app = &scene.service.test.app;
    let context = app.store.run_context(message.team, message.site, message.tool).await;
    let context = context.expect("read").expect("a site");
    let (run, state) = context.begin(message.check_id(), app.service.time_scale);
    let finish = Finish::Completed(ToolResult::Status(status_result(URL, 200, ms)));
    let (evaluations, now) = (run.evaluate(&finish, None, app.clock.now()), app.clock.now());
    let change = state
        .apply_run(&run, &finish, evaluations, &Votes::NoLocation, None, now)
        .expect("it counts");
    let change = change.packed(&finish, BlockVersion::Two, |_| true);
    assert_eq!((change.keeping, &change.closed_block), (Keeping::Packed, &None));
    Changed { site: run.site, change: [change], now }
}

struct Changed {
    site: Site,
    change: [ToolChange; 1],
    now: Timestamp,
}

impl Changed {
    async fn save(&self, scene: &Scene) -> Result<(), StoreError> {
        let Self { site, change: tools, now } = self;
        let changes = Changes { site, tools, issues: &[], usage: None, now: *now };
        scene.service.test.app.store.commit(&changes).await
    }
}

#[tokio::test]
async fn a_put_sent_again_is_saved_whatever_was_written_since_and_no_other_worker_s_is() {
    let scene = Scene::start().await;
    let site = scene.watch().await;
    scene.run_next(site).await;
    scene.service.advance_minutes(5);
    let message = scene.scheduled(site, Tool::Status, scene.service.test.now());
    let saved = answered_in(&scene, &message, 12.34).await;
    // Another worker has the same message.
    let other = answered_in(&scene, &message, 56.78).await;
    saved.save(&scene).await.expect("saved");
    saved.save(&scene).await.expect("it meets what it has written");
    scene.order(site).await;
    saved.save(&scene).await.expect("in the open block, which an order carried on");
    scene.service.test.set_clock(at("2026-11-21T00:00:05Z"));
    scene.run_at(site, "2026-11-21T00:00:05Z").await;
    saved.save(&scene).await.expect("in a closed block");
    let refused = other.save(&scene).await.expect_err("the slot is counted");
    assert!(refused.is_conflict(), "{refused}");
    let shown = scene.client().get(&format!("/checks/{}", message.check_id())).await;
    assert_eq!(shown.body["data"]["result"]["response_time"], 12.34);
    assert_balanced(&scene.service).await;
}
