//! TCP connections to admitted targets, and TLS on them.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::stream::{FuturesUnordered, StreamExt};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use url::{Host, Url};

use super::Error;
use crate::ssrf_guard::AdmittedTarget;

/// How long to wait for an address before the next one is tried concurrently: the Connection
/// Attempt Delay of RFC 8305, section 5.
const ATTEMPT_DELAY: Duration = Duration::from_millis(250);

/// The most addresses that are tried, because the target controls the length of a DNS answer.
pub(crate) const MAX_ADDRESSES: usize = 8;

/// Connects to the first address of `target` that accepts. The caller sets the timeout.
pub(crate) async fn dial(target: &AdmittedTarget) -> Result<TcpStream, Error> {
    let mut untried = target.addresses().iter().take(MAX_ADDRESSES);
    let mut attempts = FuturesUnordered::new();
    let mut failures = Vec::new();
    loop {
        if attempts.is_empty() {
            match untried.next() {
                Some(address) => attempts.push(attempt(*address)),
                None => return Err(most_telling(failures)),
            }
        }
        tokio::select! {
            Some((address, outcome)) = attempts.next() => match outcome {
                Ok(stream) => return Ok(stream),
                Err(error) => failures.push((address, error)),
            },
            () = tokio::time::sleep(ATTEMPT_DELAY), if untried.len() > 0 => {
                attempts.extend(untried.next().map(|address| attempt(*address)));
            }
        }
    }
}

async fn attempt(address: SocketAddr) -> (SocketAddr, io::Result<TcpStream>) {
    (address, dial_address(address).await)
}

/// Connects to one address of a target. The caller sets the timeout.
pub(crate) async fn dial_address(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address).await?;
    // Requests are small and their responses are awaited, so delaying a segment gains nothing.
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// The failure that says most about the target, out of the failures of its addresses.
pub(crate) fn most_telling(failures: Vec<(SocketAddr, io::Error)>) -> Error {
    let mut telling = failures.into_iter().filter_map(|(address, error)| {
        // On a machine without IPv6, the failure of an IPv6 address says nothing if there is an
        // IPv4 one.
        (!(address.is_ipv6() && has_no_route(&error))).then_some(error)
    });
    match telling.next() {
        Some(error) if is_exhausted(&error) => Error::NoSocket(error),
        Some(error) => Error::Connection(error),
        None => Error::NoRoute,
    }
}

/// The name of the host of `url` for SNI and certificate verification.
pub(crate) fn server_name(url: &Url) -> Result<ServerName<'static>, Error> {
    match url.host() {
        Some(Host::Ipv4(address)) => Ok(ServerName::IpAddress(address.into())),
        Some(Host::Ipv6(address)) => Ok(ServerName::IpAddress(address.into())),
        Some(Host::Domain(name)) => {
            ServerName::try_from(name.to_owned()).map_err(|_| Error::ServerName)
        }
        None => Err(Error::ServerName),
    }
}

/// Performs the TLS handshake with the server called `name`.
pub(crate) async fn secure(
    config: Arc<ClientConfig>,
    stream: TcpStream,
    name: ServerName<'static>,
) -> Result<TlsStream<TcpStream>, Error> {
    TlsConnector::from(config).connect(name, stream).await.map_err(Error::Handshake)
}

/// How systems without IPv6 refuse an IPv6 address: no route, no source address (IPv6 disabled on
/// every interface), or no such family (not in the kernel).
fn has_no_route(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NetworkUnreachable | io::ErrorKind::AddrNotAvailable)
        || error.raw_os_error() == Some(libc::EAFNOSUPPORT)
}

/// `AddrNotAvailable` means that all local ports are in use.
fn is_exhausted(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::AddrNotAvailable | io::ErrorKind::OutOfMemory)
        || matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE | libc::ENOBUFS))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failures(failures: &[(&str, i32)]) -> Vec<(SocketAddr, io::Error)> {
        failures
            .iter()
            .map(|(address, errno)| {
                (address.parse().expect("address"), io::Error::from_raw_os_error(*errno))
            })
            .collect()
    }

    #[test]
    fn ipv6_alone_without_a_route_is_no_route() {
        for errno in [libc::ENETUNREACH, libc::EADDRNOTAVAIL, libc::EAFNOSUPPORT] {
            let failed = failures(&[("[2600::1]:80", errno), ("[2600::2]:80", libc::ENETUNREACH)]);
            assert!(matches!(most_telling(failed), Error::NoRoute), "{errno}");
        }
    }

    #[test]
    fn an_address_that_answered_is_more_telling_than_one_without_a_route() {
        for (first, second) in [
            (("[2600::1]:80", libc::ENETUNREACH), ("1.2.3.4:80", libc::ECONNREFUSED)),
            (("[2600::1]:80", libc::ECONNREFUSED), ("[2600::2]:80", libc::ENETUNREACH)),
        ] {
            let Error::Connection(error) = most_telling(failures(&[first, second])) else {
                panic!("not a failure of the target: {first:?} {second:?}");
            };
            assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
        }
    }

    #[test]
    fn ipv4_without_a_route_is_the_targets_failure() {
        let failed = failures(&[("1.2.3.4:80", libc::ENETUNREACH)]);
        assert!(matches!(most_telling(failed), Error::Connection(_)));
    }

    #[test]
    fn a_machine_out_of_sockets_does_not_blame_the_target() {
        for errno in [libc::EMFILE, libc::ENFILE, libc::ENOBUFS, libc::ENOMEM, libc::EADDRNOTAVAIL]
        {
            let failed = failures(&[("1.2.3.4:80", errno)]);
            assert!(matches!(most_telling(failed), Error::NoSocket(_)), "{errno}");
        }
    }
}
