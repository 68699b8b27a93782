//! Packed checks: no answer of the API shows where a check is stored, and no fault loses one.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use vedette_domain::checks::tool::Tool;
use vedette_domain::checks::tool_state::ToolState;
use vedette_domain::id::SiteId;
use vedette_testkit::{ApiResponse, Fault};

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

    /// What the API says of a site: its history by pages and filters, each check, its issues and its reports.
    async fn told(&self, site: SiteId) -> BTreeMap<String, Value> {
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
            let ApiResponse { status, body, .. } = self.client().get(&path).await;
            assert_eq!(status, 200, "{path}: {body}");
            if path.contains("per_page=100") {
                let shown = body["data"].as_array().expect("checks").iter();
                checks.extend(shown.map(|check| check["uuid"].as_str().expect("an id").to_owned()));
            }
            told.insert(path, body);
        }
        for check in checks {
            let path = format!("/checks/{check}");
            let shown = self.client().get(&path).await;
            assert_eq!(shown.status, 200, "{shown:?}");
            told.insert(path, shown.body);
        }
        told.values_mut().for_each(without_measured);
        told
    }
}

/// Takes out what no two runs have in common.
fn without_measured(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !name.contains("response"));
            fields.values_mut().for_each(without_measured);
        }
        Value::Array(values) => values.iter_mut().for_each(without_measured),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// A night of checks with an outage, a check on demand and a check that cannot run; `writes_blocks` says of each
/// scheduled check whether it may be packed.
async fn night(writes_blocks: fn(usize) -> bool) -> (Scene, SiteId) {
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
    let (rows, site) = night(|_| false).await;
    assert_eq!(rows.service.test.table.blocks().await, BTreeMap::new());
    let expected = rows.told(site).await;
    // All packed, and a deployment of two versions, of which one packs: then it is rolled back, and tried again.
    for writes_blocks in
        [|_| true, |check: usize| check.is_multiple_of(3) || !(50..120).contains(&check)]
    {
        let (packed, same) = night(writes_blocks).await;
        assert!(packed.service.test.table.blocks().await.len() > 2);
        assert_eq!(site, same);
        for (path, told) in packed.told(site).await {
            assert_eq!(Some(&told), expected.get(&path), "{path}");
        }
    }
}

#[tokio::test]
async fn whatever_happens_to_the_write_a_check_counts_once() {
    for fault in [Fault::CrashBefore, Fault::CrashAfter, Fault::LoseAnswer, Fault::Conflict] {
        let scene = Scene::start().await;
        let site = scene.watch().await;
        let faults = scene.service.test.faults().clone();
        // The last of them closes a block, which is written together with the tool's item.
        while scene.service.test.table.blocks().await.len() < 2 {
            scene.service.advance_minutes(5);
            let message = scene.scheduled(site, Tool::Status, scene.service.test.now());
            faults.on_write(1, fault);
            let handled = faults.until_crash(scene.service.check(&message)).await;
            let survives = !matches!(fault, Fault::CrashBefore | Fault::CrashAfter);
            assert_eq!(handled.as_ref().map(is_finished), survives.then_some(true), "{fault:?}");
            let again = is_finished(&scene.service.check(&message).await);
            assert_eq!(again, fault == Fault::CrashBefore, "{fault:?}");
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
