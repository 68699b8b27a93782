//! An alert as a message to a topic of [ntfy](https://docs.ntfy.sh/publish/#publish-as-json), whose apps show it as a
//! notification.
//!
//! A message is plain text unless it says that it is Markdown.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::chat::{Chat, ChatMessage};
use super::description::{KindDescription, Room, TargetEdit, TargetField};
use super::request::{ChannelRequest, Failure, InvalidUrl};
use super::secret::{AccessToken, SecretUrl};
use crate::alerts::text::{cut, json_size};
use crate::alerts::{ACKNOWLEDGES, Alert, Link, Tone};
use crate::input::{Input as _, TextRule, input};

/// The server of a topic that is given only by its name.
const SERVER: &str = "https://ntfy.sh";
/// Characters in the name of a topic.
const TOPIC: usize = 64;

/// Bytes in a message. A longer message arrives as a file.
const MESSAGE: usize = 4_096;
/// Bytes that the lines about many issues may take, so that the rest of the message has room.
const LINES: usize = 3_600;
/// Bytes in a title.
const TITLE: usize = 1_024;
/// Bytes in the URL that a click leads to. Those of the buttons have no more.
const CLICK: usize = 768;
/// Bytes of the parts that all requests share.
const FRAME: usize = 512;

// All lengths are lengths in JSON. ntfy accepts JSON that is up to twice as long as the longest message.
const _: () = assert!(TOPIC + MESSAGE + TITLE + 3 * CLICK + FRAME < 2 * MESSAGE);

/// A topic of an ntfy server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ntfy {
    /// Its URL: the URL of the server, and the topic.
    pub url: SecretUrl,
    /// The token with which the server recognizes us, if the topic is not open to everybody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<AccessToken>,
}

input! {
    /// Where messages to a topic go.
    NtfyInput,
    /// A change of where messages to a topic go.
    NtfyEdit {
        /// The URL of the topic, which is as secret as a password, or the name of a topic at https://ntfy.sh.
        url: Required<SecretUrl> = TOPIC_URL;
        /// The access token, if the server asks for one.
        #[form("Access token", "The access token, if the server asks for one.")]
        token: Clearable<AccessToken> = AccessToken::RULE;
    }
}

const TOPIC_URL: TextRule<SecretUrl> = TextRule {
    parse: |text| {
        let error = "must be that of a topic, such as https://ntfy.example.com/alerts";
        SecretUrl::parse_place(text, is_topic, Some(SERVER), error)
    },
    ..SecretUrl::RULE
};

/// The public server's domain.
const DOMAINS: &[&str] = &["ntfy.sh"];

pub(super) const DESCRIPTION: KindDescription = KindDescription {
    label: "ntfy",
    about: "A topic of an ntfy server (ntfy.sh, or your own)",
    fields: NtfyInput::FIELDS,
    destination: TargetField {
        label: "Topic",
        example: "https://ntfy.sh/my-topic",
        help: "Its URL, or its name if it is on ntfy.sh. Choose a name that nobody guesses: whoever knows it can read the topic.",
    },
    services: DOMAINS,
    own_domains: DOMAINS,
    per_minute: None,
    room: Room::Own { size: LINES, size_of: json_size },
};

impl From<NtfyEdit> for TargetEdit {
    fn from(NtfyEdit { url, token }: NtfyEdit) -> Self {
        Self { url, token }
    }
}

impl Ntfy {
    pub(super) fn new(NtfyInput { url, token }: NtfyInput) -> Self {
        Self { url, token }
    }
}

impl Chat for Ntfy {
    fn url(&self) -> &SecretUrl {
        &self.url
    }

    fn token(&self) -> Option<&AccessToken> {
        self.token.as_ref()
    }

    fn request(
        &self,
        ChatMessage { alert, .. }: ChatMessage<'_>,
    ) -> Result<ChannelRequest, InvalidUrl> {
        let (server, topic) = self.url.place(is_topic).ok_or(InvalidUrl)?;
        let body = message(alert, &topic);
        let request = ChannelRequest::json_to(server, body, Failure::of_own_server).hiding([topic]);
        Ok(request.authorized_by(self.token.as_ref()))
    }
}

fn is_topic(text: &str) -> bool {
    let is_in_topics = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (1..=TOPIC).contains(&text.len()) && text.bytes().all(is_in_topics)
}

/// The body of the request.
pub fn message(alert: &Alert, topic: &str) -> Vec<u8> {
    let alert = alert.tamed();
    let mut body = json!({
        "topic": topic,
        "title": cut(&alert.title(), TITLE, json_size),
        "message": cut(&alert.plain(), MESSAGE, json_size),
        "priority": priority(alert.tone()),
        "tags": [tag(alert.tone())],
    });
    let fits = |link: &&Link| link.url.chars().map(json_size).sum::<usize>() <= CLICK;
    if let Some(link) = alert.link.as_ref().filter(fits) {
        body["click"] = link.url.as_str().into();
    }
    if let Some(Link { url, .. }) = alert.respond.as_ref().filter(|link| fits(link)) {
        body["actions"] = json!([
            {
                "action": "http",
                "label": "Acknowledge",
                "url": format!("{url}{ACKNOWLEDGES}"),
                "method": "POST",
                "clear": true,
            },
            { "action": "view", "label": "Snooze", "url": url },
        ]);
    }
    body.to_string().into_bytes()
}

/// Its priority, from 1 to 5.
const fn priority(tone: Tone) -> u8 {
    match tone {
        Tone::Critical => 5,
        Tone::Warning => 4,
        Tone::Info | Tone::Good | Tone::Neutral => 3,
    }
}

/// The name of the emoji before its title.
const fn tag(tone: Tone) -> &'static str {
    match tone {
        Tone::Critical => "rotating_light",
        Tone::Warning => "warning",
        Tone::Info => "information_source",
        Tone::Good => "white_check_mark",
        Tone::Neutral => "bell",
    }
}
