//! The `dns` check: a host's records as seen by several resolvers, by DNS over HTTPS (RFC 8484).
//!
//! Messages are encoded and decoded by `hickory-proto`, but sent by our own HTTP layer.
//! `hickory-resolver` would turn empty answers and response codes into errors, follow aliases and
//! retry on its own, and hide who answered what and when, which is what the check reports. It would
//! also bypass the SSRF guard.

mod client;
mod cloudflare;
mod enrichment;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
mod message;
mod registration;
mod resolvers;
mod servers;
#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::time::Duration;

use futures::future::{join_all, try_join};
use hickory_resolver::proto::rr::Name;
use jiff::Timestamp;
use serde_json::json;
use tokio::time::Instant;
use url::{Host, Url};
use vedette_domain::checks::check::{
    CheckError, Conclusion, DnsRecords, DnsResult, RecordData, ResolverAnswers, conclude,
};
use vedette_domain::sites::settings::DnsRecordType;

pub use self::resolvers::Resolvers;
pub use self::servers::{DohServer, DohServerError, DohServers, MAX_SERVERS};
use crate::ssrf_guard::{RESOLVER_UNAVAILABLE, SsrfGuard};

/// Default deadline of a whole probe.
pub const DEADLINE: Duration = vedette_domain::checks::tool::Tool::Dns.limits().deadline;

/// Timeout of the resolvers: longer than they themselves try unresponsive name servers, so that
/// their SERVFAIL is seen.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(10);

/// Timeout of the routing registries, once the addresses are known.
const ENRICHMENT_TIMEOUT: Duration = Duration::from_secs(2);

/// Timeout of the domain's registry, from the start.
const REGISTRATION_TIMEOUT: Duration = Duration::from_secs(4);

/// [`CheckError::code`] when the host of the URL is an IP address, or not a valid DNS name: there
/// is nothing to look up.
pub const NO_DOMAIN: &str = "no_domain";

/// What to probe.
#[derive(Debug, Clone, Copy)]
pub struct DnsProbe<'a> {
    /// The monitored URL; its host is looked up.
    pub url: &'a Url,
    /// The time limit for the whole probe; see [`DEADLINE`]. At most two thirds of it are for the resolvers. Everything
    /// else has the rest, and is left out if it takes longer.
    pub deadline: Duration,
    /// The current time, with which the end of the domain's registration is compared.
    pub now: Timestamp,
}

/// Looks up the six record types of the URL's host through every resolver at once.
///
/// The check connects to nothing in an answer. Private addresses are reported, but not sent to
/// third parties.
///
/// # Errors
/// When the check could not run, which says nothing about the target: [`NO_DOMAIN`], or
/// [`RESOLVER_UNAVAILABLE`] when no resolver answered anything about the name. A name that cannot
/// be looked up is a result.
pub async fn probe(
    guard: &SsrfGuard,
    resolvers: &Resolvers,
    probe: &DnsProbe<'_>,
) -> Result<DnsResult, CheckError> {
    let (host, name) = host(probe.url)?;
    let started = Instant::now();
    // A tenth is reserved for the last steps, which take almost no time.
    let end = started + probe.deadline.mul_f64(0.9);
    let lookups = async {
        let until = started + LOOKUP_TIMEOUT.min(probe.deadline.mul_f64(2.0 / 3.0));
        let answers = query_all(guard, resolvers, &name, until).await;
        let conclusion = conclude(&answers).ok_or_else(|| unavailable(&host, &answers))?;
        let addresses = addresses(&conclusion.records);
        let until = end.min(Instant::now() + ENRICHMENT_TIMEOUT);
        let spokesman = resolvers.client(conclusion.spokesman);
        let enriched = enrichment::enrich(guard, spokesman, &addresses, until).await;
        Ok((conclusion, addresses, enriched))
    };
    let registration = async {
        let until = end.min(started + REGISTRATION_TIMEOUT);
        Ok::<_, CheckError>(resolvers.registry().registration(guard, &host, until, probe.now).await)
    };
    let ((conclusion, addresses, ip_enrichment), registration) =
        try_join(lookups, registration).await?;
    let Conclusion { records, lookup_failure, unanswered_types, observations, reputation, .. } =
        conclusion;
    let (registration, registration_error) = match registration {
        Ok(answer) => (Some(answer.registration), answer.unread),
        Err(why) => (None, Some(why)),
    };
    Ok(DnsResult {
        host,
        lookup_failure,
        unanswered_types,
        records,
        resolver_observations: observations,
        uses_cloudflare: addresses.iter().any(|address| cloudflare::announces(*address)),
        hosting_provider: enrichment::hosting_provider(&addresses, &ip_enrichment),
        ip_enrichment,
        reputation,
        registration,
        registration_error,
    })
}

/// The host to look up, without a trailing dot, and as a DNS name.
fn host(url: &Url) -> Result<(String, Name), CheckError> {
    let refused = |message: &str| CheckError {
        message: message.to_owned(),
        code: NO_DOMAIN.to_owned(),
        data: json!({ "host": url.host_str() }),
    };
    let Some(Host::Domain(domain)) = url.host() else {
        return Err(refused("the site's host is an IP address: there is no name to look up"));
    };
    let domain = domain.strip_suffix('.').unwrap_or(domain);
    let mut name = Name::from_ascii(domain)
        .ok()
        .filter(|name| !name.is_root())
        .ok_or_else(|| refused("the site's host is not a valid DNS name"))?;
    name.set_fqdn(true);
    Ok((domain.to_owned(), name))
}

/// Queries every resolver for every type, all at once.
async fn query_all(
    guard: &SsrfGuard,
    resolvers: &Resolvers,
    name: &Name,
    until: Instant,
) -> Vec<ResolverAnswers> {
    let questions = DnsRecordType::ALL.map(|kind| (name.clone(), message::record_type(kind)));
    let questions = &questions;
    join_all(resolvers.clients().map(|client| async move {
        let replies = client.query(guard, questions, until).await;
        let lookups = DnsRecordType::ALL.into_iter().zip(replies);
        ResolverAnswers {
            resolver: client.server().name.clone(),
            lookups: lookups.map(|(kind, reply)| (kind, reply.lookup(name, kind))).collect(),
        }
    }))
    .await
}

/// The host's addresses, IPv4 first.
fn addresses(records: &DnsRecords) -> Vec<IpAddr> {
    let of_kind = |kind| records.of(kind).iter();
    DnsRecordType::ADDRESSES
        .into_iter()
        .flat_map(of_kind)
        .filter_map(|record| match record.data {
            RecordData::A { ip } => Some(IpAddr::from(ip)),
            RecordData::Aaaa { ip } => Some(IpAddr::from(ip)),
            _ => None,
        })
        .collect()
}

fn unavailable(host: &str, answers: &[ResolverAnswers]) -> CheckError {
    let why = |answers: &ResolverAnswers| {
        let first = answers.lookups.values().next()?;
        Some(match &first.answer {
            Ok(answer) => answer.rcode.to_string(),
            Err(why) => why.clone(),
        })
    };
    let resolvers: serde_json::Map<_, _> =
        answers.iter().map(|one| (one.resolver.clone(), json!(why(one)))).collect();
    tracing::warn!(?resolvers, "no DNS resolver gave an answer");
    CheckError {
        message: "no DNS resolver gave an answer".to_owned(),
        code: RESOLVER_UNAVAILABLE.to_owned(),
        data: json!({ "host": host, "resolvers": resolvers }),
    }
}
