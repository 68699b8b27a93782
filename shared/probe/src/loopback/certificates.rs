//! A certificate authority for tests.

use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{ServerConfig, SupportedProtocolVersion};

/// Years of validity of a certificate.
pub(crate) type Years = (i32, i32);

/// Now, and long after.
pub(crate) const CURRENT: Years = (2020, 2120);

pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    /// Authorities are distinguished by their names, so each needs its own.
    pub(crate) fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        Self(CertifiedIssuer::self_signed(params, key).expect("a certificate"))
    }

    /// Its own certificate.
    pub(crate) fn root(&self) -> CertificateDer<'static> {
        self.0.der().clone()
    }

    /// An authority that this one has signed.
    pub(crate) fn intermediate(&self, name: &str, (from, to): Years) -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.not_before = date_time_ymd(from, 1, 1);
        params.not_after = date_time_ymd(to, 1, 1);
        let key = KeyPair::generate().expect("a key");
        Self(CertifiedIssuer::signed_by(params, key, &self.0).expect("a certificate"))
    }

    /// A certificate for `names` with its key. `edit` can change anything in it.
    pub(crate) fn issue(
        &self,
        names: &[&str],
        (from, to): Years,
        edit: impl FnOnce(&mut CertificateParams),
    ) -> Identity {
        let mut params = params(names);
        params.not_before = date_time_ymd(from, 1, 1);
        params.not_after = date_time_ymd(to, 1, 1);
        edit(&mut params);
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.0).expect("a certificate");
        Identity { chain: vec![certificate.der().clone()], key }
    }

    /// The TLS configuration of a server with a certificate for `names`, which offers `protocols` with ALPN.
    pub(crate) fn server(&self, names: &[&str], years: Years, protocols: &[&str]) -> ServerConfig {
        let mut config = self.issue(names, years, |_| {}).server();
        config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        config
    }

    /// The same, but requires a certificate from its clients.
    pub(crate) fn server_for_known_clients(&self, names: &[&str]) -> ServerConfig {
        self.issue(names, CURRENT, |_| {}).serve(rustls::ALL_VERSIONS, Some(self))
    }
}

/// The parameters of a certificate for `names`.
pub(crate) fn params(names: &[&str]) -> CertificateParams {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    CertificateParams::new(names).expect("names")
}

/// What a server presents, and the key that it signs with.
pub(crate) struct Identity {
    pub(crate) chain: Vec<CertificateDer<'static>>,
    pub(crate) key: KeyPair,
}

impl Identity {
    /// A self-signed certificate.
    pub(crate) fn self_signed(params: &CertificateParams) -> Self {
        let key = KeyPair::generate().expect("a key");
        let certificate = params.self_signed(&key).expect("a certificate");
        Self { chain: vec![certificate.der().clone()], key }
    }

    /// Adds another certificate at the end of the chain.
    pub(crate) fn and(mut self, certificate: CertificateDer<'static>) -> Self {
        self.chain.push(certificate);
        self
    }

    /// The TLS configuration of a server.
    pub(crate) fn server(&self) -> ServerConfig {
        self.serve(rustls::ALL_VERSIONS, None)
    }

    /// The same with these versions of TLS, for the clients that an authority has signed. The test has to make sure
    /// that the chain and the key match.
    pub(crate) fn serve(
        &self,
        versions: &[&'static SupportedProtocolVersion],
        clients: Option<&Authority>,
    ) -> ServerConfig {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let key = PrivateKeyDer::Pkcs8(self.key.serialize_der().into());
        let key = provider.key_provider.load_private_key(key).expect("a key");
        let resolver = SingleCertAndKey::from(CertifiedKey::new(self.chain.clone(), key));
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(versions)
            .expect("versions");
        let builder = match clients {
            Some(authority) => {
                let mut roots = rustls::RootCertStore::empty();
                roots.add(authority.root()).expect("a root");
                let verifier =
                    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
                builder.with_client_cert_verifier(verifier.expect("a verifier"))
            }
            None => builder.with_no_client_auth(),
        };
        builder.with_cert_resolver(Arc::new(resolver))
    }
}
