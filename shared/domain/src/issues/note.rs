//! What members write about an issue.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::id::UserId;

/// How many notes an issue keeps, the newest ones: every read of the issue loads them.
pub(crate) const NOTES_KEPT: usize = 10;

/// A member's note about an issue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// When the member wrote the note.
    pub at: Timestamp,
    /// The member who wrote the note.
    pub by: UserId,
    /// The text, which may have several lines.
    pub text: String,
}
