//! An alert as a message to a workflow of Microsoft Teams: an Adaptive Card.
//!
//! Teams shows version 1.4 at most. The workflow accepts anything and says nothing where Teams then
//! refuses the card, so it has to be right before it is sent. Texts are runs, in which nothing is
//! Markdown; in a `TextBlock` or a `FactSet` it would be.

use serde_json::{Value, json};

use super::text::cut;
use super::{Alert, Tone};

/// Bytes in a message.
const MESSAGE: usize = 28 * 1024;
/// Bytes in a title, as JSON.
const TITLE: usize = 2 * 1024;
/// Bytes in the other texts of a card, as JSON.
pub(super) const TEXTS: usize = 12 * 1024;
/// Elements in a card.
pub(super) const COUNT: usize = 60;
/// Bytes that an element takes beside its text.
const ELEMENT: usize = 170;
/// Bytes of what holds the elements, and of the link.
const FRAME: usize = 3 * 1024;

const _: () = assert!(TITLE + TEXTS + COUNT * ELEMENT + FRAME < MESSAGE);

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
    if let Some(link) = &alert.link {
        let action = json!({ "type": "Action.OpenUrl", "title": link.text, "url": link.url });
        card["actions"] = Value::from(vec![action]);
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
