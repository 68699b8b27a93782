//! Certificate authorities and self-signed certificates that the operator trusts.

use std::net::SocketAddr;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair, date_time_ymd};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use vedette_probe::ssrf_guard::{Outbound, SsrfGuard};
use vedette_testkit::loopback;

use crate::tls::results;

const SITE: &str = "site.test";

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
