//! The correct state, by rules that are written independently: streaks, openings and resolutions, quiet time, and the
//! times of reminders.

use jiff::{SignedDuration, Timestamp};
use vedette_domain::sites::settings::{Escalation, QuietTime};

/// An issue in its correct state.
#[derive(Debug, Clone, Default)]
pub(crate) struct Truth {
    open_after: u32,
    resolve_after: u32,
    failures: u32,
    successes: u32,
    pub(crate) is_active: bool,
    pub(crate) opened_at: Timestamp,
    pub(crate) snoozed_until: Option<Timestamp>,
    pub(crate) is_acknowledged: bool,
    /// Since when it has been in this state.
    pub(crate) changed_at: Timestamp,
}

/// The effect of an observation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transition {
    Opened,
    Resolved,
}

impl Truth {
    pub(crate) fn new(open_after: u32, resolve_after: u32) -> Self {
        Self { open_after, resolve_after, ..Self::default() }
    }

    /// Counts an observation.
    pub(crate) fn observe(
        &mut self,
        is_up: bool,
        slot: Timestamp,
        now: Timestamp,
    ) -> Option<Transition> {
        if is_up {
            (self.failures, self.successes) = (0, self.successes + 1);
            if self.is_active && self.successes == self.resolve_after {
                self.resolve(now);
                return Some(Transition::Resolved);
            }
            return None;
        }
        (self.failures, self.successes) = (self.failures + 1, 0);
        if self.is_active || self.failures < self.open_after {
            return None;
        }
        (self.is_active, self.opened_at, self.snoozed_until) = (true, slot, None);
        self.is_acknowledged = false;
        self.changed_at = now;
        Some(Transition::Opened)
    }

    /// The issue is over, because of a check or a person.
    pub(crate) fn resolve(&mut self, now: Timestamp) {
        self.is_active = false;
        (self.failures, self.successes) = (0, 0);
        self.changed_at = now;
    }
}

/// Whether people are not to be notified at an instant.
pub(crate) fn is_quiet(quiet: &QuietTime, now: Timestamp) -> bool {
    let minute = u16::try_from(now.as_second().rem_euclid(86_400) / 60).expect("a day's minute");
    let (start, end) = (quiet.starts_at.minute_of_day(), quiet.ends_at.minute_of_day());
    quiet.enabled
        && if start < end {
            (start..end).contains(&minute)
        } else {
            minute >= start || minute < end
        }
}

/// Whether there is a time for a reminder after `after`, but not after `now`.
pub(crate) fn passed_a_reminder(
    escalation: &Escalation,
    opened_at: Timestamp,
    after: Timestamp,
    now: Timestamp,
) -> bool {
    let [after, now] = [after, now].map(|at| at.duration_since(opened_at).as_millis());
    escalation.enabled
        && escalation.intervals.iter().any(|minutes| {
            let interval = i128::from(*minutes) * 60_000;
            match minutes {
                0 => false,
                1_440 => (now / interval) > (after.max(0) / interval),
                _ => after < interval && interval <= now,
            }
        })
}

/// Whether there will be another time for a reminder.
pub(crate) fn awaits_a_reminder(
    escalation: &Escalation,
    opened_at: Timestamp,
    after: Timestamp,
) -> bool {
    passed_a_reminder(escalation, opened_at, after, after + SignedDuration::from_hours(48))
}
