//! The outcome of sending a message to a channel.

use std::time::Duration;

use super::handle::Handle;

/// Why a message is sent now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendReason {
    /// It is due.
    Due,
    /// A person has just asked for it, so it is sent even while email is held back.
    Requested,
}

/// The outcome of sending a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SendOutcome {
    /// The receiver has it.
    Delivered {
        /// What it answered, if later messages can refer to that.
        handle: Option<Handle>,
    },
    /// It did not arrive, and may later.
    Retry {
        /// The earliest time to send it again, if anybody said so.
        after: Option<Duration>,
        /// Why, for people.
        why: String,
    },
    /// It did not arrive, because no email can be sent at present: the mail server refuses the sender, or does not
    /// answer. This says nothing about the channel.
    Held {
        /// How long to wait.
        after: Duration,
        /// Whether there was an attempt. Otherwise the message waits until another one has been tried.
        was_tried: bool,
        /// Why, for people.
        why: String,
    },
    /// This message will never be accepted, but another one may be.
    Refused {
        /// Why, for people.
        why: String,
    },
    /// The channel no longer accepts any message.
    Gone {
        /// Why, for people.
        why: String,
    },
}

impl SendOutcome {
    /// The receiver has it, and answered nothing that later messages can refer to.
    pub const DELIVERED: Self = Self::Delivered { handle: None };

    /// Why it did not arrive, if it did not.
    pub fn why(&self) -> Option<&str> {
        match self {
            Self::Delivered { .. } => None,
            Self::Retry { why, .. }
            | Self::Held { why, .. }
            | Self::Refused { why }
            | Self::Gone { why } => Some(why),
        }
    }

    /// Whether there was an attempt to send the message.
    pub const fn was_tried(&self) -> bool {
        !matches!(self, Self::Held { was_tried: false, .. })
    }

    /// Whether the receiver will never get the message.
    pub(crate) const fn is_final(&self) -> bool {
        matches!(self, Self::Refused { .. } | Self::Gone { .. })
    }

    /// It did not arrive, and may later.
    pub fn retry(why: impl Into<String>) -> Self {
        Self::Retry { after: None, why: why.into() }
    }

    /// This message will never be accepted.
    pub fn refused(why: impl Into<String>) -> Self {
        Self::Refused { why: why.into() }
    }
}
