//! The headers that prove to a webhook's receiver that an event is ours, and that protect against replays: [Standard
//! Webhooks](https://www.standardwebhooks.com).

use data_encoding::BASE64;
use jiff::Timestamp;
use ring::hmac;

use super::secret::{SigningKey, SigningKeys};

/// The header with the event's id.
pub(super) const ID: &str = "webhook-id";

/// The headers of an attempt: the event's id, the time of the attempt, and a signature with each key that signs at that
/// time, newest first.
pub(super) fn headers(
    keys: &SigningKeys,
    id: &str,
    body: &[u8],
    now: Timestamp,
) -> [(&'static str, String); 3] {
    let timestamp = now.as_second();
    let signatures: Vec<_> = keys.at(now).map(|key| sign(key, id, timestamp, body)).collect();
    [
        (ID, id.to_owned()),
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
    use super::*;

    const BODY: &[u8] =
        br#"{"type":"issue.opened","timestamp":"2026-11-21T12:00:00Z","data":{"uuid":"x"}}"#;
    const EVENT: &str = "msg_2KWPBgLlAfxdpx2AI54pPJ85f4W";

    #[test]
    fn the_signature_is_the_standards() {
        let key = BASE64.decode(b"AAECAwQFBgcICQoLDA0ODxAREhMUFRYX").expect("base64");
        let signed = signature(&key, EVENT, 1_674_087_231, BODY);
        assert_eq!(signed, "v1,RLugAF4dRI+qa+HnfOC8/QUL3vxaDCSgt/7b8rON1S4=");
    }
}
