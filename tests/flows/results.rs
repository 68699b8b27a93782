//! Results that are too long for a row.

use serde_json::{Value, json};
use vedette_domain::checks::check::{
    BrokenLink, DnsResult, Finish, LinksResult, PerformanceResult, SkippedLinks, SslResult,
    StatusResult, ToolResult,
};
use vedette_domain::checks::tool::{RunReason, Tool};
use vedette_domain::id::{CheckId, SiteId};
use vedette_runs::Recorded;

use crate::budget::largest;
use crate::scene::Scene;

/// A crawl with this many broken links, no two of which compress well together.
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
        let recorded = scene.service.test.end_run(site, check, crawl(found)).await;
        assert!(matches!(recorded, Recorded::Saved { .. }), "{recorded:?}");
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
    let recorded = scene.service.test.end_run(site, check, crawl(500)).await;
    assert!(matches!(recorded, Recorded::Saved { .. }), "{recorded:?}");
    assert_eq!(bodies(&scene).await, 1);
    assert_eq!(scene.client().delete(&format!("/checks/{check}")).await.status, 204);
    assert_eq!(bodies(&scene).await, 0);
    let dump = scene.service.test.table.dump().await;
    assert!(!dump.keys().any(|(_, sk)| sk.starts_with("H#broken-links")));
}

/// Text for URLs that hardly compresses.
fn noise(seed: u32, length: usize) -> String {
    const URL: &[u8] =
        b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/?@!$&()*+,;=:%";
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        char::from(URL[(state >> 16) as usize % URL.len()])
    };
    std::iter::repeat_with(&mut next).take(length).collect()
}

fn typed<T: serde::de::DeserializeOwned>(result: Value) -> T {
    serde_json::from_value(result).expect("a result")
}

/// The longest result that a malicious target can cause for this tool.
fn fattest(tool: Tool, url: &str, page: &str) -> ToolResult {
    let place = |seed, length| format!("http://site.test/{}", noise(seed, length));
    match tool {
        Tool::Status => ToolResult::Status(typed::<StatusResult>(json!({
            "up": true,
            "code": 200,
            "url": url,
            "effective_url": place(9, 6_000),
            "response_time": 29_999.123_456,
            "redirected": true,
            "redirect_count": 10,
            "redirects": (0..10).map(|seed| place(seed, 6_000)).collect::<Vec<_>>(),
        }))),
        Tool::Ssl => ToolResult::Ssl(Box::new(typed::<SslResult>(json!({
            "domain": "site.test",
            "ip": "2001:db8:1111:2222:3333:4444:5555:6666",
            "is_valid": false,
            "failure_type": "hostname_mismatch",
            "failure_message": noise(1, 2_000),
            "issuer": noise(2, 9_000),
            "issued_to": noise(3, 9_000),
            "valid_from": "2026-01-01 00:00:00",
            "valid_to": "2027-01-01 00:00:00",
            "days_left": 42,
            "subject": noise(4, 20_000),
            "serial_number": "f".repeat(40),
            "fingerprint": "f".repeat(64),
            "verified": false,
            "info": null,
        })))),
        Tool::Dns => {
            let text = |seed| {
                let txt = noise(seed, 1_000);
                json!({ "host": "site.test", "ttl": 300, "type": "TXT", "txt": txt })
            };
            let network = |n: u8| {
                let name = noise(n.into(), 500);
                let network = json!({
                    "asn": 64_496, "as_name": name, "prefix": "192.0.2.0/24",
                    "registry_country": "DE", "registry": "ripencc", "allocated": "2014-03-28",
                });
                (format!("192.0.2.{n}"), network)
            };
            ToolResult::Dns(Box::new(typed::<DnsResult>(json!({
                "host": "site.test",
                "lookup_failure": null,
                "unanswered_types": [],
                "records": {
                    "A": [], "AAAA": [], "CNAME": [], "MX": [], "NS": [],
                    "TXT": (0..60).map(text).collect::<Vec<_>>(),
                },
                "resolver_observations": {},
                "uses_cloudflare": false,
                "ip_enrichment": (0..9).map(network).collect::<serde_json::Map<_, _>>(),
                "hosting_provider": { "asn": 64_496, "name": noise(7, 500) },
                "reputation": {
                    "status": "clear", "flags": [], "risk_score": null, "risk_types": null,
                    "suspected_malware_family": null, "ip_reputation": null,
                },
                "registration": null,
                "registration_error": noise(8, 2_000),
            }))))
        }
        Tool::BrokenLinks => {
            let Finish::Completed(ToolResult::BrokenLinks(mut result)) = crawl(140) else {
                panic!("a crawl");
            };
            for (seed, link) in (0..).zip(&mut result.urls) {
                (link.url, link.source) = (place(seed, 2_000), place(seed + 500, 20));
            }
            ToolResult::BrokenLinks(result)
        }
        Tool::Heartbeat => ToolResult::Heartbeat(Box::new(typed(json!({
            "outcome": "failure",
            "exit_status": 255,
            "duration": 1_234.5,
            "output": noise(1, 10_000),
        })))),
        Tool::Performance => {
            let metric = json!({ "value": 1.0, "display_value": "🦀".repeat(200), "score": 0.5 });
            let bins = json!([{ "min": 0.0, "max": 2_500.0, "proportion": 0.743_125 }]);
            let of_users =
                json!({ "percentile": 2_500.0, "category": "AVERAGE", "distributions": bins });
            let metrics: serde_json::Map<_, _> =
                (0..30).map(|seed| (noise(seed, 100), of_users.clone())).collect();
            let field = json!({
                "id": noise(1, 500), "overall_category": "FAST", "metrics": metrics,
                "origin_fallback": false,
            });
            ToolResult::Performance(Box::new(typed::<PerformanceResult>(json!({
                "response_time": 29_999.123_456,
                "url": page,
                "speed_metrics": {
                    "performance_score": 100,
                    "core_web_vitals": {
                        "lcp": metric, "fcp": metric, "cls": metric, "tbt": metric,
                        "ttfb": metric, "speed_index": metric, "interactive": metric,
                    },
                    "real_user_metrics": field,
                    "origin_metrics": field,
                    "opportunities": [],
                },
            }))))
        }
    }
}

/// Adds a site, and completes a run of each of its tools with the longest result.
async fn fatten(scene: &Scene, body: &Value) -> (SiteId, Vec<CheckId>) {
    let created = scene.client().post(&format!("/teams/{}/sites", scene.owner.team), body).await;
    assert_eq!(created.status, 201, "{}", created.shown());
    let site = SiteId::parse(&created.data("uuid")).expect("an id");
    let page = &body["monitoring_settings"]["tools"]["performance"]["settings"]["url"];
    let url = body["url"].as_str().expect("a URL");
    let page = page.as_str().unwrap_or(url);
    let now = scene.service.test.now();
    let mut checks = Vec::new();
    for tool in Tool::ALL {
        let check = CheckId::automatic(site, tool, RunReason::Scheduled, now);
        let finish = Finish::Completed(fattest(tool, url, page));
        let recorded = scene.service.test.end_run(site, check, finish).await;
        assert!(matches!(recorded, Recorded::Saved { .. }), "{recorded:?}");
        checks.push(check);
    }
    (site, checks)
}

#[tokio::test]
async fn a_row_stays_small_whatever_the_target_sends_and_the_check_is_whole() {
    let (scene, _) = start().await;
    let (site, checks) = fatten(&scene, &largest()).await;
    let sizes = scene.service.test.table.sizes().await;
    let rows = sizes.iter().filter(|((_, sk), _)| sk.starts_with("H#"));
    let fat: Vec<_> = rows.filter(|(_, size)| **size > 4_096).collect();
    assert!(fat.is_empty(), "{fat:?}");
    let listed = scene.client().get(&format!("/sites/{site}/checks")).await;
    for check in listed.body["data"].as_array().expect("checks") {
        let length = check.to_string().len();
        assert!(length <= 10_240, "{length} bytes of {}", check["type"]);
        let result = &check["result"];
        assert!(result["found"].is_null() || result["found"] == 140, "exact");
        assert!(result["redirect_count"].is_null() || result["redirect_count"] == 10, "exact");
    }
    let body = largest();
    let url = body["url"].as_str().expect("a URL");
    let page = &body["monitoring_settings"]["tools"]["performance"]["settings"]["url"];
    for (tool, check) in Tool::ALL.into_iter().zip(checks) {
        let whole = scene.client().get(&format!("/checks/{check}")).await;
        let expected = fattest(tool, url, page.as_str().expect("a page"));
        assert_eq!(whole.body["data"]["result"], json!(expected), "{tool}");
    }
}

#[tokio::test]
async fn a_site_takes_at_most_fifty_kilobytes_of_a_list() {
    let (scene, _) = start().await;
    let team = scene.owner.team;
    let sites = format!("/teams/{team}/sites");
    let tools = &largest()["monitoring_settings"]["tools"];
    let inherited = json!({ "monitoring_settings": {
        "request_header": { "name": "h".repeat(255), "value": "v".repeat(2_000) },
        "tools": { "broken-links": {
            "enabled": true,
            "cadence_minutes": 10_080,
            "settings": tools["broken-links"]["settings"],
        } },
    } });
    let saved = scene.client().patch(&format!("/teams/{team}/monitoring"), &inherited).await;
    assert_eq!(saved.status, 200, "{}", saved.shown());
    // As much as a team's settings allow, together with notes of the greatest length.
    let noted = json!({ "url": "http://noted.test", "notes": "🦀".repeat(5_000) });
    for body in [largest(), noted] {
        let (site, _) = fatten(&scene, &body).await;
        let listed = scene.client().get(&sites).await;
        let mut listed = listed.body["data"].as_array().expect("sites").iter();
        let listed = listed.find(|it| it["uuid"] == site.to_string()).expect("the site");
        for tool in Tool::ALL {
            assert!(listed["latest_checks"][tool.as_str()]["result"].is_object(), "{tool}");
        }
        assert_eq!(listed["notes"], body["notes"]);
        let length = listed.to_string().len();
        assert!(length <= 50 * 1_024, "{length} bytes");
        // The answer of a function contains the body as a JSON string.
        let answer = 100 * Value::from(listed.to_string()).to_string().len();
        assert!(answer < 6_000_000, "{answer} bytes");
    }
    // Texts that are too long together, although none of them is too long by itself.
    let long_notes = json!({ "notes": "🦀".repeat(1_750) });
    let long_records = json!({
        "notes": null,
        "dns_expected_records": { "TXT": ["t".repeat(4_000), "u".repeat(4_000)] },
    });
    for (longer, field) in [(long_notes, "notes"), (long_records, "dns_expected_records")] {
        let mut body = largest();
        body.as_object_mut().expect("a body").extend(longer.as_object().expect("fields").clone());
        let listed = scene.client().get(&format!("{sites}?search=uuuu")).await;
        let site = listed.body["data"][0]["uuid"].as_str().expect("a uuid").to_owned();
        for refused in [
            scene.client().post(&sites, &body).await,
            scene.client().patch(&format!("/sites/{site}"), &body).await,
        ] {
            assert_eq!(refused.status, 422, "{}", refused.shown());
            let errors = refused.body["errors"].as_object().expect("errors");
            assert_eq!(errors.keys().collect::<Vec<_>>(), [field]);
        }
    }
}
