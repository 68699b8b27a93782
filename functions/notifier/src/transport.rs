//! Carries messages to the targets of channels.

use jiff::Timestamp;
use vedette_domain::alerts::channel::{Channel, Target};
use vedette_domain::alerts::send_outcome::{SendOutcome, SendReason};

use crate::send::{OutgoingMessage, Sender};

/// Carries messages to the targets of channels.
pub trait Transport: Sync {
    /// Sends a message to a channel once and returns the outcome. `target` is where the channel leads, and `reason` why
    /// the message is sent now. It takes at most 30 seconds.
    fn send(
        &self,
        channel: &Channel,
        target: &Target,
        message: &OutgoingMessage,
        reason: SendReason,
        now: Timestamp,
    ) -> impl Future<Output = SendOutcome> + Send;
}

impl Transport for Sender {
    async fn send(
        &self,
        _: &Channel,
        target: &Target,
        message: &OutgoingMessage,
        reason: SendReason,
        now: Timestamp,
    ) -> SendOutcome {
        Self::send(self, target, message, reason, now).await
    }
}
