//! Whether a site is failing: its newest status check failed, and it has no active issue. This happens below the
//! threshold that opens an issue, and after a person has resolved it.

use jiff::Timestamp;

use super::ToolState;
use crate::checks::check::{Finish, ToolResult};
use crate::issues::evaluate::{Evaluation, failure};
use crate::issues::tracker::{Phase, Tracker};
use crate::issues::{Fingerprint, Outcome};

/// How the site's place in a list of its team changes: that of failing sites, or of sites that can't be checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListChange {
    /// The site is listed, since this slot.
    Began(Timestamp),
    /// The site is no longer listed.
    Ended,
}

impl ToolState {
    /// Records the outcome of the newest check, after the trackers observed it.
    pub(super) fn note_failing(&mut self, outcome: Outcome, slot: Timestamp) {
        let tracker = |fingerprint| self.trackers.get(&fingerprint).map(|tracked| tracked.tracker);
        let has_issue = [Fingerprint::StatusDown, Fingerprint::StatusPartial]
            .into_iter()
            .filter_map(tracker)
            .any(|tracker| tracker.issue().is_some());
        let failures = tracker(Fingerprint::StatusDown).and_then(|tracker| tracker.failures());
        let first = failures.map(|failures| failures.first);
        self.failing_since = match outcome {
            // No later than this slot, even after the clock was set back.
            Outcome::Down if !has_issue => {
                Some(self.failing_since.or(first).map_or(slot, |since| since.min(slot)))
            }
            Outcome::Down | Outcome::Up => None,
        };
    }

    /// Records why the newest status check failed, so that lists can say so without reading the check.
    pub(super) fn note_failure(&mut self, finish: &Finish, evaluations: &[Evaluation]) {
        let Finish::Completed(ToolResult::Status(result)) = finish else { return };
        let down = (Fingerprint::StatusDown, Outcome::Down);
        let is_down = evaluations.iter().any(|of| (of.fingerprint, of.outcome) == down);
        self.failure = is_down.then(|| failure(result));
    }

    /// Records that a person resolved the issue of a tracker, given as it was before.
    pub(super) fn note_failing_after_resolution(
        &mut self,
        fingerprint: Fingerprint,
        before: &Tracker,
    ) {
        let (Fingerprint::StatusDown | Fingerprint::StatusPartial, Phase::Down { failures, .. }) =
            (fingerprint, before.phase)
        else {
            return;
        };
        self.failing_since = Some(failures.first);
    }

    /// The first failed check of the active issue `status:down`, if there is one.
    pub fn down_since(&self) -> Option<Timestamp> {
        let tracker = &self.trackers.get(&Fingerprint::StatusDown)?.tracker;
        let failures = tracker.issue().and(tracker.failures())?;
        Some(failures.first)
    }

    /// The change of the list of failing sites from `before` to this state; `None` if the list stays as it is.
    pub fn failing_change(&self, before: &Self) -> Option<ListChange> {
        if self.failing_since == before.failing_since {
            return None;
        }
        Some(self.failing_since.map_or(ListChange::Ended, ListChange::Began))
    }
}
