//! What a site's status checks expect, across time.

use serde_json::{Value, json};
use vedette_checker::Handled;
use vedette_domain::checks::check::Check;
use vedette_domain::checks::tool::{RunReason, Tool};
use vedette_domain::id::SiteId;
use vedette_domain::issues::Fingerprint;

use crate::scene::Scene;

/// Two failures in a row open an issue, and one success resolves it. Without retries, so that only scheduled checks run.
async fn watch(expected: &Value) -> (Scene, SiteId) {
    let scene = Scene::start().await;
    scene.target.say(r#"{"status":"ok"}"#);
    let site = scene.watch().await;
    expect(&scene, site, expected).await;
    (scene, site)
}

async fn expect(scene: &Scene, site: SiteId, expected: &Value) {
    let path = format!("/sites/{site}/expectations");
    let answer = scene.client().put(&path, expected).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    scene.service.consume().await;
}

/// The next scheduled check, a cadence later.
async fn next_check(scene: &Scene, site: SiteId) -> Check {
    scene.service.advance_minutes(5);
    match scene.service.run_scheduled(site, Tool::Status).await {
        Handled::Finished(finished) => finished.check,
        other => panic!("{other}"),
    }
}

/// Fingerprint, severity and summary of the issues of a status.
async fn issues(scene: &Scene, status: &str) -> Vec<[String; 3]> {
    let issues = scene.issues(status).await;
    let text = |issue: &Value, name: &str| issue[name].as_str().unwrap_or_default().to_owned();
    issues
        .iter()
        .map(|of| ["fingerprint", "severity", "summary"].map(|name| text(of, name)))
        .collect()
}

fn healthy() -> Value {
    json!({ "expectations": [{ "kind": "json_equals", "pointer": "/status", "value": "ok" }] })
}

const DEGRADED: &str = "site.test is not as expected: expected \"ok\" at /status, got \"degraded\"";

#[tokio::test]
async fn an_unmet_expectation_opens_an_issue_and_a_met_one_resolves_it() {
    let (scene, site) = watch(&healthy()).await;
    let met = next_check(&scene, site).await;
    assert!(met.unmet.is_empty());
    let state = scene.state(site).await;
    assert!(state.automatic.expect("a check").check.block.is_some(), "a met expectation is packed");

    scene.target.say(r#"{"status":"degraded"}"#);
    let unmet = next_check(&scene, site).await;
    assert_eq!(issues(&scene, "active").await, [[""; 3]; 0]);
    // The site answers, so nothing is retried.
    assert_eq!(scene.state(site).await.timer, None);
    let read = scene.client().get(&format!("/checks/{}", unmet.id)).await;
    let expected = json!([{
        "fingerprint": "status:expectation",
        "message": "expected \"ok\" at /status, got \"degraded\"",
    }]);
    assert_eq!(read.body["data"]["unmet"], expected);
    assert_eq!(read.body["data"]["result"]["up"], true);

    next_check(&scene, site).await;
    let open = [["status:expectation", "critical", DEGRADED].map(str::to_owned)];
    assert_eq!(issues(&scene, "active").await, open);
    assert_eq!(scene.state(site).await.timer, None, "no follow-up");
    next_check(&scene, site).await;

    scene.target.say(r#"{"status":"ok"}"#);
    next_check(&scene, site).await;
    assert_eq!(issues(&scene, "active").await, [[""; 3]; 0]);
    assert_eq!(issues(&scene, "resolved").await, open);

    let path = format!("/sites/{site}/reports/uptime?days=1");
    let report = scene.client().get(&path).await.body;
    assert_eq!(report["data"]["total_uptime_percentage"], 100.0);
    // Two of five.
    assert_eq!(report["data"]["total_met_percentage"], 40.0);
    assert_eq!(report["data"]["days"][0]["met_percentage"], 40.0);
}

#[tokio::test]
async fn a_site_that_is_down_is_only_down() {
    let (scene, site) = watch(&healthy()).await;
    scene.target.say(r#"{"status":"degraded"}"#);
    next_check(&scene, site).await;
    next_check(&scene, site).await;
    scene.target.answer(503);
    let down = next_check(&scene, site).await;
    assert!(down.unmet.is_empty(), "nothing is judged");
    scene.run_timer(site).await;
    let active: Vec<_> =
        issues(&scene, "active").await.into_iter().map(|[what, ..]| what).collect();
    assert_eq!(active, ["status:down", "status:expectation"], "the older issue stays");

    scene.target.answer(200);
    scene.target.say(r#"{"status":"ok"}"#);
    while !issues(&scene, "active").await.is_empty() {
        scene.run_timer(site).await;
    }
    assert_eq!(issues(&scene, "resolved").await.len(), 2);
}

#[tokio::test]
async fn a_site_that_fails_its_first_check_opens_only_status_down() {
    let (scene, site) = watch(&healthy()).await;
    scene.target.say("a page that says sorry");
    scene.target.answer(503);
    next_check(&scene, site).await;
    for _ in 0..4 {
        scene.run_timer(site).await;
    }
    let active: Vec<_> =
        issues(&scene, "active").await.into_iter().map(|[what, ..]| what).collect();
    assert_eq!(active, ["status:down"]);
}

#[tokio::test]
async fn an_expectation_that_is_given_up_resolves_its_issue_and_leaves_no_tracker() {
    let (scene, site) = watch(&healthy()).await;
    let nothing = json!({ "expectations": [] });
    next_check(&scene, site).await;
    assert!(scene.state(site).await.trackers.contains_key(&Fingerprint::StatusExpectation));
    expect(&scene, site, &nothing).await;
    next_check(&scene, site).await;
    assert!(!scene.state(site).await.trackers.contains_key(&Fingerprint::StatusExpectation));

    expect(&scene, site, &healthy()).await;
    scene.target.say(r#"{"status":"degraded"}"#);
    next_check(&scene, site).await;
    next_check(&scene, site).await;
    assert_eq!(issues(&scene, "active").await.len(), 1);
    let first = scene.issues("active").await[0]["uuid"].clone();
    expect(&scene, site, &nothing).await;
    next_check(&scene, site).await;
    assert_eq!(issues(&scene, "active").await, [[""; 3]; 0]);

    // The same record opens again.
    expect(&scene, site, &healthy()).await;
    next_check(&scene, site).await;
    next_check(&scene, site).await;
    assert_eq!(scene.issues("active").await[0]["uuid"], first);
}

#[tokio::test]
async fn a_site_is_slow_with_the_severity_that_was_chosen() {
    let expected = json!({
        "method": "HEAD",
        "expectations": [{ "kind": "response_time", "max_ms": 1 }],
        "issues": { "slow": { "severity": "critical", "failures_to_open": 1 } },
    });
    let (scene, site) = watch(&expected).await;
    // A millisecond may be enough, but not always.
    while issues(&scene, "active").await.is_empty() {
        next_check(&scene, site).await;
    }
    let [[what, severity, summary]] =
        <[_; 1]>::try_from(issues(&scene, "active").await).expect("one issue");
    assert_eq!((what.as_str(), severity.as_str()), ("status:slow", "critical"));
    assert!(
        summary.starts_with("site.test is slow: expected an answer within 1 ms, got it after "),
        "{summary}"
    );
    let critical = scene.client().get("/issues?severity=critical").await;
    assert_eq!(critical.body["meta"]["total"], 1);
    let warning = scene.client().get("/issues?severity=warning").await;
    assert_eq!(warning.body["meta"]["total"], 0);
}

#[tokio::test]
async fn a_check_on_demand_says_what_is_unmet_and_opens_nothing() {
    let (scene, site) = watch(&healthy()).await;
    scene.target.say("not JSON");
    for _ in 0..3 {
        scene.service.advance_minutes(30);
        let order = scene.order(site).await;
        let handled = scene.service.check(&order).await;
        let Handled::Finished(finished) = handled else { panic!("{handled}") };
        assert_eq!(
            finished.check.unmet[0].message,
            "expected \"ok\" at /status, got a body that is not JSON"
        );
        assert_ne!(finished.check.id.trigger().reason(), Some(RunReason::Scheduled));
    }
    assert_eq!(issues(&scene, "active").await, [[""; 3]; 0]);
}
