//! An alert as a [message in a Matrix room](https://spec.matrix.org/latest/client-server-api/#sending-events-to-a-room),
//! as plain text. The id of the request is that of the message, so that a server that gets it again shows it once.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::chat::{Chat, ChatMessage};
use super::description::{KindDescription, Room, TargetEdit, TargetField};
use super::request::{ChannelRequest, Failure, InvalidUrl};
use super::secret::{AccessToken, SecretUrl};
use crate::alerts::Alert;
use crate::alerts::handle::Handle;
use crate::alerts::text::{cut, json_size, paragraphs};
use crate::input::{Input as _, TextRule, input};

/// Bytes in a text, as JSON. An event may have 65,536, of which the server adds some.
const TEXT: usize = 16_000;
/// Bytes that the lines about many issues may take, so that the rest of the message has room.
const LINES: usize = 14_000;

/// A room of a Matrix server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Matrix {
    /// The URL of the server, and the room.
    pub url: SecretUrl,
    /// The access token of the user who posts.
    pub token: AccessToken,
}

input! {
    /// A room of a Matrix server.
    MatrixInput,
    /// A change of the room or the user.
    MatrixEdit {
        /// The URL of the homeserver with the id of the room as path, such as https://matrix.example.org/!room:example.org.
        url: Required<SecretUrl> = ROOM_URL;
        /// The access token of a user who is in the room.
        #[form("Access token", "The access token of a user who is in the room.")]
        token: Required<AccessToken> = AccessToken::RULE;
    }
}

const ROOM_URL: TextRule<SecretUrl> = TextRule {
    parse: |text| {
        let error = "must be that of a room, such as https://matrix.example.org/!room:example.org";
        SecretUrl::parse_place(text, is_room, None, error)
    },
    ..SecretUrl::RULE
};

pub(super) const DESCRIPTION: KindDescription = KindDescription {
    label: "Matrix",
    about: "A room of a Matrix server",
    fields: MatrixInput::FIELDS,
    destination: TargetField {
        label: "Room",
        example: "https://matrix.example.org/!room:example.org",
        help: "The URL of your homeserver, a slash, and the internal ID of the room. In Element, it is in the room’s settings under Advanced.",
    },
    services: &["matrix.org"],
    own_domains: &[],
    per_minute: None,
    room: Room::Own { size: LINES, size_of: json_size },
};

impl From<MatrixEdit> for TargetEdit {
    fn from(MatrixEdit { url, token }: MatrixEdit) -> Self {
        Self { url, token: token.map(Some) }
    }
}

impl Matrix {
    pub(super) fn new(MatrixInput { url, token }: MatrixInput) -> Self {
        Self { url, token }
    }
}

impl Chat for Matrix {
    fn url(&self) -> &SecretUrl {
        &self.url
    }

    fn token(&self) -> Option<&AccessToken> {
        Some(&self.token)
    }

    fn request(&self, message: ChatMessage<'_>) -> Result<ChannelRequest, InvalidUrl> {
        let (mut server, room) = self.url.place(is_room).ok_or(InvalidUrl)?;
        server.set_path(&format!(
            "/_matrix/client/v3/rooms/{room}/send/m.room.message/{}",
            message.id
        ));
        let body = body(message.alert, message.opening());
        let request = ChannelRequest::json_to(server, body, Failure::of_own_server);
        Ok(request
            .put()
            .authorized_by(Some(&self.token))
            .hiding([room])
            .with_handle_at("/event_id"))
    }
}

/// Whether a text is the [id of a room](https://spec.matrix.org/latest/appendices/#room-ids), of which new ones have no
/// server name.
fn is_room(text: &str) -> bool {
    let is_in_ids = |byte: u8| byte.is_ascii_alphanumeric() || b"!:._=-[]".contains(&byte);
    text.len() <= 255 && text.len() > 1 && text.starts_with('!') && text.bytes().all(is_in_ids)
}

/// The body of the request.
pub fn body(alert: &Alert, opening: Option<&Handle>) -> Vec<u8> {
    let alert = alert.tamed();
    let text = cut(&alert.plain(), LINES, json_size);
    let text = paragraphs([alert.title(), text, alert.plain_links()]);
    // Names in the text must not notify anybody.
    let mut body =
        json!({ "msgtype": "m.text", "body": cut(&text, TEXT, json_size), "m.mentions": {} });
    if let Some(opening) = opening {
        body["m.relates_to"] = json!({ "m.in_reply_to": { "event_id": opening.as_str() } });
    }
    body.to_string().into_bytes()
}
