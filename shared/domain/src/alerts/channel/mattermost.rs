//! An alert as a [message of Mattermost's incoming webhooks](https://developers.mattermost.com/integrate/webhooks/incoming/):
//! one attachment in Markdown.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::chat::{Chat, ChatMessage};
use super::description::{KindDescription, Room, TargetField, UrlInput};
use super::request::{ChannelRequest, Failure, InvalidUrl};
use super::secret::SecretUrl;
use crate::alerts::text::{cut, paragraphs, unmentioned};
use crate::alerts::{Alert, Tone};
use crate::input::Input as _;

/// Characters in a text, after escaping. A post has up to 16,383.
const TEXT: usize = 12_000;
/// Characters that the lines about many issues may take, so that the rest of the message has room.
const LINES: usize = 10_000;
/// Characters in a title, after escaping.
const TITLE: usize = 600;
/// Characters in a notification.
const NOTIFICATION: usize = 300;

/// An incoming webhook of Mattermost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mattermost {
    /// Its URL.
    pub url: SecretUrl,
}

pub(super) const DESCRIPTION: KindDescription = KindDescription {
    label: "Mattermost",
    about: "An incoming webhook of Mattermost",
    fields: UrlInput::FIELDS,
    destination: TargetField {
        label: "Webhook URL",
        example: "https://chat.example.com/hooks/…",
        help: "The URL of an incoming webhook. In Mattermost’s menu, it is under Integrations.",
    },
    services: &[],
    own_domains: &[],
    per_minute: None,
    room: Room::Own { size: LINES, size_of: size },
};

impl Mattermost {
    pub(super) fn new(UrlInput { url }: UrlInput) -> Self {
        Self { url }
    }
}

impl Chat for Mattermost {
    fn url(&self) -> &SecretUrl {
        &self.url
    }

    fn request(
        &self,
        ChatMessage { alert, .. }: ChatMessage<'_>,
    ) -> Result<ChannelRequest, InvalidUrl> {
        ChannelRequest::json(&self.url, message(alert), Failure::of_own_server)
    }
}

/// The body of the request.
pub fn message(alert: &Alert) -> Vec<u8> {
    let alert = alert.tamed();
    let title = alert.title();
    let heading = format!("**{}**", escaped(&cut(&title, TITLE, size)));
    let text = escaped(&cut(&alert.plain(), TEXT, size));
    let attachment = json!({
        "fallback": unmentioned(&cut(&title, NOTIFICATION, |_| 1)),
        "color": color(alert.tone()),
        "text": paragraphs([heading, text, alert.plain_links()]),
    });
    json!({ "attachments": [attachment] }).to_string().into_bytes()
}

const fn color(tone: Tone) -> &'static str {
    match tone {
        Tone::Critical => "#e01e5a",
        Tone::Warning => "#ecb22e",
        Tone::Info => "#36c5f0",
        Tone::Good => "#2eb67d",
        Tone::Neutral => "#80848e",
    }
}

/// A text without Markdown and mentions. Mattermost reads `<…>` as Slack does and knows no escape for it.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in unmentioned(text).chars() {
        match c {
            '<' => escaped.push('‹'),
            '>' => escaped.push('›'),
            c => {
                if is_active(c) {
                    escaped.push('\\');
                }
                escaped.push(c);
            }
        }
    }
    escaped
}

/// The most characters that a character takes in the message.
pub(in crate::alerts) fn size(c: char) -> usize {
    c.len_utf16() + usize::from(is_active(c) || c == '@')
}

/// Characters that are Markdown, and that a backslash escapes.
const fn is_active(c: char) -> bool {
    matches!(
        c,
        '\\' | '`'
            | '*'
            | '{'
            | '}'
            | '['
            | ']'
            | '('
            | ')'
            | '#'
            | '+'
            | '-'
            | '!'
            | '_'
            | '|'
            | '~'
    )
}
