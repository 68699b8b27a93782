//! Why a request has no response: one error type, worded in one place.
//!
//! The wording is our own and for people: the libraries' texts change, quote what was sent, and
//! address programmers.

use std::error::Error as StdError;
use std::io;

use rustls::{AlertDescription, CertificateError, InvalidMessage};
use serde_json::json;
use url::Url;
use vedette_domain::checks::check::CheckError;
use vedette_domain::checks::evidence::Redaction;

use super::redirect::{DeadEnd, Destination, stored};
use crate::ssrf_guard::{
    ForbiddenReason, ForbiddenTarget, NotAdmitted, RESOLVER_UNAVAILABLE, SsrfGuard, Unresolved,
    without_credentials,
};
use crate::tls::Choice;

/// [`CheckError::code`] when all addresses of the target are IPv6, and this machine has no route
/// to them.
pub const NO_ROUTE: &str = "no_route";

/// [`CheckError::code`] when this machine is out of sockets, ports or memory.
pub const NO_SOCKET: &str = "no_socket";

/// The protocol that a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// TLS, with any certificate.
    Https,
    /// Something other than TLS.
    Http,
}

/// The versions of HTTP that are offered to the server of an https URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Versions {
    /// HTTP/2 and HTTP/1.1.
    All,
    /// HTTP/1.1 alone.
    Http1,
}

/// Why a request has no response. `Display` is for people.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The SSRF guard returned no address to connect to.
    #[error(transparent)]
    NotAdmitted(#[from] NotAdmitted),
    /// This machine has no route to IPv6, and the target has no other addresses.
    #[error("IPv6 is not available here")]
    NoRoute,
    /// This machine is out of sockets, ports or memory.
    #[error("this machine is out of sockets")]
    NoSocket(#[source] io::Error),
    /// The target did not accept a connection.
    #[error("{}", of_connection(.0))]
    Connection(#[source] io::Error),
    /// The URL's host is not a valid name for TLS.
    #[error("TLS: no certificate can be valid for this host name")]
    ServerName,
    /// The TLS handshake failed.
    #[error("{}", of_handshake(.0))]
    Handshake(#[source] io::Error),
    /// The server refused the TLS handshake, because it supports nothing that Vedette does.
    #[error("TLS: {0}")]
    Unsupported(Choice),
    /// The URL cannot be sent in an HTTP request, because of its length or a byte in it.
    #[error("the URL cannot be requested")]
    NotSendable,
    /// An HTTP/2 server has not processed the request (RFC 9113, sections 6.8, 7 and 8.7), so that it can be sent again
    /// over these versions.
    #[error("the server did not process the request")]
    Unprocessed(Versions, #[source] hyper::Error),
    /// The response redirects to where no visitor gets.
    #[error(transparent)]
    DeadEnd(#[from] DeadEnd),
    /// There was a connection, but no response.
    #[error("{}", of_exchange(.0))]
    Exchange(#[source] hyper::Error),
}

impl Error {
    /// Why the target did not respond, for people, without what it repeats of the request.
    ///
    /// # Errors
    /// When the check could not run, which says nothing about the target.
    pub(crate) fn target_failure(
        self,
        url: &Url,
        redaction: &Redaction,
    ) -> Result<String, CheckError> {
        let stored = |url: &str| stored(&redaction.apply(url));
        let (message, code) = match self {
            Self::NotAdmitted(NotAdmitted::Forbidden(ForbiddenTarget { url, reason })) => {
                return Err(ForbiddenTarget { url: stored(&url), reason }.into());
            }
            Self::NotAdmitted(NotAdmitted::ResolverUnavailable(why)) => {
                tracing::warn!(%why, "no name server can be reached");
                ("no name server can be reached".to_owned(), RESOLVER_UNAVAILABLE)
            }
            Self::NoRoute => (format!("the target has IPv6 addresses only, and {self}"), NO_ROUTE),
            Self::NoSocket(ref error) => {
                tracing::warn!(%error, "out of sockets");
                (self.to_string(), NO_SOCKET)
            }
            Self::DeadEnd(dead_end) => return Ok(dead_end.redacted(redaction).to_string()),
            // Their words are ours.
            Self::NotAdmitted(NotAdmitted::Unresolved(_))
            | Self::Connection(_)
            | Self::ServerName
            | Self::Handshake(_)
            | Self::Unsupported(_)
            | Self::NotSendable
            | Self::Unprocessed(..)
            | Self::Exchange(_) => return Ok(self.to_string()),
        };
        let data = json!({ "url": stored(without_credentials(url).as_str()) });
        Err(CheckError { message, code: code.to_owned(), data })
    }

    /// The error for a URL to which the target has redirected. If its address is refused, no visitor gets there either,
    /// unless it may belong to a network of the operator's.
    pub(crate) fn after_redirect(self, guard: &SsrfGuard) -> Self {
        let Self::NotAdmitted(NotAdmitted::Forbidden(ForbiddenTarget { url, reason })) = self
        else {
            return self;
        };
        let is_dead_end = match &reason {
            ForbiddenReason::Scheme(_) => false,
            ForbiddenReason::Address(it) => !guard.may_be_in_private_network(it.address),
            // Visitors may reach one on a public address.
            ForbiddenReason::OwnListener(it) => {
                let ip = it.ip().to_canonical();
                ip.is_loopback() || ip.is_unspecified()
            }
        };
        match is_dead_end {
            true => DeadEnd::Forbidden(Destination(url), reason).into(),
            false => NotAdmitted::Forbidden(ForbiddenTarget { url, reason }).into(),
        }
    }

    /// Whether our own connection may be the reason: the network could not be reached or did not
    /// answer in time, or the name could not be looked up.
    pub(crate) fn may_be_ours(&self) -> bool {
        match self {
            Self::NotAdmitted(NotAdmitted::Unresolved(why)) => *why != Unresolved::InvalidName,
            Self::Connection(error) | Self::Handshake(error) => is_of_network(error),
            Self::Exchange(error) => io_source(error).is_some_and(is_of_network),
            Self::NotAdmitted(_)
            | Self::NoRoute
            | Self::NoSocket(_)
            | Self::ServerName
            | Self::NotSendable
            | Self::Unsupported(_)
            | Self::Unprocessed(..)
            | Self::DeadEnd(_) => false,
        }
    }

    /// The protocol of a server with which the TLS handshake failed; `None` if the handshake did not begin.
    pub(crate) fn handshake_scheme(&self) -> Option<Scheme> {
        let error = match self {
            Self::Handshake(error) => error,
            Self::Unsupported(_) => return Some(Scheme::Https),
            _ => return None,
        };
        match tls_error(error) {
            Some(rustls::Error::InvalidMessage(_)) => Some(Scheme::Http),
            Some(_) => Some(Scheme::Https),
            // A server that closes the connection at the first bytes of TLS does not speak it.
            None => match error.kind() {
                io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => Some(Scheme::Http),
                _ => None,
            },
        }
    }

    /// Whether the server refused the TLS handshake. Some servers then close the connection without an alert.
    pub(super) fn is_refused_handshake(&self) -> bool {
        let Self::Handshake(error) = self else { return false };
        match tls_error(error) {
            Some(error) => {
                matches!(
                    error,
                    rustls::Error::AlertReceived(_) | rustls::Error::PeerIncompatible(_)
                )
            }
            None => matches!(
                error.kind(),
                io::ErrorKind::UnexpectedEof
                    | io::ErrorKind::ConnectionReset
                    | io::ErrorKind::ConnectionAborted
                    | io::ErrorKind::BrokenPipe
            ),
        }
    }

    /// Whether the target was reached, and TLS itself failed.
    pub(crate) fn is_tls(&self) -> bool {
        match self {
            Self::ServerName | Self::Unsupported(_) => true,
            Self::Handshake(error) => tls_error(error).is_some(),
            _ => false,
        }
    }
}

/// This error comes neither from the target nor from its host.
fn is_of_network(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::TimedOut
            | io::ErrorKind::HostUnreachable
            | io::ErrorKind::NetworkUnreachable
            | io::ErrorKind::NetworkDown
    )
}

/// A connection that failed, before or after it was established.
fn of_connection(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "connection refused",
        io::ErrorKind::ConnectionReset => "connection reset",
        io::ErrorKind::HostUnreachable => "host unreachable",
        io::ErrorKind::NetworkUnreachable => "network unreachable",
        io::ErrorKind::TimedOut => "connection timed out",
        io::ErrorKind::PermissionDenied => "connection not permitted",
        // Of `Overhead`.
        io::ErrorKind::QuotaExceeded => "too much data before a final response",
        io::ErrorKind::UnexpectedEof
        | io::ErrorKind::BrokenPipe
        | io::ErrorKind::ConnectionAborted
        | io::ErrorKind::NotConnected => "connection closed before an answer",
        _ => "connection failed",
    }
}

/// A TLS handshake that failed.
fn of_handshake(error: &io::Error) -> String {
    match tls_error(error) {
        Some(error) => of_tls(error),
        None => match error.kind() {
            io::ErrorKind::UnexpectedEof
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::ConnectionAborted => "TLS: connection closed in the handshake".into(),
            _ => format!("TLS: {}", of_connection(error)),
        },
    }
}

/// A request without a response on an established connection.
fn of_exchange(error: &hyper::Error) -> String {
    if let Some(error) = io_source(error) {
        return match tls_error(error) {
            // With TLS 1.3, servers reject the client, for example for its missing certificate,
            // afterwards.
            Some(error) => of_tls(error),
            None => of_connection(error).into(),
        };
    }
    if error.is_parse() {
        // Also for a head beyond our limits, which hyper does not distinguish for clients.
        "the answer is not valid HTTP".into()
    } else if error.is_incomplete_message() || error.is_closed() || error.is_canceled() {
        "connection closed before an answer".into()
    } else {
        "the server broke the HTTP protocol".into()
    }
}

fn io_source(error: &hyper::Error) -> Option<&io::Error> {
    let mut source = error.source();
    while let Some(error) = source {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            return Some(error);
        }
        source = error.source();
    }
    None
}

/// The TLS error; `None` if only the connection failed.
fn tls_error(error: &io::Error) -> Option<&rustls::Error> {
    error.get_ref()?.downcast_ref()
}

fn of_tls(error: &rustls::Error) -> String {
    use rustls::Error as Tls;
    let words = match error {
        Tls::InvalidCertificate(error) => of_certificate(error),
        Tls::NoCertificatesPresented => "the server has no certificate",
        Tls::InvalidMessage(
            InvalidMessage::HandshakePayloadTooLarge | InvalidMessage::CertificatePayloadTooLarge,
        ) => "the server's messages are too large",
        Tls::InvalidMessage(_) => "the server does not speak TLS",
        Tls::PeerIncompatible(_) => "no common protocol version or cipher",
        Tls::AlertReceived(alert) => return of_alert(*alert),
        Tls::NoApplicationProtocol => "no common application protocol",
        _ => "the server broke the TLS protocol",
    };
    format!("TLS: {words}")
}

fn of_alert(alert: AlertDescription) -> String {
    let words = match alert {
        AlertDescription::CertificateRequired => "the server asks for a client certificate",
        AlertDescription::UnrecognisedName => "the server does not know this name",
        AlertDescription::ProtocolVersion => "no common protocol version",
        AlertDescription::HandshakeFailure => "the server refused the handshake",
        AlertDescription::InternalError => "internal error of the server",
        // The registered number (RFC 8446, section 6) identifies any other alert.
        alert => {
            return format!("the server refused the connection (alert {})", u8::from(alert));
        }
    };
    format!("TLS: {words}")
}

fn of_certificate(error: &CertificateError) -> &'static str {
    match error {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "certificate expired"
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "certificate not yet valid"
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "certificate is for another name"
        }
        CertificateError::UnknownIssuer => "certificate from an unknown issuer",
        CertificateError::Revoked => "certificate revoked",
        CertificateError::BadSignature => "certificate signature does not match",
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "certificate is not for servers"
        }
        CertificateError::BadEncoding => "certificate cannot be read",
        _ => "certificate not accepted",
    }
}
