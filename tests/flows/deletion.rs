//! A deleted site is gone at once and for good, whatever is in progress, and nothing of it remains.

use serde_json::json;
use vedette_checker::Dropped;
use vedette_domain::checks::limits::RECONCILE_GRACE;
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::SiteId;
use vedette_runtime::{Presence, Schedule};
use vedette_testkit::Fault;

use crate::census::assert_balanced;
use crate::scene::{Scene, URL, dropped, is_finished};

/// A site with an active issue, a follow-up to come and an on-demand check that waits.
async fn eventful(scene: &Scene) -> SiteId {
    let site = scene.watch_down(&json!({})).await;
    scene.order(site).await;
    site
}

async fn delete(scene: &Scene, site: SiteId) {
    let deleted = scene.client().delete(&format!("/sites/{site}")).await;
    assert_eq!(deleted.status, 204, "{deleted:?}");
}

fn partition_key(site: SiteId) -> String {
    format!("S#{:016x}", site.partition().0)
}

/// Sort keys of the remaining items in a site's partition.
async fn left(scene: &Scene, site: SiteId) -> Vec<String> {
    let dump = scene.service.test.table.dump().await;
    let pk = partition_key(site);
    dump.into_keys().filter(|(found, _)| *found == pk).map(|(_, sk)| sk).collect()
}

/// Asserts that the team has nothing but `others` and that no trace of the site is left.
async fn assert_gone(scene: &Scene, site: SiteId, others: usize) {
    assert_eq!(left(scene, site).await, [""; 0]);
    let team = scene.owner.team;
    let store = &scene.service.test.app.store;
    let found = store.team(team, scene.service.test.now()).await.expect("read").expect("a team");
    assert_eq!(found.team.sites as usize, others, "the team's count");
    assert_eq!(store.directory(team, 10).await.expect("read").len(), others);
    let id = site.to_string();
    let dump = scene.service.test.table.dump().await;
    let named: Vec<_> =
        dump.keys().filter(|(pk, sk)| pk.contains(&id) || sk.contains(&id)).collect();
    assert!(named.is_empty(), "{named:?}");
    for is_active in [true, false] {
        let index = store.issue_index(team, is_active).await.expect("read");
        assert!(index.iter().all(|row| row.monitor != site), "{index:?}");
    }
    let schedules = scene.service.test.app.scheduler.list().await.expect("schedules");
    assert!(schedules.iter().all(|(scheduled, _)| *scheduled != site), "{schedules:?}");
}

#[tokio::test]
async fn a_site_goes_with_all_it_had() {
    let scene = Scene::start().await;
    let other = scene.create(&format!("{URL}/other"), &json!({})).await;
    let site = eventful(&scene).await;
    let path = format!("/sites/{site}");
    delete(&scene, site).await;
    assert_eq!(left(&scene, site).await.first().map(String::as_str), Some("A"), "a tombstone");
    for gone in [path.clone(), format!("{path}/checks")] {
        assert_eq!(scene.client().get(&gone).await.status, 404, "{gone}");
    }
    assert_eq!(scene.client().delete(&path).await.status, 404, "deleted once");
    assert_eq!(scene.client().get("/issues").await.body["meta"]["total"], 0);
    scene.service.deliver_alerts().await;
    scene.service.consume().await;
    assert_gone(&scene, site, 1).await;
    assert_eq!(scene.client().get(&format!("/sites/{other}")).await.status, 200);
    assert_balanced(&scene.service).await;
}

#[tokio::test]
async fn a_failing_site_is_no_longer_listed() {
    let scene = Scene::start().await;
    let site = scene.watch().await;
    scene.target.answer(503);
    scene.service.advance_minutes(5);
    scene.service.run_scheduled(site, Tool::Status).await;
    let trouble = async || {
        scene.service.test.app.store.trouble(scene.owner.team).await.expect("read").failing
    };
    assert!(trouble().await.contains_key(&site));
    delete(&scene, site).await;
    assert!(trouble().await.is_empty(), "at once");
    scene.service.consume().await;
    assert_gone(&scene, site, 0).await;
}

#[tokio::test]
async fn deleting_a_site_deletes_its_resolved_issues() {
    let scene = Scene::start().await;
    let site = scene.watch_down(&json!({})).await;
    scene.target.answer(200);
    scene.run_timer(site).await;
    assert_eq!(scene.client().get("/issues?status=resolved").await.body["meta"]["total"], 1);
    delete(&scene, site).await;
    assert_eq!(scene.client().get("/issues?status=resolved").await.body["meta"]["total"], 0);
    scene.service.deliver_alerts().await;
    scene.service.consume().await;
    assert_gone(&scene, site, 0).await;
}

#[tokio::test]
async fn a_run_that_ends_after_the_deletion_writes_nothing() {
    for is_purged in [false, true] {
        let scene = Scene::start().await;
        let site = scene.watch().await;
        let on_demand = scene.order(site).await;
        scene.service.advance_minutes(5);
        let automatic = scene.scheduled(site, Tool::Status, scene.service.test.now());
        let requests = scene.target.requests();
        scene.target.hang();
        let deletion = async {
            scene.target.asked(requests + 2).await;
            delete(&scene, site).await;
            if is_purged {
                scene.service.consume().await;
            }
            let table = scene.service.test.table.dump().await;
            scene.target.answer(503);
            table
        };
        let (one, other, table) = tokio::join!(
            scene.service.check(&on_demand),
            scene.service.check(&automatic),
            deletion,
        );
        assert_eq!(dropped(&one), Dropped::Gone);
        assert_eq!(dropped(&other), Dropped::Gone);
        assert_eq!(scene.service.test.table.dump().await, table, "purged: {is_purged}");
        scene.service.consume().await;
        assert_gone(&scene, site, 0).await;
    }
}

#[tokio::test]
async fn a_deletion_among_runs_syncs_and_orders_wins() {
    let scene = Scene::start().await;
    for round in 0..4 {
        let site = scene.create(URL, &json!({})).await;
        let sync = scene.sync(site);
        let now = scene.service.test.now();
        let run = scene.scheduled(site, Tool::Status, now);
        let path = format!("/sites/{site}");
        let (client, checks) = (scene.client(), format!("{path}/checks"));
        let order = json!({ "tools": ["status"] });
        let late = async {
            // In each round, the deletion starts a little later.
            for _ in 0..round * 8 {
                tokio::task::yield_now().await;
            }
            delete(&scene, site).await;
            scene.service.deliver(&scene.purge(site)).await;
        };
        tokio::join!(
            scene.service.deliver(&sync),
            scene.service.check(&run),
            client.post(&checks, &order),
            late,
        );
        scene.service.consume().await;
        assert_gone(&scene, site, 0).await;
        scene.service.advance_minutes(1);
    }
}

#[tokio::test]
async fn a_schedule_of_a_site_that_is_gone_is_removed_by_a_reconciliation() {
    let scene = Scene::start().await;
    let site = scene.watch().await;
    delete(&scene, site).await;
    scene.service.consume().await;
    assert_gone(&scene, site, 0).await;
    let scheduler = &scene.service.test.app.scheduler;
    let team = scene.owner.team;
    let stray = Schedule { team, site, tool: Tool::Status, cadence_minutes: 5 };
    scheduler.put(stray, Presence::Absent).await.expect("put");
    vedette_reconciler::reconcile(&scene.service.test.app, &|_| {}).await.expect("reconciled");
    assert_gone(&scene, site, 0).await;
}

#[tokio::test]
async fn the_url_is_free_at_once() {
    let scene = Scene::start().await;
    let site = scene.watch().await;
    delete(&scene, site).await;
    let purge = scene.service.waiting();
    let again = scene.watch().await;
    assert_ne!(site, again);
    for (message, _) in purge {
        scene.service.deliver(&message).await;
    }
    assert_gone(&scene, site, 1).await;
    scene.service.advance_minutes(5);
    assert!(is_finished(&scene.service.run_scheduled(again, Tool::Status).await));
    assert_balanced(&scene.service).await;
}

#[tokio::test]
async fn a_crash_around_the_deletion_leaves_a_site_or_none() {
    for fault in [Fault::CrashBefore, Fault::CrashAfter, Fault::Conflict, Fault::LoseAnswer] {
        let scene = Scene::start().await;
        let site = eventful(&scene).await;
        let faults = scene.service.test.faults().clone();
        faults.on_write(1, fault);
        let has_crashed = faults.until_crash(delete(&scene, site)).await.is_none();
        assert_eq!(has_crashed, matches!(fault, Fault::CrashBefore | Fault::CrashAfter));
        if fault == Fault::CrashBefore {
            assert_eq!(scene.client().get(&format!("/sites/{site}")).await.status, 200);
            delete(&scene, site).await;
        }
        assert_eq!(scene.client().get(&format!("/sites/{site}")).await.status, 404);
        // The message is lost, but redelivery finds the purge.
        scene.service.waiting();
        scene.service.test.advance(RECONCILE_GRACE);
        let sent = scene.redeliver().await;
        let [(message, _)] = sent.as_slice() else { panic!("{fault:?}: {sent:?}") };
        assert_eq!(*message, scene.purge(site));
        scene.service.deliver(message).await;
        assert_gone(&scene, site, 0).await;
    }
}

#[tokio::test]
async fn a_purge_that_is_stopped_anywhere_is_begun_again() {
    for fault in [Fault::CrashBefore, Fault::CrashAfter, Fault::LoseAnswer] {
        let scene = Scene::start().await;
        let site = eventful(&scene).await;
        let rows = (0..60).map(|number| format!("H#status#sc#{number:015}"));
        scene.service.test.table.fill(&partition_key(site), rows).await;
        delete(&scene, site).await;
        let mut crashes = 0;
        while !left(&scene, site).await.is_empty() {
            scene.service.waiting();
            scene.service.test.advance(RECONCILE_GRACE);
            let sent = scene.redeliver().await;
            let [(message, _)] = sent.as_slice() else { panic!("{sent:?}") };
            // Each time, it gets one write further.
            let faults = scene.service.test.faults().clone();
            faults.on_write(1 + crashes, fault);
            if faults.until_crash(scene.service.deliver(message)).await.is_none() {
                crashes += 1;
                assert_eq!(scene.client().get(&format!("/sites/{site}")).await.status, 404);
            }
        }
        assert_eq!(crashes > 1, fault != Fault::LoseAnswer, "{fault:?}: {crashes}");
        assert_gone(&scene, site, 0).await;
        assert_eq!(scene.redeliver().await, [], "nothing is outstanding");
    }
}

#[tokio::test]
async fn a_long_history_goes_in_one_purge() {
    let scene = Scene::start().await;
    let site = eventful(&scene).await;
    // More than is read at once.
    let rows = (0..620).map(|number| format!("H#status#sc#{number:015}"));
    scene.service.test.table.fill(&partition_key(site), rows).await;
    delete(&scene, site).await;
    scene.service.deliver_alerts().await;
    scene.service.consume().await;
    assert_gone(&scene, site, 0).await;
}
