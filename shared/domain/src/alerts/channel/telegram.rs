//! An alert as a [message of a Telegram bot](https://core.telegram.org/bots/api#sendmessage), without a parse mode, so
//! that nothing in it is markup.

use serde::{Deserialize, Serialize};
use serde_json::json;
use url::Url;

use super::chat::{Chat, ChatMessage};
use super::description::{KindDescription, Room, TargetEdit, TargetField};
use super::request::{ChannelRequest, Failure, InvalidUrl};
use super::secret::{AccessToken, SecretUrl};
use crate::alerts::handle::Handle;
use crate::alerts::text::{cut, paragraphs, unmentioned};
use crate::alerts::{Alert, Link, Tone};
use crate::input::{Input as _, TextRule, input};

/// The server of the Bot API. People may host their own.
const SERVER: &str = "https://api.telegram.org";
/// Its domain.
const DOMAINS: &[&str] = &["api.telegram.org"];

/// Characters in a message: UTF-16 units, the larger of the two possible counts.
const MESSAGE: usize = 4_096;
/// Characters in the title.
const TITLE: usize = 512;
/// Characters of a URL. A link with a longer one is left out.
const URL: usize = 512;
/// Characters between these parts, and in the text before the URL.
const FRAME: usize = 64;
/// Characters that the lines about many issues may take.
const LINES: usize = MESSAGE - TITLE - 2 * URL - FRAME;

/// A chat in which a bot posts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Telegram {
    /// The URL of the server, and the chat.
    pub url: SecretUrl,
    /// The bot's token.
    pub token: AccessToken,
}

input! {
    /// A chat in which a bot posts.
    TelegramInput,
    /// A change of the chat or the bot.
    TelegramEdit {
        /// The chat: its number, such as -1001234567890, or the name of a public one, such as @example. With a Bot API
        /// server of your own, its URL with the chat as path.
        url: Required<SecretUrl> = CHAT_URL;
        /// The token of the bot, from BotFather.
        #[form("Bot token", "BotFather shows it when you create the bot.")]
        token: Required<AccessToken> = AccessToken::RULE;
    }
}

const CHAT_URL: TextRule<SecretUrl> = TextRule {
    parse: |text| {
        SecretUrl::parse_place(text, is_chat, Some(SERVER), "must be a chat such as -1001234567890")
    },
    ..SecretUrl::RULE
};

pub(super) const DESCRIPTION: KindDescription = KindDescription {
    label: "Telegram",
    about: "A chat in which a Telegram bot posts",
    fields: TelegramInput::FIELDS,
    destination: TargetField {
        label: "Chat",
        example: "-1001234567890",
        help: "The number of the chat, or the @name of a public one. Add the bot to it first.",
    },
    services: DOMAINS,
    own_domains: DOMAINS,
    per_minute: Some(20),
    room: Room::Own { size: LINES, size_of: char::len_utf16 },
};

impl From<TelegramEdit> for TargetEdit {
    fn from(TelegramEdit { url, token }: TelegramEdit) -> Self {
        Self { url, token: token.map(Some) }
    }
}

impl Telegram {
    pub(super) fn new(TelegramInput { url, token }: TelegramInput) -> Self {
        Self { url, token }
    }
}

impl Chat for Telegram {
    fn url(&self) -> &SecretUrl {
        &self.url
    }

    fn token(&self) -> Option<&AccessToken> {
        Some(&self.token)
    }

    fn request(&self, message: ChatMessage<'_>) -> Result<ChannelRequest, InvalidUrl> {
        let (mut server, chat) = self.url.place(is_chat).ok_or(InvalidUrl)?;
        server.set_path(&format!("/bot{}/sendMessage", self.token.reveal()));
        let body = body(message.alert, &chat, message.opening());
        let request = ChannelRequest::json_to(server, body, Failure::of_service);
        // It answers 400 if there is no such chat, or if the group has got another number.
        let request = request.failing_for_good(&["chat not found", "migrate_to_chat_id"]);
        Ok(request
            .hiding([chat, self.token.reveal().to_owned()])
            .with_handle_at("/result/message_id"))
    }
}

/// Whether a text is the number or the name of a chat.
fn is_chat(text: &str) -> bool {
    let number = text.strip_prefix('-').unwrap_or(text);
    match text.strip_prefix('@') {
        Some(name) => {
            (4..=32).contains(&name.len())
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        }
        None => (1..=20).contains(&number.len()) && number.bytes().all(|b| b.is_ascii_digit()),
    }
}

/// Whether a button may lead to a URL. Telegram refuses a message with a button to a host such as `localhost`.
fn is_public(url: &str) -> bool {
    let url = Url::parse(url).ok();
    let host = url.as_ref().and_then(Url::domain).map(|host| host.trim_end_matches('.'));
    let (_, top) = host.and_then(|host| host.rsplit_once('.')).unwrap_or_default();
    !top.is_empty() && !PRIVATE.contains(&top)
}

/// Top-level domains of private networks.
const PRIVATE: [&str; 6] = ["home", "internal", "lan", "local", "localhost", "test"];

/// The body of the request.
pub fn body(alert: &Alert, chat: &str, opening: Option<&Handle>) -> Vec<u8> {
    let alert = alert.tamed();
    let title = cut(&unmentioned(&alert.title()), TITLE, char::len_utf16);
    let fits = |link: &&Link| link.url.len() <= URL;
    let (buttons, links): (Vec<&Link>, Vec<&Link>) =
        alert.links().filter(fits).partition(|link| is_public(&link.url));
    let links = links.into_iter().map(Link::plain).collect::<Vec<_>>().join("\n");
    let text = cut(&unmentioned(&alert.plain()), LINES, char::len_utf16);
    let mut body = json!({
        "chat_id": chat,
        "text": paragraphs([title, text, links]),
        "link_preview_options": { "is_disabled": true },
        "disable_notification": !matches!(alert.tone(), Tone::Critical | Tone::Warning | Tone::Neutral),
    });
    if !buttons.is_empty() {
        let buttons = buttons.iter().map(|link| json!({ "text": link.text, "url": link.url }));
        body["reply_markup"] = json!({ "inline_keyboard": [buttons.collect::<Vec<_>>()] });
    }
    if let Some(id) = opening.and_then(|opening| opening.as_str().parse::<i64>().ok()) {
        // If somebody has deleted the message, this one is sent without it.
        let reply = json!({ "message_id": id, "allow_sending_without_reply": true });
        body["reply_parameters"] = reply;
    }
    body.to_string().into_bytes()
}
