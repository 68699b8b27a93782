//! ECDSA signatures that ring does not verify: those by keys on P-521, and those by keys on P-256 with SHA-512.
//!
//! These implementations are slower than ring, so they verify nothing that ring can.

use std::sync::LazyLock;

use p256::ecdsa::signature::Error;
use p256::ecdsa::signature::hazmat::PrehashVerifier as _;
use ring::digest::{Algorithm, SHA256, SHA384, SHA512, digest};
use rustls::SignatureScheme;
use rustls::crypto::{WebPkiSupportedAlgorithms, ring::default_provider};
use rustls::pki_types::{
    AlgorithmIdentifier, InvalidSignature, SignatureVerificationAlgorithm, alg_id,
};

type Verifier = &'static dyn SignatureVerificationAlgorithm;

/// Verifies a signature: key, digest, signature.
type Verify = fn(&[u8], &[u8], &[u8]) -> Result<(), Error>;

/// What ring verifies, and what this module adds.
pub(super) fn algorithms() -> WebPkiSupportedAlgorithms {
    WebPkiSupportedAlgorithms { all: &ALL, mapping: &MAPPING }
}

static ALL: LazyLock<Vec<Verifier>> = LazyLock::new(|| {
    let added: [Verifier; 4] = [&P256_SHA512, &P521_SHA256, &P521_SHA384, &P521_SHA512];
    [default_provider().signature_verification_algorithms.all, &added].concat()
});

/// What servers may sign a handshake with. Our own scheme comes last: a server that can should use another one.
static MAPPING: LazyLock<Vec<(SignatureScheme, &[Verifier])>> = LazyLock::new(|| {
    // In TLS 1.2, a scheme does not determine the curve. In TLS 1.3, the first of these is meant.
    const OWN: &[Verifier] = &[&P521_SHA512, &P256_SHA512];
    let own = (SignatureScheme::ECDSA_NISTP521_SHA512, OWN);
    [default_provider().signature_verification_algorithms.mapping, &[own]].concat()
});

static P256_SHA512: Ecdsa = Ecdsa {
    key: alg_id::ECDSA_P256,
    signature: alg_id::ECDSA_SHA512,
    digest: &SHA512,
    verify: by_p256,
};

static P521_SHA256: Ecdsa = Ecdsa {
    key: alg_id::ECDSA_P521,
    signature: alg_id::ECDSA_SHA256,
    digest: &SHA256,
    verify: by_p521,
};

static P521_SHA384: Ecdsa = Ecdsa {
    key: alg_id::ECDSA_P521,
    signature: alg_id::ECDSA_SHA384,
    digest: &SHA384,
    verify: by_p521,
};

static P521_SHA512: Ecdsa = Ecdsa {
    key: alg_id::ECDSA_P521,
    signature: alg_id::ECDSA_SHA512,
    digest: &SHA512,
    verify: by_p521,
};

/// ECDSA with a curve and a hash function.
#[derive(Debug)]
struct Ecdsa {
    key: AlgorithmIdentifier,
    signature: AlgorithmIdentifier,
    digest: &'static Algorithm,
    verify: Verify,
}

impl SignatureVerificationAlgorithm for Ecdsa {
    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        self.key
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        self.signature
    }

    fn verify_signature(
        &self,
        public_key: &[u8],
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        let digest = digest(self.digest, message);
        (self.verify)(public_key, digest.as_ref(), signature).map_err(|_| InvalidSignature)
    }
}

fn by_p256(key: &[u8], digest: &[u8], signature: &[u8]) -> Result<(), Error> {
    let signature = p256::ecdsa::Signature::from_der(signature)?;
    p256::ecdsa::VerifyingKey::from_sec1_bytes(key)?.verify_prehash(digest, &signature)
}

fn by_p521(key: &[u8], digest: &[u8], signature: &[u8]) -> Result<(), Error> {
    let signature = p521::ecdsa::Signature::from_der(signature)?;
    p521::ecdsa::VerifyingKey::from_sec1_bytes(key)?.verify_prehash(digest, &signature)
}

#[cfg(test)]
mod tests {
    use data_encoding::HEXUPPER;
    use p256::ecdsa::signature::hazmat::PrehashSigner as _;

    use super::*;

    /// Signs as `algorithm` verifies. Returns the public key and the signature.
    fn signed(algorithm: &Ecdsa, message: &[u8]) -> (Vec<u8>, Vec<u8>) {
        let digest = digest(algorithm.digest, message);
        if algorithm.key == alg_id::ECDSA_P256 {
            let key = p256::ecdsa::SigningKey::from_slice(&[1; 32]).expect("a key");
            let signature: p256::ecdsa::DerSignature =
                key.sign_prehash(digest.as_ref()).expect("signed");
            let point = key.verifying_key().to_sec1_point(false);
            return (point.as_bytes().to_vec(), signature.as_bytes().to_vec());
        }
        let scalar = [&[0][..], &[1; 65]].concat();
        let key = p521::ecdsa::SigningKey::from_slice(&scalar).expect("a key");
        let signature: p521::ecdsa::DerSignature =
            key.sign_prehash(digest.as_ref()).expect("signed");
        let point = key.verifying_key().to_sec1_point(false);
        (point.as_bytes().to_vec(), signature.as_bytes().to_vec())
    }

    #[test]
    fn a_signature_is_good_for_its_message_and_its_key() {
        let message = b"To be signed";
        for algorithm in [&P256_SHA512, &P521_SHA256, &P521_SHA384, &P521_SHA512] {
            let (key, signature) = signed(algorithm, message);
            let verify = |key: &[u8], message: &[u8], signature: &[u8]| {
                algorithm.verify_signature(key, message, signature).is_ok()
            };
            assert!(verify(&key, message, &signature), "{algorithm:?}");
            assert!(!verify(&key, b"To be signet", &signature), "{algorithm:?}");
            let mut other = signature.clone();
            *other.last_mut().expect("a byte") ^= 1;
            assert!(!verify(&key, message, &other), "{algorithm:?}");
            for broken in [&[][..], &signature[1..], &[0; 500]] {
                assert!(!verify(&key, message, broken), "{algorithm:?}");
                assert!(!verify(broken, message, &signature), "{algorithm:?}");
            }
        }
    }

    /// The signature of "sample" with P-521 and SHA-512 in RFC 6979, A.2.7.
    #[test]
    fn a_published_signature_is_good() {
        let unhex = |text: &str| HEXUPPER.decode(text.as_bytes()).expect("hexadecimal digits");
        let scalar = unhex(
            "00FAD06DAA62BA3B25D2FB40133DA757205DE67F5BB0018FEE8C86E1B68C7E75CAA896EB32F1F47C70855836A6D16FCC1466\
             F6D8FBEC67DB89EC0C08B0E996B83538",
        );
        let signature = unhex(
            "00C328FAFCBD79DD77850370C46325D987CB525569FB63C5D3BC53950E6D4C5F174E25A1EE9017B5D450606ADD152B534931\
             D7D4E8455CC91F9B15BF05EC36E377FA00617CCE7CF5064806C467F678D3B4080D6F1CC50AF26CA209417308281B68AF2826\
             23EAA63E5B5C0723D8B8C37FF0777B1A20F8CCB1DCCC43997F1EE0E44DA4A67A",
        );
        let key = p521::ecdsa::SigningKey::from_slice(&scalar).expect("a key");
        let key = key.verifying_key().to_sec1_point(false);
        let signature = p521::ecdsa::Signature::from_slice(&signature).expect("a signature");
        let signature = signature.to_der();
        let verified =
            P521_SHA512.verify_signature(key.as_bytes(), b"sample", signature.as_bytes());
        assert!(verified.is_ok());
    }
}
