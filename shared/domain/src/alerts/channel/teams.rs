//! An alert as a message to a workflow of Microsoft Teams: an Adaptive Card.
//!
//! Teams supports version 1.4 at most. The workflow accepts any card and reports nothing if Teams then refuses it, so
//! the card has to be correct before it is sent. Texts are runs, which have no Markdown; a `TextBlock` or a `FactSet`
//! would have it.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::chat::{Chat, ChatMessage};
use super::description::{KindDescription, Room, TargetField, UrlInput};
use super::request::{ChannelRequest, Failure, InvalidUrl};
use super::secret::SecretUrl;
use crate::alerts::text::cut;
use crate::alerts::{Alert, Link, Tone};
use crate::input::Input as _;

/// Bytes in a message.
const MESSAGE: usize = 28 * 1024;
/// Bytes in a title, as JSON.
const TITLE: usize = 2 * 1024;
/// Bytes in the other texts of a card, as JSON.
pub(in crate::alerts) const TEXTS: usize = 12 * 1024;
/// Elements in a card.
pub(in crate::alerts) const COUNT: usize = 60;
/// Bytes that an element takes in addition to its text.
const ELEMENT: usize = 170;
/// Bytes of the frame around the elements, and of the link.
const FRAME: usize = 3 * 1024;

const _: () = assert!(TITLE + TEXTS + COUNT * ELEMENT + FRAME < MESSAGE);

/// A workflow of Microsoft Teams that starts when a webhook request is received.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Teams {
    /// Its URL.
    pub url: SecretUrl,
}

pub(super) const DESCRIPTION: KindDescription = KindDescription {
    label: "Microsoft Teams",
    about: "A workflow of Microsoft Teams that starts when a webhook request is received",
    fields: UrlInput::FIELDS,
    destination: TargetField {
        label: "Workflow URL",
        example: "https://prod-00.westeurope.logic.azure.com/…",
        help: "The URL of a workflow that starts when a Teams webhook request is received. Teams shows it when you have added the workflow.",
    },
    services: &["webhook.office.com", "logic.azure.com", "api.powerplatform.com"],
    own_domains: &["webhook.office.com"],
    per_minute: None,
    room: Room::Common,
};

impl Teams {
    pub(super) fn new(UrlInput { url }: UrlInput) -> Self {
        Self { url }
    }
}

impl Chat for Teams {
    fn url(&self) -> &SecretUrl {
        &self.url
    }

    fn request(
        &self,
        ChatMessage { alert, .. }: ChatMessage<'_>,
    ) -> Result<ChannelRequest, InvalidUrl> {
        ChannelRequest::json(&self.url, message(alert), Failure::of_service)
    }
}

/// The body of the request.
pub fn message(alert: &Alert) -> Vec<u8> {
    let alert = alert.tamed();
    let title = json!({
        "type": "TextRun",
        "text": cut(&alert.title(), TITLE, size),
        "weight": "Bolder",
        "size": "Medium",
    });
    let mut body = vec![json!({
        "type": "Container",
        "style": style(alert.tone()),
        "bleed": true,
        "items": [{ "type": "RichTextBlock", "inlines": [title] }],
    })];
    let mut left = TEXTS;
    let mut add = |label: Option<&str>, text: &str, spacing: &str| {
        let text = cut(text, left, size);
        if body.len() >= COUNT || text.is_empty() {
            return;
        }
        left -= text.chars().map(size).sum::<usize>();
        let mut inlines = Vec::new();
        if let Some(label) = label {
            let label = format!("{label}: ");
            inlines.push(json!({ "type": "TextRun", "text": label, "weight": "Bolder" }));
        }
        inlines.push(json!({ "type": "TextRun", "text": text }));
        body.push(json!({ "type": "RichTextBlock", "inlines": inlines, "spacing": spacing }));
    };
    for line in &alert.lines {
        add(None, line, "Small");
    }
    for (index, (label, value)) in alert.details().enumerate() {
        add(Some(label), value, if index == 0 { "Medium" } else { "None" });
    }
    let runbook = alert.runbook.iter().flat_map(|text| text.lines());
    for (index, line) in runbook.filter(|line| !line.is_empty()).enumerate() {
        let (label, spacing) = if index == 0 { (Some("Notes"), "Medium") } else { (None, "None") };
        add(label, line, spacing);
    }
    let mut card = json!({
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "msteams": { "width": "Full" },
        "body": body,
    });
    let action =
        |link: &Link| json!({ "type": "Action.OpenUrl", "title": link.text, "url": link.url });
    let actions: Vec<Value> = alert.links().map(action).collect();
    if !actions.is_empty() {
        card["actions"] = Value::from(actions);
    }
    let message = json!({
        "type": "message",
        "attachments": [{
            "contentType": "application/vnd.microsoft.card.adaptive",
            "contentUrl": null,
            "content": card,
        }],
    });
    message.to_string().into_bytes()
}

const fn style(tone: Tone) -> &'static str {
    match tone {
        Tone::Critical => "attention",
        Tone::Warning => "warning",
        Tone::Info => "accent",
        Tone::Good => "good",
        Tone::Neutral => "emphasis",
    }
}

/// Bytes of a character in JSON.
const fn size(c: char) -> usize {
    match c {
        '"' | '\\' => 2,
        _ => c.len_utf8(),
    }
}
