//! Why something is not done with a channel.

use crate::alerts::channel::CHANNELS_MAX;

/// Why something is not done with a channel.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChannelRefusal {
    /// A team may have so many.
    #[error("the team has {CHANNELS_MAX} channels, which is the most that a team can have")]
    Full,
    /// Channels of a team are told apart by their names.
    #[error("the team has a channel {0} already")]
    NameTaken(String),
    /// Another channel of the team leads to the URL.
    #[error("the channel {0} of the team leads to this URL already")]
    UrlTaken(String),
    /// It receives nothing.
    #[error("{name} is disabled ({reason}); enable it first")]
    Disabled {
        /// The channel's name.
        name: String,
        /// Why it is.
        reason: String,
    },
    /// Nobody is to be pestered.
    #[error("{0} was asked too often today; ask again tomorrow")]
    AskedOften(String),
    /// A team may ask so many strangers.
    #[error("the team has requested too many confirmations of addresses today; try again tomorrow")]
    AskedMany,
    /// Its reader has yet to agree.
    #[error("the reader of {0} has not confirmed it yet")]
    Unconfirmed(String),
    /// A test did not arrive.
    #[error("the test did not arrive: {0}")]
    NotArrived(String),
    /// Nobody sent a test in time.
    #[error("nobody sent the test within {0} s: is the service running?")]
    NotSent(u64),
    /// A test waits, as its host has received what all teams may send there in a minute.
    #[error(
        "the channel's host gets no more messages this minute; the test will be sent in the next"
    )]
    HostIsFull,
}
