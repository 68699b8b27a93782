//! What came of a message that was sent to a channel.

use std::time::Duration;

/// What came of a message that was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SendOutcome {
    /// The receiver has it.
    Delivered,
    /// It did not arrive, and may later.
    Retry {
        /// When to send it again at the earliest, where somebody said so.
        after: Option<Duration>,
        /// Why, for people.
        why: String,
    },
    /// It was not sent, because no mail can be at present: the mail server refuses the sender, or does not
    /// answer. That says nothing about the channel.
    Held {
        /// How long to wait.
        after: Duration,
        /// Why, for people.
        why: String,
    },
    /// This message will never be accepted; another one may be.
    Refused {
        /// Why, for people.
        why: String,
    },
    /// Nothing will be accepted here any more.
    Gone {
        /// Why, for people.
        why: String,
    },
}

impl SendOutcome {
    /// Why it did not arrive, if it did not.
    pub fn why(&self) -> Option<&str> {
        match self {
            Self::Delivered => None,
            Self::Retry { why, .. }
            | Self::Held { why, .. }
            | Self::Refused { why }
            | Self::Gone { why } => Some(why),
        }
    }

    /// Whether the receiver will never have what was sent.
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
