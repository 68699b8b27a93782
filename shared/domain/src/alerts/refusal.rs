//! Why an action on a channel is refused.

use crate::alerts::channel::CHANNELS_MAX;

/// Why an action on a channel is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChannelRefusal {
    /// The team has the most channels that it may have.
    #[error(
        "the team has {CHANNELS_MAX} channels, which is the most that a team can have; remove one first"
    )]
    Full,
    /// Channels of a team have different names.
    #[error("the team already has a channel {0}")]
    NameTaken(String),
    /// Another channel of the team already leads to the URL.
    #[error("the team's channel {0} already sends to this URL")]
    UrlTaken(String),
    /// The channel is disabled.
    #[error("{name} is disabled ({reason}); enable it first")]
    Disabled {
        /// The channel's name.
        name: String,
        /// Why it is disabled.
        reason: String,
    },
    /// The address has reached its daily limit.
    #[error("{0} was sent too many emails today; try again tomorrow")]
    AskedOften(String),
    /// The team has reached its limit for such requests.
    #[error("the team has sent too many confirmation emails today; try again tomorrow")]
    AskedMany,
    /// Its reader has not confirmed it yet.
    #[error(
        "{0} is not confirmed yet: its recipient must follow the link in the confirmation email"
    )]
    Unconfirmed(String),
    /// A test did not arrive.
    #[error("the test message did not arrive: {0}")]
    NotArrived(String),
    /// No process sent the test in time.
    #[error("the test message was not sent within {0} s: is the service running?")]
    NotSent(u64),
    /// A test waits because its host has reached the limit for all teams in this minute.
    #[error(
        "the channel's host has reached its limit of messages for this minute; the test will be sent in the next one"
    )]
    HostIsFull,
}
