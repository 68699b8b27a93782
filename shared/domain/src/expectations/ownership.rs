//! The DNS record with which the owner of a host agrees to POSTs.

use data_encoding::HEXLOWER;
use serde::Serialize;
use sha2::{Digest, Sha256};
use url::Host;

use crate::id::TeamId;
use crate::sites::site::Site;

/// What precedes the host in the name of the record.
const LABEL: &str = "_vedette-challenge";
/// What precedes the token in its value.
const KEY: &str = "vedette-site-verification";
/// How many bytes of the digest the token contains.
const TOKEN_BYTES: usize = 16;
/// The longest DNS name, in characters (RFC 1035).
const NAME_MAX: usize = 253;

/// The TXT record that the owner of a site's host publishes, so that status checks of the site's team may send POST
/// requests there.
///
/// The token is derived from the team and the host, so it is stored nowhere. It is not a secret: only somebody who
/// controls the host's DNS zone can publish it, and it allows one team's POST requests to one host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OwnershipRecord {
    /// The name of the TXT record.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// Why it is not known that the owner of a host agrees to POSTs. Continues a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotProven {
    /// The host is an IP address, or its name is too long to be preceded by a label.
    #[error(
        "the host is an IP address or too long a name, so it cannot have the DNS TXT record that proves ownership"
    )]
    NoRecord,
    /// No record has the value.
    #[error("the DNS TXT record {} with the value {} is missing", .0.name, .0.value)]
    Missing(OwnershipRecord),
    /// The lookup failed.
    #[error("the DNS TXT record {} with the value {} could not be looked up: {why}", record.name, record.value)]
    Unknown {
        /// The record.
        record: OwnershipRecord,
        /// Why, for people.
        why: String,
    },
}

impl OwnershipRecord {
    /// The record of a team for the host of a site; `None` if there can be no such name.
    pub fn of(site: &Site) -> Option<Self> {
        let url = site.url.to_url();
        let Some(Host::Domain(host)) = url.host() else { return None };
        let name = format!("{LABEL}.{host}");
        let value = format!("{KEY}={}", token(site.team, host));
        (name.len() <= NAME_MAX).then_some(Self { name, value })
    }

    /// Judges what a lookup of the name has found: the values of its TXT records, or why there was no answer.
    ///
    /// # Errors
    ///
    /// When the record is not among them.
    pub fn judge(self, found: Result<Vec<String>, String>) -> Result<(), NotProven> {
        match found {
            Ok(values) if values.iter().any(|value| value.trim() == self.value) => Ok(()),
            Ok(_) => Err(NotProven::Missing(self)),
            Err(why) => Err(NotProven::Unknown { record: self, why }),
        }
    }
}

fn token(team: TeamId, host: &str) -> String {
    let digest = Sha256::digest(format!("{KEY} {team} {host}"));
    HEXLOWER.encode(&digest[..TOKEN_BYTES])
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::id::SiteId;

    fn site(team: u8, url: &str) -> Site {
        let id = |number: u8| format!("0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e{number:02x}");
        let (site, team) = (SiteId::parse(&id(0)), TeamId::parse(&id(team)));
        let url = url.parse().expect("a URL");
        Site::new(site.expect("an id"), team.expect("an id"), url, Timestamp::UNIX_EPOCH)
    }

    fn record(team: u8, url: &str) -> OwnershipRecord {
        OwnershipRecord::of(&site(team, url)).expect("a record")
    }

    #[test]
    fn each_team_has_a_record_for_each_host() {
        let one = record(1, "https://Shop.Example.com:8443/login?a=1");
        assert_eq!(one.name, "_vedette-challenge.shop.example.com");
        // Records that people have published must stay valid.
        assert_eq!(one.value, "vedette-site-verification=b790559c683c634a3fc94338c8a9bb3a");
        assert_eq!(record(1, "http://shop.example.com."), one);
        assert_ne!(record(2, "https://shop.example.com").value, one.value);
        assert_ne!(record(1, "https://example.com").value, one.value);
        let punycode = record(1, "https://bücher.example");
        assert_eq!(punycode.name, "_vedette-challenge.xn--bcher-kva.example");
        let label = "a".repeat(60);
        let long = format!("https://{label}.{label}.{label}.{label}");
        for url in ["http://192.0.2.1", "http://[2001:db8::1]", &long] {
            assert_eq!(OwnershipRecord::of(&site(1, url)), None, "{url}");
        }
    }

    #[test]
    fn only_the_whole_value_proves() {
        let record = record(1, "https://example.com");
        let judged = |values: &[&str]| {
            let values = values.iter().map(|value| (*value).to_owned()).collect();
            record.clone().judge(Ok(values))
        };
        let value = record.value.as_str();
        assert_eq!(judged(&["v=spf1 -all", value]), Ok(()));
        assert_eq!(judged(&[&format!(" {value}\n")]), Ok(()));
        let missing = Err(NotProven::Missing(record.clone()));
        let long = format!("{value}{}", "x".repeat(64 * 1024));
        for values in [&[][..], &["", &value[1..]], &[&value.to_uppercase()], &[&long]] {
            assert_eq!(judged(values), missing);
        }
        let failed = record.clone().judge(Err("name lookup timed out".to_owned()));
        assert!(matches!(failed, Err(NotProven::Unknown { .. })));
    }
}
