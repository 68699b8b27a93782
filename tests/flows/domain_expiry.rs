//! A domain whose registration is about to end, and is renewed.

use std::time::Duration;

use serde_json::{Value, json};
use vedette_testkit::advance_timers;
use vedette_tests::names::MonitoredName;

/// Longer than a registration is cached.
const FORGOTTEN: Duration = Duration::from_secs(13 * 3_600);

const SITE: &str = "https://www.example.com";

/// Checks the name some days later, when no answer of the registry is cached any more.
async fn check_after(name: &MonitoredName, days: i64) {
    name.service.advance_minutes(days * 24 * 60);
    loop {
        advance_timers(FORGOTTEN).await;
        // A busy machine may be too slow for the registry's timeout.
        if name.check().await.registration_error.is_none() {
            return;
        }
        name.service.advance_minutes(1);
    }
}

/// The only active issue, if there is one.
async fn issue(name: &MonitoredName) -> Option<Value> {
    let issues = name.issues().await;
    assert!(issues.len() < 2, "{issues:?}");
    issues.into_iter().next()
}

#[tokio::test]
async fn a_domain_is_reported_from_thirty_days_before_its_end_until_it_is_renewed() {
    let name = MonitoredName::new(SITE).await;
    name.names.register_until(Some("2026-12-31T12:00:00Z"));
    check_after(&name, 0).await;
    check_after(&name, 10).await;
    assert_eq!(issue(&name).await, None, "31 days are left");

    check_after(&name, 1).await;
    let open = issue(&name).await.expect("opened by the first check that sees it");
    let uuid = open["uuid"].as_str().expect("a uuid").to_owned();
    let shown = name.service.client(&name.owner).get(&format!("/issues/{uuid}")).await;
    let shown = &shown.body["data"];
    assert_eq!(
        (&shown["fingerprint"], &shown["severity"], &shown["type"]),
        (&json!("dns:domain_expiring"), &json!("warning"), &json!("dns"))
    );
    assert_eq!(shown["summary"], "the domain example.com expires on 2026-12-31");
    let measured = json!({
        "domain": "example.com",
        "registrar": null,
        "expires_at": "2026-12-31T12:00:00+00:00",
        "days_left": 30,
        "expiry_days": 30,
    });
    assert_eq!(shown["context"]["measured"], measured);
    assert!(name.service.waiting().is_empty(), "it is not confirmed, and not followed");

    name.names.register_until(None);
    check_after(&name, 20).await;
    assert_eq!(issue(&name).await.expect("still open")["uuid"], uuid, "not known is not renewed");

    name.names.register_until(Some("2027-01-31T12:00:00Z"));
    check_after(&name, 1).await;
    assert_eq!(issue(&name).await, None, "renewed");
    let resolved = name.service.client(&name.owner).get("/issues?status=resolved").await;
    assert_eq!(resolved.body["data"][0]["uuid"], uuid);

    // A month later, the same issue opens again.
    check_after(&name, 30).await;
    assert_eq!(issue(&name).await.expect("open again")["uuid"], uuid);
}

#[tokio::test]
async fn the_end_of_a_domain_that_is_unknown_or_not_watched_opens_nothing() {
    let name = MonitoredName::new(SITE).await;
    check_after(&name, 0).await;
    check_after(&name, 1).await;
    assert_eq!(issue(&name).await, None, "nobody knows when it ends");

    name.names.register_until(Some("2026-11-30T12:00:00Z"));
    check_after(&name, 1).await;
    assert!(issue(&name).await.is_some());
    let path = format!("/teams/{}/monitoring", name.owner.team);
    let only_hard = json!({ "monitoring_settings": { "tools": { "dns": {
        "enabled": true, "cadence_minutes": 60, "settings": { "hard_failures_only": true },
    } } } });
    let saved = name.service.client(&name.owner).patch(&path, &only_hard).await;
    assert_eq!(saved.status, 200, "{saved:?}");
    name.service.consume().await;
    check_after(&name, 1).await;
    assert_eq!(issue(&name).await, None, "nothing but failed lookups is reported");
}
