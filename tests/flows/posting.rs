//! Status checks that post: with the consent of the host's owner, and once.

use jiff::SignedDuration;
use serde_json::json;
use tokio::join;
use vedette_checker::{Engines, Handled};
use vedette_domain::checks::check::Check;
use vedette_domain::checks::tool::{CheckStatus, Tool};
use vedette_domain::expectations::{OwnershipRecord, POSTS_TO_ADDRESS, RequestMethod};
use vedette_domain::id::{SiteId, TeamId};
use vedette_domain::message::CheckMessage;
use vedette_domain::sites::site::Site;
use vedette_testkit::{ApiResponse, Fault, NameServices, TestLocations, granted};
use vedette_tests::scheduled;

use crate::scene::{Scene, dropped, engines};

const BODY: &str = r#"{"password": "correct horse"}"#;

/// A scene with a real name server.
async fn start() -> (Scene, NameServices) {
    let mut scene = Scene::start().await;
    let names = NameServices::start().await;
    scene.service.test.app.txt_records = names.txt_records();
    (scene, names)
}

/// A scene with a site whose checks post.
async fn posting() -> (Scene, NameServices, SiteId) {
    let (scene, names) = start().await;
    let site = scene.watch().await;
    names.publish(&record(&scene, site).await);
    let answer = put(&scene, site, BODY).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    scene.service.consume().await;
    scene.service.advance_minutes(5);
    (scene, names, site)
}

async fn record(scene: &Scene, site: SiteId) -> OwnershipRecord {
    OwnershipRecord::of(&scene.stored(site).await.0).expect("a record")
}

async fn put(scene: &Scene, site: SiteId, body: &str) -> ApiResponse {
    let sent = json!({ "method": "POST", "post": { "body": body }, "expectations": [] });
    scene.client().put(&format!("/sites/{site}/expectations"), &sent).await
}

fn now(scene: &Scene, site: SiteId) -> CheckMessage {
    scene.scheduled(site, Tool::Status, scene.service.test.now())
}

fn finished(handled: Handled) -> Check {
    match handled {
        Handled::Finished(finished) => finished.check,
        other => panic!("{other}"),
    }
}

/// Runs a check that sends nothing; returns why.
async fn unsent(scene: &Scene, site: SiteId) -> [String; 2] {
    let before = scene.target.requests();
    let check = finished(scene.service.check(&now(scene, site)).await);
    assert_eq!(scene.target.requests(), before);
    assert_eq!(check.status, CheckStatus::Failed);
    let error = check.error.expect("an error");
    [error.code, error.message]
}

#[tokio::test]
async fn a_post_is_accepted_with_the_record_and_sent_by_each_check() {
    let (scene, names) = start().await;
    let site = scene.watch().await;
    let record = record(&scene, site).await;
    let said = |answer: &ApiResponse| answer.body["errors"]["method"][0].clone();
    let of_record = format!("the DNS TXT record {} with the value {}", record.name, record.value);

    let missing = put(&scene, site, BODY).await;
    assert_eq!(missing.status, 422);
    assert_eq!(
        said(&missing),
        format!("The method field must not be POST: {of_record} is missing.")
    );
    names.fail(&record);
    let unknown = put(&scene, site, BODY).await;
    let why = "could not be looked up: name lookup failed: SERVFAIL";
    assert_eq!(said(&unknown), format!("The method field must not be POST: {of_record} {why}."));
    assert!(scene.stored(site).await.0.expectations.post.is_none());

    names.publish(&record);
    assert_eq!(put(&scene, site, BODY).await.status, 200);
    scene.service.consume().await;
    for round in 1..=2 {
        scene.service.advance_minutes(5);
        let (queries, requests) = (names.queries(), scene.target.requests());
        let check = finished(scene.service.check(&now(&scene, site)).await);
        assert_eq!(check.status, CheckStatus::Completed, "{check:?}");
        assert_eq!((scene.target.method().as_str(), &*scene.target.sent()), ("POST", BODY));
        assert_eq!(scene.target.requests(), requests + 1, "round {round}");
        assert!(names.queries() > queries, "each check looks for the record");
        assert!(scene.state(site).await.posts.is_empty());
    }
    // A check that posts is packed like any other.
    let state = scene.state(site).await;
    assert!(state.automatic.expect("a check").check.block.is_some());

    scene.service.advance_minutes(30);
    let ordered = scene.order(site).await;
    let requests = scene.target.requests();
    finished(scene.service.check(&ordered).await);
    assert_eq!((scene.target.method().as_str(), scene.target.requests()), ("POST", requests + 1));
}

#[tokio::test]
async fn a_record_that_is_withdrawn_stops_the_posts() {
    let (scene, names, site) = posting().await;
    let record = record(&scene, site).await;
    names.withdraw(&record);
    let of_record = format!("the DNS TXT record {} with the value {}", record.name, record.value);
    let missing = format!("the POST was not sent: {of_record} is missing");
    assert_eq!(unsent(&scene, site).await, ["post_not_proven".to_owned(), missing]);
    names.fail(&record);
    scene.service.advance_minutes(5);
    let [code, message] = unsent(&scene, site).await;
    assert_eq!(code, "post_not_proven");
    assert!(message.ends_with("could not be looked up: name lookup failed: SERVFAIL"), "{message}");
    // Nothing was observed, and nothing is retried.
    assert!(scene.issues("active").await.is_empty());
    assert_eq!(scene.state(site).await.timer, None);

    // Somebody else's record proves nothing.
    let value = format!("{}x", record.value);
    names.publish(&OwnershipRecord { value, ..record.clone() });
    scene.service.advance_minutes(5);
    assert_eq!(unsent(&scene, site).await[0], "post_not_proven");
    names.publish(&record);
    scene.service.advance_minutes(5);
    let check = finished(scene.service.check(&now(&scene, site)).await);
    assert_eq!(check.status, CheckStatus::Completed);
}

#[tokio::test]
async fn a_message_that_is_delivered_twice_posts_once() {
    let (scene, _names, site) = posting().await;
    let message = now(&scene, site);
    let before = scene.target.requests();
    finished(scene.service.check(&message).await);
    dropped(&scene.service.check(&message).await);
    assert_eq!(scene.target.requests(), before + 1);

    // Also while the first run is in progress, or both begin at the same time.
    scene.service.advance_minutes(5);
    let message = now(&scene, site);
    scene.target.hang();
    let second = async {
        scene.target.asked(before + 2).await;
        let second = scene.service.check(&message).await;
        scene.target.answer(200);
        second
    };
    let (first, second) = join!(scene.service.check(&message), second);
    assert!(matches!(second, Handled::Postponed), "{second}");
    assert_eq!(finished(first).status, CheckStatus::Completed);
    assert_eq!(scene.target.requests(), before + 2);
    scene.service.waiting();

    scene.service.advance_minutes(5);
    let message = now(&scene, site);
    let (one, other) = join!(scene.service.check(&message), scene.service.check(&message));
    let is_finished = |handled: &Handled| matches!(handled, Handled::Finished(_));
    assert!(is_finished(&one) != is_finished(&other), "{one}, {other}");
    assert_eq!(scene.target.requests(), before + 3);
}

/// Whatever goes wrong with one of the two writes of a check that posts: the note, and the check.
#[tokio::test]
async fn a_fault_leaves_a_post_out_or_sends_it_once() {
    let faults = [
        Fault::CrashBefore,
        Fault::CrashAfter,
        Fault::LoseAnswer,
        Fault::Throttle,
        Fault::Conflict,
        Fault::Refuse,
    ];
    for (write, fault) in (1..=2).flat_map(|write| faults.map(|fault| (write, fault))) {
        let (mut scene, _names, site) = posting().await;
        let message = now(&scene, site);
        let before = scene.target.requests();
        let faults = scene.service.test.faults().clone();
        faults.on_write(write, fault);
        let mut waits = 0;
        let check = loop {
            let (app, engines) = (&scene.service.test.app, &scene.service.engines);
            let handled = Box::pin(vedette_checker::handle(app, engines, &message));
            let handled = granted(vedette_checker::grants(Tool::Status), handled);
            match faults.until_crash(handled).await {
                // Another process gets the message again.
                None => scene.service.engines = engines_of(&scene),
                Some(Err(_)) => {}
                Some(Ok(Handled::Postponed)) => {
                    waits += 1;
                    scene.service.test.advance(SignedDuration::from_secs(30));
                }
                Some(Ok(Handled::Finished(finished))) => break finished.check,
                // It was saved before the fault.
                Some(Ok(Handled::Dropped(_))) => {
                    let stored = app.store.check(message.check_id()).await.expect("read");
                    break stored.expect("a check").check;
                }
            }
            assert!(waits < 4, "{write} {fault:?}");
            scene.service.waiting();
        };
        faults.forget();
        let sent = scene.target.requests() - before;
        match check.status {
            CheckStatus::Completed => assert_eq!((sent, waits), (1, 0), "{write} {fault:?}"),
            _ => {
                // The note was written, and the process does not know that, or has died.
                assert!(waits > 0 && sent <= 1, "{write} {fault:?}: {sent}");
                let may_be_lost = [(1, Fault::CrashAfter), (2, Fault::CrashBefore)];
                assert!(may_be_lost.contains(&(write, fault)), "{write} {fault:?}");
                assert_eq!(check.error.expect("an error").code, "post_lost");
            }
        }
        assert!(scene.issues("active").await.is_empty());
        assert!(scene.state(site).await.posts.is_empty());
        // The next slot is another one.
        scene.service.waiting();
        scene.service.advance_minutes(5);
        let check = finished(scene.service.check(&now(&scene, site)).await);
        assert_eq!(check.status, CheckStatus::Completed, "{write} {fault:?}");
        assert_eq!(scene.target.requests() - before, sent + 1, "{write} {fault:?}");
    }
}

/// The engines of another process.
fn engines_of(scene: &Scene) -> Engines {
    engines(&[("site.test", &scene.target)])
}

#[tokio::test]
async fn a_run_that_cannot_be_saved_or_noted_posts_once() {
    let (scene, _names, site) = posting().await;
    let (service, message) = (&scene.service, now(&scene, site));
    let before = scene.target.requests();
    // Neither counted nor noted, so not sent.
    service.test.faults().refuse_writes(true);
    for _ in 0..3 {
        let failed = vedette_checker::handle(&service.test.app, &service.engines, &message).await;
        assert!(failed.is_err(), "{failed:?}");
    }
    assert_eq!(scene.target.requests(), before);
    service.test.faults().refuse_writes(false);
    // The check itself cannot be saved. The process still knows its result.
    scene.target.hang();
    let full = async {
        scene.target.asked(before + 1).await;
        service.test.faults().refuse_writes(true);
        scene.target.answer(200);
    };
    let handled = vedette_checker::handle(&service.test.app, &service.engines, &message);
    let (failed, ()) = join!(handled, full);
    assert!(failed.is_err(), "{failed:?}");
    service.test.faults().refuse_writes(false);
    let check = finished(service.check(&message).await);
    assert_eq!(check.status, CheckStatus::Completed);
    assert_eq!(scene.target.requests(), before + 1);
}

#[tokio::test]
async fn an_address_gets_only_so_many_posts_a_minute() {
    let (scene, _names, site) = posting().await;
    let own = scene.stored(site).await.0.team;
    use_up(&scene, own).await;
    let expected = "the POST was not sent: the team has used up its share of the POSTs to 127.0.0.1, which is 60 of 60 \
                    a minute";
    assert_eq!(unsent(&scene, site).await, ["post_limited", expected].map(str::to_owned));
    assert!(scene.state(site).await.posts.is_empty());
    assert!(scene.issues("active").await.is_empty());
    scene.service.advance_minutes(5);
    let check = finished(scene.service.check(&now(&scene, site)).await);
    assert_eq!(check.status, CheckStatus::Completed);
}

/// Makes a team send as many POSTs to the target's address as it can.
async fn use_up(scene: &Scene, team: TeamId) {
    let test = &scene.service.test;
    for _ in 0..POSTS_TO_ADDRESS.of_team {
        let (limit, now) = (POSTS_TO_ADDRESS, test.now());
        test.app.store.count_shared("post:127.0.0.1", team, limit, now).await.expect("counted");
    }
}

#[tokio::test]
async fn other_teams_do_not_stop_the_posts_of_an_owner() {
    let (scene, _names, site) = posting().await;
    for _ in 1..POSTS_TO_ADDRESS.divided {
        use_up(&scene, TeamId(scene.service.test.app.entropy.site_id().expect("an id").0)).await;
    }
    let check = finished(scene.service.check(&now(&scene, site)).await);
    assert_eq!(check.status, CheckStatus::Completed, "{check:?}");
    let expected = "the POST was not sent: the team has used up its share of the POSTs to 127.0.0.1, which is 1 of 60 a \
                    minute";
    scene.service.test.advance(SignedDuration::from_secs(10));
    let ordered = scene.order(site).await;
    let error = finished(scene.service.check(&ordered).await).error.expect("an error");
    assert_eq!((error.code.as_str(), error.message.as_str()), ("post_limited", expected));
}

#[tokio::test]
async fn no_other_location_is_asked_about_a_post() {
    let (mut scene, _names, site) = posting().await;
    let locations = TestLocations::default();
    locations.sees("eu-west-1", Ok(200));
    scene.service.test.app.remote_checks = locations.port();
    scene.target.answer(503);
    scene.service.check(&now(&scene, site)).await;
    let before = scene.target.requests();
    // The retry is a slot of its own.
    scene.run_timer(site).await;
    assert_eq!((scene.target.method().as_str(), scene.target.requests()), ("POST", before + 1));
    assert_eq!(scene.issues("active").await[0]["fingerprint"], "status:down");
    assert_eq!(locations.take_questions(), []);
}

#[tokio::test]
async fn what_is_posted_does_not_follow_a_site_to_another_server() {
    let (mut scene, names, site) = posting().await;
    let to_site = format!("/sites/{site}");
    let moved = |url: &str| json!({ "url": url });
    // Elsewhere on the same server, or with other settings, nothing needs to be proven again.
    let proven = record(&scene, site).await;
    names.withdraw(&proven);
    let renamed = json!({ "url": "http://site.test/login", "name": "Login" });
    for change in [moved("http://site.test/login"), renamed] {
        let answer = scene.client().patch(&to_site, &change).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        assert!(scene.stored(site).await.0.expectations.post.is_some());
    }
    // A host of somebody who wants to read the body, and who has published the team's record there.
    let before = scene.stored(site).await.0;
    let other = Site { url: "http://other.test".parse().expect("a URL"), ..before };
    names.publish(&OwnershipRecord::of(&other).expect("a record"));
    let answer = scene.client().patch(&to_site, &moved("http://other.test")).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(scene.stored(site).await.0.expectations.request_method(), RequestMethod::Get);
    scene.service.engines = engines(&[("other.test", &scene.target)]);
    let before = scene.target.requests();
    finished(scene.service.check(&now(&scene, site)).await);
    assert_eq!((scene.target.method().as_str(), &*scene.target.sent()), ("GET", ""));
    assert_eq!(scene.target.requests(), before + 1);
    // Without a body, nothing can be posted there. Nor is it still known at the old host.
    let bare = json!({ "method": "POST", "expectations": [] });
    names.publish(&proven);
    for url in ["http://other.test", "http://site.test"] {
        scene.client().patch(&to_site, &moved(url)).await;
        let answer = scene.client().put(&format!("{to_site}/expectations"), &bare).await;
        assert_eq!(
            answer.body["errors"]["post"][0],
            "The post field is required with the method POST."
        );
    }
}

#[tokio::test]
async fn a_target_that_is_down_is_down_whatever_its_record_says() {
    let (scene, names, site) = posting().await;
    names.withdraw(&record(&scene, site).await);
    let Scene { target, service, owner } = scene;
    let queries = names.queries();
    target.stop().await;
    let message = scheduled(owner.team, site, Tool::Status, service.test.now());
    let check = finished(service.check(&message).await);
    assert_eq!(check.status, CheckStatus::Completed);
    assert_eq!(check.result.expect("a result")["up"], false);
    assert_eq!(names.queries(), queries, "the record was not looked up");
}
