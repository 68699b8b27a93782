//! What a channel can do whose messages people read in a chat.

use super::request::{ChannelRequest, InvalidUrl};
use super::secret::SecretUrl;
use crate::alerts::Alert;

/// A channel whose messages people read in a chat, to which they are posted.
pub trait Chat: Sync {
    /// The URL by which it is told from others.
    fn url(&self) -> &SecretUrl;

    /// The request that sends an alert.
    ///
    /// # Errors
    ///
    /// When the URL is none.
    fn request(&self, alert: &Alert) -> Result<ChannelRequest, InvalidUrl>;
}
