//! The client of commands that make requests of their own.

use std::sync::Arc;

use reqwest::{Client, ClientBuilder};
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};

use crate::Failure;

/// A client that trusts the usual certificate authorities, because a small system has none, and those of this machine,
/// because a mirror may have its own.
///
/// # Errors
///
/// When TLS cannot be set up.
pub(crate) fn client() -> Result<ClientBuilder, Failure> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(ring::default_provider());
    let tls = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let tls = tls.map_err(Failure::because)?.with_root_certificates(roots).with_no_client_auth();
    Ok(Client::builder().tls_backend_preconfigured(tls))
}
