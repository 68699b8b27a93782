//! DNS records, and the normal form in which their values are compared.

use std::net::{Ipv4Addr, Ipv6Addr};

use serde::{Deserialize, Serialize};
use url::Host;

use crate::sites::settings::DnsRecordType;

/// One record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DnsRecord {
    /// The name that has the record: the host itself, or a name that its CNAME records lead to.
    pub host: String,
    /// How long it may be cached, in seconds. This is what was left of the TTL at the resolver.
    pub ttl: u32,
    /// Type and value.
    #[serde(flatten)]
    pub data: RecordData,
}

/// The value of a record, by type. Names are in lower case and punycode, without a trailing dot.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "UPPERCASE")]
pub enum RecordData {
    /// IPv4 address.
    A {
        /// The address.
        ip: Ipv4Addr,
    },
    /// IPv6 address.
    Aaaa {
        /// The address.
        ip: Ipv6Addr,
    },
    /// Canonical name.
    Cname {
        /// The name that the host stands for.
        target: String,
    },
    /// Mail exchange.
    Mx {
        /// Servers with lower values are tried first.
        priority: u16,
        /// The mail server; empty for a domain that accepts no mail (RFC 7505).
        target: String,
    },
    /// Name server.
    Ns {
        /// The name server.
        target: String,
    },
    /// Text.
    Txt {
        /// All strings of the record, joined. Bytes that are not UTF-8 are replaced by U+FFFD.
        txt: String,
    },
}

impl RecordData {
    /// The type.
    pub const fn kind(&self) -> DnsRecordType {
        match self {
            Self::A { .. } => DnsRecordType::A,
            Self::Aaaa { .. } => DnsRecordType::Aaaa,
            Self::Cname { .. } => DnsRecordType::Cname,
            Self::Mx { .. } => DnsRecordType::Mx,
            Self::Ns { .. } => DnsRecordType::Ns,
            Self::Txt { .. } => DnsRecordType::Txt,
        }
    }

    /// The value as one text, which is equal for values that mean the same: addresses in their canonical spelling,
    /// names in lower case and punycode without a trailing dot, `10 mail.example.com` for MX (`0 .` for no mail
    /// server), and texts unchanged.
    pub fn normal(&self) -> String {
        match self {
            Self::A { ip } => ip.to_string(),
            Self::Aaaa { ip } => ip.to_string(),
            Self::Cname { target } | Self::Ns { target } => normal_name(target),
            Self::Mx { priority, target } => match normal_name(target) {
                root if root.is_empty() => format!("{priority} ."),
                target => format!("{priority} {target}"),
            },
            Self::Txt { txt } => txt.clone(),
        }
    }
}

/// A domain name in its normal form: lower case, punycode, without a trailing dot. Text that cannot be a name is only
/// lowercased.
pub(super) fn normal_name(name: &str) -> String {
    let name = name.strip_suffix('.').unwrap_or(name);
    if !name.is_ascii()
        && let Ok(Host::Domain(ascii)) = Host::parse(name)
    {
        return ascii.strip_suffix('.').unwrap_or(&ascii).to_owned();
    }
    name.to_lowercase()
}

/// A host's records of the six types.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "UPPERCASE")]
pub struct DnsRecords {
    a: Vec<DnsRecord>,
    aaaa: Vec<DnsRecord>,
    cname: Vec<DnsRecord>,
    mx: Vec<DnsRecord>,
    ns: Vec<DnsRecord>,
    txt: Vec<DnsRecord>,
}

impl DnsRecords {
    /// Sorts the records into their types, in ascending order of their values, because resolvers rotate their answers.
    /// CNAME records stay in the order of the chain. Of records that differ only in the TTL, the first stays.
    pub fn new(records: impl IntoIterator<Item = DnsRecord>) -> Self {
        let mut sorted = Self::default();
        for record in records {
            let list = sorted.list(record.data.kind());
            let known = list.iter().any(|it| it.host == record.host && it.data == record.data);
            if !known {
                list.push(record);
            }
        }
        for kind in DnsRecordType::ALL {
            if kind != DnsRecordType::Cname {
                sorted.list(kind).sort_by(|a, b| (&a.data, &a.host).cmp(&(&b.data, &b.host)));
            }
        }
        sorted
    }

    /// The records of a type.
    pub fn of(&self, kind: DnsRecordType) -> &[DnsRecord] {
        match kind {
            DnsRecordType::A => &self.a,
            DnsRecordType::Aaaa => &self.aaaa,
            DnsRecordType::Cname => &self.cname,
            DnsRecordType::Mx => &self.mx,
            DnsRecordType::Ns => &self.ns,
            DnsRecordType::Txt => &self.txt,
        }
    }

    fn list(&mut self, kind: DnsRecordType) -> &mut Vec<DnsRecord> {
        match kind {
            DnsRecordType::A => &mut self.a,
            DnsRecordType::Aaaa => &mut self.aaaa,
            DnsRecordType::Cname => &mut self.cname,
            DnsRecordType::Mx => &mut self.mx,
            DnsRecordType::Ns => &mut self.ns,
            DnsRecordType::Txt => &mut self.txt,
        }
    }

    /// The values of a type that are monitored for changes, in normal form, ascending and without duplicates.
    ///
    /// It does not matter which name has them, except for CNAME: there, only what `host` itself points to counts,
    /// because the other links of a chain belong to others.
    pub fn watched(&self, kind: DnsRecordType, host: &str) -> Vec<String> {
        let own = |record: &&DnsRecord| {
            kind != DnsRecordType::Cname || normal_name(&record.host) == normal_name(host)
        };
        let mut values: Vec<String> =
            self.of(kind).iter().filter(own).map(|record| record.data.normal()).collect();
        values.sort_unstable();
        values.dedup();
        values
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record(host: &str, data: RecordData) -> DnsRecord {
        DnsRecord { host: host.to_owned(), ttl: 300, data }
    }

    #[test]
    fn records_have_the_fields_of_their_type() {
        let target = || "mail.example.com".to_owned();
        let records = DnsRecords::new([
            record("example.com", RecordData::Txt { txt: "v=spf1 -all".to_owned() }),
            record("example.com", RecordData::Mx { priority: 20, target: target() }),
            record("example.com", RecordData::A { ip: Ipv4Addr::new(192, 0, 2, 1) }),
            record("example.com", RecordData::Aaaa { ip: "2001:db8::1".parse().expect("an IP") }),
            record("example.com", RecordData::Ns { target: target() }),
        ]);
        let expected = json!({
            "A": [{"host": "example.com", "ttl": 300, "type": "A", "ip": "192.0.2.1"}],
            "AAAA": [{"host": "example.com", "ttl": 300, "type": "AAAA", "ip": "2001:db8::1"}],
            "CNAME": [],
            "MX": [{"host": "example.com", "ttl": 300, "type": "MX", "priority": 20,
                    "target": "mail.example.com"}],
            "NS": [{"host": "example.com", "ttl": 300, "type": "NS", "target": "mail.example.com"}],
            "TXT": [{"host": "example.com", "ttl": 300, "type": "TXT", "txt": "v=spf1 -all"}],
        });
        assert_eq!(serde_json::to_value(&records).expect("json"), expected);
        assert_eq!(serde_json::from_value::<DnsRecords>(expected).expect("readable"), records);
        assert_eq!(
            serde_json::to_value(DnsRecords::default()).expect("json"),
            json!({"A": [], "AAAA": [], "CNAME": [], "MX": [], "NS": [], "TXT": []}),
        );
    }

    #[test]
    fn records_are_in_order_and_once() {
        let mx = |priority, target: &str| RecordData::Mx { priority, target: target.to_owned() };
        let cname = |target: &str| RecordData::Cname { target: target.to_owned() };
        let mut again = record("a", mx(10, "b"));
        again.ttl = 7;
        let records = DnsRecords::new([
            record("a", mx(100, "a")),
            record("a", mx(10, "b")),
            again,
            record("a", mx(9, "c")),
            record("z", cname("y")),
            record("y", cname("x")),
        ]);
        let mx = records.of(DnsRecordType::Mx).iter().map(|record| record.data.normal());
        assert_eq!(mx.collect::<Vec<_>>(), ["9 c", "10 b", "100 a"]);
        assert_eq!(records.of(DnsRecordType::Mx)[1].ttl, 300);
        let chain = records.of(DnsRecordType::Cname).iter().map(|record| &*record.host);
        assert_eq!(chain.collect::<Vec<_>>(), ["z", "y"]);
    }

    #[test]
    fn names_are_compared_without_case_dot_and_script() {
        for (name, normal) in [
            ("Example.COM.", "example.com"),
            ("example.com", "example.com"),
            ("_dmarc.Example.com", "_dmarc.example.com"),
            ("BÜCHER.example.", "xn--bcher-kva.example"),
            ("bücher。example", "xn--bcher-kva.example"),
            ("XN--BCHER-KVA.example", "xn--bcher-kva.example"),
            (".", ""),
            ("", ""),
            ("nicht ü name", "nicht ü name"),
        ] {
            assert_eq!(normal_name(name), normal, "{name}");
        }
    }
}
