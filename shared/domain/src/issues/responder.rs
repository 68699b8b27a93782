//! Who responds to an issue.

use serde::{Deserialize, Serialize};

use crate::id::{ChannelId, UserId};

/// Who responds to an issue: acknowledges it, or pauses its reminders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Responder {
    /// A member of the team.
    Member(UserId),
    /// Somebody who read a message in a channel, and followed its link.
    Reader {
        /// The channel.
        channel: ChannelId,
    },
}

impl From<UserId> for Responder {
    fn from(user: UserId) -> Self {
        Self::Member(user)
    }
}

impl Responder {
    /// The member, if it is one.
    pub const fn member(self) -> Option<UserId> {
        match self {
            Self::Member(user) => Some(user),
            Self::Reader { .. } => None,
        }
    }

    /// The channel in which a reader followed a link, if it is a reader.
    pub const fn channel(self) -> Option<ChannelId> {
        match self {
            Self::Member(_) => None,
            Self::Reader { channel } => Some(channel),
        }
    }
}
