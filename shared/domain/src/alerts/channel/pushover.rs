//! An alert as a [message of Pushover](https://pushover.net/api), as plain text. The opening of a critical issue is an
//! emergency, which Pushover repeats until its reader acknowledges it there or the issue is over.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::chat::{Chat, ChatMessage};
use super::description::{KindDescription, Room, TargetEdit, TargetField};
use super::request::{ChannelRequest, Failure, InvalidUrl};
use super::secret::{AccessToken, SecretUrl, is_key};
use crate::alerts::handle::Handle;
use crate::alerts::text::cut;
use crate::alerts::{Alert, AlertKind, Tone};
use crate::input::{Input as _, TextRule, input};

const SERVER: &str = "https://api.pushover.net";
const DOMAINS: &[&str] = &["api.pushover.net"];

/// Characters in a user or group key.
const KEY: usize = 30;
/// Characters in a title.
const TITLE: usize = 250;
/// Characters in a message.
const MESSAGE: usize = 1_024;
/// Characters that the lines about many issues may take, so that the rest of the message has room.
const LINES: usize = 900;
/// Characters in a URL.
const URL: usize = 512;

/// How long Pushover waits before it repeats an emergency, in seconds. The shortest time is 30.
const RETRY: u32 = 60;
/// How long it repeats it, in seconds: Pushover repeats it at most 50 times.
const EXPIRE: u32 = 50 * RETRY;

/// Which sound a message makes.
const QUIET: i8 = -1;
const NORMAL: i8 = 0;
const HIGH: i8 = 1;
const EMERGENCY: i8 = 2;

/// A user or a group of Pushover.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pushover {
    /// The URL of the server, and the key of the user or group.
    pub url: SecretUrl,
    /// The token of the application.
    pub token: AccessToken,
}

input! {
    /// A user or a group of Pushover.
    PushoverInput,
    /// A change of the reader or the application.
    PushoverEdit {
        /// The user or group key, which has 30 characters.
        url: Required<SecretUrl> = KEY_URL;
        /// The API token of an application.
        #[form("Application token", "The API token of an application that you create at pushover.net.")]
        token: Required<AccessToken> = AccessToken::RULE;
    }
}

const KEY_URL: TextRule<SecretUrl> = TextRule {
    parse: |text| {
        SecretUrl::parse_place(
            text,
            is_key::<KEY>,
            Some(SERVER),
            "must be a key of 30 letters and digits",
        )
    },
    ..SecretUrl::RULE
};

pub(super) const DESCRIPTION: KindDescription = KindDescription {
    label: "Pushover",
    about: "A user or a group of Pushover",
    fields: PushoverInput::FIELDS,
    destination: TargetField {
        label: "User or group key",
        example: "uQiRzpo4DXghDmr9QzzfQu27cmVRsG",
        help: "Your user key at pushover.net, or the key of a delivery group.",
    },
    services: DOMAINS,
    own_domains: DOMAINS,
    per_minute: None,
    room: Room::Own { size: LINES, size_of: |_| 1 },
};

impl From<PushoverEdit> for TargetEdit {
    fn from(PushoverEdit { url, token }: PushoverEdit) -> Self {
        Self { url, token: token.map(Some) }
    }
}

impl Pushover {
    pub(super) fn new(PushoverInput { url, token }: PushoverInput) -> Self {
        Self { url, token }
    }

    fn post(&self, path: &str, body: Value) -> Result<ChannelRequest, InvalidUrl> {
        let (mut server, key) = self.url.place(is_key::<KEY>).ok_or(InvalidUrl)?;
        server.set_path(path);
        let body = body.to_string().into_bytes();
        let request = ChannelRequest::json_to(server, body, Failure::of_service);
        Ok(request.hiding([key, self.token.reveal().to_owned()]))
    }
}

impl Chat for Pushover {
    fn url(&self) -> &SecretUrl {
        &self.url
    }

    fn token(&self) -> Option<&AccessToken> {
        Some(&self.token)
    }

    fn request(
        &self,
        ChatMessage { alert, .. }: ChatMessage<'_>,
    ) -> Result<ChannelRequest, InvalidUrl> {
        let (_, key) = self.url.place(is_key::<KEY>).ok_or(InvalidUrl)?;
        let mut body = message(alert);
        body["token"] = self.token.reveal().into();
        body["user"] = key.into();
        let request = self.post("/1/messages.json", body)?;
        // It answers 400 for those, too.
        let request = request.failing_for_good(&["\"user\":\"invalid\"", "\"token\":\"invalid\""]);
        // Only an emergency has a receipt. One about many issues must not end with the first of them.
        let has_receipt = alert.thread.is_some() && priority(alert) == EMERGENCY;
        Ok(if has_receipt { request.with_handle_at("/receipt") } else { request })
    }

    /// Ends the emergencies of issues that are over.
    fn requests_before(
        &self,
        ChatMessage { alert, openings, .. }: ChatMessage<'_>,
    ) -> Result<Vec<ChannelRequest>, InvalidUrl> {
        let receipts = openings.iter().filter(|_| alert.kind.is_over());
        let cancel = |receipt: &Handle| {
            let path = format!("/1/receipts/{}/cancel.json", receipt.as_str());
            self.post(&path, json!({ "token": self.token.reveal() }))
        };
        receipts.map(cancel).collect()
    }
}

/// The body of the request, without keys.
pub fn message(alert: &Alert) -> Value {
    let alert = alert.tamed();
    let title = alert.title();
    let text = Some(alert.plain()).filter(|text| !text.is_empty());
    let priority = priority(&alert);
    let mut body = json!({
        "title": cut(&title, TITLE, |_| 1),
        // A message must not be empty.
        "message": cut(text.as_deref().unwrap_or(&title), MESSAGE, |_| 1),
        "priority": priority,
        "timestamp": alert.at.as_second(),
    });
    if priority == EMERGENCY {
        body["retry"] = RETRY.into();
        body["expire"] = EXPIRE.into();
    }
    // A message has only one link. Where people respond to an issue, they can also open it.
    let links = alert.respond.iter().chain(&alert.link);
    if let Some(link) = links.into_iter().find(|link| link.url.chars().count() <= URL) {
        body["url"] = link.url.as_str().into();
        body["url_title"] = link.text.into();
    }
    body
}

/// Its priority. A reminder is no second emergency, because the first one may still be repeated.
fn priority(alert: &Alert) -> i8 {
    match (alert.kind, alert.tone()) {
        (AlertKind::Opened, Tone::Critical) => EMERGENCY,
        (_, Tone::Critical) => HIGH,
        (_, Tone::Warning | Tone::Neutral) => NORMAL,
        (_, Tone::Info | Tone::Good) => QUIET,
    }
}
