//! The result of a `dns` check.

mod expected;
mod hashes;
mod lookup;
mod records;

use std::collections::BTreeMap;
use std::net::IpAddr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize, Serializer};

pub(crate) use self::expected::is_met;
pub use self::expected::{ExpectedValue, ExpectedValueError};
pub use self::hashes::{
    AddressHashes, Baseline as DnsBaseline, KnownRecords, RecordHash, RecordHashes,
};
pub use self::lookup::{
    Conclusion, DnsAnswer, FILTERING_RESOLVER, Lookup, LookupObservation, Rcode, ResolverAnswers,
    ResolverObservation, conclude,
};
pub use self::records::{DnsRecord, DnsRecords, RecordData};
use super::ssl::days_left;
use crate::sites::settings::DnsRecordType;
use crate::time::wire;

/// A domain is reported this many days before its registration ends.
pub(crate) const DOMAIN_EXPIRY_DAYS: i64 = 30;

/// The result of a `dns` check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DnsResult {
    /// The name that was looked up: the host of the site's URL in lower case and punycode, without a trailing dot.
    pub host: String,
    /// Why the name cannot be looked up, such as `NXDOMAIN`, or `NODATA` if it has no address; null if it can be.
    pub lookup_failure: Option<String>,
    /// Types that no resolver could look up; their records are unknown.
    pub unanswered_types: Vec<DnsRecordType>,
    /// The records by type. Each type has the records from the first resolver that could look it up.
    pub records: DnsRecords,
    /// The answers of each resolver, by its name.
    pub resolver_observations: BTreeMap<String, ResolverObservation>,
    /// Whether any address of the host belongs to Cloudflare's proxy.
    pub uses_cloudflare: bool,
    /// What the routing registries say about the host's first public addresses.
    pub ip_enrichment: BTreeMap<IpAddr, IpEnrichment>,
    /// The network that announces the host's addresses. For a proxied site, this is the proxy's network. Null if the
    /// registries could not be asked.
    pub hosting_provider: Option<HostingProvider>,
    /// The host's reputation.
    pub reputation: Reputation,
    /// The domain's registration; null if its registry returned none.
    pub registration: Option<Registration>,
    /// Why `registration` is null, or which of its dates cannot be read; null if neither is the case.
    pub registration_error: Option<String>,
}

impl DnsResult {
    /// Whether the records of this type are known, even if there are none.
    pub fn is_known(&self, kind: DnsRecordType) -> bool {
        self.lookup_failure.is_none() && !self.unanswered_types.contains(&kind)
    }

    /// Why the name cannot be looked up, as a page or an issue says it.
    pub fn failure(&self) -> Option<&str> {
        let failure = self.lookup_failure.as_deref()?;
        Some(if failure == lookup::NO_DATA { "no address" } else { failure })
    }
}

/// What the routing registries say about an address; null if they did not answer. Registries say who announces and who
/// registered a network, not where its machines are.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IpEnrichment {
    /// Number of the autonomous system that announces the address.
    pub asn: Option<u32>,
    /// The system's name, such as `CLOUDFLARENET - Cloudflare, Inc., US`.
    pub as_name: Option<String>,
    /// The announced network, such as `192.0.2.0/24`.
    pub prefix: Option<String>,
    /// Country in which the network is registered, as an ISO 3166-1 code.
    pub registry_country: Option<String>,
    /// The regional registry, such as `ripencc`.
    pub registry: Option<String>,
    /// The day of the allocation, such as `2014-03-28`.
    pub allocated: Option<String>,
}

/// The network that hosts a site, or the network of its proxy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostingProvider {
    /// Number of the autonomous system.
    pub asn: u32,
    /// The system's name; null if only the number is known.
    pub name: Option<String>,
}

/// A host's reputation; null if no source was asked.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reputation {
    /// The verdict of the sources that were asked.
    pub status: ReputationStatus,
    /// What was found, such as `quad9_blocked`.
    pub flags: Vec<String>,
    /// A risk score; always null, because no source provides one.
    pub risk_score: Option<f64>,
    /// Kinds of risk; always null, because no source provides them.
    pub risk_types: Option<Vec<String>>,
    /// Suspected malware; always null, because no source names it.
    pub suspected_malware_family: Option<String>,
    /// The reputation of single addresses; always null, because no source provides it.
    pub ip_reputation: Option<BTreeMap<IpAddr, String>>,
}

/// The verdict on a host's reputation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ReputationStatus {
    /// No source that could know has answered.
    #[default]
    Unknown,
    /// A resolver that blocks threats has answered, and does not block the host.
    Clear,
    /// Something was found; see the flags.
    Flagged,
}

/// A domain's registration, as its registry publishes it over RDAP (RFC 9083).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Registration {
    /// The registered domain.
    pub domain: String,
    /// The registrar's name.
    pub registrar: Option<String>,
    /// When it was first registered.
    #[serde(serialize_with = "wire_instant")]
    pub registered_at: Option<Timestamp>,
    /// When the registration ends unless it is renewed.
    #[serde(serialize_with = "wire_instant")]
    pub expires_at: Option<Timestamp>,
    /// An addition to the specification: the states of the domain, such as `client transfer prohibited`. Omitted if the
    /// registry returned none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub status: Vec<String>,
    /// An addition to the specification: the site's own name below a private suffix of the Public Suffix List, if its
    /// registry does not know this name, so that `domain` is the one above. Omitted otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unregistered: Option<String>,
}

impl Registration {
    /// The state in which a domain is about to be deleted, if it is: in its redemption period, the holder can still
    /// restore it (RFC 8056, section 2). Spaces and case make no difference.
    pub fn deletion(&self) -> Option<&str> {
        let states = ["redemptionperiod", "pendingdelete"];
        let is = |text: &str, state| text.replace(' ', "").eq_ignore_ascii_case(state);
        states
            .into_iter()
            .find_map(|state| self.status.iter().find(|text| is(text, state)))
            .map(String::as_str)
    }

    /// Whole days until the registration ends, rounded down; negative after it has ended. `None` if its end is not
    /// known.
    pub fn days_left(&self, now: Timestamp) -> Option<i64> {
        self.expires_at.map(|end| days_left(end.as_second(), now))
    }

    /// Whether the registration is known to end in [`DOMAIN_EXPIRY_DAYS`] days or fewer, or to have ended. A domain that
    /// is about to be deleted has ended, whatever its date: some registries renew it first.
    pub fn expires_soon(&self, now: Timestamp) -> bool {
        self.deletion().is_some()
            || self.days_left(now).is_some_and(|days| days <= DOMAIN_EXPIRY_DAYS)
    }
}

fn wire_instant<S: Serializer>(
    instant: &Option<Timestamp>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    instant.map(wire).serialize(serializer)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_registration_ends_soon_from_the_thirtieth_day_before() {
        let end: Timestamp = "2026-12-04T12:00:00Z".parse().expect("a timestamp");
        let registration = |expires_at| Registration {
            domain: "example.com".to_owned(),
            registrar: None,
            registered_at: None,
            expires_at,
            status: Vec::new(),
            unregistered: None,
        };
        for (now, days, soon) in [
            ("2026-11-03T12:00:00Z", 31, false),
            ("2026-11-03T12:00:01Z", 30, true),
            ("2026-11-04T12:00:00Z", 30, true),
            ("2026-12-04T11:59:59Z", 0, true),
            ("2026-12-04T12:00:01Z", -1, true),
        ] {
            let now = now.parse().expect("a timestamp");
            let known = registration(Some(end));
            assert_eq!(
                (known.days_left(now), known.expires_soon(now)),
                (Some(days), soon),
                "{now}"
            );
            let unknown = registration(None);
            assert_eq!((unknown.days_left(now), unknown.expires_soon(now)), (None, false));
            for (status, is_soon) in [
                (&["active", "client delete prohibited"][..], false),
                (&["active", "pending transfer"], false),
                (&["auto renew period"], false),
                (&["redemption period"], true),
                (&["inactive", "pending delete"], true),
                (&["pendingDelete"], true),
                (&["Redemption Period"], true),
            ] {
                let status = status.iter().map(ToString::to_string).collect();
                let registration = Registration { status, ..registration(None) };
                assert_eq!(registration.expires_soon(now), is_soon, "{registration:?}");
            }
        }
    }

    #[test]
    fn the_times_of_a_registration_have_the_format_of_the_api() {
        let registration = Registration {
            domain: "example.com".to_owned(),
            registrar: None,
            registered_at: None,
            expires_at: Some("2027-08-13T06:00:00+02:00".parse().expect("a timestamp")),
            status: Vec::new(),
            unregistered: None,
        };
        let expected = json!({
            "domain": "example.com",
            "registrar": null,
            "registered_at": null,
            "expires_at": "2027-08-13T04:00:00+00:00",
        });
        assert_eq!(serde_json::to_value(&registration).expect("json"), expected);
        assert_eq!(serde_json::from_value::<Registration>(expected).expect("read"), registration);
    }
}
