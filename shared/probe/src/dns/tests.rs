//! DNS checks against resolvers and registries on loopback.

mod answers;
mod beside;
mod failures;

use std::time::Duration;

use serde_json::{Value, json};
use vedette_domain::checks::check::{DnsResult, ResolverObservation};

use super::*;
use crate::loopback::certificates::Authority;
use crate::loopback::doh::{DohZone, Zone};
use crate::loopback::guard_of;
use crate::ssrf_guard::{Outbound, SsrfGuard};

/// The servers of one authority, and their client.
struct Scene {
    authority: Authority,
    guard: SsrfGuard,
}

impl Scene {
    fn new() -> Self {
        let authority = Authority::new("resolvers");
        let guard = guard_of(Outbound {
            allow: vec!["127.0.0.0/8".parse().expect("a network")],
            extra_roots: vec![authority.root()],
            ..Outbound::default()
        });
        Self { authority, guard }
    }

    async fn server(
        &self,
        name: &str,
        zones: impl IntoIterator<Item = (&'static str, Zone)>,
    ) -> DohZone {
        DohZone::start(name, &self.authority, zones).await
    }

    async fn probe(&self, servers: &[&DohZone], url: &str) -> Result<DnsResult, CheckError> {
        let servers = servers.iter().map(|zone| zone.server.clone()).collect();
        self.probe_with(&resolvers(servers, None), url).await
    }

    async fn probe_with(&self, resolvers: &Resolvers, url: &str) -> Result<DnsResult, CheckError> {
        let url = url.parse().expect("a URL");
        let deadline = Duration::from_secs(10);
        super::probe(&self.guard, resolvers, &DnsProbe { url: &url, deadline, now: now() }).await
    }
}

/// When the checks run: months before the registrations here end, unless a test says otherwise.
fn now() -> Timestamp {
    "2026-11-20T12:00:00Z".parse().expect("a timestamp")
}

fn resolvers(servers: Vec<DohServer>, rdap: Option<Url>) -> Resolvers {
    Resolvers::new(&DohServers::new(servers).expect("servers"), rdap)
}

fn server(name: &str, url: &Url) -> DohServer {
    format!("{name}={url}").parse().expect("a server")
}

/// The values of a type, in normal form.
fn values(result: &DnsResult, kind: DnsRecordType) -> Vec<String> {
    result.records.of(kind).iter().map(|record| record.data.normal()).collect()
}

/// For each type in order: the response code, or why there is none.
fn told(observation: &ResolverObservation) -> Vec<&str> {
    let lookups = observation.lookups.values();
    lookups.map(|it| it.rcode.as_deref().or(it.error.as_deref()).expect("one of them")).collect()
}
