//! Records what a server presents, so that it can be judged afterwards.

use std::sync::{Mutex, PoisonError};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, Error, ProtocolVersion, SignatureScheme};
use webpki::EndEntityCert;

use super::certificate;

/// Accepts every certificate, and rejects only a server that does not hold its key: there is
/// nothing to report about such a certificate, which may be anybody's.
#[derive(Debug)]
pub(super) struct Recorder {
    algorithms: WebPkiSupportedAlgorithms,
    seen: Mutex<Recorded>,
}

/// How far a handshake has come.
#[derive(Debug, Default)]
pub(super) enum Recorded {
    /// The server has presented nothing yet.
    #[default]
    Nothing,
    /// It has presented certificates, but not yet proved that it holds the key of the first.
    Unproven { name: ServerName<'static>, chain: Vec<CertificateDer<'static>> },
    /// It does not hold the key of the first certificate.
    KeyNotHeld,
    /// It has presented certificates, and holds the key of the first as far as we can verify.
    Presented(PresentedChain),
}

/// The certificates that a server presented.
#[derive(Debug)]
pub(super) struct PresentedChain {
    /// The requested host.
    pub(super) name: ServerName<'static>,
    /// At least one certificate, the server's own first.
    pub(super) chain: Vec<CertificateDer<'static>>,
    /// Whether the server has proved that it holds the key of its certificate; false if certificate
    /// or key are of a kind that we cannot verify. The certificate is never valid then.
    pub(super) holds_key: bool,
    /// The negotiated TLS version.
    pub(super) version: ProtocolVersion,
}

impl Recorder {
    pub(super) fn new(algorithms: WebPkiSupportedAlgorithms) -> Self {
        Self { algorithms, seen: Mutex::default() }
    }

    /// Whether nothing was recorded so far.
    pub(super) fn is_empty(&self) -> bool {
        matches!(*self.seen.lock().unwrap_or_else(PoisonError::into_inner), Recorded::Nothing)
    }

    /// Takes what was recorded so far.
    pub(super) fn take(&self) -> Recorded {
        std::mem::take(&mut *self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn set(&self, seen: Recorded) {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = seen;
    }

    /// Records whether the server signed with the key of its certificate.
    fn note_signature(
        &self,
        outcome: Result<HandshakeSignatureValid, Error>,
        version: ProtocolVersion,
    ) -> Result<HandshakeSignatureValid, Error> {
        let Recorded::Unproven { name, chain } = self.take() else {
            // rustls verifies the certificate first, and once.
            return Err(Error::General("a signature without a certificate".to_owned()));
        };
        let holds_key = outcome.is_ok();
        if let Err(error) = outcome
            && chain.first().is_none_or(can_be_shown)
        {
            self.set(Recorded::KeyNotHeld);
            return Err(error);
        }
        self.set(Recorded::Presented(PresentedChain { name, chain, holds_key, version }));
        Ok(HandshakeSignatureValid::assertion())
    }
}

/// Whether we can verify signatures with the key of a certificate: we must support the key, and webpki must be able
/// to parse the certificate.
fn can_be_shown(der: &CertificateDer<'_>) -> bool {
    let Some(certificate) = certificate::read(der) else { return false };
    let key = certificate::key(certificate.public_key());
    let is_known = match (key.algorithm.as_str(), key.bits, key.curve.as_deref()) {
        ("RSA", Some(bits), _) => (2048..=8192).contains(&bits),
        ("EC", _, Some(curve)) => matches!(curve, "P-256" | "P-384" | "P-521"),
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
        self.set(Recorded::Unproven { name: server_name.to_owned(), chain });
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
