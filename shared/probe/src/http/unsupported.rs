//! What a server that refuses the TLS handshake supports instead.
//!
//! A server that has no cipher suite in common with Vedette only says that the handshake failed. Asked with the suites
//! that Vedette lacks, it names one of them in its ServerHello, and the connection ends there.

use std::net::SocketAddr;
use std::time::Duration;

use rustls::pki_types::ServerName;
use rustls::{CipherSuite, ClientConfig, SupportedCipherSuite};
use tokio::io::AsyncWriteExt;
use tokio::time::timeout;
use url::Url;

use super::{Error, Trace, dial_address, server_name};
use crate::ssrf_guard::SsrfGuard;
use crate::tls::{Choice, client_hello, lacking, server_hello};

/// For the whole question. A server that does not answer it must not use up the time of the check, which already has a
/// result.
const TIMEOUT: Duration = Duration::from_secs(3);

/// Adds to the error of a handshake what the server at `address` supports instead, if it says so. `config` is what was
/// offered.
pub(crate) async fn explain(
    error: Error,
    config: &ClientConfig,
    address: Option<SocketAddr>,
    name: &ServerName<'_>,
) -> Error {
    let Some(address) = address.filter(|_| error.is_refused_handshake()) else { return error };
    let supported: Vec<_> =
        config.crypto_provider().cipher_suites.iter().map(SupportedCipherSuite::suite).collect();
    match timeout(TIMEOUT, ask(address, name, &supported)).await {
        Ok(Some(choice)) => Error::Unsupported(choice),
        Ok(None) | Err(_) => error,
    }
}

/// Adds the same to the error of a connection for `url` that `trace` has recorded.
pub(crate) async fn explained<T>(
    result: Result<T, Error>,
    guard: &SsrfGuard,
    url: &Url,
    trace: &Trace,
) -> Result<T, Error> {
    match (result, server_name(url)) {
        (Err(error), Ok(name)) => Err(explain(error, guard.tls(), trace.address(), &name).await),
        (result, _) => result,
    }
}

/// The choice of a server among all suites, if it is one that is not `supported`.
async fn ask(
    address: SocketAddr,
    name: &ServerName<'_>,
    supported: &[CipherSuite],
) -> Option<Choice> {
    let mut stream = dial_address(address).await.ok()?;
    // The supported ones come first: a server that could pick one has refused for another reason.
    let lacking = lacking(supported);
    let offered = supported.iter().chain(&lacking).map(|suite| u16::from(*suite));
    stream.write_all(&client_hello(name, offered)).await.ok()?;
    let choice = server_hello(&mut stream).await?;
    lacking.contains(&choice.suite).then_some(choice)
}
