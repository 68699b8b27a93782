//! The headers by which a webhook's receiver knows that an event is ours, once and of now:
//! [Standard Webhooks](https://www.standardwebhooks.com).

use data_encoding::BASE64;
use jiff::Timestamp;
use ring::hmac;
use vedette_domain::alerts::channel::{SigningKey, SigningKeys};

/// The headers of an attempt: the event's identity, the time of the attempt, and a signature by each
/// key that signs at that time, the newest first.
pub(super) fn headers(
    keys: &SigningKeys,
    id: &str,
    body: &[u8],
    now: Timestamp,
) -> [(&'static str, String); 3] {
    let timestamp = now.as_second();
    let signatures: Vec<_> = keys.at(now).map(|key| sign(key, id, timestamp, body)).collect();
    [
        ("webhook-id", id.to_owned()),
        ("webhook-timestamp", timestamp.to_string()),
        ("webhook-signature", signatures.join(" ")),
    ]
}

fn sign(key: &SigningKey, id: &str, timestamp: i64, body: &[u8]) -> String {
    signature(key.as_bytes(), id, timestamp, body)
}

fn signature(key: &[u8], id: &str, timestamp: i64, body: &[u8]) -> String {
    let mut signed = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, key));
    signed.update(format!("{id}.{timestamp}.").as_bytes());
    signed.update(body);
    format!("v1,{}", BASE64.encode(signed.sign().as_ref()))
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use standardwebhooks::Webhook;

    use super::*;

    const BODY: &[u8] =
        br#"{"type":"issue.opened","timestamp":"2026-11-21T12:00:00Z","data":{"uuid":"x"}}"#;
    const ID: &str = "msg_2KWPBgLlAfxdpx2AI54pPJ85f4W";

    fn key(byte: u8) -> SigningKey {
        SigningKey::from_random([byte; SigningKey::BYTES])
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
        Webhook::new(&key.reveal()).expect("a key").verify(body, &headers)
    }

    #[test]
    fn the_signature_is_the_standards() {
        let key = BASE64.decode(b"AAECAwQFBgcICQoLDA0ODxAREhMUFRYX").expect("base64");
        let signed = signature(&key, ID, 1_674_087_231, BODY);
        assert_eq!(signed, "v1,RLugAF4dRI+qa+HnfOC8/QUL3vxaDCSgt/7b8rON1S4=");
    }

    #[test]
    fn another_implementation_verifies_it() {
        // It compares with the time of this machine.
        let now = vedette_runtime::Clock::system().now();
        let keys = SigningKeys { current: key(1), previous: None };
        let headers = headers(&keys, ID, BODY, now);
        verify(&key(1), &headers, BODY).expect("a signature");
        assert!(verify(&key(2), &headers, BODY).is_err());
        assert!(verify(&key(1), &headers, &[BODY, b" "].concat()).is_err());
        let old = super::headers(&keys, ID, BODY, now - SignedDuration::from_secs(301));
        assert!(verify(&key(1), &old, BODY).is_err());
    }

    #[test]
    fn while_keys_change_both_are_good() {
        let now = vedette_runtime::Clock::system().now();
        let until = now + SignedDuration::from_secs(1);
        let keys = SigningKeys { current: key(2), previous: Some((key(1), until)) };
        let both = headers(&keys, ID, BODY, now);
        verify(&key(1), &both, BODY).expect("by the old key");
        verify(&key(2), &both, BODY).expect("by the new key");
        let (old, new) =
            (sign(&key(1), ID, now.as_second(), BODY), sign(&key(2), ID, now.as_second(), BODY));
        assert_eq!(both[2].1, format!("{new} {old}"));
        let one = headers(&keys, ID, BODY, until);
        assert_eq!(one[2].1, sign(&key(2), ID, until.as_second(), BODY));
    }
}
