//! The `ssl` check: one handshake on port 443, and what the certificate is worth.
//!
//! The handshake takes any certificate, and it is judged afterwards: a verifier that stops at the
//! first flaw could not say what else is wrong, nor what the certificate says. Nothing is sent over
//! the connection.
//!
//! Revocation is not looked up.

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
use vedette_domain::check::{CheckError, SslFailure, SslResult, certificate_time, days_left};

use self::recorder::{Presented, Recorder, Seen};
use self::verdict::{Expected, judge};
use crate::guard::{Guard, without_credentials};
use crate::http;

/// How long a whole probe may take, unless the caller has less.
pub const DEADLINE: Duration = vedette_domain::tool::Tool::Ssl.limits().deadline;

/// How long a server is waited for to end the connection, once all is known.
const PATIENCE: Duration = Duration::from_millis(500);

/// What to probe.
#[derive(Debug, Clone, Copy)]
pub struct SslProbe<'a> {
    /// The monitored URL. Only its host counts: the probe goes to port 443, whatever the scheme.
    pub url: &'a Url,
    /// For the whole probe; see [`DEADLINE`].
    pub deadline: Duration,
    /// The present instant, which the certificate's dates are held against.
    pub now: Timestamp,
}

/// Probes the certificate of a host once.
///
/// A server that wants a certificate of its clients is judged by its own, though it then refuses
/// us. The failure is `connection_failed` where nothing was reached, or the connection ended or
/// fell silent before a certificate; `no_certificate` where the server answered otherwise: not TLS,
/// none of TLS 1.2 and 1.3, no cipher with a certificate, one that cannot be read, or one whose key
/// the server does not hold, of which nothing is shown then.
///
/// The chain is built from what the server presents, and judged at present; when the certificate
/// itself is not current, at instants at which it was. A certificate that is not valid yet counts
/// as `expired`.
///
/// # Errors
/// When the check could not run, which says nothing of the target: a URL that the guard refuses
/// ([`TARGET_FORBIDDEN`](crate::guard::TARGET_FORBIDDEN)),
/// [`NO_ROUTE`](crate::status::NO_ROUTE), [`NO_SOCKET`](crate::status::NO_SOCKET),
/// [`RESOLVER_UNAVAILABLE`](crate::guard::RESOLVER_UNAVAILABLE).
pub async fn probe(guard: &Guard, probe: &SslProbe<'_>) -> Result<SslResult, CheckError> {
    let url = port_443(probe.url);
    let algorithms = guard.tls().crypto_provider().signature_verification_algorithms;
    let recorder = Arc::new(Recorder::new(algorithms));
    // Outside of what is cut off at the deadline, to say how far it came.
    let mut connected_to = None;
    let started = Instant::now();
    let handshake = handshake(guard, &url, &recorder, &mut connected_to);
    let outcome = timeout(probe.deadline, handshake).await;

    let host = Reached { domain: domain(&url), ip: connected_to };
    let (connection, failure, why) = match outcome {
        Ok(Ok(stream)) => {
            (Some(stream), SslFailure::NoCertificate, "the server has no certificate".to_owned())
        }
        Ok(Err(error)) if error.is_tls() => (None, SslFailure::NoCertificate, error.to_string()),
        Ok(Err(error)) => (None, SslFailure::ConnectionFailed, error.target_failure(&url)?),
        Err(_) => {
            let why = format!("no certificate within {} s", probe.deadline.as_secs_f64());
            (None, SslFailure::ConnectionFailed, why)
        }
    };
    match recorder.take() {
        Seen::Presented(presented) => {
            let negotiated = match &connection {
                Some(stream) => Negotiated::of(stream.get_ref().1),
                None => Negotiated::broken(presented.version),
            };
            let result = host.judged(guard, &presented, negotiated, probe.now);
            if let Some(stream) = connection {
                let patience = PATIENCE.min(probe.deadline.saturating_sub(started.elapsed()));
                // Running out of patience is one more way to part.
                let _ = timeout(patience, part(stream)).await;
            }
            Ok(result)
        }
        Seen::NotItsOwn => Ok(host.without_certificate(
            SslFailure::NoCertificate,
            "the server does not hold the key of the certificate that it presents",
        )),
        Seen::Nothing | Seen::Unproven { .. } => Ok(host.without_certificate(failure, &why)),
    }
}

/// Where the certificate of `url`'s host is: nothing but the host remains.
fn port_443(url: &Url) -> Url {
    let mut host = without_credentials(url);
    // They fail for URLs without a host only, which the guard refuses.
    let _ = host.set_scheme("https");
    let _ = host.set_port(None);
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
    guard: &Guard,
    url: &Url,
    recorder: &Arc<Recorder>,
    connected_to: &mut Option<IpAddr>,
) -> Result<TlsStream<TcpStream>, http::Error> {
    let target = guard.admit(url).await?;
    let name = http::server_name(url)?;
    let stream = http::dial(&target).await?;
    *connected_to = stream.peer_addr().ok().map(|address| address.ip());
    let mut config = guard.tls().as_ref().clone();
    config.dangerous().set_certificate_verifier(Arc::clone(recorder) as Arc<_>);
    http::secure(Arc::new(config), stream, name).await
}

/// Ends a connection as clients do. Merely dropped, with what the server sends after the handshake
/// unread, it would end in a reset, which servers log. Bounded in time by the caller.
async fn part(mut stream: TlsStream<TcpStream>) {
    let mut bytes = [0; 1024];
    if stream.shutdown().await.is_ok() {
        while matches!(stream.read(&mut bytes).await, Ok(1..)) {}
    }
}

/// What was agreed on besides certificates.
struct Negotiated {
    protocol: Option<String>,
    cipher_suite: Option<String>,
    alpn: Option<String>,
}

impl Negotiated {
    fn of(connection: &CommonState) -> Self {
        let suite = connection.negotiated_cipher_suite().and_then(|suite| suite.suite().as_str());
        Self {
            protocol: connection.protocol_version().and_then(protocol),
            // rustls sets those of TLS 1.3 apart; as registered, they are TLS_AES_….
            cipher_suite: suite.map(|suite| suite.replacen("TLS13_", "TLS_", 1)),
            alpn: connection.alpn_protocol().map(|name| text::text(&String::from_utf8_lossy(name))),
        }
    }

    /// Of a handshake that came as far as the certificate.
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

/// Which host was probed, and where it was found.
struct Reached {
    domain: String,
    ip: Option<IpAddr>,
}

impl Reached {
    fn judged(
        self,
        guard: &Guard,
        presented: &Presented,
        negotiated: Negotiated,
        now: Timestamp,
    ) -> SslResult {
        let unreadable = "the server's certificate cannot be read";
        let Some(certificate) = presented.chain.first().and_then(certificate::read) else {
            return self.without_certificate(SslFailure::NoCertificate, unreadable);
        };
        let verdict = judge(
            &certificate,
            presented,
            &Expected {
                domain: &self.domain,
                roots: guard.roots(),
                algorithms: guard.tls().crypto_provider().signature_verification_algorithms,
                now,
            },
        );
        let validity = certificate.validity();
        let (from, to) = (validity.not_before.timestamp(), validity.not_after.timestamp());
        SslResult {
            is_valid: verdict.failure().is_none(),
            failure_type: verdict.failure(),
            failure_message: verdict.message(),
            issuer: certificate::usual_name(certificate.issuer()),
            issued_to: certificate::common_name(certificate.subject()),
            valid_from: Some(certificate_time(from)),
            valid_to: Some(certificate_time(to)),
            days_left: days_left(to, now),
            subject: Some(text::name(certificate.subject())),
            serial_number: Some(text::hex(certificate.raw_serial())),
            fingerprint: Some(text::fingerprint(&SHA256, certificate.as_raw())),
            verified: verdict.is_trusted(),
            info: Some(certificate::info(&certificate, &presented.chain, negotiated)),
            domain: self.domain,
            ip: self.ip.map(|address| address.to_string()),
        }
    }

    fn without_certificate(self, failure: SslFailure, why: &str) -> SslResult {
        SslResult {
            domain: self.domain,
            ip: self.ip.map(|address| address.to_string()),
            is_valid: false,
            failure_type: Some(failure),
            failure_message: Some(why.to_owned()),
            issuer: None,
            issued_to: None,
            valid_from: None,
            valid_to: None,
            days_left: 0,
            subject: None,
            serial_number: None,
            fingerprint: None,
            verified: false,
            info: None,
        }
    }
}
