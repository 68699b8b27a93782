//! What channels for programs have in common.

use jiff::Timestamp;

use super::request::{ChannelRequest, InvalidUrl};
use super::secret::{SecretUrl, SigningKeys};

/// A channel that sends events to a program.
pub trait Program: Sync {
    /// The URL, which distinguishes it from other channels.
    fn url(&self) -> &SecretUrl;

    /// The keys that sign requests, if they are signed.
    fn keys(&self) -> Option<&SigningKeys> {
        None
    }

    /// The request that sends an event in an attempt at this time. `body` is that of [`webhook::body`]. `None` if the
    /// program has no use for the event.
    ///
    /// # Errors
    ///
    /// When the stored URL is invalid.
    ///
    /// [`webhook::body`]: super::webhook::body
    fn request(
        &self,
        id: &str,
        body: &[u8],
        now: Timestamp,
    ) -> Result<Option<ChannelRequest>, InvalidUrl>;
}
