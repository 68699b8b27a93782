//! A finished run that cannot be saved is saved later, without another request to its target.

use serde_json::json;
use vedette_checker::{Dropped, Handled};
use vedette_domain::checks::tool::{CheckStatus, Tool};

use crate::scene::Scene;

#[tokio::test]
async fn a_target_is_asked_once_however_often_its_run_cannot_be_saved() {
    let scene = Scene::start().await;
    let site = scene.watch().await;
    let service = &scene.service;
    service.advance_minutes(5);
    let message = scene.scheduled(site, Tool::Status, service.test.now());
    let before = scene.target.requests();

    service.test.faults().refuse_writes(true);
    scene.target.answer(503);
    for _ in 0..5 {
        let failed = vedette_checker::handle(&service.test.app, &service.engines, &message).await;
        assert!(failed.is_err(), "{failed:?}");
        assert_eq!(scene.target.requests(), before + 1);
    }
    assert!(scene.issues("open").await.is_empty());

    service.test.faults().refuse_writes(false);
    // What is saved is what was found then.
    scene.target.answer(200);
    let Handled::Finished(finished) = service.check(&message).await else { panic!("not saved") };
    assert_eq!(finished.check.status, CheckStatus::Completed);
    assert_eq!(finished.check.result.as_ref().expect("a result")["code"], 503);
    assert!(finished.lag.is_some() && finished.probe_time.is_some());
    assert_eq!(scene.target.requests(), before + 1);
    let again = service.check(&message).await;
    assert!(matches!(again, Handled::Dropped(Dropped::Discarded(_))), "{again:?}");

    service.advance_minutes(5);
    let next = scene.scheduled(site, Tool::Status, service.test.now());
    assert!(matches!(service.check(&next).await, Handled::Finished(_)));
    assert_eq!(scene.target.requests(), before + 2, "another slot is another run");
}

#[tokio::test]
async fn an_outage_that_begins_while_nothing_can_be_saved_is_dated_from_its_first_failed_check() {
    let scene = Scene::start().await;
    let site = scene.watch().await;
    let service = &scene.service;
    let fails = async |code| {
        scene.target.answer(code);
        service.advance_minutes(5);
        let message = scene.scheduled(site, Tool::Status, service.test.now());
        let failed = vedette_checker::handle(&service.test.app, &service.engines, &message).await;
        assert!(failed.is_err(), "{failed:?}");
        service.test.now()
    };
    service.test.faults().refuse_writes(true);
    // The first failure does not belong to the outage, because the site recovers from it.
    for code in [200, 503, 200] {
        fails(code).await;
    }
    let began = fails(503).await;
    for _ in 0..3 {
        fails(503).await;
    }
    service.test.faults().refuse_writes(false);
    service.advance_minutes(5);
    service.run_scheduled(site, Tool::Status).await;
    let issues = scene.issues("open").await;
    let [issue] = &issues[..] else { panic!("{issues:?}") };
    assert_eq!(issue["context"]["first_failed_at"], json!(vedette_domain::time::wire(began)));
    let checks = scene.client().get(&format!("/sites/{site}/checks")).await;
    let codes = checks.body["data"].as_array().expect("checks").iter();
    let codes: Vec<_> = codes.map(|check| check["result"]["code"].clone()).collect();
    assert_eq!(codes, [503, 503, 503, 200, 503, 200, 200], "what changed, newest first");
}
