//! What is reported about a certificate.

use rcgen::string::{BmpString, TeletexString};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, CrlDistributionPoint, CustomExtension,
    DistinguishedName, DnType, DnValue, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PublicKeyData, SanType, SerialNumber, date_time_ymd,
};
use rustls::pki_types::PrivatePkcs8KeyDer;

use super::SslFailure::{NoCertificate, UntrustedChain};
use super::*;

/// A fixed key, which also makes fixed signatures: Ed25519 in PKCS #8 (RFC 8410).
fn fixed_key(seed: u8) -> KeyPair {
    let mut der = b"\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20".to_vec();
    der.extend([seed; 32]);
    let der = PrivatePkcs8KeyDer::from(der);
    KeyPair::from_pkcs8_der_and_sign_algo(&der, &rcgen::PKCS_ED25519).expect("a key")
}

/// A DER element of at most 127 bytes.
fn der(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let content = parts.concat();
    let length = u8::try_from(content.len()).ok().filter(|length| *length < 128).expect("short");
    [&[tag, length], content.as_slice()].concat()
}

fn extension(oid: &[u64], content: Vec<u8>) -> CustomExtension {
    CustomExtension::from_oid_content(oid, content)
}

/// A certificate with all the usual fields, and its issuer's; always the same bytes.
fn usual() -> Identity {
    let mut root = CertificateParams::new(Vec::new()).expect("no names");
    root.distinguished_name = DistinguishedName::new();
    root.distinguished_name.push(DnType::CountryName, "DE");
    root.distinguished_name.push(DnType::OrganizationName, "Trust, Inc.");
    root.distinguished_name.push(DnType::CommonName, "T1");
    root.serial_number = Some(SerialNumber::from(vec![1]));
    root.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    root.not_before = date_time_ymd(2020, 1, 1);
    root.not_after = date_time_ymd(2040, 1, 1);
    let root_key = fixed_key(1);
    let root_certificate = root.self_signed(&root_key).expect("a certificate");

    let mut own = params(&[SITE, "*.site.example", "203.0.113.7", "2001:db8::7"]);
    let email = "post@site.example".try_into().expect("ASCII");
    own.subject_alt_names.push(SanType::Rfc822Name(email));
    let uri = "https://site.example/".try_into().expect("ASCII");
    own.subject_alt_names.push(SanType::URI(uri));
    own.distinguished_name = DistinguishedName::new();
    let organization = BmpString::try_from("Büro & Söhne").expect("BMP");
    own.distinguished_name.push(DnType::OrganizationName, DnValue::BmpString(organization));
    let place = TeletexString::try_from("Berlin").expect("T.61");
    own.distinguished_name.push(DnType::LocalityName, DnValue::TeletexString(place));
    own.distinguished_name.push(DnType::CustomDnType(vec![1, 3, 6, 1, 4, 1, 99999]), "odd");
    own.distinguished_name.push(DnType::CommonName, SITE);
    own.serial_number = Some(SerialNumber::from(vec![0x0a, 0xb1, 0xc2]));
    own.is_ca = IsCa::ExplicitNoCa;
    own.not_before = date_time_ymd(2026, 10, 1);
    own.not_after = date_time_ymd(2026, 12, 30);
    own.use_authority_key_identifier_extension = true;
    own.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment];
    own.extended_key_usages =
        vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    own.crl_distribution_points =
        vec![CrlDistributionPoint { uris: vec!["http://t.example/1.crl".to_owned()] }];
    let access = |method: u8, uri: &[u8]| {
        let method = der(6, &[b"\x2b\x06\x01\x05\x05\x07\x30", &[method]]);
        der(0x30, &[&method, &der(0x86, &[uri])])
    };
    let ocsp = access(1, b"http://o.t.example");
    let issuers = access(2, b"http://t.example/1.crt");
    // Domain validated: the policy identifier of the CA/Browser Forum.
    let policy = der(0x30, &[&der(6, &[b"\x67\x81\x0c\x01\x02\x01"])]);
    // One timestamp (RFC 6962, section 3.2), version 1: log, time, no extensions, signature.
    let timestamp =
        [&[0][..], &[7; 32], &[0, 0, 1, 0x9a, 0, 0, 0, 0], &[0, 0], b"\x04\x03\x00\x02ab"].concat();
    let one = [&[0, timestamp.len() as u8], timestamp.as_slice()].concat();
    let list = [&[0, one.len() as u8], one.as_slice()].concat();
    own.custom_extensions = vec![
        extension(&[1, 3, 6, 1, 5, 5, 7, 1, 1], der(0x30, &[&ocsp, &issuers])),
        extension(&[2, 5, 29, 32], der(0x30, &[&policy])),
        extension(&[1, 3, 6, 1, 4, 1, 11129, 2, 4, 2], der(4, &[&list])),
        extension(&[1, 3, 6, 1, 4, 1, 99999, 1], der(4, &[b"what?"])),
        extension(&[2, 5, 29, 36], b"\xff".to_vec()),
    ];
    let key = fixed_key(2);
    let own = own.signed_by(&key, &Issuer::new(root, root_key)).expect("a certificate");
    Identity { chain: vec![own.der().clone(), root_certificate.der().clone()], key }
}

#[tokio::test]
async fn a_certificate_is_reported_in_full() {
    let identity = usual();
    let mut config = identity.server();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let result = serve(config, SITE, &identity.chain[1..]).await;
    // `openssl x509 -text -fingerprint` prints the same for these bytes.
    let extensions = json!([
        {
            "oid": "2.5.29.35",
            "name": "authorityKeyIdentifier",
            "critical": false,
            "values": ["keyid:fd110d301d2f077de1414b8f99f441b1403fab20"],
            "values_omitted": 0,
        },
        {
            "oid": "2.5.29.17",
            "name": "subjectAltName",
            "critical": false,
            "values": [],
            "values_omitted": 0,
        },
        {
            "oid": "2.5.29.15",
            "name": "keyUsage",
            "critical": true,
            "values": ["Digital Signature", "Key Encipherment"],
            "values_omitted": 0,
        },
        {
            "oid": "2.5.29.37",
            "name": "extendedKeyUsage",
            "critical": false,
            "values": ["TLS Web Server Authentication", "TLS Web Client Authentication"],
            "values_omitted": 0,
        },
        {
            "oid": "2.5.29.31",
            "name": "crlDistributionPoints",
            "critical": false,
            "values": ["URI:http://t.example/1.crl"],
            "values_omitted": 0,
        },
        {
            "oid": "2.5.29.14",
            "name": "subjectKeyIdentifier",
            "critical": false,
            "values": ["47dea58ea00fae9417ee19d76755bfef69089902"],
            "values_omitted": 0,
        },
        {
            "oid": "2.5.29.19",
            "name": "basicConstraints",
            "critical": true,
            "values": ["CA:FALSE"],
            "values_omitted": 0,
        },
        {
            "oid": "1.3.6.1.5.5.7.1.1",
            "name": "authorityInfoAccess",
            "critical": false,
            "values": [
                "OCSP - URI:http://o.t.example",
                "CA Issuers - URI:http://t.example/1.crt",
            ],
            "values_omitted": 0,
        },
        {
            "oid": "2.5.29.32",
            "name": "certificatePolicies",
            "critical": false,
            "values": ["2.23.140.1.2.1"],
            "values_omitted": 0,
        },
        {
            "oid": "1.3.6.1.4.1.11129.2.4.2",
            "name": "ctSCTList",
            "critical": false,
            "values": ["signed certificate timestamps: 1"],
            "values_omitted": 0,
        },
        {
            "oid": "1.3.6.1.4.1.99999.1",
            "name": null,
            "critical": false,
            "values": [],
            "values_omitted": 0,
        },
        {
            "oid": "2.5.29.36",
            "name": "policyConstraints",
            "critical": false,
            "values": ["not readable"],
            "values_omitted": 0,
        },
    ]);
    let info = json!({
        "protocol": "TLSv1.3",
        "cipher_suite": "TLS_AES_128_GCM_SHA256",
        "alpn": "h2",
        "version": 3,
        "serial_number": "0ab1c2",
        "subject": [
            {"type": "O", "value": "Büro & Söhne"},
            {"type": "L", "value": "Berlin"},
            {"type": "1.3.6.1.4.1.99999", "value": "odd"},
            {"type": "CN", "value": "site.example"},
        ],
        "issuer": [
            {"type": "C", "value": "DE"},
            {"type": "O", "value": "Trust, Inc."},
            {"type": "CN", "value": "T1"},
        ],
        "valid_from": "2026-10-01 00:00:00",
        "valid_to": "2026-12-30 00:00:00",
        "key": {"algorithm": "Ed25519", "bits": 256, "curve": null},
        "signature_algorithm": "ed25519",
        "fingerprints": {
            "sha1": "96b68ad573e0b013a13868e101304d4f0e488dbc",
            "sha256": "7f1b5edd36a64f61bdd36c9927f162496320adecded54a68b8363a98ba9e2170",
        },
        "subject_alternative_names": {
            "dns": ["site.example", "*.site.example"],
            "ip": ["203.0.113.7", "2001:db8::7"],
            "other": ["email:post@site.example", "URI:https://site.example/"],
            "omitted": 0,
        },
        "extensions": extensions,
        "extensions_omitted": 0,
        "chain": [
            {
                "subject": "O=Büro & Söhne, L=Berlin, 1.3.6.1.4.1.99999=odd, CN=site.example",
                "issuer": "C=DE, O=Trust, Inc., CN=T1",
                "serial_number": "0ab1c2",
                "valid_from": "2026-10-01 00:00:00",
                "valid_to": "2026-12-30 00:00:00",
                "key": {"algorithm": "Ed25519", "bits": 256, "curve": null},
                "signature_algorithm": "ed25519",
                "fingerprint": "7f1b5edd36a64f61bdd36c9927f162496320adecded54a68b8363a98ba9e2170",
            },
            {
                "subject": "C=DE, O=Trust, Inc., CN=T1",
                "issuer": "C=DE, O=Trust, Inc., CN=T1",
                "serial_number": "01",
                "valid_from": "2020-01-01 00:00:00",
                "valid_to": "2040-01-01 00:00:00",
                "key": {"algorithm": "Ed25519", "bits": 256, "curve": null},
                "signature_algorithm": "ed25519",
                "fingerprint": "06b199744eb9129b1a1af8aa15a54b37a69de837860ca676b06878c61249b6e3",
            },
        ],
        "chain_omitted": 0,
    });
    let expected = json!({
        "domain": "site.example",
        "ip": "127.0.0.1",
        "is_valid": true,
        "failure_type": null,
        "failure_message": null,
        "issuer": "T1",
        "issued_to": "site.example",
        "valid_from": "2026-10-01 00:00:00",
        "valid_to": "2026-12-30 00:00:00",
        "days_left": 39,
        "subject": "O=Büro & Söhne, L=Berlin, 1.3.6.1.4.1.99999=odd, CN=site.example",
        "serial_number": "0ab1c2",
        "fingerprint": "7f1b5edd36a64f61bdd36c9927f162496320adecded54a68b8363a98ba9e2170",
        "verified": true,
        "info": info,
    });
    assert_eq!(serde_json::to_value(&result).expect("json"), expected);
    assert_eq!(serde_json::from_value::<SslResult>(expected).expect("readable"), result);
}

#[tokio::test]
async fn an_issuer_without_a_common_name_is_reported_by_its_organization() {
    for (kind, issuer) in [
        (Some(DnType::OrganizationName), Some("Trust, Inc.")),
        (Some(DnType::CountryName), None),
        (None, None),
    ] {
        let mut root = params(&[]);
        root.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        root.distinguished_name = DistinguishedName::new();
        if let Some(kind) = kind {
            root.distinguished_name.push(kind, "Trust, Inc.");
        }
        let root = CertifiedIssuer::self_signed(root, fixed_key(1)).expect("a certificate");
        let key = fixed_key(2);
        let mut own = params(&[SITE]);
        own.distinguished_name = DistinguishedName::new();
        let own = own.signed_by(&key, &root).expect("a certificate");
        let identity = Identity { chain: vec![own.der().clone()], key };
        let result = serve(identity.server(), SITE, &[root.der().clone()]).await;
        assert_eq!(verdict(&result), (None, true, ""));
        assert_eq!((result.issuer.as_deref(), result.issued_to), (issuer, None));
        assert_eq!(result.subject.as_deref(), Some(""));
    }
}

#[tokio::test]
async fn keys_of_each_kind_are_reported() {
    let root = Authority::new("root");
    for (algorithm, expected) in [
        (&rcgen::PKCS_ECDSA_P256_SHA256, json!({"algorithm": "EC", "bits": 256, "curve": "P-256"})),
        (&rcgen::PKCS_ECDSA_P384_SHA384, json!({"algorithm": "EC", "bits": 384, "curve": "P-384"})),
        (&rcgen::PKCS_ED25519, json!({"algorithm": "Ed25519", "bits": 256, "curve": null})),
    ] {
        let key = KeyPair::generate_for(algorithm).expect("a key");
        let own = params(&[SITE]).self_signed(&key).expect("a certificate");
        let identity = Identity { chain: vec![own.der().clone()], key };
        let result = serve(identity.and(root.root()).server(), SITE, &[]).await;
        let info = result.info.expect("a certificate");
        assert_eq!(serde_json::to_value(&info.key).expect("json"), expected);
        assert_eq!(info.chain[0].key, info.key);
        assert_eq!(info.chain[1].key.algorithm, "EC");
    }
}

#[tokio::test]
async fn a_certificate_that_cannot_be_read_is_none() {
    for garbage in [&b"garbage"[..], b"", b"\x30\x03\x02\x01\x01", &[0xff; 4000]] {
        let key = KeyPair::generate().expect("a key");
        let identity = Identity { chain: vec![garbage.to_vec().into()], key };
        let result = serve(identity.server(), SITE, &[]).await;
        let (failure, verified, _) = verdict(&result);
        assert_eq!((failure, verified), (Some(NoCertificate), false));
        assert!(result.info.is_none());
    }
}

#[tokio::test]
async fn garbage_behind_the_certificate_is_left_out() {
    let root = Authority::new("root");
    let issuer = root.intermediate("issuer", CURRENT);
    let identity = issuer.issue(&[SITE], CURRENT, |_| {});
    let identity = identity.and(b"garbage".to_vec().into()).and(issuer.root());
    let result = serve(identity.server(), SITE, &[root.root()]).await;
    assert_eq!(verdict(&result), (None, true, ""));
    let info = result.info.expect("a certificate");
    assert_eq!((info.chain.len(), info.chain_omitted), (2, 1));
}

#[tokio::test]
async fn a_long_chain_is_cut() {
    let root = Authority::new("root");
    let issuer = root.intermediate("issuer", CURRENT);
    let mut identity = issuer.issue(&[SITE], CURRENT, |_| {});
    let stranger = Authority::new("stranger").root();
    for _ in 0..100 {
        identity = identity.and(stranger.clone());
    }
    let result = serve(identity.and(issuer.root()).server(), SITE, &[root.root()]).await;
    assert_eq!(verdict(&result), (None, true, ""));
    let info = result.info.expect("a certificate");
    assert_eq!((info.chain.len(), info.chain_omitted), (10, 92));
    assert_eq!(info.chain[1].subject, "CN=stranger");
}

#[tokio::test]
async fn a_long_chain_without_a_root_is_not_trusted() {
    // Twelve authorities, each one below the previous one: deeper than any client follows.
    let root = Authority::new("root");
    let mut issuers = vec![root.intermediate("issuer 0", CURRENT)];
    for n in 1..12 {
        let next = issuers[n - 1].intermediate(&format!("issuer {n}"), CURRENT);
        issuers.push(next);
    }
    let mut identity = issuers[11].issue(&[SITE], CURRENT, |_| {});
    for issuer in issuers.iter().rev() {
        identity = identity.and(issuer.root());
    }
    let result = serve(identity.server(), SITE, &[root.root()]).await;
    let words = "the chain is too long or too complex";
    assert_eq!(verdict(&result), (Some(UntrustedChain), false, words));
}

#[tokio::test]
async fn certificates_beyond_all_bounds_are_not_read() {
    let root = Authority::new("root");
    let mut identity = root.issue(&[SITE], CURRENT, |_| {});
    for _ in 0..500 {
        identity = identity.and(root.root());
    }
    let result = serve(identity.server(), SITE, &[root.root()]).await;
    let words = "TLS: the server's messages are too large";
    assert_eq!(verdict(&result), (Some(NoCertificate), false, words));
}

#[tokio::test]
async fn a_certificate_of_an_old_version_is_reported_but_not_trusted() {
    let root = Authority::new("root");
    let mut identity = root.issue(&[SITE], CURRENT, |_| {});
    let mut bytes = identity.chain[0].to_vec();
    // [0] EXPLICIT INTEGER 2, which means version 3.
    let version = bytes.windows(5).position(|part| part == b"\xa0\x03\x02\x01\x02");
    bytes[version.expect("a version") + 4] = 1;
    identity.chain[0] = bytes.into();
    let result = serve(identity.server(), SITE, &[root.root()]).await;
    let words = "the certificate is not of X.509 version 3";
    assert_eq!(verdict(&result), (Some(UntrustedChain), false, words));
    assert_eq!(result.info.expect("a certificate").version, 2);
}

/// An RSA key of 1,024 bits, of which only the size matters.
struct WeakKey(Vec<u8>);

impl WeakKey {
    fn new() -> Self {
        let modulus = [&b"\x02\x81\x81\x00"[..], &[0xc5; 128]].concat();
        let exponent = b"\x02\x03\x01\x00\x01";
        let length = (modulus.len() + exponent.len()) as u8;
        Self([&[0x30, 0x81, length][..], &modulus, exponent].concat())
    }
}

impl PublicKeyData for WeakKey {
    fn der_bytes(&self) -> &[u8] {
        &self.0
    }

    fn algorithm(&self) -> &'static rcgen::SignatureAlgorithm {
        &rcgen::PKCS_RSA_SHA256
    }
}

#[tokio::test]
async fn a_key_that_proves_nothing_is_not_trusted() {
    // Everything else is valid, but the server signs with another key.
    let mut root = params(&[]);
    root.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let root = CertifiedIssuer::self_signed(root, fixed_key(1)).expect("a certificate");
    let own = params(&[SITE]).signed_by(&WeakKey::new(), &root).expect("a certificate");
    let identity = Identity { chain: vec![own.der().clone()], key: fixed_key(2) };
    let result = serve(identity.server(), SITE, &[root.der().clone()]).await;
    let words = "the server's key (RSA 1024 bits) is of a kind that is not accepted";
    assert_eq!(verdict(&result), (Some(UntrustedChain), false, words));
}

#[tokio::test]
async fn a_certificate_without_an_end_is_reported() {
    let root = Authority::new("root");
    let identity = root.issue(&[SITE], CURRENT, |params| {
        params.not_after = date_time_ymd(9999, 12, 31) + Duration::from_secs(86_399);
    });
    let result = serve(identity.server(), SITE, &[root.root()]).await;
    assert_eq!(verdict(&result), (None, true, ""));
    assert_eq!(result.valid_to.as_deref(), Some("9999-12-31 23:59:59"));
    assert_eq!(result.days_left, 2_912_119);
}

#[tokio::test]
async fn what_the_server_chooses_is_bounded() {
    let root = Authority::new("root");
    let identity = root.issue(&[SITE], CURRENT, |params| {
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, format!("a\n\u{0}{}", "é".repeat(5000)));
        for n in 0..100 {
            let oid = [1, 3, 6, 1, 4, 1, 99999, n];
            params.distinguished_name.push(DnType::CustomDnType(oid.to_vec()), "x".repeat(50));
            params.custom_extensions.push(extension(&oid, vec![5, 0]));
        }
        let uris = (0..100).map(|n| format!("http://t.example/{n}")).collect();
        params.crl_distribution_points = vec![CrlDistributionPoint { uris }];
    });
    let result = serve(identity.server(), SITE, &[root.root()]).await;
    assert_eq!(verdict(&result), (None, true, ""));
    let shown = format!("a\u{fffd}\u{fffd}{}…", "é".repeat(252));
    assert_eq!(result.issued_to.as_deref(), Some(shown.as_str()));
    assert_eq!(result.subject.as_deref().map(|subject| subject.chars().count()), Some(256));
    let info = result.info.expect("a certificate");
    assert_eq!(info.subject.len(), 20);
    assert_eq!(info.extensions.len(), 30);
    assert!(info.extensions_omitted > 70, "{}", info.extensions_omitted);
    let json = serde_json::to_string(&info).expect("json");
    assert!(json.len() < 100_000, "{}", json.len());
    let points = info.extensions.iter().find(|found| found.oid == "2.5.29.31").expect("points");
    assert_eq!((points.values.len(), points.values_omitted), (20, 80));
}

/// Reading never panics, whatever a byte contains: the test changes every byte of a certificate with all fields in
/// turn.
#[test]
fn no_byte_breaks_the_reader() {
    let identity = usual();
    let mut readable = 0;
    for position in 0..identity.chain[0].len() {
        for change in [0x01, 0x80] {
            let mut bytes = identity.chain[0].to_vec();
            bytes[position] ^= change;
            let chain = [CertificateDer::from(bytes)];
            if let Some(certificate) = certificate::read(&chain[0]) {
                let negotiated = Negotiated { protocol: None, cipher_suite: None, alpn: None };
                let info = certificate::info(&certificate, &chain, negotiated);
                readable += usize::from(serde_json::to_value(info).is_ok());
            }
        }
    }
    assert!(readable > 500, "{readable}");
    for length in 0..identity.chain[0].len() {
        let cut = CertificateDer::from(identity.chain[0][..length].to_vec());
        assert!(certificate::read(&cut).is_none(), "{length} bytes");
    }
}

#[tokio::test]
async fn a_message_is_bounded() {
    let name =
        |n| format!("{n}.{}.example", ["x".repeat(60), "y".repeat(60), "z".repeat(60)].join("."));
    let names = ["a", "b", "c", "d"].map(name);
    let unknown = Authority::new(&"u".repeat(5000));
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let host = name("host");
    let result = serve(unknown.server(&names, (2020, 2021), &[]), &host, &[]).await;
    assert_eq!(result.failure_message.map(|message| message.chars().count()), Some(600));
}
