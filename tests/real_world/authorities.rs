//! Certificate authorities and self-signed certificates that the operator trusts.

use std::net::SocketAddr;
use std::sync::Arc;

use p256::ecdsa::signature::hazmat::PrehashSigner as _;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, PKCS_ECDSA_P256_SHA256,
    PublicKeyData, SignatureAlgorithm, SigningKey, date_time_ymd,
};
use ring::digest::{Algorithm, SHA256, SHA384, SHA512, digest};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use vedette_probe::ssrf_guard::{Outbound, SsrfGuard};
use vedette_testkit::loopback;

use crate::tls::results;

const SITE: &str = "site.test";

/// `ecdsa-with-SHA256` without its last byte, which stands for the hash function: 2 is SHA-256, 3 and 4 are SHA-384 and
/// SHA-512.
const ECDSA_WITH: [u8; 9] = [6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3];

/// The key of an authority that signs as ring cannot. rcgen has no name for its signatures, so it calls them
/// SHA-256, and [`Self::renamed`] corrects that.
struct AuthorityKey {
    key: Curve,
    digest: &'static Algorithm,
}

enum Curve {
    P256(p256::ecdsa::SigningKey),
    P521(p521::ecdsa::SigningKey),
}

impl AuthorityKey {
    fn p256(seed: u8, digest: &'static Algorithm) -> Self {
        let key = p256::ecdsa::SigningKey::from_slice(&[seed; 32]).expect("a key");
        Self { key: Curve::P256(key), digest }
    }

    fn p521(seed: u8, digest: &'static Algorithm) -> Self {
        let key = p521::ecdsa::SigningKey::from_slice(&[&[0], &[seed; 65][..]].concat());
        Self { key: Curve::P521(key.expect("a key")), digest }
    }

    /// A certificate, or a part of one, with the hash function that it is signed with.
    fn renamed(&self, der: &[u8]) -> Vec<u8> {
        let hash = if self.digest == &SHA512 {
            4
        } else if self.digest == &SHA384 {
            3
        } else {
            2
        };
        let mut der = der.to_vec();
        for at in 0..der.len() - ECDSA_WITH.len() {
            if der[at..].starts_with(&ECDSA_WITH) {
                der[at + ECDSA_WITH.len()] = hash;
            }
        }
        der
    }

    /// A root certificate of version 1. Nobody verifies its own signature.
    fn root(&self) -> CertificateDer<'static> {
        let (curve, point): (&[u8], _) = match &self.key {
            Curve::P256(key) => (
                &[0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7],
                key.verifying_key().to_sec1_point(false).as_bytes().to_vec(),
            ),
            Curve::P521(key) => (
                &[0x2b, 0x81, 4, 0, 0x23],
                key.verifying_key().to_sec1_point(false).as_bytes().to_vec(),
            ),
        };
        let algorithm = der(0x30, &[&ECDSA_WITH[..], &[2]].concat());
        let name = der(0x0c, b"Intranet");
        let name = der(0x30, &der(0x31, &der(0x30, &[&[6, 3, 0x55, 4, 3][..], &name].concat())));
        let date = |text: &[u8]| der(0x17, text);
        let dates = der(0x30, &[date(b"200101000000Z"), date(b"490101000000Z")].concat());
        let of_key = [der(6, &[0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1]), der(6, curve)];
        let key = [der(0x30, &of_key.concat()), der(3, &[&[0][..], &point].concat())];
        let body =
            [der(2, &[1]), algorithm.clone(), name.clone(), dates, name, der(0x30, &key.concat())];
        der(0x30, &[der(0x30, &body.concat()), algorithm, der(3, &[0, 0])].concat()).into()
    }

    /// A certificate for the site, which this authority has signed, and its key.
    fn issue(self) -> Identity {
        let mut authority = CertificateParams::new(Vec::new()).expect("no names");
        authority.distinguished_name = rcgen::DistinguishedName::new();
        authority.distinguished_name.push(DnType::CommonName, "Intranet");
        let issuer = Issuer::from_params(&authority, &self);
        let key = KeyPair::generate().expect("a key");
        let certificate = params(&[SITE]).signed_by(&key, &issuer).expect("a certificate");
        Identity { certificate: self.renamed(certificate.der()).into(), key }
    }
}

impl PublicKeyData for AuthorityKey {
    fn der_bytes(&self) -> &[u8] {
        &[]
    }

    fn algorithm(&self) -> &'static SignatureAlgorithm {
        &PKCS_ECDSA_P256_SHA256
    }
}

impl SigningKey for AuthorityKey {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, rcgen::Error> {
        let digest = digest(self.digest, &self.renamed(message));
        Ok(match &self.key {
            Curve::P256(key) => {
                let signature: p256::ecdsa::DerSignature =
                    key.sign_prehash(digest.as_ref()).expect("signed");
                signature.as_bytes().to_vec()
            }
            Curve::P521(key) => {
                let signature: p521::ecdsa::DerSignature =
                    key.sign_prehash(digest.as_ref()).expect("signed");
                signature.as_bytes().to_vec()
            }
        })
    }
}

/// A value in DER.
fn der(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len();
    let head = match length {
        0..128 => vec![tag, length as u8],
        128..256 => vec![tag, 0x81, length as u8],
        _ => vec![tag, 0x82, (length >> 8) as u8, length as u8],
    };
    [head, content.to_vec()].concat()
}

fn params(names: &[&str]) -> CertificateParams {
    let names: Vec<_> = names.iter().map(ToString::to_string).collect();
    CertificateParams::new(names).expect("names")
}

/// A server's certificate with its key.
struct Identity {
    certificate: CertificateDer<'static>,
    key: KeyPair,
}

impl Identity {
    fn self_signed(params: &CertificateParams) -> Self {
        let key = KeyPair::generate().expect("a key");
        let certificate = params.self_signed(&key).expect("a certificate").der().clone();
        Self { certificate, key }
    }

    /// Starts a web server that presents it.
    async fn serve(&self) -> SocketAddr {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let key = PrivateKeyDer::Pkcs8(self.key.serialize_der().into());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![self.certificate.clone()], key)
            .expect("a certificate");
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                // A client that refuses the certificate, or that sends nothing, is no fault.
                let Ok(mut stream) = acceptor.accept(stream).await else { continue };
                if stream.read(&mut [0; 4096]).await.is_ok_and(|length| length > 0) {
                    let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
                    let _ = stream.write_all(answer).await;
                }
            }
        });
        address
    }
}

/// What the status and the ssl check find at a server, if the operator trusts a certificate.
async fn checked(identity: &Identity, trusted: CertificateDer<'static>) -> (u16, Option<String>) {
    let address = identity.serve().await;
    let detour = format!("{SITE}:443:{address}").parse().expect("a detour");
    let (connect_to, extra_roots) = (vec![detour], vec![trusted]);
    let guard = SsrfGuard::new(Outbound { connect_to, extra_roots, ..loopback() });
    let (status, ssl) = results(&guard.expect("a guard")).await;
    assert_eq!(status.code == 200, ssl.is_valid, "{status:?} {ssl:?}");
    (status.code, ssl.failure_message)
}

#[tokio::test]
async fn signatures_on_p521_and_with_sha512_are_verified() {
    type New = fn(u8, &'static Algorithm) -> AuthorityKey;
    for (new, digest) in [
        (AuthorityKey::p521 as New, &SHA256),
        (AuthorityKey::p521, &SHA384),
        (AuthorityKey::p521, &SHA512),
        (AuthorityKey::p256, &SHA512),
    ] {
        let root = new(1, digest).root();
        assert_eq!(checked(&new(1, digest).issue(), root.clone()).await, (200, None), "{digest:?}");
        // Another key of the same name.
        let (code, message) = checked(&new(2, digest).issue(), root).await;
        assert_eq!(code, 0, "{digest:?}");
        assert_eq!(message.as_deref(), Some("a signature in the chain does not match"));
    }
}

#[tokio::test]
async fn a_trusted_self_signed_certificate_is_accepted_for_its_names_while_it_is_current() {
    let openssl = |names: &[&str], until: i32| {
        let mut params = params(names);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.not_after = date_time_ymd(until, 1, 1);
        Identity::self_signed(&params)
    };
    for (names, until, code) in [
        (&[SITE][..], 2120, 200),
        (&["other.test", SITE], 2120, 200),
        (&["other.test"], 2120, 0),
        (&[], 2120, 0),
        (&[SITE], 2001, 0),
    ] {
        let identity = openssl(names, until);
        let found = checked(&identity, identity.certificate.clone()).await;
        assert_eq!(found.0, code, "{names:?} {until}: {found:?}");
    }
    // Only this very certificate is trusted, and not every one of its name.
    let (presented, trusted) = (openssl(&[SITE], 2120), openssl(&[SITE], 2120));
    assert_eq!(checked(&presented, trusted.certificate).await.0, 0);
}
