//! Texts and lists from certificates, bounded, because the server controls all of them.

use data_encoding::HEXLOWER;
use ring::digest::{Algorithm, digest};
use vedette_domain::text::printable;
use x509_parser::der_parser::Oid;
use x509_parser::der_parser::asn1_rs::{Any, Tag};
use x509_parser::objects::{oid_registry, oid2abbrev};
use x509_parser::x509::{AttributeTypeAndValue, X509Name};

/// The longest text kept, in characters. A host name has at most 253.
const MAX_TEXT: usize = 256;

/// The longest object identifier written out, in bytes; real ones have at most about twenty.
const MAX_OID: usize = 64;

/// The first `limit` of `items`, and how many more there are.
pub(super) fn bounded<T>(items: impl IntoIterator<Item = T>, limit: usize) -> (Vec<T>, usize) {
    let mut items = items.into_iter();
    let kept = items.by_ref().take(limit).collect();
    (kept, items.count())
}

/// `text` on one line, cut after [`MAX_TEXT`] characters.
pub(super) fn text(text: &str) -> String {
    clipped(text, MAX_TEXT)
}

/// `text` on one line, cut to `limit` characters with an ellipsis as the last.
pub(super) fn clipped(text: &str, limit: usize) -> String {
    let cut = text.chars().nth(limit).is_some();
    let kept = text.chars().take(if cut { limit.saturating_sub(1) } else { limit });
    printable(&kept.chain(cut.then_some('…')).collect::<String>())
}

/// Bytes in hexadecimal, cut like texts.
pub(super) fn hex(bytes: &[u8]) -> String {
    text(&HEXLOWER.encode(&bytes[..bytes.len().min(MAX_TEXT / 2 + 1)]))
}

/// A digest in hexadecimal.
pub(super) fn fingerprint(algorithm: &'static Algorithm, bytes: &[u8]) -> String {
    hex(digest(algorithm, bytes).as_ref())
}

/// An object identifier in dotted form.
pub(super) fn oid(oid: &Oid<'_>) -> String {
    if oid.as_bytes().len() > MAX_OID { hex(oid.as_bytes()) } else { text(&oid.to_id_string()) }
}

/// The short name of a well-known object identifier.
pub(super) fn known_oid(oid: &Oid<'_>) -> Option<String> {
    oid2abbrev(oid, oid_registry()).ok().map(str::to_owned)
}

/// The short name of an object identifier, or its dotted form.
pub(super) fn oid_name(identifier: &Oid<'_>) -> String {
    known_oid(identifier).unwrap_or_else(|| oid(identifier))
}

/// `CN=example.com, O=Example`; empty for an empty name.
pub(super) fn name(name: &X509Name<'_>) -> String {
    let mut written = String::new();
    for attribute in name.iter_attributes() {
        // Longer texts are cut anyway.
        if written.len() > 4 * MAX_TEXT {
            break;
        }
        let separator = if written.is_empty() { "" } else { ", " };
        let (kind, value) = (oid_name(attribute.attr_type()), attribute_value(attribute));
        written.push_str(&format!("{separator}{kind}={value}"));
    }
    text(&written)
}

/// The value of a name's attribute; hexadecimal if it is not text.
pub(super) fn attribute_value(attribute: &AttributeTypeAndValue<'_>) -> String {
    let value: &Any<'_> = attribute.attr_value();
    match value.tag() {
        Tag::BmpString => {
            let units =
                value.data.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
            let decoded = char::decode_utf16(units);
            let decoded = decoded.map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER));
            text(&decoded.take(MAX_TEXT + 1).collect::<String>())
        }
        // Officially T.61, in fact Latin-1.
        Tag::T61String => {
            text(&value.data.iter().take(MAX_TEXT + 1).copied().map(char::from).collect::<String>())
        }
        Tag::Utf8String
        | Tag::PrintableString
        | Tag::Ia5String
        | Tag::NumericString
        | Tag::VisibleString => text(&String::from_utf8_lossy(value.data)),
        _ => hex(value.data),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_and_cleaned() {
        assert_eq!(text(&"é".repeat(256)), "é".repeat(256));
        assert_eq!(text(&"é".repeat(257)), format!("{}…", "é".repeat(255)));
        assert_eq!(
            text("a\0b\nc\u{7f}\u{85}\u{202e}"),
            "a\u{fffd}b\u{fffd}c\u{fffd}\u{fffd}\u{fffd}"
        );
        assert_eq!(hex(&[0x0a, 0xff]), "0aff");
        assert_eq!(hex(&[0xab; 128]), "ab".repeat(128));
        assert_eq!(hex(&[0xab; 60_000]), format!("{}a…", "ab".repeat(127)));
    }

    #[test]
    fn lists_are_cut_and_counted() {
        assert_eq!(bounded(1..=5, 3), (vec![1, 2, 3], 2));
        assert_eq!(bounded(1..=3, 3), (vec![1, 2, 3], 0));
        assert_eq!(bounded(0..0, 3), (vec![], 0));
    }

    #[test]
    fn object_identifiers_are_named_where_known() {
        let known = Oid::from(&[2, 5, 29, 17]).expect("an identifier");
        assert_eq!((oid(&known), oid_name(&known)), ("2.5.29.17".into(), "subjectAltName".into()));
        let unknown = Oid::from(&[1, 3, 6, 1, 4, 1, 99999]).expect("an identifier");
        assert_eq!(oid_name(&unknown), "1.3.6.1.4.1.99999");
        assert_eq!(known_oid(&unknown), None);
        let endless = vec![0x81; 60_000];
        assert_eq!(oid(&Oid::new(endless.into())).chars().count(), MAX_TEXT);
    }
}
