//! TLS as every engine uses it: what Vedette offers to servers, and which certificates it trusts.

mod ecdsa;
mod hello;

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_name;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, CipherSuite, ClientConfig, DigitallySignedStruct, Error, RootCertStore,
    SignatureScheme,
};
use x509_parser::prelude::{FromDer, X509Certificate};

pub(crate) use self::hello::{Choice, client_hello, lacking, server_hello, suite_name};

/// TLS 1.2 and 1.3 by ring, with the signatures that [`ecdsa`] adds, offering HTTP/2 and HTTP/1.1.
pub(crate) fn config(
    roots: Arc<RootCertStore>,
    extra_roots: Vec<CertificateDer<'static>>,
) -> Result<ClientConfig, Error> {
    // Named explicitly, because another crate in the process may have set another default.
    let mut provider = rustls::crypto::ring::default_provider();
    // SHA-256 suites first, as in browsers. A check is all handshake and hardly any data, so the
    // hash dominates the cost, and most processors have instructions for SHA-256.
    provider.cipher_suites.sort_by_key(|suite| {
        !matches!(
            suite.suite(),
            CipherSuite::TLS13_AES_128_GCM_SHA256
                | CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256
                | CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256
        )
    });
    provider.signature_verification_algorithms = ecdsa::algorithms();
    let provider = Arc::new(provider);
    let webpki = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider))
        .build()
        .map_err(|error| Error::General(error.to_string()))?;
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Verifier { webpki, extra_roots }))
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    // A resumed session skips the certificate, and a check has to see today's certificate.
    config.resumption = rustls::client::Resumption::disabled();
    Ok(config)
}

/// Verifies certificates as rustls does, and also accepts one that is itself among the operator's. rustls would refuse
/// it as an authority's if it is self-signed in the way that `openssl req -x509` does it.
#[derive(Debug)]
struct Verifier {
    webpki: Arc<WebPkiServerVerifier>,
    extra_roots: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if !self.extra_roots.contains(end_entity) {
            return self.webpki.verify_server_cert(
                end_entity,
                intermediates,
                server_name,
                ocsp_response,
                now,
            );
        }
        verify_dates(end_entity, now)?;
        verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.webpki.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.webpki.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.webpki.supported_verify_schemes()
    }
}

fn verify_dates(certificate: &CertificateDer<'_>, now: UnixTime) -> Result<(), CertificateError> {
    let (_, certificate) =
        X509Certificate::from_der(certificate).map_err(|_| CertificateError::BadEncoding)?;
    let validity = certificate.validity();
    let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    if now < validity.not_before.timestamp() {
        Err(CertificateError::NotValidYet)
    } else if now > validity.not_after.timestamp() {
        Err(CertificateError::Expired)
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use rustls::{NamedGroup, SupportedCipherSuite};

    use super::*;

    /// The registered name of a signature scheme.
    fn scheme_name(scheme: SignatureScheme) -> String {
        let name = scheme.as_str().expect("a name").to_lowercase();
        name.replace("nistp", "secp")
            .replace("256_sha", "256r1_sha")
            .replace("384_sha", "384r1_sha")
            .replace("521_sha", "521r1_sha")
            .replace("rsa_pss", "rsa_pss_rsae")
    }

    #[test]
    fn the_reference_names_what_is_offered() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/tools.md");
        let page = std::fs::read_to_string(page).expect("the page");
        let (_, section) = page.split_once("\n## TLS\n").expect("the section");
        let named = |row: &str| -> BTreeSet<String> {
            let start = format!("| {row} | ");
            let row = section.lines().find_map(|line| line.strip_prefix(&start)).expect("a row");
            let names = row.trim_end_matches(" |").split(", ");
            names.map(|name| name.trim_matches('`').to_owned()).collect()
        };
        let roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        let config = config(Arc::new(roots), Vec::new()).expect("settings");
        let provider = config.crypto_provider();
        let suites = |is_tls13: bool| -> BTreeSet<String> {
            let suites = provider.cipher_suites.iter();
            let suites =
                suites.filter(|suite| matches!(suite, SupportedCipherSuite::Tls13(_)) == is_tls13);
            suites.filter_map(|suite| suite_name(suite.suite())).collect()
        };
        assert_eq!(named("cipher suites of TLS 1.3"), suites(true));
        assert_eq!(named("cipher suites of TLS 1.2"), suites(false));
        let versions = rustls::ALL_VERSIONS.iter().map(|version| format!("{:?}", version.version));
        let versions = versions.map(|name| name.replace("TLSv", "TLS ").replace('_', "."));
        assert_eq!(named("versions"), versions.collect());
        let groups = provider.kx_groups.iter().map(|group| match group.name() {
            NamedGroup::X25519 => "x25519".to_owned(),
            group => group.as_str().expect("a name").to_owned(),
        });
        assert_eq!(named("key exchange groups"), groups.collect());
        let schemes = provider.signature_verification_algorithms.supported_schemes();
        let schemes = schemes.into_iter().map(scheme_name);
        assert_eq!(named("signatures of the handshake"), schemes.collect());
    }
}
