//! Openings: what an issue said at each of its openings.
//!
//! An issue is one record. It is reopened when the problem recurs, and then describes the current problem. An opening
//! describes one opening, and never changes.

use jiff::Timestamp;
use jiff::fmt::serde::timestamp::millisecond;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::checks::pointer::CheckPointer;
use crate::id::{CheckId, IssueId};

/// What an issue said at one of its openings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Opening {
    /// The issue.
    #[serde(rename = "id")]
    pub issue: IssueId,
    /// The opening.
    #[serde(rename = "o", with = "millisecond::required")]
    pub opened_at: Timestamp,
    /// What was wrong, for people.
    #[serde(rename = "s")]
    pub summary: String,
    /// The evaluation that opened it.
    #[serde(rename = "c")]
    pub context: Value,
    /// The check that opened it.
    #[serde(rename = "k")]
    pub check: CheckId,
    /// The last successful check before the opening, if known.
    #[serde(rename = "g", default, skip_serializing_if = "Option::is_none")]
    pub last_good: Option<CheckPointer>,
}
