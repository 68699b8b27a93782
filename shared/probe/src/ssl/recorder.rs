//! Keeps what a server presents, whatever it is, to be judged afterwards.

use std::sync::{Mutex, PoisonError};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, Error, ProtocolVersion, SignatureScheme};
use webpki::EndEntityCert;

use super::certificate;

/// Takes every certificate, and refuses only a server that does not hold the key of its own: of
/// that one there would be nothing to say, as it can present anybody's.
#[derive(Debug)]
pub(super) struct Recorder {
    algorithms: WebPkiSupportedAlgorithms,
    seen: Mutex<Seen>,
}

/// How far a handshake came.
#[derive(Debug, Default)]
pub(super) enum Seen {
    /// The server presented nothing yet.
    #[default]
    Nothing,
    /// It presented certificates, but not yet that the first is its own.
    Unproven { name: ServerName<'static>, chain: Vec<CertificateDer<'static>> },
    /// The first certificate is not its own.
    NotItsOwn,
    /// It presented certificates, of which the first is its own as far as can be known.
    Presented(Presented),
}

/// What a server presented.
#[derive(Debug)]
pub(super) struct Presented {
    /// The host that was asked for.
    pub(super) name: ServerName<'static>,
    /// At least its own certificate, which is the first.
    pub(super) chain: Vec<CertificateDer<'static>>,
    /// Whether the server has shown that it holds the key of its certificate; false when the
    /// certificate or the key are of a kind by which nothing can be shown to us. It is never valid
    /// then.
    pub(super) holds_key: bool,
    /// The TLS version that was agreed on.
    pub(super) version: ProtocolVersion,
}

impl Recorder {
    pub(super) fn new(algorithms: WebPkiSupportedAlgorithms) -> Self {
        Self { algorithms, seen: Mutex::default() }
    }

    /// What was seen up to now, which is then forgotten.
    pub(super) fn take(&self) -> Seen {
        std::mem::take(&mut *self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn set(&self, seen: Seen) {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = seen;
    }

    /// Notes whether the server signed with the key of its certificate.
    fn note_signature(
        &self,
        outcome: Result<HandshakeSignatureValid, Error>,
        version: ProtocolVersion,
    ) -> Result<HandshakeSignatureValid, Error> {
        let Seen::Unproven { name, chain } = self.take() else {
            // rustls hands over the certificate first, and once.
            return Err(Error::General("a signature without a certificate".to_owned()));
        };
        let holds_key = outcome.is_ok();
        if let Err(error) = outcome
            && chain.first().is_none_or(can_be_shown)
        {
            self.set(Seen::NotItsOwn);
            return Err(error);
        }
        self.set(Seen::Presented(Presented { name, chain, holds_key, version }));
        Ok(HandshakeSignatureValid::assertion())
    }
}

/// Whether signatures by the key of a certificate can be verified: what ring does, and what webpki
/// reads.
fn can_be_shown(der: &CertificateDer<'_>) -> bool {
    let Some(certificate) = certificate::read(der) else { return false };
    let key = certificate::key(certificate.public_key());
    let is_known = match (key.algorithm.as_str(), key.bits, key.curve.as_deref()) {
        ("RSA", Some(bits), _) => (2048..=8192).contains(&bits),
        ("EC", _, Some(curve)) => matches!(curve, "P-256" | "P-384"),
        ("Ed25519", ..) => true,
        _ => false,
    };
    is_known && EndEntityCert::try_from(der).is_ok()
}

impl ServerCertVerifier for Recorder {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let chain = std::iter::once(end_entity).chain(intermediates);
        let chain = chain.map(|der| der.clone().into_owned()).collect();
        self.set(Seen::Unproven { name: server_name.to_owned(), chain });
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let outcome = verify_tls12_signature(message, cert, dss, &self.algorithms);
        self.note_signature(outcome, ProtocolVersion::TLSv1_2)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let outcome = verify_tls13_signature(message, cert, dss, &self.algorithms);
        self.note_signature(outcome, ProtocolVersion::TLSv1_3)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
