//! A finished run that cannot be saved is saved later, without another request to its target.

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
