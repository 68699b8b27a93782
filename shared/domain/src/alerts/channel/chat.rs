//! What channels for chats have in common.

use super::request::{ChannelRequest, InvalidUrl};
use super::secret::SecretUrl;
use crate::alerts::Alert;

/// A channel that posts messages to a chat.
pub trait Chat: Sync {
    /// The URL, which distinguishes it from other channels.
    fn url(&self) -> &SecretUrl;

    /// The request that sends an alert.
    ///
    /// # Errors
    ///
    /// When the stored URL is invalid.
    fn request(&self, alert: &Alert) -> Result<ChannelRequest, InvalidUrl>;
}
