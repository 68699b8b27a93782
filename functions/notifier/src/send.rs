//! Sends a message to the target of a channel, and returns the outcome.
//!
//! Nothing is retried here: the caller decides when, based on the outcome. The addresses of chats and the keys are
//! secret, and appear in no outcome and no log.

mod hold;
mod http;
mod mail;
mod ses;
mod smtp;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use futures::future::join_all;
use jiff::Timestamp;
use tokio::sync::watch;
use vedette_domain::alerts::channel::{Chat, ChatMessage, Receiver, SecretUrl, Target, webhook};
use vedette_ops::config::{ConfigError, Read};
use vedette_probe::ssrf_guard::{Outbound, SsrfGuard};
use vedette_runtime::Health;

pub use mail::{MailConfig, MailTransport};
pub use vedette_domain::alerts::outgoing_message::OutgoingMessage;
pub use vedette_domain::alerts::send_outcome::{SendOutcome, SendReason};

/// How messages are sent, and where to.
pub struct SendConfig {
    /// How email is sent.
    pub mail: MailConfig,
    /// What webhooks may reach.
    pub receivers: Outbound,
}

impl SendConfig {
    /// Reads how messages are sent. Email goes through `other` if no mail server is configured.
    ///
    /// # Errors
    ///
    /// The first variable that is invalid.
    pub fn read(read: Read<'_>, other: MailTransport) -> Result<Self, ConfigError> {
        Ok(Self {
            mail: MailConfig::read(read, other)?,
            receivers: Outbound::read(read)?.allowing(read, "VEDETTE_ALLOW_RECEIVERS")?,
        })
    }
}

/// Sends messages. Expensive to create; a process has one.
pub struct Sender {
    guard: Arc<SsrfGuard>,
    pub(crate) mail: MailConfig,
}

impl Sender {
    /// A sender that reaches only what the SSRF guard allows.
    pub fn new(guard: Arc<SsrfGuard>, mail: MailConfig) -> Self {
        Self { guard, mail }
    }

    /// Reports to `health` from now on if no email can be sent.
    #[must_use]
    pub fn reporting_to(mut self, health: Health) -> Self {
        self.mail.report_to(health);
        self
    }

    /// Posts an event once to a receiver that has no key to verify it with.
    pub async fn post(
        &self,
        url: &SecretUrl,
        id: &str,
        body: &[u8],
        now: Timestamp,
    ) -> SendOutcome {
        http::send(&self.guard, webhook::unsigned_request(url, id, body.to_vec()), now).await
    }

    /// Sends a message to a chat, after the requests that come before it.
    async fn chat(&self, chat: &dyn Chat, message: ChatMessage<'_>, now: Timestamp) -> SendOutcome {
        let before = chat.requests_before(message).unwrap_or_default();
        let sent = before.into_iter().map(|before| http::send(&self.guard, Ok(before), now));
        let outcomes = join_all(sent).await;
        let failed = outcomes.into_iter().find(|one| matches!(one, SendOutcome::Retry { .. }));
        if let Some(failed) = failed {
            return failed;
        }
        http::send(&self.guard, chat.request(message), now).await
    }

    /// Receives a number that changes whenever email can be sent again after it was held back.
    pub fn mail_recoveries(&self) -> watch::Receiver<u64> {
        self.mail.recoveries()
    }

    /// Sends a message to a channel once.
    pub async fn send(
        &self,
        target: &Target,
        message: &OutgoingMessage,
        reason: SendReason,
        now: Timestamp,
    ) -> SendOutcome {
        match (target.receiver(), message) {
            (
                Receiver::Mailbox(address),
                OutgoingMessage::Alert { .. } | OutgoingMessage::TransactionalMail { .. },
            ) => self.mail.send(address, message, reason, now).await,
            (Receiver::Chat(chat), OutgoingMessage::Alert { alert, id, openings, .. }) => {
                let message = ChatMessage { alert, id, openings };
                self.chat(chat, message, now).await
            }
            (Receiver::Program(program), OutgoingMessage::Event { id, body }) => {
                match program.request(id, body, now).transpose() {
                    Some(request) => http::send(&self.guard, request, now).await,
                    None => SendOutcome::DELIVERED,
                }
            }
            (Receiver::Snapshot(receiver), OutgoingMessage::Snapshot { alerts }) => {
                http::send(&self.guard, receiver.request(alerts), now).await
            }
            (
                Receiver::Mailbox(_),
                OutgoingMessage::Event { .. } | OutgoingMessage::Snapshot { .. },
            )
            | (
                Receiver::Chat(_),
                OutgoingMessage::TransactionalMail { .. }
                | OutgoingMessage::Event { .. }
                | OutgoingMessage::Snapshot { .. },
            )
            | (
                Receiver::Program(_),
                OutgoingMessage::Alert { .. }
                | OutgoingMessage::TransactionalMail { .. }
                | OutgoingMessage::Snapshot { .. },
            )
            | (
                Receiver::Snapshot(_),
                OutgoingMessage::Alert { .. }
                | OutgoingMessage::TransactionalMail { .. }
                | OutgoingMessage::Event { .. },
            ) => SendOutcome::refused(format!(
                "a channel of kind {} does not accept this message",
                target.kind()
            )),
        }
    }
}
