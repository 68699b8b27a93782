//! An alert as a message of Slack's incoming webhooks.
//!
//! Everything that comes from outside is in `plain_text`, where nothing is markup; only the link is
//! `mrkdwn`.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::chat::Chat;
use super::description::{FieldError, FieldValues, KindDescription, Room, URL};
use super::request::{ChannelRequest, Failure, InvalidUrl};
use super::secret::SecretUrl;
use crate::alerts::Alert;
use crate::alerts::text::cut;

/// Characters in a header.
const HEADER: usize = 150;
/// Characters in a section.
pub(in crate::alerts) const SECTION: usize = 3_000;
/// Characters in a context: half of a section is more than enough.
const CONTEXT: usize = 1_500;
/// Characters in a notification, which shows fewer.
const NOTIFICATION: usize = 300;

// Slack takes some 13,000 characters in all blocks together, which these do not reach: one header,
// two sections, one context, one link.
const _: () = assert!(HEADER + 3 * SECTION + CONTEXT < 13_000);

/// An incoming webhook of Slack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slack {
    /// Its URL.
    pub url: SecretUrl,
}

pub(super) const DESCRIPTION: KindDescription = KindDescription {
    label: "Slack",
    about: "An incoming webhook of Slack",
    destination: URL,
    options: &[],
    services: &["hooks.slack.com", "hooks.slack-gov.com"],
    room: Room::Common,
};

impl Slack {
    /// Reads what was filled in.
    pub(super) fn read(values: &FieldValues) -> Result<Self, FieldError> {
        Ok(Self { url: values.url()? })
    }
}

impl Chat for Slack {
    fn url(&self) -> &SecretUrl {
        &self.url
    }

    fn request(&self, alert: &Alert) -> Result<ChannelRequest, InvalidUrl> {
        ChannelRequest::json(&self.url, message(alert), failure)
    }
}

/// What a status other than success means.
pub(super) const fn failure(status: u16) -> Failure {
    match status {
        408 | 425 | 429 => Failure::Attempt,
        403 | 404 | 410 => Failure::Channel,
        400..500 => Failure::Message,
        _ => Failure::Attempt,
    }
}

/// The body of the request.
pub fn message(alert: &Alert) -> Vec<u8> {
    let alert = alert.tamed();
    let title = alert.title();
    let mut blocks = vec![json!({ "type": "header", "text": plain(&title, HEADER) })];
    let mut section = |text: Value| blocks.push(json!({ "type": "section", "text": text }));
    if !alert.lines.is_empty() {
        section(plain(&alert.lines.join("\n"), SECTION));
    }
    if let Some(runbook) = &alert.runbook {
        section(plain(&format!("Notes: {runbook}"), SECTION));
    }
    if let Some(link) = &alert.link {
        let url = escape(&link.url.replace('|', "%7C"));
        let text = format!("<{url}|{}>", escape(link.text));
        if text.len() <= SECTION {
            section(json!({ "type": "mrkdwn", "text": text, "verbatim": true }));
        }
    }
    let details: Vec<_> =
        alert.details().map(|(label, value)| format!("{label}: {value}")).collect();
    if !details.is_empty() {
        let elements = [plain(&details.join(" · "), CONTEXT)];
        blocks.push(json!({ "type": "context", "elements": elements }));
    }
    let notification = match alert.lines.first() {
        Some(line) => format!("{title}: {line}"),
        None => title,
    };
    let body = json!({
        "text": escaped(&notification, NOTIFICATION),
        "mrkdwn": false,
        "unfurl_links": false,
        "unfurl_media": false,
        "blocks": blocks,
    });
    body.to_string().into_bytes()
}

/// A text of which nothing is markup and no `:word:` a picture.
fn plain(text: &str, limit: usize) -> Value {
    json!({ "type": "plain_text", "text": escaped(text, limit), "emoji": false })
}

/// A text that is not longer than `limit` even as it is sent. Nobody says whether Slack counts
/// characters or halves of surrogate pairs; these are the most.
fn escaped(text: &str, limit: usize) -> String {
    escape(&cut(text, limit, size))
}

/// Characters of a character as it is sent.
pub(in crate::alerts) fn size(c: char) -> usize {
    entity(c).map_or(c.len_utf16(), str::len)
}

/// What would be read as a mention, such as `<!channel>`, or as a link.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match entity(c) {
            Some(entity) => escaped.push_str(entity),
            None => escaped.push(c),
        }
    }
    escaped
}

const fn entity(c: char) -> Option<&'static str> {
    match c {
        '&' => Some("&amp;"),
        '<' => Some("&lt;"),
        '>' => Some("&gt;"),
        _ => None,
    }
}
