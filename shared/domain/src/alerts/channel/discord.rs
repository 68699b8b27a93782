//! An alert as a message of Discord's webhooks: one embed.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::chat::{Chat, ChatMessage};
use super::description::{KindDescription, Room, TargetField, UrlInput};
use super::request::{ChannelRequest, Failure, InvalidUrl};
use super::secret::SecretUrl;
use crate::alerts::text::cut;
use crate::alerts::{Alert, Tone};
use crate::input::Input as _;
use crate::time::wire;

/// Characters in the title.
const TITLE: usize = 256;
/// Characters in the description.
pub(in crate::alerts) const TEXT: usize = 4_096;
/// Details.
const FIELDS: usize = 25;
/// Characters in a detail.
const FIELD_VALUE: usize = 1_024;
/// Characters in all texts of the embed together.
const TOTAL: usize = 6_000;

/// A webhook of a Discord channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Discord {
    /// Its URL.
    pub url: SecretUrl,
}

/// Discord's domains, of which the second is the old one.
const DOMAINS: &[&str] = &["discord.com", "discordapp.com"];

pub(super) const DESCRIPTION: KindDescription = KindDescription {
    label: "Discord",
    about: "A webhook of a Discord channel",
    fields: UrlInput::FIELDS,
    destination: TargetField {
        label: "Webhook URL",
        example: "https://discord.com/api/webhooks/…",
        help: "In Discord, edit the channel, and choose Integrations, then Webhooks.",
    },
    services: DOMAINS,
    own_domains: DOMAINS,
    per_minute: None,
    room: Room::Common,
};

impl Discord {
    pub(super) fn new(UrlInput { url }: UrlInput) -> Self {
        Self { url }
    }
}

impl Chat for Discord {
    fn url(&self) -> &SecretUrl {
        &self.url
    }

    fn request(
        &self,
        ChatMessage { alert, .. }: ChatMessage<'_>,
    ) -> Result<ChannelRequest, InvalidUrl> {
        let mut request = ChannelRequest::json(&self.url, message(alert), Failure::of_service)?;
        // Without this parameter, Discord answers before it has stored the message.
        request.url.query_pairs_mut().append_pair("wait", "true");
        Ok(request)
    }
}

/// The body of the request.
pub fn message(alert: &Alert) -> Vec<u8> {
    let alert = alert.tamed();
    let title = escaped(&alert.title(), TITLE);
    let mut description = alert.lines.join("\n");
    if let Some(runbook) = &alert.runbook {
        description.push_str("\n\nNotes: ");
        description.push_str(runbook);
    }
    let description = escaped(&description, TEXT);
    let mut left = TOTAL - length(&title) - length(&description);
    let mut fields = Vec::new();
    if let Some(link) = &alert.respond {
        let (name, value) = ("Respond", format!("[{}]({})", link.text, link.url));
        if let Some(rest) = left.checked_sub(length(name) + length(&value))
            && length(&value) <= FIELD_VALUE
        {
            left = rest;
            fields.push(json!({ "name": name, "value": value }));
        }
    }
    for (label, value) in alert.details().take(FIELDS - fields.len()) {
        let Some(room) = left.checked_sub(length(label)) else { break };
        let value = escaped(value, room.min(FIELD_VALUE));
        // Discord would refuse the whole message because of an empty detail.
        if value.is_empty() {
            break;
        }
        left = room - length(&value);
        fields.push(json!({ "name": label, "value": value, "inline": true }));
    }
    let mut embed = json!({
        "title": title,
        "color": color(alert.tone()),
        "timestamp": wire(alert.at),
        "fields": fields,
    });
    if !description.is_empty() {
        embed["description"] = Value::from(description);
    }
    if let Some(link) = &alert.link {
        embed["url"] = Value::from(link.url.as_str());
    }
    // Names in the text must not notify anybody.
    let body = json!({ "allowed_mentions": { "parse": [] }, "embeds": [embed] });
    body.to_string().into_bytes()
}

const fn color(tone: Tone) -> u32 {
    match tone {
        Tone::Critical => 0xe0_1e_5a,
        Tone::Warning => 0xec_b2_2e,
        Tone::Info => 0x36_c5_f0,
        Tone::Good => 0x2e_b6_7d,
        Tone::Neutral => 0x80_84_8e,
    }
}

/// The length in characters, at least as high as Discord's count.
fn length(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}

/// A text without any Markdown, at most `limit` characters long after escaping.
fn escaped(text: &str, limit: usize) -> String {
    let cut = cut(text, limit, size);
    let mut escaped = String::with_capacity(cut.len());
    for line in cut.split_inclusive('\n') {
        if line.starts_with(starts_block) {
            escaped.push('\\');
        }
        for word in line.split_inclusive(' ') {
            // Within a URL nothing is Markdown, not even a backslash, up to a `<`.
            let is_address = word.starts_with("https://") || word.starts_with("http://");
            let address = if is_address { word.find('<').unwrap_or(word.len()) } else { 0 };
            escaped.push_str(&word[..address]);
            for c in word[address..].chars() {
                if is_active(c) {
                    escaped.push('\\');
                }
                escaped.push(c);
            }
        }
    }
    escaped
}

/// The most characters that a character takes after escaping.
pub(in crate::alerts) fn size(c: char) -> usize {
    c.len_utf16() + usize::from(is_active(c) || starts_block(c))
}

/// Characters that are Markdown anywhere: emphasis, code, spoilers, links, mentions.
const fn is_active(c: char) -> bool {
    matches!(c, '\\' | '*' | '_' | '~' | '`' | '|' | '[' | ']' | '(' | ')' | '<' | '>')
}

/// Characters that are Markdown at the start of a line: headings, lists.
const fn starts_block(c: char) -> bool {
    matches!(c, '#' | '-' | '+')
}
