//! A domain whose registration is about to end, and is renewed.

use std::time::Duration;

use serde_json::{Value, json};
use vedette_checker::{EngineConfig, Engines, Handled};
use vedette_domain::accounts::plan::Plan;
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::SiteId;
use vedette_testkit::{Member, NameServices, advance_timers, loopback, new_team};
use vedette_tests::Service;

/// Longer than a registration is cached.
const FORGOTTEN: Duration = Duration::from_secs(13 * 3_600);

/// A team that monitors a domain, whose registry the test simulates.
struct Scene {
    service: Service,
    owner: Member,
    names: NameServices,
    site: SiteId,
}

impl Scene {
    /// The time is 2026-11-20 09:54.
    async fn start() -> Self {
        let names = NameServices::start().await;
        let mut outbound = loopback();
        outbound.extra_roots.push(names.certificate());
        let config = EngineConfig {
            doh: Some(names.doh().parse().expect("a resolver")),
            rdap: Some(names.rdap().parse().expect("a URL")),
            ..EngineConfig::default()
        };
        let engines = Engines::new(outbound, config).expect("engines");
        let mut service = Service::start().await;
        service.test.app.service.tools = vec![Tool::Dns];
        service.engines = engines;
        let owner = new_team(&service.test, Plan::Agency).await;
        let path = format!("/teams/{}/sites", owner.team);
        let body = json!({ "url": "https://www.example.com" });
        let created = service.client(&owner).post(&path, &body).await;
        let site = SiteId::parse(&created.data("uuid")).expect("an id");
        service.waiting();
        Self { service, owner, names, site }
    }

    /// Checks the name some days later, when no answer of the registry is cached any more.
    async fn check_after(&self, days: i64) {
        self.service.advance_minutes(days * 24 * 60);
        loop {
            advance_timers(FORGOTTEN).await;
            let handled = self.service.run_scheduled(self.site, Tool::Dns).await;
            let Handled::Finished(finished) = handled else { panic!("{handled}") };
            assert_eq!(finished.check.error, None, "{:?}", finished.check);
            // A busy machine may be too slow for the registry's timeout.
            let result = finished.check.result.expect("a result");
            if result["registration_error"].is_null() {
                return;
            }
            self.service.advance_minutes(1);
        }
    }

    /// The only active issue, if there is one.
    async fn issue(&self) -> Option<Value> {
        let listed = self.service.client(&self.owner).get("/issues").await;
        let issues = listed.body["data"].as_array().expect("issues").clone();
        assert!(issues.len() < 2, "{issues:?}");
        issues.into_iter().next()
    }
}

#[tokio::test]
async fn a_domain_is_reported_from_thirty_days_before_its_end_until_it_is_renewed() {
    let scene = Scene::start().await;
    scene.names.register_until(Some("2026-12-31T12:00:00Z"));
    scene.check_after(0).await;
    scene.check_after(10).await;
    assert_eq!(scene.issue().await, None, "31 days are left");

    scene.check_after(1).await;
    let open = scene.issue().await.expect("opened by the first check that sees it");
    let uuid = open["uuid"].as_str().expect("a uuid").to_owned();
    let shown = scene.service.client(&scene.owner).get(&format!("/issues/{uuid}")).await;
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
    assert!(scene.service.waiting().is_empty(), "it is not confirmed, and not followed");

    scene.names.register_until(None);
    scene.check_after(20).await;
    assert_eq!(scene.issue().await.expect("still open")["uuid"], uuid, "not known is not renewed");

    scene.names.register_until(Some("2027-01-31T12:00:00Z"));
    scene.check_after(1).await;
    assert_eq!(scene.issue().await, None, "renewed");
    let resolved = scene.service.client(&scene.owner).get("/issues?status=resolved").await;
    assert_eq!(resolved.body["data"][0]["uuid"], uuid);

    // A month later, the same issue opens again.
    scene.check_after(30).await;
    assert_eq!(scene.issue().await.expect("open again")["uuid"], uuid);
}

#[tokio::test]
async fn the_end_of_a_domain_that_is_unknown_or_not_watched_opens_nothing() {
    let scene = Scene::start().await;
    scene.check_after(0).await;
    scene.check_after(1).await;
    assert_eq!(scene.issue().await, None, "nobody knows when it ends");

    scene.names.register_until(Some("2026-11-30T12:00:00Z"));
    scene.check_after(1).await;
    assert!(scene.issue().await.is_some());
    let path = format!("/teams/{}/monitoring", scene.owner.team);
    let only_hard = json!({ "monitoring_settings": { "tools": { "dns": {
        "enabled": true, "cadence_minutes": 60, "settings": { "hard_failures_only": true },
    } } } });
    let saved = scene.service.client(&scene.owner).patch(&path, &only_hard).await;
    assert_eq!(saved.status, 200, "{saved:?}");
    scene.service.consume().await;
    scene.check_after(1).await;
    assert_eq!(scene.issue().await, None, "nothing but failed lookups is reported");
}
