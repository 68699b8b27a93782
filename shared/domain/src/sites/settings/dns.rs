//! DNS record types and the records that a site expects.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A DNS record type that can be monitored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "UPPERCASE")]
pub enum DnsRecordType {
    /// IPv4 address.
    A,
    /// IPv6 address.
    Aaaa,
    /// Canonical name.
    Cname,
    /// Mail exchange.
    Mx,
    /// Name server.
    Ns,
    /// Text.
    Txt,
}

impl DnsRecordType {
    /// All types, in the order of the API's enumeration.
    pub const ALL: [Self; 6] = [Self::A, Self::Aaaa, Self::Cname, Self::Mx, Self::Ns, Self::Txt];

    /// The types of addresses, which visitors of a site need.
    pub const ADDRESSES: [Self; 2] = [Self::A, Self::Aaaa];

    /// The value in the API, as in zone files.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::A => "A",
            Self::Aaaa => "AAAA",
            Self::Cname => "CNAME",
            Self::Mx => "MX",
            Self::Ns => "NS",
            Self::Txt => "TXT",
        }
    }

    /// The type with this value in the API, which is in upper case.
    pub fn parse(value: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == value)
    }
}

impl std::fmt::Display for DnsRecordType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The values that must be among a site's records, by type in enumeration order, in the normal form of
/// [`ExpectedValue`](crate::checks::check::ExpectedValue). Each list is in ascending order and without duplicates, and
/// none is empty. An empty map expects nothing.
pub type ExpectedRecords = BTreeMap<DnsRecordType, Vec<String>>;
