//! An alert as a [message of Google Chat's incoming webhooks](https://developers.google.com/workspace/chat/quickstart/webhooks):
//! the title as text, for notifications, and a card.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::chat::{Chat, ChatMessage};
use super::description::{KindDescription, Room, TargetField, UrlInput};
use super::request::{ChannelRequest, Failure, InvalidUrl};
use super::secret::SecretUrl;
use crate::alerts::text::{cut, entity, escape};
use crate::alerts::{Alert, Link, Thread};
use crate::input::Input as _;

/// Its domain.
const DOMAINS: &[&str] = &["chat.googleapis.com"];

/// Bytes in a title, as JSON.
const TITLE: usize = 1_000;
/// Bytes in the lines, as HTML in JSON.
const LINES: usize = 12_000;
/// Bytes in the details, as HTML in JSON.
const DETAILS: usize = 6_000;
/// Bytes in the notes, as HTML in JSON.
const NOTES: usize = 6_000;
/// Bytes in the URL of the link. A longer one is left out.
const URL: usize = 2_000;
/// Bytes of the frame around these parts.
const FRAME: usize = 1_000;
/// A line break in a card.
const LINE_BREAK: &str = "<br>";

// Google Chat accepts 32,000 bytes.
const _: () = assert!(TITLE + LINES + DETAILS + NOTES + 2 * URL + FRAME < 32_000);

/// An incoming webhook of a space of Google Chat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GoogleChat {
    /// Its URL.
    pub url: SecretUrl,
}

pub(super) const DESCRIPTION: KindDescription = KindDescription {
    label: "Google Chat",
    about: "An incoming webhook of Google Chat",
    fields: UrlInput::FIELDS,
    destination: TargetField {
        label: "Webhook URL",
        example: "https://chat.googleapis.com/v1/spaces/…",
        help: "The URL of a webhook. In the menu of the space, it is under Apps & integrations.",
    },
    services: DOMAINS,
    own_domains: DOMAINS,
    per_minute: Some(60),
    room: Room::Own { size: LINES, size_of: size },
};

impl GoogleChat {
    pub(super) fn new(UrlInput { url }: UrlInput) -> Self {
        Self { url }
    }
}

impl Chat for GoogleChat {
    fn url(&self) -> &SecretUrl {
        &self.url
    }

    fn request(
        &self,
        ChatMessage { alert, .. }: ChatMessage<'_>,
    ) -> Result<ChannelRequest, InvalidUrl> {
        let body = message(alert);
        let mut request = ChannelRequest::json(&self.url, body, Failure::of_service)?;
        if alert.thread.is_some() {
            let option = "REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD";
            request.url.query_pairs_mut().append_pair("messageReplyOption", option);
        }
        Ok(request)
    }
}

/// The body of the request.
pub fn message(alert: &Alert) -> Vec<u8> {
    let alert = alert.tamed();
    let paragraph = |text: String| json!({ "textParagraph": { "text": text } });
    let texts = alert.texts().into_iter().zip([LINES, DETAILS, NOTES]);
    let texts = texts.filter(|(text, _)| !text.is_empty());
    let mut widgets: Vec<Value> =
        texts.map(|(text, limit)| paragraph(html(&cut(&text, limit, size)))).collect();
    let links = alert.links().filter(|link| link.url.len() <= URL);
    let button = |link: &Link| {
        let open = json!({ "openLink": { "url": link.url } });
        json!({ "text": link.text, "onClick": open })
    };
    let buttons: Vec<Value> = links.map(button).collect();
    if !buttons.is_empty() {
        widgets.push(json!({ "buttonList": { "buttons": buttons } }));
    }
    let card = json!({ "sections": [{ "widgets": widgets }] });
    let mut body = json!({
        "text": unformatted(&cut(&alert.title(), TITLE, size)),
        "cardsV2": [{ "cardId": "alert", "card": card }],
    });
    if let Some(Thread { issue, opened_at }) = &alert.thread {
        let key = format!("{issue}-{}", opened_at.as_millisecond());
        body["thread"] = json!({ "threadKey": key });
    }
    body.to_string().into_bytes()
}

/// A text without formatting and mentions, for which Google Chat has no escape.
fn unformatted(text: &str) -> String {
    let plain = |c| match c {
        '<' => '‹',
        '>' => '›',
        '*' => '∗',
        '_' => '＿',
        '~' => '∼',
        '`' => '‘',
        c => c,
    };
    text.chars().map(plain).collect()
}

/// A text in a card, where some HTML works.
fn html(text: &str) -> String {
    escape(text).replace('\n', LINE_BREAK)
}

/// The bytes of a character in a card, as JSON. In a title, no character takes more.
pub(in crate::alerts) fn size(c: char) -> usize {
    match (entity(c), c) {
        (Some(entity), _) => entity.len(),
        (None, '\n') => LINE_BREAK.len(),
        (None, '"' | '\\') => 2,
        (None, '*' | '_' | '~' | '`') => 3,
        (None, c) => c.len_utf8(),
    }
}
