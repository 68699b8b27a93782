//! What members did about an issue without changing its status.

use jiff::Timestamp;
use jiff::fmt::serde::timestamp::millisecond;
use serde::{Deserialize, Serialize};

use crate::id::UserId;

/// How many of the newest acts are kept with an issue. Each read of the issue reads them.
pub(crate) const ACTS_KEPT: usize = 10;

/// What a member did about an issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Act {
    /// When.
    #[serde(with = "millisecond::required")]
    pub at: Timestamp,
    /// Who; none for the operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<UserId>,
    /// What.
    #[serde(rename = "do")]
    pub kind: ActKind,
}

/// What members can do about an issue besides acknowledging and resolving it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ActKind {
    /// Paused reminders until then.
    Snoozed(#[serde(with = "millisecond::required")] Timestamp),
    /// Resumed reminders.
    Unsnoozed,
    /// Undid the acknowledgement.
    Unacknowledged,
}
