//! Certificate checks against servers on loopback.

mod handshake;
mod judging;
mod reading;

use std::net::SocketAddr;

use rustls::ServerConfig;
use rustls::pki_types::CertificateDer;
use serde_json::json;

use super::*;
use crate::loopback::certificates::{Authority, CURRENT, Identity, params};
use crate::loopback::{Server, guard, guard_of, status};
use crate::ssrf_guard::Outbound;

/// Long enough for anything that should succeed on a busy machine.
const TEST_TIMEOUT: Duration = Duration::from_secs(20);

/// A short timeout, for tests that run out of time.
const HASTY: Duration = Duration::from_millis(200);

const SITE: &str = "site.example";

fn now() -> Timestamp {
    "2026-11-20T10:05:00Z".parse().expect("a timestamp")
}

/// A guard that trusts the roots, and resolves `host` on port 443 to `address`.
fn guard_to(host: &str, address: SocketAddr, roots: &[CertificateDer<'static>]) -> SsrfGuard {
    let networks = ["127.0.0.0/8", "::1/128"];
    guard_of(Outbound {
        allow: networks.iter().map(|network| network.parse().expect("a network")).collect(),
        connect_to: vec![format!("{host}:443:{address}").parse().expect("a detour")],
        extra_roots: roots.to_vec(),
        ..Outbound::default()
    })
}

/// A probe of port 443.
fn probe_of(url: &Url) -> SslProbe<'_> {
    SslProbe { url, port: HTTPS_PORT, deadline: TEST_TIMEOUT, now: now(), connectivity: None }
}

async fn completed(guard: &SsrfGuard, host: &str) -> SslResult {
    let url = format!("https://{host}/").parse().expect("a URL");
    super::probe(guard, &probe_of(&url)).await.expect("a completed check")
}

/// Probes `host` at a server that runs for this probe.
async fn serve(config: ServerConfig, host: &str, roots: &[CertificateDer<'static>]) -> SslResult {
    let server = Server::https(config, |_| status(200)).await;
    let result = completed(&guard_to(host, server.address, roots), host).await;
    assert_eq!(server.heads(), [""; 0], "nothing is sent");
    result
}

/// The failure and the text of a result, and whether the chain is trusted. Also checks what all results have in common.
fn verdict(result: &SslResult) -> (Option<SslFailure>, bool, &str) {
    assert_eq!(result.is_valid, result.failure_type.is_none(), "{result:?}");
    assert_eq!(result.is_valid, result.failure_message.is_none(), "{result:?}");
    assert!(result.verified || !result.is_valid, "{result:?}");
    let has_certificate = result.info.is_some();
    for is_told in [
        result.valid_from.is_some(),
        result.valid_to.is_some(),
        result.subject.is_some(),
        result.serial_number.is_some(),
        result.fingerprint.is_some(),
    ] {
        assert_eq!(is_told, has_certificate, "{result:?}");
    }
    if !has_certificate {
        assert_eq!((result.days_left, result.verified), (0, false), "{result:?}");
        assert_eq!((&result.issuer, &result.issued_to), (&None, &None), "{result:?}");
    }
    (result.failure_type, result.verified, result.failure_message.as_deref().unwrap_or_default())
}
