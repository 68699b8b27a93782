//! What carries messages to where channels lead.

use jiff::Timestamp;
use vedette_domain::alerts::channel::{Channel, Target};
use vedette_domain::alerts::send_outcome::SendOutcome;

use crate::send::{OutgoingMessage, Sender};

/// What carries messages to where channels lead.
pub trait Transport: Sync {
    /// Sends a message once to a channel, whose target is `target`, and returns the outcome. It takes 30
    /// seconds at most.
    fn send(
        &self,
        channel: &Channel,
        target: &Target,
        message: &OutgoingMessage,
        now: Timestamp,
    ) -> impl Future<Output = SendOutcome> + Send;
}

impl Transport for Sender {
    async fn send(
        &self,
        _: &Channel,
        target: &Target,
        message: &OutgoingMessage,
        now: Timestamp,
    ) -> SendOutcome {
        Self::send(self, target, message, now).await
    }
}
