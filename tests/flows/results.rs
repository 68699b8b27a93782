//! Results that are too long for a row.

use serde_json::{Value, json};
use vedette_domain::check::{BrokenLink, Finish, LinksResult, SkippedLinks, ToolResult};
use vedette_domain::id::{CheckId, SiteId};
use vedette_domain::tool::{RunReason, Tool};
use vedette_runtime::settle::Settled;

use crate::scene::Scene;

/// A crawl with so many broken links, no two of which deflate well together.
fn crawl(found: u32) -> Finish {
    let link = |number: u32| BrokenLink {
        url: format!("http://site.test/{:x}", u128::from(number).pow(7).wrapping_mul(0x9e37_79b9)),
        source: "http://site.test".to_owned(),
        status: 404,
    };
    let crawl = json!({
        "finish_reason": "completed",
        "limits": {
            "pages": 10,
            "links": 10_000,
            "depth": 3,
            "links_per_domain": 500,
            "seconds": 60,
        },
        "duration_ms": 7,
        "js_rendered": false,
        "pages": 1,
        "links": found,
        "skipped": SkippedLinks::default(),
        "traps": 0,
        "robots_txt": false,
        "sitemap_urls": 0,
        "truncated": false,
    });
    Finish::Completed(ToolResult::BrokenLinks(LinksResult {
        found,
        crawled: 1,
        urls: (0..found).map(link).collect(),
        crawl: serde_json::from_value(crawl).expect("a crawl"),
    }))
}

async fn start() -> (Scene, SiteId) {
    let mut scene = Scene::start().await;
    scene.service.test.app.service.tools = Tool::ALL.to_vec();
    let site = scene.watch().await;
    (scene, site)
}

async fn bodies(scene: &Scene) -> usize {
    let dump = scene.service.test.table.dump().await;
    dump.keys().filter(|(_, sk)| sk.starts_with("B#")).count()
}

fn urls(check: &Value) -> usize {
    check["result"]["urls"].as_array().expect("urls").len()
}

#[tokio::test]
async fn a_check_has_its_whole_result_and_lists_have_the_short_form() {
    let (scene, site) = start().await;
    let now = scene.service.test.now();
    for (minutes, found, apart) in [(1, 19, false), (2, 50, false), (3, 500, true)] {
        scene.service.advance_minutes(minutes);
        let now = scene.service.test.now();
        let check = CheckId::automatic(site, Tool::BrokenLinks, RunReason::Scheduled, now);
        let before = bodies(&scene).await;
        let settled = scene.service.end_run(site, check, crawl(found)).await;
        assert!(matches!(settled, Settled::Saved { .. }), "{settled:?}");
        assert_eq!(bodies(&scene).await - before, usize::from(apart), "{found}");

        let whole = scene.client().get(&format!("/checks/{check}")).await;
        assert_eq!(urls(&whole.body["data"]), found as usize);
        let short = found.min(20) as usize;
        let path = format!("/sites/{site}/checks?type=broken-links&per_page=1");
        let listed = scene.client().get(&path).await;
        assert_eq!(urls(&listed.body["data"][0]), short);
        assert_eq!(listed.body["data"][0]["result"]["found"], found);
        let shown = scene.client().get(&format!("/sites/{site}")).await;
        assert_eq!(urls(&shown.body["data"]["latest_checks"]["broken-links"]), short);
        let path = format!("/teams/{}/sites", scene.owner.team);
        let sites = scene.client().get(&path).await;
        assert_eq!(urls(&sites.body["data"][0]["latest_checks"]["broken-links"]), short);
    }
    assert!(now < scene.service.test.now());
    let issues = scene.client().get("/issues?tool=broken-links").await;
    assert_eq!(urls(&issues.body["data"][0]["check"]), 20, "{issues:?}");
}

#[tokio::test]
async fn a_deleted_check_leaves_nothing_of_its_result() {
    let (scene, site) = start().await;
    let path = format!("/sites/{site}/checks");
    let off = json!({
        "url": "http://site.test",
        "monitoring_settings": { "tools": { "status": { "enabled": false } } },
    });
    assert_eq!(scene.client().patch(&format!("/sites/{site}"), &off).await.status, 200);
    let ordered = scene.client().post(&path, &json!({ "tools": ["broken-links"] })).await;
    assert_eq!(ordered.status, 202, "{ordered:?}");
    let uuid = ordered.body["data"][0]["uuid"].as_str().expect("a uuid");
    let check = CheckId::parse(uuid).expect("an id");
    let settled = scene.service.end_run(site, check, crawl(500)).await;
    assert!(matches!(settled, Settled::Saved { .. }), "{settled:?}");
    assert_eq!(bodies(&scene).await, 1);
    assert_eq!(scene.client().delete(&format!("/checks/{check}")).await.status, 204);
    assert_eq!(bodies(&scene).await, 0);
    let dump = scene.service.test.table.dump().await;
    assert!(!dump.keys().any(|(_, sk)| sk.starts_with("H#broken-links")));
}
