//! Which reports a recipient is sent.

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use super::ReportPeriod;
use crate::accounts::mail_limits::Limit;

/// The most recipients of a report.
pub const RECIPIENTS_MAX: u32 = 20;
/// Reports that a member has sent to themselves.
pub const REPORTS_TO_MEMBER: Limit = Limit { times: 20, window: SignedDuration::from_hours(24) };

/// How long the period of a report is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReportKind {
    /// A week.
    Week,
    /// A month.
    Month,
}

/// The reports of a kind, about all sites of the team or about those of a group.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ReportList {
    /// How long their periods are.
    pub kind: ReportKind,
    /// The name of the group; `None` for the whole team.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
}

impl ReportList {
    /// Whether the report of a period is one of them.
    pub fn has(&self, period: ReportPeriod) -> bool {
        match period {
            ReportPeriod::Week(_) => self.kind == ReportKind::Week,
            ReportPeriod::Month(_) => self.kind == ReportKind::Month,
        }
    }

    /// For a sentence: `weekly reports`, `monthly reports about “Shops”`.
    pub fn name(&self) -> String {
        let kind = match self.kind {
            ReportKind::Week => "weekly reports",
            ReportKind::Month => "monthly reports",
        };
        match &self.group {
            Some(group) => format!("{kind} about “{group}”"),
            None => kind.to_owned(),
        }
    }

    /// Distinguishes it from the other lists of its team.
    pub fn key(&self) -> String {
        let kind = match self.kind {
            ReportKind::Week => "week",
            ReportKind::Month => "month",
        };
        format!("{kind}#{}", self.group.as_deref().unwrap_or_default())
    }
}
