//! The contents of a certificate.

use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, SHA256};
use rustls::pki_types::CertificateDer;
use vedette_domain::checks::check::{
    AlternativeNames, CertificateExtension, CertificateFingerprints, CertificateInfo,
    CertificateKey, CertificateSummary, NameAttribute, certificate_time,
};
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::oid_registry::{
    OID_EC_P256, OID_KEY_TYPE_EC_PUBLIC_KEY, OID_NIST_EC_P384, OID_NIST_EC_P521,
    OID_PKCS1_RSAENCRYPTION, OID_SIG_ED448, OID_SIG_ED25519,
};
use x509_parser::prelude::FromDer;
use x509_parser::public_key::{PublicKey, RSAPublicKey};
use x509_parser::x509::{SubjectPublicKeyInfo, X509Name};

use super::Negotiated;
use super::extension;
use super::text::{
    attribute_value, bounded, fingerprint, hex, known_oid, name, oid, oid_name, text,
};

/// Alternative names kept; authorities sign at most a hundred.
const MAX_NAMES: usize = 100;

/// Attributes of a name kept.
const MAX_ATTRIBUTES: usize = 20;

/// Extensions kept.
const MAX_EXTENSIONS: usize = 30;

/// Certificates of the chain kept and searched for faults; an accepted path has at most seven.
pub(super) const MAX_CHAIN: usize = 10;

/// Parses a certificate, and ignores any bytes after it.
pub(super) fn read<'a>(der: &'a CertificateDer<'_>) -> Option<X509Certificate<'a>> {
    X509Certificate::from_der(der.as_ref()).ok().map(|(_, certificate)| certificate)
}

/// All contents of a server's certificate. `chain` is what the server presented, its own first.
pub(super) fn info(
    certificate: &X509Certificate<'_>,
    chain: &[CertificateDer<'_>],
    negotiated: Negotiated,
) -> CertificateInfo {
    let (shown, beyond) = bounded(chain, MAX_CHAIN);
    let readable: Vec<_> = shown.iter().filter_map(|der| Some(summary(&read(der)?))).collect();
    let (extensions, extensions_omitted) = bounded(certificate.extensions(), MAX_EXTENSIONS);
    CertificateInfo {
        protocol: negotiated.protocol,
        cipher_suite: negotiated.cipher_suite,
        alpn: negotiated.alpn,
        // Versions are encoded from 0.
        version: certificate.version().0.saturating_add(1),
        serial_number: hex(certificate.raw_serial()),
        subject: attributes(certificate.subject()),
        issuer: attributes(certificate.issuer()),
        valid_from: certificate_time(certificate.validity().not_before.timestamp()),
        valid_to: certificate_time(certificate.validity().not_after.timestamp()),
        key: key(certificate.public_key()),
        signature_algorithm: oid_name(&certificate.signature_algorithm.algorithm),
        fingerprints: CertificateFingerprints {
            sha1: fingerprint(&SHA1_FOR_LEGACY_USE_ONLY, certificate.as_raw()),
            sha256: fingerprint(&SHA256, certificate.as_raw()),
        },
        subject_alternative_names: alternative_names(certificate),
        extensions: extensions
            .into_iter()
            .map(|extension| {
                let (values, values_omitted) = extension::values(extension.parsed_extension());
                CertificateExtension {
                    oid: oid(&extension.oid),
                    name: known_oid(&extension.oid),
                    critical: extension.critical,
                    values,
                    values_omitted,
                }
            })
            .collect(),
        extensions_omitted,
        chain_omitted: beyond + (shown.len() - readable.len()),
        chain: readable,
    }
}

fn summary(certificate: &X509Certificate<'_>) -> CertificateSummary {
    CertificateSummary {
        subject: name(certificate.subject()),
        issuer: name(certificate.issuer()),
        serial_number: hex(certificate.raw_serial()),
        valid_from: certificate_time(certificate.validity().not_before.timestamp()),
        valid_to: certificate_time(certificate.validity().not_after.timestamp()),
        key: key(certificate.public_key()),
        signature_algorithm: oid_name(&certificate.signature_algorithm.algorithm),
        fingerprint: fingerprint(&SHA256, certificate.as_raw()),
    }
}

fn attributes(name: &X509Name<'_>) -> Vec<NameAttribute> {
    name.iter_attributes()
        .take(MAX_ATTRIBUTES)
        .map(|attribute| NameAttribute {
            kind: oid_name(attribute.attr_type()),
            value: attribute_value(attribute),
        })
        .collect()
}

/// The common name of `name`.
pub(super) fn common_name(name: &X509Name<'_>) -> Option<String> {
    name.iter_common_name().next().map(attribute_value)
}

/// The usual name of the holder of `name`: its common name, or else its organization.
pub(super) fn usual_name(name: &X509Name<'_>) -> Option<String> {
    common_name(name).or_else(|| name.iter_organization().next().map(attribute_value))
}

/// The hosts and other names that a certificate is for.
pub(super) fn alternative_names(certificate: &X509Certificate<'_>) -> AlternativeNames {
    let mut names = AlternativeNames::default();
    let listed =
        certificate.extensions().iter().find_map(|extension| match extension.parsed_extension() {
            ParsedExtension::SubjectAlternativeName(names) => Some(&names.general_names),
            _ => None,
        });
    let (listed, omitted) = bounded(listed.into_iter().flatten(), MAX_NAMES);
    names.omitted = omitted;
    for name in listed {
        match name {
            GeneralName::DNSName(host) => names.dns.push(text(host)),
            GeneralName::IPAddress(bytes) => match extension::address(bytes) {
                Some(address) => names.ip.push(address.to_string()),
                None => names.other.push(extension::general_name(name)),
            },
            other => names.other.push(extension::general_name(other)),
        }
    }
    names
}

/// Algorithm and size of a public key.
pub(super) fn key(key: &SubjectPublicKeyInfo<'_>) -> CertificateKey {
    let algorithm = &key.algorithm.algorithm;
    if *algorithm == OID_PKCS1_RSAENCRYPTION {
        let bits = match key.parsed() {
            Ok(PublicKey::RSA(key)) => Some(rsa_bits(&key)),
            _ => None,
        };
        return CertificateKey { algorithm: "RSA".to_owned(), bits, curve: None };
    }
    if *algorithm == OID_KEY_TYPE_EC_PUBLIC_KEY {
        let curve = key.algorithm.parameters.as_ref().and_then(|curve| curve.as_oid().ok());
        let known = [
            (OID_EC_P256, "P-256", 256),
            (OID_NIST_EC_P384, "P-384", 384),
            (OID_NIST_EC_P521, "P-521", 521),
        ];
        let known = known.into_iter().find(|(oid, ..)| curve.as_ref() == Some(oid));
        let (curve, bits) = match known {
            Some((_, name, bits)) => (Some(name.to_owned()), Some(bits)),
            None => (curve.as_ref().map(oid_name), None),
        };
        return CertificateKey { algorithm: "EC".to_owned(), bits, curve };
    }
    let known = [(OID_SIG_ED25519, "Ed25519", 256), (OID_SIG_ED448, "Ed448", 456)];
    match known.into_iter().find(|(oid, ..)| oid == algorithm) {
        Some((_, name, bits)) => {
            CertificateKey { algorithm: name.to_owned(), bits: Some(bits), curve: None }
        }
        None => CertificateKey { algorithm: oid_name(algorithm), bits: None, curve: None },
    }
}

fn rsa_bits(key: &RSAPublicKey<'_>) -> u32 {
    let zeros = key.modulus.iter().take_while(|byte| **byte == 0).count();
    let digits = &key.modulus[zeros..];
    let unused = digits.first().map_or(0, |byte| byte.leading_zeros());
    // Cannot overflow: certificates have at most 64 KiB.
    (digits.len() * 8) as u32 - unused
}
