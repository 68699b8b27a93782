//! The full contents of a certificate.
//!
//! The server chooses all of it, so the reader limits texts and lists. The `…omitted` fields count what was left out,
//! and a text that was cut ends with an ellipsis.

use serde::{Deserialize, Serialize};

/// A server's certificate, and the connection on which it was presented.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CertificateInfo {
    /// The negotiated TLS version: `TLSv1.2`, `TLSv1.3`.
    pub protocol: Option<String>,
    /// The negotiated cipher suite, by its registered name; null if the server ended the handshake after its
    /// certificate, because it supports none of ours.
    pub cipher_suite: Option<String>,
    /// The negotiated application protocol (ALPN).
    pub alpn: Option<String>,
    /// X.509 version: 1, 2 or 3.
    pub version: u32,
    /// Serial number in hexadecimal.
    pub serial_number: String,
    /// The subject, attribute by attribute.
    pub subject: Vec<NameAttribute>,
    /// The issuer, attribute by attribute.
    pub issuer: Vec<NameAttribute>,
    /// The first instant of validity, UTC: `YYYY-MM-DD HH:MM:SS`.
    pub valid_from: String,
    /// The last instant of validity, UTC: `YYYY-MM-DD HH:MM:SS`.
    pub valid_to: String,
    /// Its public key.
    pub key: CertificateKey,
    /// The algorithm of the issuer's signature, by its short name or its object identifier.
    pub signature_algorithm: String,
    /// Digests of the whole certificate.
    pub fingerprints: CertificateFingerprints,
    /// The hosts and other names that it is for.
    pub subject_alternative_names: AlternativeNames,
    /// Its extensions in their order.
    pub extensions: Vec<CertificateExtension>,
    /// Extensions left out.
    pub extensions_omitted: usize,
    /// The certificates that the server presented, in its order, starting with its own.
    pub chain: Vec<CertificateSummary>,
    /// Certificates left out, because there were too many or they could not be read.
    pub chain_omitted: usize,
}

/// One attribute of a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NameAttribute {
    /// The usual abbreviation or short name (`CN`, `O`, `serialNumber`), or its object identifier.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its text, or its bytes in hexadecimal if they are not text.
    pub value: String,
}

/// A public key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CertificateKey {
    /// `RSA`, `EC`, `Ed25519`, or the name in the certificate.
    pub algorithm: String,
    /// Size in bits, if known: of the modulus for RSA, of the field for EC.
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
    /// Host names; `*` stands for any one label.
    pub dns: Vec<String>,
    /// Addresses.
    pub ip: Vec<String>,
    /// Other names with their kind, such as `email:post@example.com`.
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
    /// Its usual name; null if it is unknown.
    pub name: Option<String>,
    /// Whether a client that does not know the extension must refuse the certificate.
    pub critical: bool,
    /// Its contents, one fact each; empty if the extension is unknown. The alternative names are separate, in
    /// `subject_alternative_names`.
    pub values: Vec<String>,
    /// Facts left out.
    pub values_omitted: usize,
}

/// A certificate of the chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CertificateSummary {
    /// The subject: `CN=example.com, O=Example`.
    pub subject: String,
    /// The issuer.
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
