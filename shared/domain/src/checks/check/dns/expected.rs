//! The values that a site's records are expected to have.

use std::fmt;
use std::iter::successors;
use std::net::{Ipv4Addr, Ipv6Addr};

use super::records::{DnsRecord, RecordData, normal_name};
use crate::sites::host_name::is_host_name;
use crate::sites::settings::DnsRecordType;

/// An expected value as people write it, parsed for its record type. It is displayed in its normal form, which is the
/// same for all spellings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExpectedValue {
    /// An IPv4 address.
    A(Ipv4Addr),
    /// An IPv6 address, in any spelling.
    Aaaa(Ipv6Addr),
    /// The target of a CNAME or NS record; case, a trailing dot and punycode do not matter.
    Name(String),
    /// `10 mail.example.com`, or `mail.example.com` for any priority. The name is as above, or `.` for no mail server.
    Mx {
        /// `None` for any priority.
        priority: Option<u16>,
        /// The mail server; empty for none.
        target: String,
    },
    /// A text without surrounding whitespace. Quotation marks, as in zone files, make no difference.
    Txt(String),
}

/// Why a text is not an expected value of a record type. The messages continue "The … field".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ExpectedValueError {
    /// It is not an IPv4 address.
    #[error("must be an IPv4 address")]
    A,
    /// It is not an IPv6 address.
    #[error("must be an IPv6 address")]
    Aaaa,
    /// It is not a valid host name.
    #[error("must be a host name")]
    Name,
    /// It is not the name of a mail server, with or without a priority.
    #[error("must be a host name, or a priority and a host name")]
    Mx,
    /// It contains only quotation marks.
    #[error("must not be empty")]
    Txt,
}

impl ExpectedValue {
    /// Reads a value, ignoring surrounding whitespace.
    ///
    /// # Errors
    ///
    /// When no record of this type can have the value.
    pub fn parse(kind: DnsRecordType, text: &str) -> Result<Self, ExpectedValueError> {
        let text = text.trim();
        match kind {
            DnsRecordType::A => text.parse().map(Self::A).map_err(|_| ExpectedValueError::A),
            DnsRecordType::Aaaa => {
                text.parse().map(Self::Aaaa).map_err(|_| ExpectedValueError::Aaaa)
            }
            DnsRecordType::Cname | DnsRecordType::Ns => {
                host_name(text).map(Self::Name).ok_or(ExpectedValueError::Name)
            }
            DnsRecordType::Mx => mail_exchange(text).ok_or(ExpectedValueError::Mx),
            DnsRecordType::Txt => match bare(text) {
                text if text.is_empty() => Err(ExpectedValueError::Txt),
                text => Ok(Self::Txt(text)),
            },
        }
    }

    /// Whether the record has this value.
    fn is_of(&self, data: &RecordData) -> bool {
        match (self, data) {
            (Self::A(expected), RecordData::A { ip }) => expected == ip,
            (Self::Aaaa(expected), RecordData::Aaaa { ip }) => expected == ip,
            (Self::Name(expected), RecordData::Cname { target } | RecordData::Ns { target }) => {
                *expected == normal_name(target)
            }
            (
                Self::Mx { priority, target: expected },
                RecordData::Mx { priority: found, target },
            ) => {
                priority.is_none_or(|priority| priority == *found)
                    && *expected == normal_name(target)
            }
            (Self::Txt(expected), RecordData::Txt { txt }) => *expected == bare(txt),
            _ => false,
        }
    }
}

impl fmt::Display for ExpectedValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::A(ip) => ip.fmt(f),
            Self::Aaaa(ip) => ip.fmt(f),
            Self::Name(text) | Self::Txt(text) => f.write_str(text),
            Self::Mx { priority, target } => {
                let target = if target.is_empty() { "." } else { target };
                match priority {
                    Some(priority) => write!(f, "{priority} {target}"),
                    None => f.write_str(target),
                }
            }
        }
    }
}

/// Whether one of `records` has the value that `expected` describes for its type. Any link of a CNAME chain counts.
pub(crate) fn is_met(kind: DnsRecordType, expected: &str, records: &[DnsRecord]) -> bool {
    let expected = ExpectedValue::parse(kind, expected);
    let mut of_kind = records.iter().filter(|record| record.data.kind() == kind);
    expected.is_ok_and(|expected| of_kind.any(|record| expected.is_of(&record.data)))
}

/// The normal form of a valid host name.
fn host_name(text: &str) -> Option<String> {
    Some(normal_name(text)).filter(|name| is_host_name(name))
}

fn mail_exchange(text: &str) -> Option<ExpectedValue> {
    let (priority, target) = match text.split_once(char::is_whitespace) {
        Some((priority, target)) => (Some(priority.parse().ok()?), target.trim_start()),
        None => (None, text),
    };
    let target = if target == "." { String::new() } else { host_name(target)? };
    Some(ExpectedValue::Mx { priority, target })
}

/// A text without surrounding quotation marks and whitespace, however often it was quoted.
fn bare(text: &str) -> String {
    let quoted = text.trim().to_owned();
    let inner = |text: &String| unquoted(text).map(|inner| inner.trim().to_owned());
    successors(Some(quoted), inner).last().unwrap_or_default()
}

/// The text of quoted strings in the style of zone files, joined into one: `"a" "b\"c"` is `ab"c`. `None` if the text
/// is anything else.
fn unquoted(text: &str) -> Option<String> {
    let mut rest = text;
    let mut bytes = Vec::new();
    while !rest.is_empty() {
        rest = rest.strip_prefix('"')?;
        loop {
            let end = rest.find(['"', '\\'])?;
            bytes.extend_from_slice(&rest.as_bytes()[..end]);
            let is_end = rest[end..].starts_with('"');
            rest = &rest[end + 1..];
            if is_end {
                break;
            }
            let digits =
                rest.get(..3).filter(|code| code.bytes().all(|byte| byte.is_ascii_digit()));
            if let Some(code) = digits {
                bytes.push(code.parse().ok()?);
                rest = &rest[code.len()..];
            } else {
                let escaped = rest.chars().next()?.len_utf8();
                bytes.extend_from_slice(&rest.as_bytes()[..escaped]);
                rest = &rest[escaped..];
            }
        }
        rest = rest.trim_start();
    }
    (!text.is_empty()).then(|| String::from_utf8_lossy(&bytes).into_owned())
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
            RecordData::Txt { txt: "said \"so\"".to_owned() },
            // Somebody may think that the quotation marks belong to the text.
            RecordData::Txt { txt: "\"quoted\"".to_owned() },
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
            (Txt, "\"v=spf1 include:Mail.example -all\""),
            (Txt, "\"v=spf1 include:\" \"Mail.example\"\t\" -all\" "),
            (Txt, "\" padded\""),
            (Txt, "said \"so\""),
            (Txt, "quoted"),
            (Txt, "\"quoted\""),
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
            (Txt, "v=spf1"),
            (Txt, "\"v=spf1 include:Mail.example -all"),
            (Txt, "said so"),
        ] {
            assert!(!is_met(kind, expected, &records()), "{kind} {expected}");
        }
        assert!(!is_met(A, "192.0.2.1", &[]));
    }

    #[test]
    fn values_have_one_normal_form() {
        for (kind, text, normal) in [
            (A, " 192.0.2.1 ", "192.0.2.1"),
            (Aaaa, "2001:DB8:0:0::000A", "2001:db8::a"),
            (Aaaa, "::ffff:192.0.2.1", "::ffff:192.0.2.1"),
            (Cname, "CDN.Example.net.", "cdn.example.net"),
            (Cname, "_a1.acm.example", "_a1.acm.example"),
            (Ns, "ns.bücher.example", "ns.xn--bcher-kva.example"),
            (Mx, "010 \t Mail.example.com.", "10 mail.example.com"),
            (Mx, "Mail.example.com", "mail.example.com"),
            (Mx, "0 .", "0 ."),
            (Mx, ".", "."),
            (Txt, " v=spf1  -all ", "v=spf1  -all"),
            (Txt, r#""v=DMARC1\; p=none""#, "v=DMARC1; p=none"),
            (Txt, r#""k=rsa; p=AB" "CD""#, "k=rsa; p=ABCD"),
            (Txt, r#""k=rsa; p=AB""CD""#, "k=rsa; p=ABCD"),
            (Txt, r#""a\"b\\c\065\195\188é""#, "a\"b\\cAüé"),
            (Txt, r#""\"twice\"""#, "twice"),
            // No quoted strings, or not only.
            (Txt, r#"a "b""#, r#"a "b""#),
            (Txt, r#""a" b"#, r#""a" b"#),
            (Txt, r#""a"#, r#""a"#),
            (Txt, r#""a\""#, r#""a\""#),
            (Txt, r#""a\999""#, r#""a\999""#),
        ] {
            let value = ExpectedValue::parse(kind, text).expect(text);
            assert_eq!(value.to_string(), normal, "{kind} {text}");
            assert_eq!(ExpectedValue::parse(kind, normal), Ok(value), "{kind} {normal}");
        }
    }

    #[test]
    fn impossible_record_values_are_refused() {
        use ExpectedValueError as Error;
        let long = format!("{}.example", "a".repeat(64));
        for (kind, text, error) in [
            (A, "192.0.2", Error::A),
            (A, "192.0.2.256", Error::A),
            (A, "2001:db8::1", Error::A),
            (A, "example.com", Error::A),
            (Aaaa, "192.0.2.1", Error::Aaaa),
            (Aaaa, "[2001:db8::1]", Error::Aaaa),
            (Aaaa, "2001:db8::1%eth0", Error::Aaaa),
            (Cname, ".", Error::Name),
            (Cname, "a b.example", Error::Name),
            (Cname, "https://example.com", Error::Name),
            (Cname, "cdn.example.net..", Error::Name),
            (Cname, "192.0.2.1", Error::Name),
            (Ns, &long, Error::Name),
            (Ns, "10 ns.example.com", Error::Name),
            (Mx, "10", Error::Mx),
            (Mx, "ten mail.example.com", Error::Mx),
            (Mx, "70000 mail.example.com", Error::Mx),
            (Mx, "-1 mail.example.com", Error::Mx),
            (Mx, "10 mail.example.com 20", Error::Mx),
            (Mx, "mail.example.com 10", Error::Mx),
            (Txt, "\"\"", Error::Txt),
            (Txt, "\" \" \"\"", Error::Txt),
        ] {
            assert_eq!(ExpectedValue::parse(kind, text), Err(error), "{kind} {text}");
        }
    }

    /// Whether the value is met by this record alone.
    fn met(expected: &str, data: &RecordData) -> bool {
        let record = DnsRecord { host: HOST.to_owned(), ttl: 60, data: data.clone() };
        is_met(data.kind(), expected, &[record])
    }

    proptest! {
        #[test]
        fn a_normalized_value_is_unchanged_by_normalization(
            kind in prop::sample::select(&DnsRecordType::ALL[..]),
            text in r#"[ "\\\\a0-9é.:]{0,24}|.{0,16}"#,
        ) {
            if let Ok(value) = ExpectedValue::parse(kind, &text) {
                prop_assert_eq!(ExpectedValue::parse(kind, &value.to_string()), Ok(value));
            }
        }

        /// The form of zone files and tools, in strings of at most 255 bytes.
        #[test]
        fn a_quoted_text_equals_the_bare_one(text in "[ -~]{1,80}", at in 0_usize..80) {
            let at = at.min(text.len());
            let strings = [&text[..at], &text[at..]].map(|part| {
                format!("\"{}\"", part.replace('\\', "\\\\").replace('"', "\\\""))
            });
            let data = RecordData::Txt { txt: text };
            prop_assume!(!bare(&strings.join(" ")).is_empty());
            prop_assert!(met(&strings.join(" "), &data));
        }

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
