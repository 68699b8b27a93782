//! An alert as a [message to a Gotify server](https://gotify.net/docs/pushmsg), as plain text.

use serde::{Deserialize, Serialize};
use serde_json::json;
use url::Url;

use super::chat::{Chat, ChatMessage};
use super::description::{KindDescription, Room, TargetEdit, TargetField};
use super::request::{ChannelRequest, Failure, InvalidUrl};
use super::secret::SecretUrl;
use crate::alerts::text::{cut, json_size, paragraphs};
use crate::alerts::{Alert, Link, Tone};
use crate::input::{Input as _, TextRule, input};

/// The end of the path of a server's messages.
const MESSAGES: &str = "/message";
/// The parameter with the token of an application.
const TOKEN: &str = "token";
/// Bytes in a title, as JSON. Gotify has no limits; these keep a message readable on a phone.
const TITLE: usize = 512;
/// Bytes in a message, as JSON.
const MESSAGE: usize = 8_000;
/// Bytes of the link after it. A longer one is left out.
const URL: usize = 1_024;
/// Bytes that the lines about many issues may take, so that the rest of the message has room.
const LINES: usize = 6_000;

/// An application of a Gotify server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gotify {
    /// The URL of the server's messages, with the token of the application.
    pub url: SecretUrl,
}

input! {
    /// An application of a Gotify server.
    GotifyInput,
    /// A change of the application.
    GotifyEdit {
        /// The URL of the server, followed by /message?token= and the token of the application.
        url: Required<SecretUrl> = MESSAGES_URL;
    }
}

const MESSAGES_URL: TextRule<SecretUrl> = TextRule {
    parse: |text| {
        let url = SecretUrl::parse(text)?;
        let error = "must be like https://gotify.example.com/message?token=…";
        parts(&url).is_some().then_some(url).ok_or_else(|| error.to_owned())
    },
    ..SecretUrl::RULE
};

pub(super) const DESCRIPTION: KindDescription = KindDescription {
    label: "Gotify",
    about: "An application of a Gotify server",
    fields: GotifyInput::FIELDS,
    destination: TargetField {
        label: "Message URL",
        example: "https://gotify.example.com/message?token=A1b2C3d4E5f6G7h",
        help: "The URL of your server, followed by /message?token= and the token of an application. Gotify shows the token under Apps.",
    },
    services: &[],
    own_domains: &[],
    per_minute: None,
    room: Room::Own { size: LINES, size_of: json_size },
};

impl From<GotifyEdit> for TargetEdit {
    fn from(GotifyEdit { url }: GotifyEdit) -> Self {
        Self { url, token: None }
    }
}

impl Gotify {
    pub(super) fn new(GotifyInput { url }: GotifyInput) -> Self {
        Self { url }
    }
}

impl Chat for Gotify {
    fn url(&self) -> &SecretUrl {
        &self.url
    }

    fn request(
        &self,
        ChatMessage { alert, .. }: ChatMessage<'_>,
    ) -> Result<ChannelRequest, InvalidUrl> {
        let (url, token) = parts(&self.url).ok_or(InvalidUrl)?;
        let request = ChannelRequest::json_to(url, message(alert), Failure::of_own_server);
        // In the header, it does not get into the server's log.
        let header = [("x-gotify-key", token.clone())];
        Ok(request.with_headers(header).hiding([token]))
    }
}

/// The URL of the server's messages, and the token of the application.
fn parts(url: &SecretUrl) -> Option<(Url, String)> {
    let mut url = Url::parse(url.reveal()).ok()?;
    let token = url.query_pairs().find(|(name, _)| name == TOKEN)?.1.into_owned();
    url.set_query(None);
    let is_token = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
    (is_token && url.path().ends_with(MESSAGES)).then_some((url, token))
}

/// The body of the request.
pub fn message(alert: &Alert) -> Vec<u8> {
    let alert = alert.tamed();
    // A click leads to only one of the links.
    let respond = alert.respond.as_ref().map(Link::plain).filter(|link| link.len() <= URL);
    let text = cut(&alert.plain(), MESSAGE, json_size);
    let mut body = json!({
        "title": cut(&alert.title(), TITLE, json_size),
        "message": paragraphs([text, respond.unwrap_or_default()]),
        "priority": priority(alert.tone()),
    });
    if let Some(link) = &alert.link {
        body["extras"] = json!({ "client::notification": { "click": { "url": link.url } } });
    }
    body.to_string().into_bytes()
}

/// Its priority. From 4 on, Gotify's apps make a sound; from 8 on, they also vibrate and stay on the screen.
const fn priority(tone: Tone) -> u8 {
    match tone {
        Tone::Critical => 8,
        Tone::Warning | Tone::Neutral => 5,
        Tone::Info | Tone::Good => 2,
    }
}
