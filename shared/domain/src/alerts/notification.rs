//! Notifications about an issue: the outcome of each attempt to notify a channel.

use jiff::fmt::serde::timestamp::millisecond;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::channel::{Channel, EventKind};
use super::send_outcome::SendOutcome;
use super::text::cut;
use crate::id::{ChannelId, IssueId};

/// How many of an issue's notifications are shown, the newest first.
pub const NOTIFICATIONS_SHOWN: usize = 50;
/// How long a notification is kept.
pub const NOTIFICATIONS_KEPT: SignedDuration = SignedDuration::from_hours(90 * 24);
/// The longest reason that is kept, in characters.
const WHY_MAX: usize = 200;

/// An attempt to notify a channel about an issue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notification {
    /// The issue.
    #[serde(rename = "i")]
    pub issue: IssueId,
    /// The channel.
    #[serde(rename = "c")]
    pub channel: ChannelId,
    /// The name of the channel at that time.
    #[serde(rename = "n")]
    pub name: String,
    /// The event that it is about.
    #[serde(rename = "e")]
    pub event: EventKind,
    /// When the attempt ended.
    #[serde(rename = "at", with = "millisecond::required")]
    pub at: Timestamp,
    /// The outcome.
    #[serde(rename = "o")]
    pub outcome: NotificationOutcome,
    /// Why it did not arrive, in words for people.
    #[serde(rename = "w", default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// The outcome of a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NotificationOutcome {
    /// The receiver accepted it.
    Sent,
    /// It did not arrive.
    Failed,
    /// It waits, because no email can be sent at present.
    Held,
}

impl Notification {
    /// A notification with its outcome.
    pub fn new(
        (issue, event): (IssueId, EventKind),
        channel: &Channel,
        outcome: &SendOutcome,
        at: Timestamp,
    ) -> Self {
        Self {
            issue,
            channel: channel.id,
            name: channel.name.clone(),
            event,
            at,
            outcome: outcome.into(),
            why: outcome.why().map(|why| cut(why, WHY_MAX, |_| 1)),
        }
    }
}

impl From<&SendOutcome> for NotificationOutcome {
    fn from(outcome: &SendOutcome) -> Self {
        match outcome {
            SendOutcome::Delivered { .. } => Self::Sent,
            SendOutcome::Held { .. } => Self::Held,
            SendOutcome::Retry { .. } | SendOutcome::Refused { .. } | SendOutcome::Gone { .. } => {
                Self::Failed
            }
        }
    }
}
