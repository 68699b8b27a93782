//! Finds out which scheme a server speaks at a port if the user gave none.

use std::time::Duration;

use tokio::time::timeout;
use url::Url;

use crate::http::Connection;
pub use crate::http::Scheme;
use crate::ssrf_guard::SsrfGuard;

/// How long the attempt may take.
pub const SCHEME_TIMEOUT: Duration = Duration::from_secs(5);

/// Starts TLS with the server of an https URL, once, and returns what it speaks; `None` if the guard refuses the URL,
/// or if there is no answer within [`SCHEME_TIMEOUT`].
pub async fn scheme_of(guard: &SsrfGuard, https: &Url) -> Option<Scheme> {
    match timeout(SCHEME_TIMEOUT, Connection::to(guard, https)).await.ok()? {
        Ok(_) => Some(Scheme::Https),
        Err(error) => error.handshake_scheme(),
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;
    use crate::ssrf_guard::Outbound;

    fn guard(networks: &[&str]) -> SsrfGuard {
        let allow = networks.iter().map(|network| network.parse().expect("a network")).collect();
        SsrfGuard::new(Outbound { allow, ..Outbound::default() }).expect("a guard")
    }

    /// A server that reads something and answers with this. Returns the URL of its port.
    async fn server(answer: &'static [u8]) -> Url {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut hello = [0; 512];
                let read = stream.read(&mut hello).await;
                drop((read, stream.write_all(answer).await));
            }
        });
        Url::parse(&format!("https://{address}")).expect("a URL")
    }

    #[tokio::test]
    async fn the_first_bytes_of_a_server_tell_its_scheme() {
        let guard = guard(&["127.0.0.0/8"]);
        // An alert (handshake_failure) is TLS.
        for (answer, spoken) in [
            (&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], Scheme::Http),
            (b"", Scheme::Http),
            (b"\x15\x03\x03\x00\x02\x02\x28", Scheme::Https),
        ] {
            let url = server(answer).await;
            assert_eq!(scheme_of(&guard, &url).await, Some(spoken), "{answer:?}");
        }
    }

    #[tokio::test]
    async fn no_scheme_is_suggested_for_forbidden_or_missing_targets() {
        let url = server(b"HTTP/1.1 200 OK\r\n\r\n").await;
        assert_eq!(scheme_of(&guard(&[]), &url).await, None);
        let closed = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = closed.local_addr().expect("an address");
        drop(closed);
        let url = Url::parse(&format!("https://{address}")).expect("a URL");
        assert_eq!(scheme_of(&guard(&["127.0.0.0/8"]), &url).await, None);
    }
}
