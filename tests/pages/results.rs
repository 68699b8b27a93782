//! Results of checks of hostile sites, recorded without an engine.

use serde_json::{Value, json};
use vedette_domain::checks::check::{Finish, ToolResult};
use vedette_domain::checks::tool::{RunReason, Tool};
use vedette_domain::id::{CheckId, SiteId};
use vedette_runs::Recorded;
use vedette_testkit::status_result;
use vedette_tests::Service;

/// A text that reverses the direction of what follows, and contains markup.
pub(crate) const HOSTILE: &str = "<b onclick=x>\u{200f}";
/// The same, as a page shows it.
pub(crate) const HARMLESS: &str = "&lt;b onclick=x&gt;\u{200f}";

/// Ends an automatic check now.
pub(crate) async fn end(service: &Service, site: SiteId, finish: Finish) -> CheckId {
    let tool = match &finish {
        Finish::Completed(ToolResult::Status(_)) | Finish::Failed(_) | Finish::Skipped => {
            Tool::Status
        }
        Finish::Completed(ToolResult::Ssl(_)) => Tool::Ssl,
        Finish::Completed(ToolResult::Dns(_)) => Tool::Dns,
        Finish::Completed(ToolResult::BrokenLinks(_)) => Tool::BrokenLinks,
        Finish::Completed(ToolResult::Performance(_)) => Tool::Performance,
        Finish::Completed(ToolResult::Heartbeat(_)) => Tool::Heartbeat,
    };
    let check = CheckId::automatic(site, tool, RunReason::Scheduled, service.test.now());
    let recorded = service.test.end_run(site, check, finish).await;
    assert!(matches!(recorded, Recorded::Saved { .. }), "{recorded:?}");
    check
}

pub(crate) fn status(code: u16, ms: f64) -> Finish {
    Finish::Completed(ToolResult::Status(status_result("https://a.test/", code, ms)))
}

pub(crate) fn certificate() -> Finish {
    let end = "2027-01-01 00:00:00";
    let key = json!({ "algorithm": "EC", "bits": 256, "curve": "P-256" });
    let link = |subject: &str| {
        json!({
            "subject": subject, "issuer": HOSTILE, "serial_number": "01", "valid_from": end,
            "valid_to": end, "key": key, "signature_algorithm": "ecdsa", "fingerprint": "02",
        })
    };
    // So many links that do not compress well that the result is stored in a separate item.
    let noise =
        |number: u128| format!("{:x}.test", number.pow(7).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let names: Vec<String> = [HOSTILE.to_owned()].into_iter().chain((2..300).map(noise)).collect();
    let result = json!({
        "domain": "a.test", "ip": "192.0.2.1", "is_valid": true, "failure_type": null,
        "failure_message": null, "issuer": HOSTILE, "issued_to": "a.test", "valid_from": end,
        "valid_to": end, "days_left": 41, "subject": "CN=a.test", "serial_number": "01",
        "fingerprint": "02", "verified": true,
        "info": {
            "protocol": "TLSv1.3", "cipher_suite": null, "alpn": null, "version": 3,
            "serial_number": "01", "subject": [], "issuer": [], "valid_from": end, "valid_to": end,
            "key": key, "signature_algorithm": "ecdsa", "fingerprints": { "sha1": "", "sha256": "02" },
            "subject_alternative_names": { "dns": names, "ip": [], "other": [], "omitted": 3 },
            "extensions": [], "extensions_omitted": 0,
            "chain": [link("CN=a.test"), link("CN=Root of all")], "chain_omitted": 0,
        },
    });
    Finish::Completed(ToolResult::Ssl(Box::new(serde_json::from_value(result).expect("a result"))))
}

pub(crate) fn dns(addresses: &[&str]) -> Finish {
    let record = |kind: &str, field: &str, value: &str| json!({ "host": "a.test", "ttl": 300, "type": kind, field: value });
    let addresses: Vec<Value> = addresses.iter().map(|ip| record("A", "ip", ip)).collect();
    let result = json!({
        "host": "a.test", "lookup_failure": null, "unanswered_types": ["MX"],
        "records": {
            "A": addresses, "AAAA": [], "CNAME": [], "MX": [], "NS": [],
            "TXT": [record("TXT", "txt", HOSTILE)],
        },
        "resolver_observations": {}, "uses_cloudflare": false, "ip_enrichment": {},
        "hosting_provider": null,
        "reputation": {
            "status": "unknown", "flags": [], "risk_score": null, "risk_types": null,
            "suspected_malware_family": null, "ip_reputation": null,
        },
        "registration": {
            "domain": "a.test", "registrar": HOSTILE, "registered_at": null,
            "expires_at": "2027-11-01T00:00:00Z",
        },
        "registration_error": null,
    });
    Finish::Completed(ToolResult::Dns(Box::new(serde_json::from_value(result).expect("a result"))))
}

pub(crate) fn links() -> Finish {
    let link = |url: &str, status: u16| json!({ "url": url, "source": format!("https://a.test/{HOSTILE}"), "status": status });
    let mut urls = vec![link("javascript:alert(1)", 0), link("https://gone.test/\"x", 410)];
    urls.extend((0..30).map(|number| link(&format!("https://a.test/{number}"), 404)));
    let result = json!({
        "found": urls.len(), "crawled": 7, "urls": urls,
        "crawl": {
            "finish_reason": "page_limit",
            "limits": { "pages": 7, "links": 9, "depth": 3, "links_per_domain": 5, "seconds": 60 },
            "duration_ms": 7, "js_rendered": false, "pages": 7, "links": 99,
            "skipped": { "robots": 0, "over_limit": 0, "rate_limited": 0, "forbidden": 0, "unchecked": 0 },
            "traps": 0, "robots_txt": false, "sitemap_urls": 0, "truncated": false,
        },
    });
    Finish::Completed(ToolResult::BrokenLinks(serde_json::from_value(result).expect("a result")))
}

pub(crate) fn performance(score: u32) -> Finish {
    let none = json!({ "value": null, "display_value": null, "score": null });
    let metric =
        |value: f64, text: &str| json!({ "value": value, "display_value": text, "score": 0.5 });
    let opportunities: Vec<Value> = (0..12)
        .map(|number| {
            json!({
                "id": "x", "title": format!("{HOSTILE}{number}"), "score": 0.1,
                "savings": { "ms": 150.4, "bytes": null, "text": "Est savings of 21 KiB" },
            })
        })
        .collect();
    let result = json!({
        "response_time": 41.25, "url": "https://a.test/",
        "speed_metrics": {
            "performance_score": score,
            "core_web_vitals": {
                "lcp": metric(2500.0, HOSTILE), "fcp": none, "cls": none, "tbt": none, "ttfb": none,
                "speed_index": metric(1500.0, "1.5 s"), "interactive": none,
            },
            "real_user_metrics": null, "origin_metrics": null, "opportunities": opportunities,
        },
    });
    let result = serde_json::from_value(result).expect("a result");
    Finish::Completed(ToolResult::Performance(Box::new(result)))
}
