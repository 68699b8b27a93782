//! Whether an expected value is among a site's records.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::records::{DnsRecord, RecordData, normal_name};
use crate::settings::DnsRecordType;

/// Whether one of `records` has the value that `expected` describes for its type.
///
/// - A and AAAA: the same address, in any spelling.
/// - CNAME and NS: the same name; case, a trailing dot and punycode do not matter. Any link of a
///   CNAME chain counts.
/// - MX: `10 mail.example.com`, or `mail.example.com` for any priority; the name as above.
/// - TXT: the same text, all strings of the record taken as one, exactly but for white space
///   around it, which is not kept of what people set. Quotation marks are part of it.
pub fn is_met(kind: DnsRecordType, expected: &str, records: &[DnsRecord]) -> bool {
    let expected = expected.trim();
    records.iter().any(|record| match &record.data {
        data if data.kind() != kind => false,
        RecordData::A { ip } => expected.parse::<Ipv4Addr>().is_ok_and(|it| it == *ip),
        RecordData::Aaaa { ip } => expected.parse::<Ipv6Addr>().is_ok_and(|it| it == *ip),
        RecordData::Cname { target } | RecordData::Ns { target } => {
            normal_name(expected) == normal_name(target)
        }
        RecordData::Mx { priority, target } => {
            let (expected_priority, name) = mail_exchange(expected);
            expected_priority.is_none_or(|it| it == *priority)
                && normal_name(name) == normal_name(target)
        }
        RecordData::Txt { txt } => expected == txt.trim(),
    })
}

/// Priority and name of an expected MX value. A first word that is no priority is part of the name,
/// which then is none that exists.
fn mail_exchange(expected: &str) -> (Option<u16>, &str) {
    let parts = expected.split_once(char::is_whitespace);
    match parts.and_then(|(priority, name)| Some((priority.parse().ok()?, name.trim_start()))) {
        Some((priority, name)) => (Some(priority), name),
        None => (None, expected),
    }
}

#[cfg(test)]
mod tests {
    use DnsRecordType::{A, Aaaa, Cname, Mx, Ns, Txt};
    use proptest::prelude::*;

    use super::*;

    const HOST: &str = "www.example.com";

    fn records() -> Vec<DnsRecord> {
        let name = |name: &str| name.to_owned();
        [
            RecordData::A { ip: Ipv4Addr::new(192, 0, 2, 1) },
            RecordData::A { ip: Ipv4Addr::new(192, 0, 2, 2) },
            RecordData::Aaaa { ip: "2001:db8::a".parse().expect("an IP") },
            RecordData::Cname { target: name("cdn.example.net") },
            RecordData::Cname { target: name("edge.example.org") },
            RecordData::Mx { priority: 10, target: name("mail.example.com") },
            RecordData::Mx { priority: 0, target: String::new() },
            RecordData::Ns { target: name("xn--bcher-kva.example") },
            RecordData::Txt { txt: "v=spf1 include:Mail.example -all".to_owned() },
            RecordData::Txt { txt: " padded ".to_owned() },
        ]
        .map(|data| DnsRecord { host: HOST.to_owned(), ttl: 60, data })
        .into()
    }

    #[test]
    fn values_are_found_by_what_they_mean() {
        for (kind, expected) in [
            (A, "192.0.2.2"),
            (A, " 192.0.2.1 "),
            (Aaaa, "2001:DB8:0::000a"),
            (Cname, "CDN.example.net."),
            (Cname, "edge.example.org"),
            (Mx, "10 mail.example.com"),
            (Mx, "10\tMail.Example.Com."),
            (Mx, "010  mail.example.com"),
            (Mx, "mail.example.com"),
            (Mx, "0 ."),
            (Ns, "bücher.example"),
            (Ns, "XN--bcher-kva.EXAMPLE."),
            (Txt, "v=spf1 include:Mail.example -all"),
            (Txt, "padded"),
        ] {
            assert!(is_met(kind, expected, &records()), "{kind} {expected}");
        }
    }

    #[test]
    fn other_values_are_missing() {
        for (kind, expected) in [
            (A, "192.0.2.3"),
            (A, "192.0.2"),
            (A, ""),
            (A, "2001:db8::a"),
            (Aaaa, "192.0.2.1"),
            (Aaaa, "::ffff:192.0.2.1"),
            (Cname, "example.net"),
            (Cname, "cdn.example.net.."),
            (Mx, "20 mail.example.com"),
            (Mx, "10 mail.example"),
            (Mx, "10"),
            (Mx, "ten mail.example.com"),
            (Mx, "70000 mail.example.com"),
            (Ns, "mail.example.com"),
            (Txt, "V=SPF1 include:mail.example -all"),
            (Txt, "\"v=spf1 include:Mail.example -all\""),
            (Txt, "v=spf1"),
        ] {
            assert!(!is_met(kind, expected, &records()), "{kind} {expected}");
        }
        assert!(!is_met(A, "192.0.2.1", &[]));
    }

    /// Whether the value is met by this record alone.
    fn met(expected: &str, data: &RecordData) -> bool {
        let record = DnsRecord { host: HOST.to_owned(), ttl: 60, data: data.clone() };
        is_met(data.kind(), expected, &[record])
    }

    proptest! {
        #[test]
        fn spelling_does_not_matter_to_names(
            name in "[a-z0-9]{1,5}(\\.[a-z]{2,5}){1,3}",
            priority: u16,
        ) {
            let target = || name.clone();
            let names = [RecordData::Cname { target: target() }, RecordData::Ns { target: target() }];
            let mx = RecordData::Mx { priority, target: target() };
            let upper = name.to_uppercase();
            for spelling in [target(), upper.clone(), format!("{name}."), format!(" {upper}.\n")] {
                for data in names.iter().chain([&mx]) {
                    prop_assert!(met(&spelling, data));
                    let other = format!("x{}", spelling.trim());
                    prop_assert!(!met(&other, data));
                }
                let whole = [priority, priority.wrapping_add(1)].map(|it| format!("{it} {spelling}"));
                prop_assert!(met(&whole[0], &mx));
                prop_assert!(!met(&whole[1], &mx));
            }
        }

        #[test]
        fn spelling_does_not_matter_to_addresses(v4: u32, v6: u128) {
            let [one, other]: [Ipv4Addr; 2] = [v4.into(), v4.wrapping_add(1).into()];
            let data = RecordData::A { ip: one };
            prop_assert!(met(&one.to_string(), &data));
            prop_assert!(!met(&other.to_string(), &data));
            let ip = Ipv6Addr::from(v6);
            let data = RecordData::Aaaa { ip };
            let long = ip.segments().map(|group| format!("{group:04X}")).join(":");
            prop_assert!(met(&long, &data));
        }

        /// The normal form of a record is a value that expects it.
        #[test]
        fn normal_forms_are_expected_values(
            priority: u16,
            target in "([a-z]{1,3}(\\.[a-z]{1,3})?)?",
        ) {
            let data = RecordData::Mx { priority, target };
            prop_assert!(met(&data.normal(), &data));
        }
    }
}
