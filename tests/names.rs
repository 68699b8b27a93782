//! A site whose resolver and registry the test simulates.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};
use vedette_checker::{EngineConfig, Engines, Handled};
use vedette_domain::accounts::plan::Plan;
use vedette_domain::checks::check::DnsResult;
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::SiteId;
use vedette_testkit::{Member, NameServices, advance_timers, loopback, new_team};

use crate::Service;

/// A team that checks the name of one site.
pub struct MonitoredName {
    /// The service, with nothing but the `dns` tool.
    pub service: Service,
    /// The team's owner.
    pub owner: Member,
    /// The resolver and the registry.
    pub names: NameServices,
    site: SiteId,
}

impl MonitoredName {
    /// A site that has not been checked. The time is 2026-11-20 09:54.
    pub async fn new(url: &str) -> Self {
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
        let created = service.client(&owner).post(&path, &json!({ "url": url })).await;
        let site = SiteId::parse(&created.data("uuid")).expect("an id");
        service.waiting();
        Self { service, owner, names, site }
    }

    /// Checks the name some hours later.
    pub async fn check_after_hours(&self, hours: u32) -> DnsResult {
        advance_timers(Duration::from_secs(3_600) * hours).await;
        self.service.advance_minutes(i64::from(hours) * 60);
        self.check().await
    }

    /// Checks the name now.
    pub async fn check(&self) -> DnsResult {
        let handled = self.service.run_scheduled(self.site, Tool::Dns).await;
        let Handled::Finished(finished) = handled else { panic!("{handled}") };
        assert_eq!(finished.check.error, None, "{:?}", finished.check);
        serde_json::from_value(finished.check.result.expect("a result")).expect("a DNS result")
    }

    /// The active issues, as they are listed.
    pub async fn issues(&self) -> Vec<Value> {
        let listed = self.service.client(&self.owner).get("/issues").await;
        listed.body["data"].as_array().expect("issues").clone()
    }

    /// The fingerprints of the active issues.
    pub async fn fingerprints(&self) -> BTreeSet<String> {
        let issues = self.issues().await.into_iter();
        issues.map(|issue| issue["fingerprint"].as_str().expect("a text").to_owned()).collect()
    }
}
