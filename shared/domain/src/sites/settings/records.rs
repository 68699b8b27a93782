//! The rule for the DNS records that a site expects.

use std::collections::BTreeSet;

use super::dns::{DnsRecordType, ExpectedRecords};
use crate::checks::check::ExpectedValue;
use crate::input::{FieldRule, InputField, InputShape, ListRule, TextKind, field};
use crate::validation::{Errors, Field};

/// The most values of one type. This is our own limit, which keeps a site within one stored item.
const VALUES_MAX: usize = 50;
/// The longest value in characters, far longer than the longest DKIM key. This is our own limit.
const VALUE_MAX: usize = 4_096;
/// The most bytes of all values together. This is our own limit, for the same reason as [`VALUES_MAX`].
const BYTES_MAX: usize = 8_192;

/// Expected records by type. Values are read in their normal form. A type with an empty list is left out.
pub(in crate::sites) struct ExpectedRecordsRule;

impl FieldRule<ExpectedRecords> for ExpectedRecordsRule {
    fn read(&self, field: &Field<'_>, errors: &mut Errors) -> Option<ExpectedRecords> {
        let fields = field.object(errors)?;
        let mut records = ExpectedRecords::new();
        for kind in DnsRecordType::ALL {
            let values: Option<BTreeSet<String>> =
                of_type(kind).read(&fields.field(kind.as_str()), errors);
            if let Some(values) = values.filter(|values| !values.is_empty()) {
                records.insert(kind, values.into_iter().collect());
            }
        }
        if records.values().flatten().map(String::len).sum::<usize>() > BYTES_MAX {
            field.refuse(errors, format_args!("must not hold more than {BYTES_MAX} bytes"));
        }
        fields.only(&DnsRecordType::ALL.map(DnsRecordType::as_str), errors);
        Some(records)
    }

    fn shape(&self) -> InputShape {
        InputShape::Object(FIELDS)
    }

    fn limit(&self) -> String {
        format!("At most {BYTES_MAX} bytes in total.")
    }
}

const FIELDS: &[InputField] = &[
    field!(
        /// IPv4 addresses.
        A: Optional<BTreeSet<String>> = of_type(DnsRecordType::A)
    ),
    field!(
        /// IPv6 addresses, in any spelling.
        AAAA: Optional<BTreeSet<String>> = of_type(DnsRecordType::Aaaa)
    ),
    field!(
        /// Host names, in any case.
        CNAME: Optional<BTreeSet<String>> = of_type(DnsRecordType::Cname)
    ),
    field!(
        /// `10 mail.example.com`, or `mail.example.com` for any priority; `.` means no mail server.
        MX: Optional<BTreeSet<String>> = of_type(DnsRecordType::Mx)
    ),
    field!(
        /// Host names, in any case.
        NS: Optional<BTreeSet<String>> = of_type(DnsRecordType::Ns)
    ),
    field!(
        /// Texts, with the strings of a record joined. Quotes, as in zone files, make no difference.
        TXT: Optional<BTreeSet<String>> = of_type(DnsRecordType::Txt)
    ),
];

const fn of_type(kind: DnsRecordType) -> ListRule<ValueRule, String> {
    ListRule::new(0, VALUES_MAX, ValueRule(kind))
}

/// The value of a record of a type.
struct ValueRule(DnsRecordType);

impl FieldRule<String> for ValueRule {
    fn read(&self, item: &Field<'_>, errors: &mut Errors) -> Option<String> {
        let parsed = ExpectedValue::parse(self.0, &item.string(VALUE_MAX, errors)?);
        parsed.map(|value| value.to_string()).map_err(|error| item.refuse(errors, error)).ok()
    }

    fn shape(&self) -> InputShape {
        let kind = match self.0 {
            DnsRecordType::A => TextKind::Format("ipv4"),
            DnsRecordType::Aaaa => TextKind::Format("ipv6"),
            // Letters and digits of any script, dots, hyphens and underscores.
            DnsRecordType::Cname | DnsRecordType::Ns => {
                TextKind::Pattern(r"^[^\x00-,/:-@[-^`{-\x7f]+$")
            }
            DnsRecordType::Mx | DnsRecordType::Txt => TextKind::NotBlank,
        };
        InputShape::Text { min: 0, max: VALUE_MAX, kind }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// The result, or the errors by field.
    fn parse(value: &Value) -> Result<Value, Value> {
        let mut errors = Errors::new();
        let field = Field::at("dns_expected_records", value);
        let read = ExpectedRecordsRule.read(&field, &mut errors);
        match errors.finish(read) {
            Ok(records) => Ok(serde_json::to_value(records).expect("serialize")),
            Err(error) => Err(serde_json::to_value(error).expect("serialize")["errors"].clone()),
        }
    }

    #[test]
    fn values_are_kept_by_type_ascending_and_once() {
        for (sent, kept) in [
            (json!({}), json!({})),
            (json!({"A": []}), json!({})),
            (
                json!({"MX": ["20 b.example", " 10 a.example ", "20 b.example"], "A": ["192.0.2.1"]}),
                json!({"A": ["192.0.2.1"], "MX": ["10 a.example", "20 b.example"]}),
            ),
            (
                json!({
                    "A": ["192.0.2.1"],
                    "AAAA": ["2001:DB8::0:1"],
                    "CNAME": ["CDN.example.net."],
                    "MX": ["010 Mail.example.com"],
                    "NS": ["ns.example"],
                    "TXT": ["\"v=spf1 \" \"-all\"", "v=spf1 -all"],
                }),
                json!({
                    "A": ["192.0.2.1"],
                    "AAAA": ["2001:db8::1"],
                    "CNAME": ["cdn.example.net"],
                    "MX": ["10 mail.example.com"],
                    "NS": ["ns.example"],
                    "TXT": ["v=spf1 -all"],
                }),
            ),
            (json!({"TXT": ["t".repeat(VALUE_MAX)]}), json!({"TXT": ["t".repeat(VALUE_MAX)]})),
        ] {
            assert_eq!(parse(&sent), Ok(kept), "{sent}");
        }
    }

    #[test]
    fn what_is_wrong_is_told_at_its_path() {
        let many: Vec<String> = (0..=VALUES_MAX).map(|n| n.to_string()).collect();
        let large = ["a", "b", "c"].map(|start| start.repeat(VALUE_MAX));
        for (sent, path, message) in [
            (json!([]), "dns_expected_records", "must be an object"),
            (json!({"SOA": ["x"]}), "dns_expected_records.SOA", "is not known"),
            (json!({"a": ["192.0.2.1"]}), "dns_expected_records.a", "is not known"),
            (json!({"A": "192.0.2.1"}), "dns_expected_records.A", "must be an array"),
            (json!({"A": null}), "dns_expected_records.A", "must not be empty"),
            (json!({"A": ["192.0.2.1", ""]}), "dns_expected_records.A.1", "must not be empty"),
            (json!({"A": ["::1"]}), "dns_expected_records.A.0", "must be an IPv4 address"),
            (json!({"AAAA": ["::g"]}), "dns_expected_records.AAAA.0", "must be an IPv6 address"),
            (json!({"CNAME": ["a b"]}), "dns_expected_records.CNAME.0", "must be a host name"),
            (json!({"NS": ["a", ".a"]}), "dns_expected_records.NS.1", "must be a host name"),
            (
                json!({"MX": ["low mail.example"]}),
                "dns_expected_records.MX.0",
                "must be a host name, or a priority and a host name",
            ),
            (json!({"TXT": ["\"\""]}), "dns_expected_records.TXT.0", "must not be empty"),
            (json!({"A": [1]}), "dns_expected_records.A.0", "must be a string"),
            (
                json!({"TXT": ["t".repeat(VALUE_MAX + 1)]}),
                "dns_expected_records.TXT.0",
                "must not be longer than 4096 characters",
            ),
            (json!({"NS": many}), "dns_expected_records.NS", "must not have more than 50 items"),
            (json!({"TXT": large}), "dns_expected_records", "must not hold more than 8192 bytes"),
        ] {
            let message = format!("The {path} field {message}.");
            assert_eq!(parse(&sent), Err(json!({path: [message]})), "{path}");
        }
    }
}
