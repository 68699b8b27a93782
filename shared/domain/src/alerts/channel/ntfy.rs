//! An alert as a message to a topic of [ntfy](https://docs.ntfy.sh/publish/#publish-as-json), whose apps show it as a
//! notification.
//!
//! A message is plain text unless it says that it is Markdown.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use url::Url;

use super::chat::Chat;
use super::description::{KindDescription, Room, TargetField};
use super::request::{ChannelRequest, Failure, InvalidUrl};
use super::secret::{SecretUrl, sha256};
use crate::alerts::text::cut;
use crate::alerts::{Alert, Tone};
use crate::input::{Input as _, TextKind, TextRule, input};

/// The server of a topic that is given only by its name.
const SERVER: &str = "https://ntfy.sh";
/// Characters in the name of a topic.
const TOPIC: usize = 64;
/// The most characters in an access token; real tokens have fewer.
const TOKEN: usize = 255;

/// Bytes in a message. A longer message arrives as a file.
const MESSAGE: usize = 4_096;
/// Bytes that the lines about many issues may take, so that the rest of the message has room.
const LINES: usize = 3_600;
/// Bytes in a title.
const TITLE: usize = 1_024;
/// Bytes in the URL that a click leads to.
const CLICK: usize = 1_024;
/// Bytes of the parts that all requests share.
const FRAME: usize = 256;

// All lengths are lengths in JSON. ntfy accepts JSON that is up to twice as long as the longest message.
const _: () = assert!(TOPIC + MESSAGE + TITLE + CLICK + FRAME < 2 * MESSAGE);

/// A topic of an ntfy server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ntfy {
    /// Its URL: the URL of the server, and the topic.
    pub url: SecretUrl,
    /// The token with which the server recognizes us, if the topic is not open to everybody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<NtfyToken>,
}

/// An access token of an ntfy server, which is a password.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NtfyToken(String);

impl NtfyToken {
    /// The token itself, for sending and storing.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// SHA-256 of it, in hexadecimal digits.
    pub(super) fn digest(&self) -> String {
        sha256(&self.0)
    }
}

impl fmt::Debug for NtfyToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NtfyToken(…)")
    }
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
        token: Clearable<NtfyToken> = ACCESS_TOKEN;
    }
}

const TOPIC_URL: TextRule<SecretUrl> = TextRule {
    parse: |text| {
        let url = match is_topic(text) {
            true => SecretUrl::new(format!("{SERVER}/{text}")),
            false => (SecretUrl::RULE.parse)(text)?,
        };
        let error = "must be that of a topic, such as https://ntfy.example.com/alerts";
        parts(&url).is_some().then_some(url).ok_or_else(|| error.to_owned())
    },
    ..SecretUrl::RULE
};

const ACCESS_TOKEN: TextRule<NtfyToken> = TextRule {
    min: 0,
    max: TOKEN,
    kind: TextKind::Secret,
    parse: |text| match text.bytes().all(|byte| byte.is_ascii_graphic()) {
        true => Ok(NtfyToken(text.to_owned())),
        false => Err("must not contain spaces or accented letters".to_owned()),
    },
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
    room: Room::Own { size: LINES, size_of: size },
};

impl Ntfy {
    pub(super) fn new(NtfyInput { url, token }: NtfyInput) -> Self {
        Self { url, token }
    }
}

impl Chat for Ntfy {
    fn url(&self) -> &SecretUrl {
        &self.url
    }

    fn request(&self, alert: &Alert) -> Result<ChannelRequest, InvalidUrl> {
        let (server, topic) = parts(&self.url).ok_or(InvalidUrl)?;
        let mut request = ChannelRequest::json(&self.url, message(alert, &topic), failure)?;
        request.url = server;
        request.secrets.push(topic);
        let token = self.token.as_ref().map(|NtfyToken(token)| token.clone());
        request.secrets.extend(token.clone());
        let authorization = token.map(|token| ("authorization", format!("Bearer {token}")));
        Ok(request.with_headers(authorization))
    }
}

fn is_topic(text: &str) -> bool {
    let is_in_topics = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (1..=TOPIC).contains(&text.len()) && text.bytes().all(is_in_topics)
}

/// The server that messages are posted to, and the topic.
fn parts(url: &SecretUrl) -> Option<(Url, String)> {
    let mut server = Url::parse(url.reveal()).ok()?;
    let topic = server.path().strip_prefix('/').filter(|topic| is_topic(topic))?.to_owned();
    if server.query().is_some() {
        return None;
    }
    server.set_path("/");
    Some((server, topic))
}

/// What an error status means. While a self-hosted server is down, another one may respond in its place, so a 404 is
/// tried again.
pub(super) const fn failure(status: u16) -> Failure {
    match status {
        401 | 403 | 410 => Failure::Channel,
        404 | 408 | 425 | 429 => Failure::Attempt,
        400..500 => Failure::Message,
        _ => Failure::Attempt,
    }
}

/// The body of the request.
pub fn message(alert: &Alert, topic: &str) -> Vec<u8> {
    let alert = alert.tamed();
    let details = alert.details().map(|(label, value)| format!("{label}: {value}"));
    let parts = [
        alert.lines.join("\n"),
        details.collect::<Vec<_>>().join("\n"),
        alert.runbook.as_ref().map(|runbook| format!("Notes:\n{runbook}")).unwrap_or_default(),
    ];
    let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    let mut body = json!({
        "topic": topic,
        "title": cut(&alert.title(), TITLE, size),
        "message": cut(&parts.join("\n\n"), MESSAGE, size),
        "priority": priority(alert.tone()),
        "tags": [tag(alert.tone())],
    });
    let link = alert.link.as_ref().map(|link| link.url.as_str());
    if let Some(url) = link.filter(|url| url.chars().map(size).sum::<usize>() <= CLICK) {
        body["click"] = Value::from(url);
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

/// The bytes of a character in JSON. Line breaks are the only characters left in texts that are written as escape
/// sequences.
const fn size(c: char) -> usize {
    match c {
        '"' | '\\' | '\n' => 2,
        _ => c.len_utf8(),
    }
}
