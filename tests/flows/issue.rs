//! A site goes down and comes back. Read this story first: it follows one issue through the whole service, from the
//! request that creates the site to its checks in the history.

use serde_json::json;
use vedette_domain::checks::tool::Tool;

use crate::scene::{Scene, URL};

#[tokio::test]
async fn a_site_goes_down_its_issue_is_acknowledged_and_it_comes_back() {
    let scene = Scene::start().await;
    let service = &scene.service;

    // A team creates a site. Its first check does not wait for the schedule.
    let site = scene.create(URL, &json!({})).await;
    assert!(service.consume().await.is_empty(), "a site that is up needs no other check soon");
    assert_eq!(scene.target.requests(), 1);

    // The site goes down. A single failure may be a hiccup. It does not open an issue, but causes another check two
    // minutes later.
    scene.target.answer(503);
    service.advance_minutes(5);
    service.run_scheduled(site, Tool::Status).await;
    assert!(scene.issues("active").await.is_empty());
    let (retry, delay) = scene.next_check().await;
    assert!(delay.as_secs() > 110, "{delay:?}");

    // The retry confirms the failure: an issue opens, and the site is checked more often.
    service.advance_minutes(2);
    service.check(&retry).await;
    let open = scene.issues("active").await;
    assert_eq!(open.len(), 1, "{open:?}");
    assert_eq!(
        (&open[0]["fingerprint"], &open[0]["status"]),
        (&"status:down".into(), &"open".into())
    );
    let (follow_up, _) = scene.next_check().await;

    // A member acknowledges the issue.
    scene.acknowledge(&open[0]).await;
    assert_eq!(scene.issues("active").await[0]["status"], "acknowledged");

    // The site is up again. The follow-up notices this, and the issue is resolved.
    scene.target.answer(200);
    service.advance_minutes(5);
    service.check(&follow_up).await;
    assert!(scene.issues("active").await.is_empty());
    let resolved = scene.issues("resolved").await;
    assert_eq!(resolved.len(), 1, "{resolved:?}");
    let timeline = resolved[0]["timeline"].as_array().expect("entries");
    let keys: Vec<_> = timeline.iter().map(|entry| &entry["key"]).collect();
    assert_eq!(keys, ["opened", "acknowledged", "resolved"]);

    // The history shows all checks, the newest first.
    let history = scene.client().get(&format!("/sites/{site}/checks")).await;
    let checks = history.body["data"].as_array().expect("checks");
    let reasons: Vec<_> = checks.iter().map(|check| &check["run_reason"]).collect();
    assert_eq!(reasons, ["incident_follow_up", "confirmation_retry", "scheduled", "scheduled"]);
}
