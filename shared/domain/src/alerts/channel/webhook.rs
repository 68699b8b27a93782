//! Events for programs: [Standard Webhooks](https://www.standardwebhooks.com).

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::EventKind;
use super::description::{KindDescription, Room, TargetField, UrlInput};
use super::program::Program;
use super::request::{ChannelRequest, Failure, InvalidUrl};
use super::secret::{SecretUrl, SigningKey, SigningKeys};
use super::signature;
use crate::alerts::text::cut;
use crate::id::IssueId;
use crate::input::Input as _;

/// A program, notified with [Standard Webhooks](https://www.standardwebhooks.com).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Webhook {
    /// Its URL.
    pub url: SecretUrl,
    /// The keys that sign requests.
    pub keys: SigningKeys,
}

pub(super) const DESCRIPTION: KindDescription = KindDescription {
    label: "Webhook",
    about: "A program that follows Standard Webhooks (www.standardwebhooks.com); prints its signing key once",
    fields: UrlInput::FIELDS,
    destination: TargetField {
        label: "URL",
        example: "https://ops.example.com/alerts",
        help: "The URL of your program. It gets signed events in the format of Standard Webhooks.",
    },
    services: &["hooks.zapier.com"],
    own_domains: &[],
    per_minute: None,
    room: Room::Common,
};

impl Webhook {
    /// A program whose requests are signed with `key`.
    pub(super) fn new(UrlInput { url }: UrlInput, key: SigningKey) -> Self {
        Self { url, keys: SigningKeys::new(key) }
    }
}

impl Program for Webhook {
    fn url(&self) -> &SecretUrl {
        &self.url
    }

    fn keys(&self) -> Option<&SigningKeys> {
        Some(&self.keys)
    }

    fn request(
        &self,
        id: &str,
        body: &[u8],
        now: Timestamp,
    ) -> Result<Option<ChannelRequest>, InvalidUrl> {
        let signed = signature::headers(&self.keys, id, body, now);
        let request = ChannelRequest::json(&self.url, body.to_vec(), failure)?;
        Ok(Some(request.with_headers(signed)))
    }
}

/// The request that sends an event to a program that has no key to verify it with.
///
/// # Errors
///
/// When the stored URL is invalid.
pub fn unsigned_request(
    url: &SecretUrl,
    id: &str,
    body: Vec<u8>,
) -> Result<ChannelRequest, InvalidUrl> {
    let headers = [(signature::ID, id.to_owned())];
    Ok(ChannelRequest::json(url, body, failure)?.with_headers(headers))
}

/// What an error status means. The owner of a program can fix any error, except if the program answers that it is gone.
pub(super) const fn failure(status: u16) -> Failure {
    match status {
        410 => Failure::Channel,
        _ => Failure::Attempt,
    }
}

/// Bytes in a body. The standard recommends less than 20 kilobytes.
pub const BODY_LIMIT: usize = 20_000;

/// The type of the event that tests a channel.
pub const TEST: &str = "channel.test";

/// The type of the event that says that a channel missed more events than it is sent afterwards.
pub const MISSED: &str = "channel.missed";

/// The type of an event about an issue.
pub const fn event_type(kind: EventKind) -> &'static str {
    match kind {
        EventKind::Opened => "issue.opened",
        EventKind::Resolved => "issue.resolved",
        EventKind::Reminder => "issue.reminder",
        EventKind::Acknowledged => "issue.acknowledged",
    }
}

/// An event in the form in which it is sent.
#[derive(Serialize)]
struct Event<'a> {
    r#type: &'a str,
    timestamp: Timestamp,
    data: &'a Value,
}

/// The longest strings, in characters, if a body would be too long otherwise.
const STRING_LIMITS: [usize; 2] = [1_000, 100];

/// The body of an event that happened at an instant. If it would be too long, it leaves out data that the receiver can
/// request with the issue's id: its context, the oldest part of its timeline, and the ends of long texts.
pub fn body(event_type: &str, at: Timestamp, mut data: Value) -> Vec<u8> {
    let write = |data: &Value| {
        let event = Event { r#type: event_type, timestamp: at, data };
        // All of its values can be serialized.
        serde_json::to_vec(&event).unwrap_or_default()
    };
    let mut body = write(&data);
    if body.len() > BODY_LIMIT
        && let Some(context) = data.get_mut("context")
    {
        *context = Value::Null;
        body = write(&data);
    }
    while body.len() > BODY_LIMIT
        && let Some(Value::Array(timeline)) = data.get_mut("timeline")
        && !timeline.is_empty()
    {
        timeline.drain(..timeline.len().div_ceil(2));
        body = write(&data);
    }
    for limit in STRING_LIMITS {
        if body.len() > BODY_LIMIT {
            cut_strings(&mut data, limit);
            body = write(&data);
        }
    }
    body
}

fn cut_strings(value: &mut Value, limit: usize) {
    match value {
        Value::String(text) => *text = cut(text, limit, |_| 1),
        Value::Array(values) => values.iter_mut().for_each(|value| cut_strings(value, limit)),
        Value::Object(values) => values.values_mut().for_each(|value| cut_strings(value, limit)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Characters of an id after its prefix.
const ID_LENGTH: usize = 26;
const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The id of an event about one opening of an issue. It is the same each time the event is sent, so that the receiver
/// recognizes repetitions. An event with another body has another id.
pub fn webhook_id(issue: IssueId, opened_at: Timestamp, kind: EventKind, body: &[u8]) -> String {
    let opened_at = opened_at.as_millisecond();
    let event = format!("{issue}.{opened_at}.{}.", kind.as_str());
    let digest = Sha256::new().chain_update(event).chain_update(body).finalize();
    format!("msg_{}", base62(digest.into()))
}

/// The last digits of a large number.
fn base62(mut number: [u8; 32]) -> String {
    let digit = |_| {
        let mut rest = 0;
        for byte in &mut number {
            let part = rest * 256 + usize::from(*byte);
            // Less than 256, because the remainder is less than 62.
            *byte = (part / 62) as u8;
            rest = part % 62;
        }
        char::from(BASE62[rest])
    };
    (0..ID_LENGTH).map(digit).collect()
}
