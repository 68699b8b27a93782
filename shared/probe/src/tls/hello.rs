//! The ClientHello that asks a server what it supports, and the beginning of the answer.

use std::fmt;

use rustls::pki_types::ServerName;
use rustls::{CipherSuite, ProtocolVersion};
use tokio::io::{AsyncRead, AsyncReadExt};

/// How the names of suites begin that authenticate a server with a certificate. Of these, Vedette lacks most.
const WITH_CERTIFICATE: [&str; 8] = [
    "TLS13_",
    "TLS_RSA_WITH_",
    "TLS_DHE_RSA_WITH_",
    "TLS_DHE_DSS_WITH_",
    "TLS_ECDH_RSA_WITH_",
    "TLS_ECDH_ECDSA_WITH_",
    "TLS_ECDHE_RSA_WITH_",
    "TLS_ECDHE_ECDSA_WITH_",
];

/// X25519, X448, P-256, P-384, P-521, and finite fields of 2,048 to 4,096 bits.
const GROUPS: [u16; 8] = [29, 30, 23, 24, 25, 256, 257, 258];

/// Every scheme with which servers sign: ECDSA, EdDSA, RSA-PSS, RSA and DSA.
const SIGNATURES: [u16; 16] = [
    0x0403, 0x0503, 0x0603, 0x0807, 0x0808, 0x0804, 0x0805, 0x0806, 0x0401, 0x0501, 0x0601, 0x0203,
    0x0201, 0x0402, 0x0302, 0x0202,
];

/// TLS 1.3 to 1.0.
const VERSIONS: [u16; 4] = [0x0304, 0x0303, 0x0302, 0x0301];

// Types of records and of handshake messages.
const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
const SERVER_HELLO: u8 = 2;

/// The level of an alert after which the server goes on.
const WARNING: u8 = 1;

/// Records until the ServerHello. Old servers send a warning first if they do not know the host.
const MAX_RECORDS: usize = 3;

/// The longest session id.
const MAX_SESSION_ID: usize = 32;

/// A server's choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Choice {
    version: ProtocolVersion,
    pub(crate) suite: CipherSuite,
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suite = suite_name(self.suite).unwrap_or_default();
        let version = match self.version {
            ProtocolVersion::SSLv3 => "SSL 3.0",
            ProtocolVersion::TLSv1_0 => "TLS 1.0",
            ProtocolVersion::TLSv1_1 => "TLS 1.1",
            _ => return write!(f, "Vedette does not support the server's cipher suite {suite}"),
        };
        write!(f, "Vedette does not support the server's {version}, with cipher suite {suite}")
    }
}

/// The registered name of a suite. rustls has another prefix for those of TLS 1.3.
pub(crate) fn suite_name(suite: CipherSuite) -> Option<String> {
    suite.as_str().map(|name| name.replacen("TLS13_", "TLS_", 1))
}

/// The suites with certificates that are not `supported`.
pub(crate) fn lacking(supported: &[CipherSuite]) -> Vec<CipherSuite> {
    let has_certificate = |suite: &CipherSuite| {
        suite.as_str().is_some_and(|name| {
            WITH_CERTIFICATE.iter().any(|start| name.starts_with(start)) && !name.contains("NULL")
        })
    };
    let all = (0..=u16::MAX).map(CipherSuite::from).filter(has_certificate);
    all.filter(|suite| !supported.contains(suite)).collect()
}

/// A ClientHello (RFC 8446, section 4.1.2) in a record. Without a key share, a server of TLS 1.3 names its suite in a
/// HelloRetryRequest.
pub(crate) fn client_hello(name: &ServerName<'_>, suites: impl Iterator<Item = u16>) -> Vec<u8> {
    let host = match name {
        // Kind 0 is a host name.
        ServerName::DnsName(host) => {
            let host = host.as_ref().trim_end_matches('.').as_bytes();
            extension(0, &vector(2, &[&[0], &*vector(2, host)].concat()))
        }
        _ => Vec::new(),
    };
    let extensions = [
        host,
        extension(10, &vector(2, &words(GROUPS))),
        // Uncompressed points.
        extension(11, &vector(1, &[0])),
        extension(13, &vector(2, &words(SIGNATURES))),
        // Extended master secret, which some servers require.
        extension(23, &[]),
        extension(43, &vector(1, &words(VERSIONS))),
        // No key share.
        extension(51, &vector(2, &[])),
        // Secure renegotiation, which some servers require.
        extension(0xff01, &vector(1, &[])),
    ];
    let hello = [
        // TLS 1.2, as in every ClientHello since.
        &[3, 3][..],
        // The random value would protect a session, but none follows.
        &[0x56; 32],
        // No session id.
        &[0],
        &vector(2, &words(suites)),
        // No compression.
        &[1, 0],
        &vector(2, &extensions.concat()),
    ];
    let message = [&[CLIENT_HELLO][..], &vector(3, &hello.concat())].concat();
    [&[HANDSHAKE, 3, 1][..], &vector(2, &message)].concat()
}

fn extension(kind: u16, content: &[u8]) -> Vec<u8> {
    [&kind.to_be_bytes()[..], &vector(2, content)].concat()
}

/// Bytes after their number, which takes `width` bytes.
fn vector(width: usize, content: &[u8]) -> Vec<u8> {
    let length = content.len().to_be_bytes();
    [&length[length.len() - width..], content].concat()
}

fn words(values: impl IntoIterator<Item = u16>) -> Vec<u8> {
    values.into_iter().flat_map(u16::to_be_bytes).collect()
}

/// Reads up to the suite in a ServerHello (RFC 8446, section 4.1.3), and nothing after it.
pub(crate) async fn server_hello(stream: &mut (impl AsyncRead + Unpin)) -> Option<Choice> {
    for _ in 0..MAX_RECORDS {
        let [kind, _, _, _, _] = bytes(stream).await?;
        match kind {
            ALERT => {
                let [level, _] = bytes(stream).await?;
                if level != WARNING {
                    return None;
                }
            }
            HANDSHAKE => {
                let [message, _, _, _, major, minor] = bytes(stream).await?;
                let [_random @ .., session_id]: [u8; 33] = bytes(stream).await?;
                let session_id = usize::from(session_id);
                if message != SERVER_HELLO || session_id > MAX_SESSION_ID {
                    return None;
                }
                stream.read_exact(&mut [0; MAX_SESSION_ID][..session_id]).await.ok()?;
                let suite = CipherSuite::from(u16::from_be_bytes(bytes(stream).await?));
                let version = ProtocolVersion::from(u16::from_be_bytes([major, minor]));
                return Some(Choice { version, suite });
            }
            _ => return None,
        }
    }
    None
}

async fn bytes<const N: usize>(stream: &mut (impl AsyncRead + Unpin)) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes).await.ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use proptest::prelude::*;

    use super::*;

    const SUITE: [u8; 2] = [0, 0x35];

    /// A ServerHello in a record, without what follows the suite.
    fn hello(version: [u8; 2], session_id: &[u8]) -> Vec<u8> {
        let message = [&version[..], &[7; 32], &vector(1, session_id), &SUITE].concat();
        [&[HANDSHAKE, 3, 3, 0, 80, SERVER_HELLO, 0, 0, 76], &*message].concat()
    }

    async fn read(mut bytes: &[u8]) -> Option<(String, usize)> {
        let choice = server_hello(&mut bytes).await?;
        Some((choice.to_string(), bytes.len()))
    }

    #[tokio::test]
    async fn a_choice_is_read_and_nothing_after_it() {
        let warning = [ALERT, 3, 1, 0, 2, WARNING, 112];
        let tls12 =
            "Vedette does not support the server's cipher suite TLS_RSA_WITH_AES_256_CBC_SHA";
        for session_id in [&[][..], &[1; 32]] {
            let hello = hello([3, 3], session_id);
            for before in [&[][..], &warning, &[warning, warning].concat()] {
                let answer = [before, &hello, b"more"].concat();
                assert_eq!(read(&answer).await, Some((tls12.to_owned(), 4)));
            }
            assert_eq!(read(&[&warning.repeat(3), &*hello].concat()).await, None, "no end");
        }
        for (version, name) in [([3, 2], "TLS 1.1"), ([3, 1], "TLS 1.0"), ([3, 0], "SSL 3.0")] {
            let words = format!(
                "Vedette does not support the server's {name}, with cipher suite \
                 TLS_RSA_WITH_AES_256_CBC_SHA"
            );
            assert_eq!(read(&hello(version, &[])).await, Some((words, 0)));
        }
        let whole = hello([3, 3], &[]);
        let fatal = [ALERT, 3, 3, 0, 2, 2, 40];
        for answer in [
            &whole[..whole.len() - 1],
            &fatal,
            b"HTTP/1.1 400 Bad Request\r\n",
            &hello([3, 3], &[1; 33]),
        ] {
            assert_eq!(read(answer).await, None, "{answer:?}");
        }
    }

    proptest! {
        #[test]
        fn any_answer_is_read(bytes in prop::collection::vec(any::<u8>(), 0..100), starts: bool) {
            let answer = if starts { [&[HANDSHAKE, 3, 3, 0, 80], &*bytes].concat() } else { bytes };
            assert!(server_hello(&mut &*answer).now_or_never().is_some());
        }
    }

    #[test]
    fn what_is_lacking_has_a_certificate_and_a_name() {
        let provider = rustls::crypto::ring::default_provider();
        let supported: Vec<_> =
            provider.cipher_suites.iter().map(rustls::SupportedCipherSuite::suite).collect();
        let lacking = lacking(&supported);
        assert!((100..200).contains(&lacking.len()), "{}", lacking.len());
        for suite in [
            CipherSuite::TLS13_AES_128_CCM_SHA256,
            CipherSuite::TLS_RSA_WITH_AES_128_GCM_SHA256,
            CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA384,
            CipherSuite::TLS_RSA_WITH_3DES_EDE_CBC_SHA,
            CipherSuite::TLS_DHE_RSA_WITH_AES_256_GCM_SHA384,
        ] {
            assert!(lacking.contains(&suite), "{suite:?}");
        }
        for suite in &lacking {
            let name = suite_name(*suite).unwrap_or_default();
            assert!(name.starts_with("TLS_") && !supported.contains(suite), "{suite:?}");
            assert!(!name.contains("anon") && !name.contains("PSK"), "{name}");
        }
    }
}
