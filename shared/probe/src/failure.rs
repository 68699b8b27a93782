//! Why no answer came, in words for people.
//!
//! The words are our own: the libraries' texts change, quote what was sent, and speak to
//! programmers.

use std::error::Error;
use std::io;

use rustls::{AlertDescription, CertificateError, InvalidMessage};

/// A connection that failed, before or after it was made.
pub(crate) fn of_connection(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "connection refused",
        io::ErrorKind::ConnectionReset => "connection reset",
        io::ErrorKind::HostUnreachable => "host unreachable",
        io::ErrorKind::NetworkUnreachable => "network unreachable",
        io::ErrorKind::TimedOut => "connection timed out",
        io::ErrorKind::PermissionDenied => "connection not permitted",
        io::ErrorKind::UnexpectedEof
        | io::ErrorKind::BrokenPipe
        | io::ErrorKind::ConnectionAborted
        | io::ErrorKind::NotConnected => "connection closed before an answer",
        _ => "connection failed",
    }
}

/// A TLS handshake that failed.
pub(crate) fn of_handshake(error: &io::Error) -> String {
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

/// A request that got no answer on a connection that was made.
pub(crate) fn of_exchange(error: &hyper::Error) -> String {
    if let Some(error) = io_source(error) {
        return match tls_error(error) {
            // TLS 1.3 servers judge the client, such as for its missing certificate, afterwards.
            Some(error) => of_tls(error),
            None => of_connection(error).into(),
        };
    }
    if error.is_parse() {
        // Also for a head beyond the limits, which hyper does not tell apart for clients.
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

/// What TLS itself says of a failure; none where only the connection failed.
pub(crate) fn tls_error(error: &io::Error) -> Option<&rustls::Error> {
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
        // The registered number (RFC 8446, section 6) finds the rest in any manual.
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
