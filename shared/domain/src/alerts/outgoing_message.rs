//! What is sent to the target of a channel.

use super::Alert;
use super::channel::SnapshotAlert;
use super::handle::Handle;
use super::mail::TransactionalMail;

/// What is sent to the target of a channel.
#[derive(Clone, PartialEq, Eq)]
pub enum OutgoingMessage {
    /// An alert, for people.
    Alert {
        /// What the alert says.
        alert: Alert,
        /// The id of the message, made of letters, digits and hyphens. It is the same whenever the message is sent
        /// again.
        id: String,
        /// What the receiver answered to the messages about the openings of the same issues.
        openings: Vec<Handle>,
        /// Where the recipient of an email unsubscribes.
        unsubscribe_url: Option<String>,
    },
    /// A transactional email.
    TransactionalMail {
        /// What it asks for.
        mail: TransactionalMail,
        /// The id of the message, as for an alert.
        id: String,
    },
    /// An event, for programs.
    Event {
        /// The id of the event: `webhook-id`.
        id: String,
        /// The body, as it is signed and sent.
        body: Vec<u8>,
    },
    /// A part of a snapshot of the current state.
    Snapshot {
        /// The alerts of issues that are open or have just ended.
        alerts: Vec<SnapshotAlert>,
    },
}
