//! Reports of teams, made in time and in spite of crashes.

use serde_json::{Value, json};
use vedette_domain::checks::check::{Finish, ToolResult};
use vedette_domain::checks::tool::{RunReason, Tool};
use vedette_domain::id::{CheckId, SiteId};
use vedette_domain::message::ReconcileMessage;
use vedette_reconciler::{rebuild_all, redeliver};
use vedette_testkit::{Fault, status_result};

use crate::scene::Scene;

/// A status check of a site at a minute of the days from Monday, 23 November.
async fn checked(scene: &Scene, site: SiteId, minute: i64, (code, ms): (u16, f64)) {
    let monday: jiff::Timestamp = "2026-11-23T00:00:00Z".parse().expect("a timestamp");
    scene.service.test.set_clock(monday + jiff::SignedDuration::from_mins(minute));
    let result = status_result("https://x.example", code, ms);
    let finish = Finish::Completed(ToolResult::Status(result));
    let check =
        CheckId::automatic(site, Tool::Status, RunReason::Scheduled, scene.service.test.now());
    scene.service.test.end_run(site, check, finish).await;
}

/// Sites whose first run has not happened, and whose issues open and resolve at once.
async fn sites(scene: &Scene, count: usize) -> Vec<SiteId> {
    let at_once = json!({ "failures_to_open": 1, "successes_to_resolve": 1 });
    let mut sites = Vec::new();
    for number in 0..count {
        sites.push(scene.create(&format!("https://site-{number:03}.example"), &at_once).await);
    }
    scene.service.waiting();
    sites
}

async fn make(scene: &Scene) {
    let message = ReconcileMessage::Report(scene.owner.team);
    vedette_reconciler::handle(&scene.service.test.app, &message).await.expect("made");
}

async fn get(scene: &Scene, path: &str) -> Value {
    let answer = scene.client().get(path).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.body["data"].clone()
}

async fn week(scene: &Scene) -> Value {
    get(scene, &format!("/teams/{}/reports/2026-W48", scene.owner.team)).await
}

/// Enough sites for several parts, one of which was down.
async fn past_week(scene: &Scene) -> Vec<SiteId> {
    let sites = sites(scene, 45).await;
    for (place, site) in sites.iter().enumerate() {
        checked(scene, *site, 600, (200, 100.0 + place as f64)).await;
    }
    checked(scene, sites[7], 700, (503, 9.0)).await;
    checked(scene, sites[7], 730, (200, 100.0)).await;
    scene.service.test.set_clock("2026-11-30T06:00:00Z".parse().expect("a timestamp"));
    sites
}

#[tokio::test]
async fn a_report_that_a_crash_interrupts_is_finished_by_the_next_attempt() {
    let scene = Scene::start().await;
    past_week(&scene).await;
    let faults = scene.service.test.faults().clone();
    let before = faults.writes();
    make(&scene).await;
    let writes = faults.writes() - before;
    assert!(writes >= 5, "three parts, the report, its schedule: {writes}");
    let mut expected = week(&scene).await;
    assert_eq!(expected["sites"], 45);
    for write in 1..=writes {
        for fault in [Fault::CrashBefore, Fault::CrashAfter, Fault::LoseAnswer] {
            let scene = Scene::start().await;
            past_week(&scene).await;
            let faults = scene.service.test.faults().clone();
            faults.on_write(write, fault);
            let message = ReconcileMessage::Report(scene.owner.team);
            let attempt = vedette_reconciler::handle(&scene.service.test.app, &message);
            let _ = faults.until_crash(attempt).await;
            faults.forget();
            make(&scene).await;
            let mut found = week(&scene).await;
            // The ids of sites and issues differ.
            for report in [&mut found, &mut expected] {
                for list in ["outages", "worst_sites", "best_sites"] {
                    for line in report[list].as_array_mut().expect("a list") {
                        let line = line.as_object_mut().expect("an object");
                        line.retain(|name, _| !name.ends_with("uuid"));
                    }
                }
            }
            assert_eq!(found, expected, "{fault:?} at {write}");
        }
    }
}

#[tokio::test]
async fn the_work_index_requests_the_next_report() {
    let scene = Scene::start().await;
    let sites = sites(&scene, 1).await;
    checked(&scene, sites[0], 60, (200, 100.0)).await;
    let test = &scene.service.test;
    // The night finds that the team has no reports yet.
    rebuild_all(&test.app).await.expect("rebuilt");
    scene.service.consume().await;
    test.set_clock("2026-11-30T05:59:59Z".parse().expect("a timestamp"));
    redeliver(&test.app).await.expect("sent");
    scene.service.consume().await;
    assert_eq!(test.app.store.reports(scene.owner.team).await.expect("read"), []);
    test.set_clock("2026-11-30T06:00:00Z".parse().expect("a timestamp"));
    redeliver(&test.app).await.expect("sent");
    scene.service.consume().await;
    let made = async || -> Vec<String> {
        let reports = test.app.store.reports(scene.owner.team).await.expect("read");
        reports.iter().map(|report| report.period.to_string()).collect()
    };
    assert_eq!(made().await, ["2026-W48"]);
    test.set_clock("2026-12-01T06:00:00Z".parse().expect("a timestamp"));
    redeliver(&test.app).await.expect("sent");
    scene.service.consume().await;
    assert_eq!(made().await, ["2026-11", "2026-W48"]);
}
