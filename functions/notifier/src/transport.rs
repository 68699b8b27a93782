//! Carries messages to their recipients.

use jiff::Timestamp;
use vedette_domain::alerts::channel::{Channel, Target};
use vedette_domain::alerts::send_outcome::{SendOutcome, SendReason};

use crate::send::{MailConfig, OutgoingMessage, Sender};

/// Who gets a message.
#[derive(Clone, Copy)]
pub enum Recipient<'a> {
    /// The receiver of a channel.
    Channel {
        /// The channel.
        channel: &'a Channel,
        /// Where it leads.
        target: &'a Target,
    },
    /// An email address.
    Address(&'a str),
}

/// Carries messages to their recipients.
pub trait Transport: Sync {
    /// Sends a message once and returns the outcome. `reason` is why the message is sent now. It takes at most 30
    /// seconds.
    fn send(
        &self,
        to: Recipient<'_>,
        message: &OutgoingMessage,
        reason: SendReason,
        now: Timestamp,
    ) -> impl Future<Output = SendOutcome> + Send;
}

impl Transport for Sender {
    async fn send(
        &self,
        to: Recipient<'_>,
        message: &OutgoingMessage,
        reason: SendReason,
        now: Timestamp,
    ) -> SendOutcome {
        match to {
            Recipient::Channel { target, .. } => {
                Self::send(self, target, message, reason, now).await
            }
            Recipient::Address(address) => self.mail.send(address, message, reason, now).await,
        }
    }
}

/// Sends to addresses only.
impl Transport for MailConfig {
    async fn send(
        &self,
        to: Recipient<'_>,
        message: &OutgoingMessage,
        reason: SendReason,
        now: Timestamp,
    ) -> SendOutcome {
        match to {
            Recipient::Channel { .. } => SendOutcome::refused("a channel is not an address"),
            Recipient::Address(address) => Self::send(self, address, message, reason, now).await,
        }
    }
}
