//! Signatures of events, as other implementations of Standard Webhooks verify them.

use jiff::{SignedDuration, Timestamp};
use vedette_domain::alerts::channel::webhook::Webhook;
use vedette_domain::alerts::channel::{Program as _, SecretUrl, SigningKey, SigningKeys};

const BODY: &[u8] =
    br#"{"type":"issue.opened","timestamp":"2026-11-21T12:00:00Z","data":{"uuid":"x"}}"#;
const ID: &str = "msg_2KWPBgLlAfxdpx2AI54pPJ85f4W";

fn key(byte: u8) -> SigningKey {
    SigningKey::from_random([byte; SigningKey::BYTES])
}

fn headers(keys: &SigningKeys, now: Timestamp) -> Vec<(&'static str, String)> {
    let webhook = Webhook { url: SecretUrl::new("https://receiver.test/hook"), keys: keys.clone() };
    webhook.request(ID, BODY, now).expect("a request").expect("an event").headers
}

/// The signature with a single key.
fn sign(key: &SigningKey, now: Timestamp) -> String {
    headers(&SigningKeys::new(key.clone()), now)[2].1.clone()
}

fn verify(
    key: &SigningKey,
    headers: &[(&'static str, String)],
    body: &[u8],
) -> Result<(), standardwebhooks::WebhookError> {
    let header = |(name, value): &(&'static str, String)| {
        (http::HeaderName::from_static(name), value.parse().expect("a value"))
    };
    let headers: http::HeaderMap = headers.iter().map(header).collect();
    standardwebhooks::Webhook::new(&key.reveal()).expect("a key").verify(body, &headers)
}

#[test]
fn another_implementation_verifies_it() {
    // The other implementation compares with the time of this machine.
    let now = vedette_runtime::Clock::system().now();
    let keys = SigningKeys { current: key(1), previous: None };
    let signed = headers(&keys, now);
    verify(&key(1), &signed, BODY).expect("a signature");
    assert!(verify(&key(2), &signed, BODY).is_err());
    assert!(verify(&key(1), &signed, &[BODY, b" "].concat()).is_err());
    let old = headers(&keys, now - SignedDuration::from_secs(301));
    assert!(verify(&key(1), &old, BODY).is_err());
}

#[test]
fn both_keys_sign_during_a_rotation() {
    let now = vedette_runtime::Clock::system().now();
    let until = now + SignedDuration::from_secs(1);
    let keys = SigningKeys { current: key(2), previous: Some((key(1), until)) };
    let both = headers(&keys, now);
    verify(&key(1), &both, BODY).expect("by the old key");
    verify(&key(2), &both, BODY).expect("by the new key");
    let (old, new) = (sign(&key(1), now), sign(&key(2), now));
    assert_eq!(both[2].1, format!("{new} {old}"));
    let one = headers(&keys, until);
    assert_eq!(one[2].1, sign(&key(2), until));
}
