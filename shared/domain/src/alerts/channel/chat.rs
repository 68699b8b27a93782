//! What channels for chats have in common.

use super::request::{ChannelRequest, InvalidUrl};
use super::secret::{AccessToken, SecretUrl};
use crate::alerts::Alert;
use crate::alerts::handle::Handle;

/// A message to a chat.
#[derive(Debug, Clone, Copy)]
pub struct ChatMessage<'a> {
    /// What it says.
    pub alert: &'a Alert,
    /// Its id, made of letters, digits and hyphens. It is the same whenever the message is sent again.
    pub id: &'a str,
    /// What the chat answered to the messages about the openings of the same issues.
    pub openings: &'a [Handle],
}

impl<'a> ChatMessage<'a> {
    /// What the chat answered to the message about the opening, if there was one for all of the issues.
    pub(super) const fn opening(self) -> Option<&'a Handle> {
        match self.openings {
            [opening] => Some(opening),
            _ => None,
        }
    }
}

/// A channel that posts messages to a chat.
pub trait Chat: Sync {
    /// The URL, which distinguishes it from other channels.
    fn url(&self) -> &SecretUrl;

    /// The access token, if there is one.
    fn token(&self) -> Option<&AccessToken> {
        None
    }

    /// The request that sends a message.
    ///
    /// # Errors
    ///
    /// When the stored URL is invalid.
    fn request(&self, message: ChatMessage<'_>) -> Result<ChannelRequest, InvalidUrl>;

    /// Requests that are made first, for example to end earlier messages. If one is refused, the message is sent all the
    /// same.
    ///
    /// # Errors
    ///
    /// When the stored URL is invalid.
    fn requests_before(&self, _: ChatMessage<'_>) -> Result<Vec<ChannelRequest>, InvalidUrl> {
        Ok(Vec::new())
    }
}
