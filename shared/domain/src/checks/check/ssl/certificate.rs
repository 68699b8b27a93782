//! What a certificate says, in full.
//!
//! All of it is the server's choice, so texts and lists are bounded by who reads them; what was cut
//! is counted in the `…omitted` fields, and a text that was cut ends with an ellipsis.

use serde::{Deserialize, Serialize};

/// A server's certificate as it was read, with the connection that it was presented on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CertificateInfo {
    /// The TLS version that was agreed on: `TLSv1.2`, `TLSv1.3`.
    pub protocol: Option<String>,
    /// The cipher suite that was agreed on, by its registered name; null where the server broke off
    /// the handshake after its certificate, for want of one of ours.
    pub cipher_suite: Option<String>,
    /// The application protocol that was agreed on (ALPN).
    pub alpn: Option<String>,
    /// X.509 version: 1, 2 or 3.
    pub version: u32,
    /// Serial number in hexadecimal.
    pub serial_number: String,
    /// Whom the certificate is for, attribute by attribute.
    pub subject: Vec<NameAttribute>,
    /// Who signed it, attribute by attribute.
    pub issuer: Vec<NameAttribute>,
    /// The first instant of validity, UTC: `YYYY-MM-DD HH:MM:SS`.
    pub valid_from: String,
    /// The last instant of validity, UTC: `YYYY-MM-DD HH:MM:SS`.
    pub valid_to: String,
    /// Its public key.
    pub key: CertificateKey,
    /// The algorithm of the issuer's signature, by its short name, or its object identifier.
    pub signature_algorithm: String,
    /// Digests of the whole certificate.
    pub fingerprints: CertificateFingerprints,
    /// The hosts and others that it is for.
    pub subject_alternative_names: AlternativeNames,
    /// Its extensions in their order.
    pub extensions: Vec<CertificateExtension>,
    /// Extensions left out.
    pub extensions_omitted: usize,
    /// The certificates that the server presented, its own first, in its order.
    pub chain: Vec<CertificateSummary>,
    /// Certificates left out, beyond the bound or not readable.
    pub chain_omitted: usize,
}

/// One attribute of a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NameAttribute {
    /// The usual abbreviation or short name (`CN`, `O`, `serialNumber`), or its object identifier.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its text; hexadecimal where it is none.
    pub value: String,
}

/// A public key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CertificateKey {
    /// `RSA`, `EC`, `Ed25519`, or what the certificate names.
    pub algorithm: String,
    /// Size in bits, where it is known: of RSA the modulus, of EC the field.
    pub bits: Option<u32>,
    /// The curve of an EC key: `P-256`, or its object identifier.
    pub curve: Option<String>,
}

/// Digests of a certificate in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CertificateFingerprints {
    /// SHA-1.
    pub sha1: String,
    /// SHA-256.
    pub sha256: String,
}

/// The subject alternative names of a certificate.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AlternativeNames {
    /// Host names, with `*` for any one label.
    pub dns: Vec<String>,
    /// Addresses.
    pub ip: Vec<String>,
    /// Others with their kind, such as `email:post@example.com`.
    pub other: Vec<String>,
    /// Names left out.
    pub omitted: usize,
}

/// An extension of a certificate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CertificateExtension {
    /// Its object identifier.
    pub oid: String,
    /// Its usual name; null for one that is not known.
    pub name: Option<String>,
    /// Whether a client that does not know the extension must refuse the certificate.
    pub critical: bool,
    /// What it says, one fact each; empty for one that is not known. The alternative names are kept
    /// apart, in `subject_alternative_names`.
    pub values: Vec<String>,
    /// Facts left out.
    pub values_omitted: usize,
}

/// A certificate of the chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CertificateSummary {
    /// Whom it is for: `CN=example.com, O=Example`.
    pub subject: String,
    /// Who signed it.
    pub issuer: String,
    /// Serial number in hexadecimal.
    pub serial_number: String,
    /// The first instant of validity, UTC: `YYYY-MM-DD HH:MM:SS`.
    pub valid_from: String,
    /// The last instant of validity, UTC: `YYYY-MM-DD HH:MM:SS`.
    pub valid_to: String,
    /// Its public key.
    pub key: CertificateKey,
    /// The algorithm of its signature.
    pub signature_algorithm: String,
    /// SHA-256 of the certificate in hexadecimal.
    pub fingerprint: String,
}
