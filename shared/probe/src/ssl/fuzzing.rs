//! The entry points of certificate checks for fuzzing; see [`crate::fuzzing`].

use jiff::Timestamp;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ProtocolVersion, RootCertStore};

use super::Negotiated;
use super::certificate;
use super::recorder::PresentedChain;
use super::verdict::{Expected, judge};

/// Parses a certificate, and judges it as a server's own and as self-signed.
pub fn certificate(data: &[u8]) {
    let der = CertificateDer::from(data.to_vec());
    let Some(read) = certificate::read(&der) else {
        return;
    };
    let mut roots = RootCertStore::empty();
    // A certificate that cannot be an authority's is not needed as one.
    let _ = roots.add(der.clone());
    for (chain, holds_key) in [(vec![der.clone()], true), (vec![der.clone(), der.clone()], false)] {
        let presented = PresentedChain {
            name: ServerName::try_from("example.com").expect("a name"),
            chain,
            holds_key,
            version: ProtocolVersion::TLSv1_3,
        };
        let expected = Expected {
            domain: "example.com",
            roots: &roots,
            extra_roots: &[],
            algorithms: rustls::crypto::ring::default_provider().signature_verification_algorithms,
            now: Timestamp::UNIX_EPOCH,
        };
        let verdict = judge(&read, &presented, &expected);
        assert_eq!(verdict.failure().is_some(), verdict.message().is_some());
        let negotiated = Negotiated::broken(ProtocolVersion::TLSv1_3);
        let info = certificate::info(&read, &presented.chain, negotiated);
        let told = serde_json::to_string(&info).expect("JSON");
        // Every list and text is limited, whatever the certificate contains.
        assert!(told.len() < 512 * 1024, "{} bytes", told.len());
    }
}
