//! What people did about an issue without changing its status.

use jiff::Timestamp;
use jiff::fmt::serde::timestamp::millisecond;
use serde::{Deserialize, Serialize};

use super::Responder;

/// How many acts an issue keeps, the newest ones. Every read of the issue loads them.
pub(crate) const ACTS_KEPT: usize = 10;

/// What somebody did about an issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Act {
    /// When.
    #[serde(with = "millisecond::required")]
    pub at: Timestamp,
    /// Who; `None` for the operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Responder>,
    /// What.
    #[serde(rename = "do")]
    pub kind: ActKind,
}

/// What people can do about an issue besides acknowledging and resolving it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ActKind {
    /// Paused reminders until this time.
    Snoozed(#[serde(with = "millisecond::required")] Timestamp),
    /// Resumed reminders.
    Unsnoozed,
    /// Undid the acknowledgement.
    Unacknowledged,
}
