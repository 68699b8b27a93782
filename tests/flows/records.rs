//! DNS records are learned, change, and are accepted.

use serde_json::{Value, json};
use vedette_domain::checks::check::{DnsResult, Finish, ToolResult};
use vedette_domain::checks::tool::{RunReason, Tool};
use vedette_domain::checks::tool_state::ToolState;
use vedette_domain::id::{CheckId, IssueId, SiteId};
use vedette_runs::Recorded;

use crate::scene::Scene;

/// A check that found these addresses and no other records.
fn found(addresses: &[&str]) -> Finish {
    let records: Vec<Value> = addresses
        .iter()
        .map(|ip| json!({ "host": "site.test", "ttl": 300, "type": "A", "ip": ip }))
        .collect();
    let result: DnsResult = serde_json::from_value(json!({
        "host": "site.test",
        "lookup_failure": null,
        "unanswered_types": [],
        "records": { "A": records, "AAAA": [], "CNAME": [], "MX": [], "NS": [], "TXT": [] },
        "resolver_observations": {},
        "uses_cloudflare": false,
        "ip_enrichment": {},
        "hosting_provider": null,
        "reputation": {
            "status": "unknown", "flags": [], "risk_score": null, "risk_types": null,
            "suspected_malware_family": null, "ip_reputation": null,
        },
        "registration": null,
        "registration_error": null,
    }))
    .expect("a result");
    Finish::Completed(ToolResult::Dns(Box::new(result)))
}

async fn start() -> (Scene, SiteId) {
    let scene = Scene::start().await;
    let created = scene
        .client()
        .post(&format!("/teams/{}/sites", scene.owner.team), &json!({ "url": "http://site.test" }))
        .await;
    let site = SiteId::parse(&created.data("uuid")).expect("an id");
    scene.service.waiting();
    (scene, site)
}

/// A check an hour later finds these addresses.
async fn next(scene: &Scene, site: SiteId, addresses: &[&str]) -> CheckId {
    scene.service.advance_minutes(60);
    let now = scene.service.test.now();
    let check = CheckId::automatic(site, Tool::Dns, RunReason::Scheduled, now);
    let recorded = scene.service.test.end_run(site, check, found(addresses)).await;
    assert!(matches!(recorded, Recorded::Saved { .. }), "{recorded:?}");
    check
}

async fn state(scene: &Scene, site: SiteId) -> ToolState {
    let store = &scene.service.test.app.store;
    store.site_tool(site.partition(), Tool::Dns).await.expect("read").expect("a site").1
}

/// The only active issue, if there is one.
async fn issue(scene: &Scene) -> Option<Value> {
    let listed = scene.client().get("/issues").await;
    let issues = listed.body["data"].as_array().expect("a list").clone();
    assert!(issues.len() < 2, "{issues:?}");
    issues.into_iter().next()
}

#[tokio::test]
async fn records_that_are_not_those_of_the_first_check_open_an_issue_until_they_return() {
    let (scene, site) = start().await;
    let first = next(&scene, site, &["192.0.2.1", "192.0.2.2"]).await;
    next(&scene, site, &["192.0.2.2", "192.0.2.1"]).await;
    next(&scene, site, &["192.0.2.3"]).await;
    assert_eq!(issue(&scene).await, None, "two failures open it");
    let judged_by = next(&scene, site, &["192.0.2.3"]).await;
    let open = issue(&scene).await.expect("an issue");
    assert_eq!(open["fingerprint"], "dns:records_changed");
    assert_eq!(open["severity"], "info");
    assert_eq!(open["check"]["uuid"], judged_by.to_string());
    assert_eq!(open["previous_check"]["uuid"], first.to_string(), "the one compared with");
    let changed = &open["context"]["measured"]["changed"]["A"];
    assert_eq!(changed["removed"], json!(["192.0.2.1", "192.0.2.2"]), "{open}");
    assert_eq!(changed["added"], json!(["192.0.2.3"]), "{open}");
    next(&scene, site, &["192.0.2.1", "192.0.2.2"]).await;
    assert_eq!(issue(&scene).await, None, "resolved");
}

#[tokio::test]
async fn resolved_by_hand_the_new_records_are_the_baseline() {
    let (scene, site) = start().await;
    next(&scene, site, &["192.0.2.1"]).await;
    next(&scene, site, &["192.0.2.9"]).await;
    let accepted = next(&scene, site, &["192.0.2.9"]).await;
    let open = issue(&scene).await.expect("an issue");
    let id = IssueId::parse(open["uuid"].as_str().expect("a uuid")).expect("an id");
    scene.service.resolve(id, scene.owner.user).await;

    assert_eq!(state(&scene, site).await.learnt.expect("learnt").check, accepted);
    next(&scene, site, &["192.0.2.9"]).await;
    next(&scene, site, &["192.0.2.9"]).await;
    assert_eq!(issue(&scene).await, None, "these are right now");
    next(&scene, site, &["192.0.2.1"]).await;
    next(&scene, site, &["192.0.2.1"]).await;
    assert!(issue(&scene).await.is_some(), "and the old ones are a change");
}

#[tokio::test]
async fn another_url_and_cleared_expected_records_forget_what_was_learnt() {
    let (scene, site) = start().await;
    for change in [
        json!({ "url": "http://site.test/", "dns_expected_records": {} }),
        json!({ "url": "http://site.test/", "dns_expected_records": null }),
        json!({ "url": "http://site.test/other" }),
    ] {
        let path = format!("/sites/{site}");
        next(&scene, site, &["192.0.2.1"]).await;
        assert!(state(&scene, site).await.learnt.is_some());
        let kept = json!({ "url": "http://site.test/", "name": "Other", "pinned": true });
        if change["url"] == "http://site.test/" {
            assert_eq!(scene.client().patch(&path, &kept).await.status, 200);
            assert!(state(&scene, site).await.learnt.is_some(), "nothing of it was said");
        }
        assert_eq!(scene.client().patch(&path, &change).await.status, 200);
        assert_eq!(state(&scene, site).await.learnt, None, "{change}");
        let again = scene.client().patch(&path, &change).await;
        assert_eq!(again.status, 200, "there is nothing to forget");
        next(&scene, site, &["192.0.2.7"]).await;
        next(&scene, site, &["192.0.2.7"]).await;
        assert_eq!(issue(&scene).await, None, "learnt again");
        assert_eq!(
            scene.client().patch(&path, &json!({ "url": "http://site.test/x" })).await.status,
            200
        );
        let back = json!({ "url": "http://site.test/" });
        assert_eq!(scene.client().patch(&path, &back).await.status, 200);
    }
}
