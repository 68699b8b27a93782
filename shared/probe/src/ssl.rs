//! The `ssl` check: one handshake, usually on port 443, and a verdict on the certificate.
//!
//! The handshake accepts any certificate, which is judged afterwards: a verifier that stops at the
//! first fault could not report the others, nor what the certificate contains. Nothing is sent over
//! the connection.
//!
//! Revocation is not checked.

mod certificate;
mod extension;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
mod recorder;
#[cfg(test)]
mod tests;
mod text;
mod verdict;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use ring::digest::SHA256;
use rustls::{CommonState, ProtocolVersion};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};
use tokio_rustls::client::TlsStream;
use url::{Host, Url};
use vedette_domain::checks::check::{
    CheckError, SslFailure, SslResult, certificate_time, days_left,
};
use vedette_domain::checks::evidence::Redaction;
pub use vedette_domain::sites::settings::HTTPS_PORT;

use self::recorder::{PresentedChain, Recorded, Recorder};
use self::verdict::{Expected, first_to_expire, judge};
use crate::connectivity::Connectivity;
use crate::http;
use crate::ssrf_guard::{SsrfGuard, without_credentials};
use crate::tls::suite_name;

/// Default deadline of a whole probe.
pub const DEADLINE: Duration = vedette_domain::checks::tool::Tool::Ssl.limits().deadline;

/// How long to wait for the server to close the connection, once everything is known.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(500);

/// What to probe.
#[derive(Clone, Copy)]
pub struct SslProbe<'a> {
    /// The monitored URL. Only its host matters.
    pub url: &'a Url,
    /// The port whose certificate is probed, usually [`HTTPS_PORT`].
    pub port: u16,
    /// For the whole probe; see [`DEADLINE`].
    pub deadline: Duration,
    /// The current time, with which the certificate's dates are compared.
    pub now: Timestamp,
    /// Tells the target's failures from our own. Without it, every failure is the target's.
    pub connectivity: Option<&'a Connectivity>,
}

/// Probes the certificate of a host once.
///
/// A server that requires a client certificate is judged by its own certificate, although it then rejects us. The
/// failure is `connection_failed` if the host could not be reached, or if the connection ended or stalled before a
/// certificate came. It is `no_certificate` if the server answered something else: not TLS, neither TLS 1.2 nor 1.3, no
/// cipher with a certificate, or a certificate that cannot be parsed or whose key the server does not hold. Such a
/// certificate is not reported.
///
/// The chain is built from what the server presents, and judged at the current time. If the certificate itself is not
/// current, the chain is judged at times at which it was. A certificate that is not valid yet counts as `expired`.
///
/// # Errors
/// When the check could not run, which says nothing about the target: a URL that the SSRF guard refuses
/// ([`TARGET_FORBIDDEN`](crate::ssrf_guard::TARGET_FORBIDDEN)), [`NO_ROUTE`](crate::status::NO_ROUTE),
/// [`NO_SOCKET`](crate::status::NO_SOCKET),
/// [`RESOLVER_UNAVAILABLE`](crate::ssrf_guard::RESOLVER_UNAVAILABLE),
/// [`NO_CONNECTIVITY`](crate::connectivity::NO_CONNECTIVITY).
pub async fn probe(guard: &SsrfGuard, probe: &SslProbe<'_>) -> Result<SslResult, CheckError> {
    let url = https_url(probe.url, probe.port);
    let algorithms = guard.tls().crypto_provider().signature_verification_algorithms;
    let recorder = Arc::new(Recorder::new(algorithms));
    // Outside the future that the deadline drops, so that the address is known even then.
    let mut connected_to = None;
    let started = Instant::now();
    let handshake = handshake(guard, &url, &recorder, &mut connected_to);
    let outcome = timeout(probe.deadline, handshake).await;

    let may_be_ours = match &outcome {
        Ok(Ok(_)) => false,
        Ok(Err(error)) => error.may_be_ours(),
        Err(_) => true,
    };
    let host = ProbedHost { domain: domain(&url), ip: connected_to, port: url.port() };
    let (connection, failure, why) = match outcome {
        Ok(Ok(stream)) => {
            (Some(stream), SslFailure::NoCertificate, "the server has no certificate".to_owned())
        }
        Ok(Err(error)) if error.is_tls() => (None, SslFailure::NoCertificate, error.to_string()),
        Ok(Err(error)) => {
            (None, SslFailure::ConnectionFailed, error.target_failure(&url, &Redaction::default())?)
        }
        Err(_) => {
            let why = format!("no certificate within {} s", probe.deadline.as_secs_f64());
            (None, SslFailure::ConnectionFailed, why)
        }
    };
    match recorder.take() {
        Recorded::Presented(presented) => {
            let negotiated = match &connection {
                Some(stream) => Negotiated::of(stream.get_ref().1),
                None => Negotiated::broken(presented.version),
            };
            let result = host.into_result(guard, &presented, negotiated, probe.now);
            if let Some(stream) = connection {
                let time_limit =
                    CLOSE_TIMEOUT.min(probe.deadline.saturating_sub(started.elapsed()));
                // The result stands, however the connection ends.
                let _ = timeout(time_limit, close(stream)).await;
            }
            Ok(result)
        }
        Recorded::KeyNotHeld => Ok(host.without_certificate(
            SslFailure::NoCertificate,
            "the server does not hold the key of the certificate that it presents",
        )),
        Recorded::Nothing | Recorded::Unproven { .. } => {
            if let Some(connectivity) = probe.connectivity.filter(|_| may_be_ours) {
                connectivity.confirm_for(guard, &url, started, &why).await?;
            }
            Ok(host.without_certificate(failure, &why))
        }
    }
}

/// The URL of the certificate on a port of the host; everything but the host is removed.
fn https_url(url: &Url, port: u16) -> Url {
    let mut host = without_credentials(url);
    // They fail only for URLs without a host, which the SSRF guard refuses.
    let _ = host.set_scheme("https");
    let _ = host.set_port(Some(port));
    host.set_path("/");
    host.set_query(None);
    host.set_fragment(None);
    host
}

fn domain(url: &Url) -> String {
    match url.host() {
        Some(Host::Domain(name)) => name.to_owned(),
        Some(Host::Ipv4(address)) => address.to_string(),
        Some(Host::Ipv6(address)) => address.to_string(),
        None => String::new(),
    }
}

async fn handshake(
    guard: &SsrfGuard,
    url: &Url,
    recorder: &Arc<Recorder>,
    connected_to: &mut Option<IpAddr>,
) -> Result<TlsStream<TcpStream>, http::Error> {
    let target = guard.admit(url).await?;
    let name = http::server_name(url)?;
    let stream = http::dial(&target).await?;
    let address = stream.peer_addr().ok();
    *connected_to = address.map(|address| address.ip());
    let mut config = guard.tls().as_ref().clone();
    config.dangerous().set_certificate_verifier(Arc::clone(recorder) as Arc<_>);
    match http::secure(Arc::new(config), stream, name.clone()).await {
        // A server that has presented a certificate supports what was offered.
        Err(error) if recorder.is_empty() => {
            Err(http::explain(error, guard.tls(), address, &name).await)
        }
        outcome => outcome,
    }
}

/// Closes a connection properly. Dropping it with unread data would reset it, which servers log.
/// The caller sets the timeout.
async fn close(mut stream: TlsStream<TcpStream>) {
    let mut bytes = [0; 1024];
    if stream.shutdown().await.is_ok() {
        while matches!(stream.read(&mut bytes).await, Ok(1..)) {}
    }
}

/// What was negotiated besides certificates.
struct Negotiated {
    protocol: Option<String>,
    cipher_suite: Option<String>,
    alpn: Option<String>,
}

impl Negotiated {
    fn of(connection: &CommonState) -> Self {
        let suite = connection.negotiated_cipher_suite();
        Self {
            protocol: connection.protocol_version().and_then(protocol),
            cipher_suite: suite.and_then(|suite| suite_name(suite.suite())),
            alpn: connection.alpn_protocol().map(|name| text::text(&String::from_utf8_lossy(name))),
        }
    }

    /// For a handshake that failed after the certificate.
    fn broken(version: ProtocolVersion) -> Self {
        Self { protocol: protocol(version), cipher_suite: None, alpn: None }
    }
}

fn protocol(version: ProtocolVersion) -> Option<String> {
    match version {
        ProtocolVersion::TLSv1_2 => Some("TLSv1.2".to_owned()),
        ProtocolVersion::TLSv1_3 => Some("TLSv1.3".to_owned()),
        _ => None,
    }
}

/// The probed host, its address, and its port if that is not 443.
struct ProbedHost {
    domain: String,
    ip: Option<IpAddr>,
    port: Option<u16>,
}

impl ProbedHost {
    fn into_result(
        self,
        guard: &SsrfGuard,
        presented: &PresentedChain,
        negotiated: Negotiated,
        now: Timestamp,
    ) -> SslResult {
        let unreadable = "the server's certificate cannot be read";
        let Some(certificate) = presented.chain.first().and_then(certificate::read) else {
            return self.without_certificate(SslFailure::NoCertificate, unreadable);
        };
        let expected = Expected {
            domain: &self.domain,
            roots: guard.roots(),
            extra_roots: guard.extra_roots(),
            algorithms: guard.tls().crypto_provider().signature_verification_algorithms,
            now,
        };
        let verdict = judge(&certificate, presented, &expected);
        let is_valid = verdict.failure().is_none();
        let first_to_expire =
            if is_valid { first_to_expire(&certificate, presented, &expected) } else { None };
        let validity = certificate.validity();
        let (from, to) = (validity.not_before.timestamp(), validity.not_after.timestamp());
        SslResult {
            is_valid,
            failure_type: verdict.failure(),
            failure_message: verdict.message(),
            issuer: certificate::usual_name(certificate.issuer()),
            issued_to: certificate::common_name(certificate.subject()),
            valid_from: Some(certificate_time(from)),
            valid_to: Some(certificate_time(to)),
            days_left: days_left(to, now),
            first_to_expire,
            subject: Some(text::name(certificate.subject())),
            serial_number: Some(text::hex(certificate.raw_serial())),
            fingerprint: Some(text::fingerprint(&SHA256, certificate.as_raw())),
            verified: verdict.is_trusted(),
            info: Some(certificate::info(&certificate, &presented.chain, negotiated)),
            domain: self.domain,
            ip: self.ip.map(|address| address.to_string()),
            port: self.port,
        }
    }

    fn without_certificate(self, failure: SslFailure, why: &str) -> SslResult {
        SslResult {
            domain: self.domain,
            ip: self.ip.map(|address| address.to_string()),
            port: self.port,
            is_valid: false,
            failure_type: Some(failure),
            failure_message: Some(why.to_owned()),
            issuer: None,
            issued_to: None,
            valid_from: None,
            valid_to: None,
            days_left: 0,
            first_to_expire: None,
            subject: None,
            serial_number: None,
            fingerprint: None,
            verified: false,
            info: None,
        }
    }
}
