//! A certificate authority of the tests' own.

use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd,
};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;

/// Years of validity of a certificate.
pub(crate) type Years = (i32, i32);

/// Now, and long after.
pub(crate) const CURRENT: Years = (2020, 2120);

pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    /// Authorities are told apart by their names, so each needs its own.
    pub(crate) fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        Self(CertifiedIssuer::self_signed(params, key).expect("a certificate"))
    }

    pub(crate) fn root(&self) -> CertificateDer<'static> {
        self.0.der().clone()
    }

    /// TLS of a server with a certificate for `names`, which offers `protocols` by ALPN.
    pub(crate) fn server(&self, names: &[&str], years: Years, protocols: &[&str]) -> ServerConfig {
        self.serve(names, years, protocols, false)
    }

    /// The same, but wants a certificate of its clients.
    pub(crate) fn server_for_known_clients(&self, names: &[&str]) -> ServerConfig {
        self.serve(names, CURRENT, &[], true)
    }

    fn serve(
        &self,
        names: &[&str],
        (from, to): Years,
        protocols: &[&str],
        known_clients: bool,
    ) -> ServerConfig {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let mut params = CertificateParams::new(names).expect("names");
        params.not_before = date_time_ymd(from, 1, 1);
        params.not_after = date_time_ymd(to, 1, 1);
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.0).expect("a certificate");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .expect("versions");
        let builder = if known_clients {
            let mut roots = rustls::RootCertStore::empty();
            roots.add(self.root()).expect("a root");
            let verifier =
                WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
            builder.with_client_cert_verifier(verifier.expect("a verifier"))
        } else {
            builder.with_no_client_auth()
        };
        let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
        let mut config =
            builder.with_single_cert(vec![certificate.der().clone()], key).expect("a key pair");
        config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        config
    }
}
