//! How a service is reached over HTTP, with a token.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use reqwest::{Client, Proxy, redirect};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use url::{Host, Url};
use vedette_domain::accounts::account::Secret;

/// How long connecting may take.
const CONNECT_TIME: Duration = Duration::from_secs(10);

/// Where a service is, and how it is reached.
#[derive(Debug, Clone)]
pub struct Connection {
    /// The service's root, such as `https://monitor.example.com`.
    pub service: Url,
    /// The proxy through which the service is reached.
    pub proxy: Option<Url>,
    /// A PEM file with certificate authorities to trust in addition to the system's.
    pub authorities: Option<PathBuf>,
    /// Whether a service on another machine may be reached without TLS.
    pub allows_plaintext: bool,
}

/// Why a service cannot be reached in this way.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    /// Others could read the token, and what is sent with it.
    #[error("{0} does not use TLS; use https, or pass --allow-http in a network that you trust")]
    Plaintext(String),
    /// The URL has another scheme, or one to which no path can be appended.
    #[error("{0} is not the URL of a service, such as https://monitor.example.com")]
    Address(String),
    /// The certificate authorities cannot be read.
    #[error("{path} has no certificate authorities that can be read: {problem}")]
    Authorities {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The HTTP client cannot be built, for example because of the proxy's URL.
    #[error("the HTTP client cannot be set up")]
    Client(#[from] reqwest::Error),
    /// TLS cannot be configured.
    #[error("TLS cannot be set up")]
    Tls(#[from] rustls::Error),
}

impl Connection {
    /// The address of a path of the service.
    ///
    /// # Errors
    ///
    /// The URL is not that of a service.
    pub fn at(&self, path: &str) -> Result<Url, ConnectionError> {
        let address = || ConnectionError::Address(self.service.to_string());
        self.service.join(path).map_err(|_| address())
    }

    /// A client that sends a token and these headers.
    ///
    /// # Errors
    ///
    /// What is wrong with the configuration.
    pub fn client(&self, token: &Secret, headers: HeaderMap) -> Result<Client, ConnectionError> {
        let Self { service, proxy, authorities, allows_plaintext } = self;
        let address = || ConnectionError::Address(service.to_string());
        let is_plain = service.scheme() == "http";
        if !is_plain && service.scheme() != "https" {
            return Err(address());
        }
        if is_plain && !allows_plaintext && !is_this_machine(service) {
            return Err(ConnectionError::Plaintext(service.to_string()));
        }
        let bearer = format!("Bearer {}", token.reveal());
        let mut authorization = HeaderValue::from_str(&bearer).map_err(|_| address())?;
        authorization.set_sensitive(true);
        let mut headers = headers;
        headers.insert(AUTHORIZATION, authorization);
        let client = Client::builder()
            .tls_backend_preconfigured(tls(authorities.as_ref())?)
            .default_headers(headers)
            // A redirect would send the token to another server.
            .redirect(redirect::Policy::none())
            .connect_timeout(CONNECT_TIME)
            .no_proxy();
        let client = match proxy {
            Some(proxy) => client.proxy(Proxy::all(proxy.clone())?),
            None => client,
        };
        Ok(client.build()?)
    }
}

fn is_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// Configures TLS with ring, which trusts the system's certificate authorities and those in a file.
fn tls(authorities: Option<&PathBuf>) -> Result<ClientConfig, ConnectionError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if let Some(path) = authorities {
        let refused =
            |problem: String| ConnectionError::Authorities { path: path.clone(), problem };
        let read = CertificateDer::pem_file_iter(path);
        let read: Result<Vec<_>, _> = read.map_err(|error| refused(error.to_string()))?.collect();
        let read = read.map_err(|error| refused(error.to_string()))?;
        let (added, _) = roots.add_parsable_certificates(read);
        if added == 0 {
            return Err(refused("it contains no certificate".to_owned()));
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}
