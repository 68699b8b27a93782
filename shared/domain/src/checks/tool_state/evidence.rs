//! Which evidence of a status check is kept.

use jiff::Timestamp;

use super::ToolChange;
use crate::checks::evidence::{Evidence, Seen};
use crate::checks::tool::CheckStatus;
use crate::issues::Fingerprint;
use crate::issues::tracker::{Event, Phase};

impl ToolChange {
    /// Adds the part of the check's evidence that is kept: its timing, and what an issue shows.
    #[must_use]
    pub fn with_evidence(mut self, evidence: Option<&Evidence>, now: Timestamp) -> Self {
        let Some(evidence) = evidence else { return self };
        self.check.timing = Some(evidence.timing);
        if let Some(seen) = self.seen() {
            let marks = self.state.evidence.unwrap_or_default();
            let (marks, write) = marks.after(self.check.id, seen, evidence, now);
            (self.state.evidence, self.evidence) = (Some(marks), write);
        }
        self
    }

    /// What the check says about `status:down`; `None` while failures are below the threshold, so that such a check
    /// only writes itself and its tool's state.
    fn seen(&self) -> Option<Seen> {
        let check = &self.check;
        let is_observed = !check.in_maintenance && check.status == CheckStatus::Completed;
        if !check.id.is_automatic() || !is_observed {
            return None;
        }
        let phase = self.state.trackers.get(&Fingerprint::StatusDown)?.tracker.phase;
        let event = self
            .events
            .iter()
            .find(|event| event.evaluation.fingerprint == Fingerprint::StatusDown)
            .map(|event| event.event);
        match (event, phase) {
            (Some(Event::Opened { .. }), _) => Some(Seen::Opened),
            (_, Phase::Down { .. }) => Some(Seen::Active),
            (event, Phase::Up { .. } | Phase::Recovering { .. }) => {
                Some(Seen::Good { resolved: event.is_some() })
            }
            (_, Phase::Pending | Phase::Failing { .. }) => None,
        }
    }
}
