//! The changes that a team's PATCH makes to its settings.

use std::collections::BTreeSet;

use super::declare::set;
use super::overrides::ToolsOverrides;
use super::setting::CHOICES_MAX;
use super::time_of_day::TimeOfDay;
use super::{Escalation, QuietTime, RequestHeader};
use crate::accounts::plan::ESCALATION_PRESETS;
use crate::input::{FlagRule, ListRule, NumberRule, input};

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

input! {
    /// A daily window in which alerts are held back.
    QuietTimeUpdate {
        /// Whether alerts are held back.
        #[form("Hold notifications")]
        enabled: Required<bool> = FlagRule;
        /// The first quiet minute, `HH:MM` in the time zone of the team.
        #[form("From")]
        starts_at: Optional<TimeOfDay> = TimeOfDay::RULE;
        /// The first minute that is no longer quiet; differs from `starts_at`.
        #[form("Until")]
        ends_at: Optional<TimeOfDay> = TimeOfDay::RULE;
    }
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

input! {
    /// Reminders of active issues.
    EscalationUpdate {
        /// Whether reminders are sent.
        #[form("Send reminders")]
        enabled: Required<bool> = FlagRule;
        /// Minutes since the issue opened; 0 sends a reminder at once.
        #[form("When")]
        intervals: Optional<BTreeSet<u32>> = ListRule::new(0, CHOICES_MAX, NumberRule(ESCALATION_PRESETS.map(|preset| preset.minutes)));
    }
}

impl EscalationUpdate {
    pub(super) fn apply(&self, to: &mut Escalation) {
        to.enabled = self.enabled;
        set(&mut to.intervals, self.intervals.as_ref());
    }
}
