//! The changes that a team's PATCH makes to its settings.

use std::collections::BTreeSet;

use super::declare::set;
use super::overrides::ToolsOverrides;
use super::time_of_day::TimeOfDay;
use super::{Escalation, QuietTime, RequestHeader};

/// The changes that a team's PATCH makes to its settings.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TeamUpdate {
    /// Changes of the tools.
    pub tools: ToolsOverrides,
    /// The new header, which may be empty; `None` keeps the current one.
    pub request_header: Option<RequestHeader>,
    /// Changes of the quiet time.
    pub quiet_time: Option<QuietTimeUpdate>,
    /// Changes of the escalation.
    pub escalation: Option<EscalationUpdate>,
}

/// Changes of a team's quiet time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuietTimeUpdate {
    /// Whether alerts are held back.
    pub enabled: bool,
    /// The first quiet minute; `None` keeps it.
    pub starts_at: Option<TimeOfDay>,
    /// The first minute that is no longer quiet; `None` keeps it.
    pub ends_at: Option<TimeOfDay>,
}

impl QuietTimeUpdate {
    /// The quiet time after the change.
    #[must_use]
    pub fn merged_into(&self, current: QuietTime) -> QuietTime {
        QuietTime {
            enabled: self.enabled,
            starts_at: self.starts_at.unwrap_or(current.starts_at),
            ends_at: self.ends_at.unwrap_or(current.ends_at),
        }
    }
}

/// Changes of a team's escalation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EscalationUpdate {
    /// Whether reminders are sent.
    pub enabled: bool,
    /// When they are sent; `None` keeps it.
    pub intervals: Option<BTreeSet<u32>>,
}

impl EscalationUpdate {
    pub(super) fn apply(&self, to: &mut Escalation) {
        to.enabled = self.enabled;
        set(&mut to.intervals, self.intervals.as_ref());
    }
}
