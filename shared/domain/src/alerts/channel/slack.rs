//! An alert as a message of Slack's incoming webhooks.
//!
//! All external text is `plain_text`, which has no markup. Only the link is `mrkdwn`.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::chat::{Chat, ChatMessage};
use super::description::{KindDescription, Room, TargetField, UrlInput};
use super::request::{ChannelRequest, Failure, InvalidUrl};
use super::secret::SecretUrl;
use crate::alerts::Alert;
use crate::alerts::text::{cut, entity, escape};
use crate::input::Input as _;

/// Characters in a header.
const HEADER: usize = 150;
/// Characters in a section.
pub(in crate::alerts) const SECTION: usize = 3_000;
/// Characters in a context: half of a section is more than enough.
const CONTEXT: usize = 1_500;
/// Characters in a notification, which shows fewer.
const NOTIFICATION: usize = 300;

// Slack accepts about 13,000 characters in all blocks together. These blocks stay below it: one header, two sections,
// one context, one link.
const _: () = assert!(HEADER + 3 * SECTION + CONTEXT < 13_000);

/// An incoming webhook of Slack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slack {
    /// Its URL.
    pub url: SecretUrl,
}

/// Slack's own hosts. Other servers accept the same messages, but may answer otherwise.
const HOSTS: &[&str] = &["hooks.slack.com", "hooks.slack-gov.com"];

/// The [answer](https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks) of Slack when it has posted a
/// message.
const POSTED: &str = "ok";

pub(super) const DESCRIPTION: KindDescription = KindDescription {
    label: "Slack",
    about: "An incoming webhook of Slack",
    fields: UrlInput::FIELDS,
    destination: TargetField {
        label: "Webhook URL",
        example: "https://hooks.slack.com/services/…",
        help: "The URL of an incoming webhook. In your Slack app’s settings, it is under Incoming Webhooks.",
    },
    services: HOSTS,
    own_domains: HOSTS,
    per_minute: None,
    room: Room::Common,
};

impl Slack {
    pub(super) fn new(UrlInput { url }: UrlInput) -> Self {
        Self { url }
    }
}

impl Chat for Slack {
    fn url(&self) -> &SecretUrl {
        &self.url
    }

    fn request(
        &self,
        ChatMessage { alert, .. }: ChatMessage<'_>,
    ) -> Result<ChannelRequest, InvalidUrl> {
        let request = ChannelRequest::json(&self.url, message(alert), failure)?;
        let is_slack = request.url.host_str().is_some_and(|host| HOSTS.contains(&host));
        Ok(if is_slack { request.confirmed_by(POSTED) } else { request })
    }
}

/// What an error status means.
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
    let links = alert.links().map(|link| {
        let url = escape(&link.url.replace('|', "%7C"));
        format!("<{url}|{}>", escape(link.text))
    });
    let links = links.collect::<Vec<_>>().join(" · ");
    if !links.is_empty() && links.len() <= SECTION {
        section(json!({ "type": "mrkdwn", "text": links, "verbatim": true }));
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

/// A text without markup, in which no `:word:` becomes an emoji.
fn plain(text: &str, limit: usize) -> Value {
    json!({ "type": "plain_text", "text": escaped(text, limit), "emoji": false })
}

/// A text of at most `limit` characters after escaping. Slack does not document whether it counts characters or UTF-16
/// units, so the larger count is used.
fn escaped(text: &str, limit: usize) -> String {
    // Slack would read `<!channel>` as a mention.
    escape(&cut(text, limit, size))
}

/// How many characters a character takes after escaping.
pub(in crate::alerts) fn size(c: char) -> usize {
    entity(c).map_or(c.len_utf16(), str::len)
}
