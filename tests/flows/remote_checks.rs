//! Other locations confirm an outage before anybody is notified.

use serde_json::{Value, json};
use vedette_domain::checks::tool::Tool;
use vedette_domain::issues::Fingerprint;
use vedette_domain::locations::{Answer, NoVote, RemoteStatus};
use vedette_testkit::{Fault, Spent, TestLocations};

use crate::census::assert_balanced;
use crate::scene::Scene;

async fn start() -> (Scene, TestLocations) {
    let mut scene = Scene::start().await;
    let locations = TestLocations::default();
    scene.service.test.app.remote_checks = locations.port();
    (scene, locations)
}

impl Scene {
    /// The fingerprints of the issues with a status.
    async fn fingerprints(&self, status: &str) -> Vec<Value> {
        self.issues(status).await.iter().map(|issue| issue["fingerprint"].clone()).collect()
    }
}

#[tokio::test]
async fn an_agreeing_location_opens_the_issue_and_is_in_its_context() {
    let (scene, locations) = start().await;
    locations.sees("eu-west-1", Ok(503));
    locations.sees("us-east-1", Err(NoVote::NoAnswer));
    let site = scene.watch().await;
    scene.target.answer(503);
    scene.service.advance_minutes(5);
    scene.service.run_scheduled(site, Tool::Status).await;
    assert!(locations.take_questions().is_empty(), "one failure of two opens nothing");
    scene.run_timer(site).await;
    let questions = locations.take_questions();
    assert_eq!(questions.len(), 2, "each is asked once");
    let sent = serde_json::to_value(&questions[0]).expect("json");
    assert_eq!(sent, json!({ "version": 1, "url": "http://site.test/", "deadline_ms": 9_000 }));
    let issues = scene.issues("active").await;
    assert_eq!(issues.len(), 1, "{issues:?}");
    assert_eq!(issues[0]["context"]["confirmation"], "confirmed");
    assert_eq!(
        issues[0]["context"]["witnesses"],
        json!([
            { "location": "eu-west-1", "vote": "down", "code": 503, "error": null, "response_time": 41 },
            { "location": "us-east-1", "vote": "silent", "reason": "no_answer" },
        ])
    );
    assert_balanced(&scene.service).await;
}

#[tokio::test]
async fn other_locations_ask_with_the_method_of_the_site() {
    let (scene, locations) = start().await;
    locations.sees("eu-west-1", Ok(503));
    locations.sees("us-east-1", Ok(503));
    let site = scene.watch().await;
    let head = json!({ "method": "HEAD", "expectations": [] });
    let path = format!("/sites/{site}/expectations");
    assert_eq!(scene.client().put(&path, &head).await.status, 200);
    scene.service.consume().await;
    scene.turn(site, 503).await;
    assert_eq!(scene.target.method(), "HEAD");
    let questions = locations.take_questions();
    let sent = serde_json::to_value(&questions[0]).expect("json");
    let expected = json!({
        "version": 1, "url": "http://site.test/", "method": "HEAD", "deadline_ms": 9_000,
    });
    assert_eq!(sent, expected);
    scene.target.answer(200);
    for method in ["GET", "HEAD"] {
        let question = match method {
            // What an earlier version sends.
            "GET" => serde_json::from_value(json!({
                "version": 1, "url": "http://site.test/", "deadline_ms": 9_000,
            }))
            .expect("a question"),
            _ => questions[0].clone(),
        };
        let answer = scene.service.engines.look_for(&question).await;
        assert!(matches!(answer, Answer::Checked(RemoteStatus { code: 200, .. })), "{answer:?}");
        assert_eq!(scene.target.method(), method);
    }
}

#[tokio::test]
async fn an_outage_seen_only_from_home_is_a_warning_until_another_location_agrees() {
    let (scene, locations) = start().await;
    locations.sees("eu-west-1", Ok(200));
    let site = scene.watch().await;
    scene.target.answer(503);
    scene.service.advance_minutes(5);
    scene.service.run_scheduled(site, Tool::Status).await;
    for _ in 0..2 {
        scene.run_timer(site).await;
        assert_eq!(scene.fingerprints("active").await, [""; 0]);
    }
    scene.run_timer(site).await;
    let issues = scene.issues("active").await;
    let warning = &issues[0];
    assert_eq!(
        (&warning["fingerprint"], &warning["severity"], &warning["summary"]),
        (
            &json!("status:partial"),
            &json!("warning"),
            &json!("site.test fails from home, answers from eu-west-1")
        )
    );
    assert_eq!(warning["context"]["confirmation"], "denied");
    let trouble = scene.service.test.app.store.trouble(scene.owner.team).await.expect("read");
    assert!(trouble.failing.is_empty(), "an issue says so");

    locations.sees("eu-west-1", Ok(0));
    scene.run_timer(site).await;
    assert_eq!(scene.fingerprints("active").await, ["status:down"]);
    assert_eq!(scene.fingerprints("resolved").await, ["status:partial"]);
    assert_balanced(&scene.service).await;

    // The site is back.
    scene.target.answer(200);
    scene.run_timer(site).await;
    assert_eq!(scene.fingerprints("active").await, [""; 0]);
}

#[tokio::test]
async fn no_vote_holds_an_issue_once() {
    let (scene, locations) = start().await;
    locations.sees("eu-west-1", Err(NoVote::Busy));
    let site = scene.watch().await;
    scene.target.answer(503);
    scene.service.advance_minutes(5);
    scene.service.run_scheduled(site, Tool::Status).await;
    scene.run_timer(site).await;
    assert_eq!(scene.fingerprints("active").await, [""; 0]);
    scene.run_timer(site).await;
    let issues = scene.issues("active").await;
    assert_eq!(issues[0]["context"]["confirmation"], "unconfirmed");
    assert_eq!(issues[0]["context"]["failures"], 3);
}

#[tokio::test]
async fn a_conflicting_write_does_not_repeat_the_question() {
    let (scene, locations) = start().await;
    locations.sees("eu-west-1", Ok(503));
    let site = scene.watch().await;
    scene.target.answer(503);
    scene.service.advance_minutes(5);
    scene.service.run_scheduled(site, Tool::Status).await;
    scene.service.test.faults().on_write(1, Fault::Conflict);
    scene.run_timer(site).await;
    assert_eq!(locations.take_questions().len(), 1);
    assert_eq!(scene.fingerprints("active").await, ["status:down"]);
}

#[tokio::test]
async fn a_check_that_finds_nothing_wrong_costs_what_it_cost() {
    let spent = async |scene: &Scene| {
        let site = scene.watch().await;
        let mut all = Vec::new();
        for code in [200, 200, 503, 200] {
            scene.target.answer(code);
            scene.service.advance_minutes(5);
            let meter = scene.service.test.meter();
            meter.start();
            scene.service.run_scheduled(site, Tool::Status).await;
            all.push(meter.stop());
            scene.service.waiting();
        }
        all
    };
    let (with, locations) = start().await;
    locations.sees("eu-west-1", Ok(503));
    let without = Scene::start().await;
    let costs: Vec<Spent> = spent(&with).await;
    assert_eq!(costs, spent(&without).await);
    assert!(locations.take_questions().is_empty());
}

#[tokio::test]
async fn an_outage_that_is_confirmed_costs_what_any_other_does() {
    let opening = async |scene: &Scene| {
        let site = scene.watch().await;
        scene.target.answer(503);
        scene.service.advance_minutes(5);
        scene.service.run_scheduled(site, Tool::Status).await;
        let meter = scene.service.test.meter();
        meter.start();
        scene.run_timer(site).await;
        let spent = meter.stop();
        let issue = scene.service.test.app.store.issue(site.partition(), Fingerprint::StatusDown);
        assert!(issue.await.expect("read").is_some());
        spent
    };
    let (with, locations) = start().await;
    locations.sees("eu-west-1", Ok(503));
    let (confirmed, alone) = (opening(&with).await, opening(&Scene::start().await).await);
    assert_eq!((confirmed.reads, confirmed.round_trips), (alone.reads, alone.round_trips));
    assert!(confirmed.writes <= alone.writes + 4.0, "{confirmed:?} {alone:?}");
}
