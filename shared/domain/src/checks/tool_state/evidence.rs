//! Which evidence of a status check is kept.

use jiff::Timestamp;

use super::{ToolChange, ToolState};
use crate::checks::evidence::{Evidence, EvidenceMarks, Seen};
use crate::checks::tool::CheckStatus;
use crate::issues::Fingerprint;
use crate::issues::tracker::{Event, Phase};

/// The issues that have evidence.
const WITH_EVIDENCE: [Fingerprint; 3] =
    [Fingerprint::StatusDown, Fingerprint::StatusExpectation, Fingerprint::StatusSlow];

impl ToolChange {
    /// Adds the part of the check's evidence that is kept: what each issue shows, and the address of a site that goes
    /// down.
    #[must_use]
    pub fn with_evidence(mut self, evidence: Option<&Evidence>, now: Timestamp) -> Self {
        let Some(evidence) = evidence else { return self };
        let address = evidence.address.map(|address| address.ip());
        let outages = self.events.iter_mut();
        for event in outages.filter(|event| event.evaluation.fingerprint == Fingerprint::StatusDown)
        {
            event.address = address;
        }
        for fingerprint in WITH_EVIDENCE {
            let Some(seen) = self.seen(fingerprint) else { continue };
            if let Some(marks) = self.state.evidence_marks(fingerprint) {
                let known = marks.unwrap_or_default();
                let (next, write) = known.after(fingerprint, self.check.id, seen, evidence, now);
                *marks = Some(next);
                self.evidence.extend(write);
            }
        }
        self
    }

    /// What the check says about an issue; `None` if it was not judged, or while failures are below the threshold, so
    /// that such a check only writes itself and its tool's state.
    fn seen(&self, fingerprint: Fingerprint) -> Option<Seen> {
        let check = &self.check;
        let is_observed = !check.in_maintenance && check.status == CheckStatus::Completed;
        if !check.id.is_automatic() || !is_observed {
            return None;
        }
        let tracker = self.state.trackers.get(&fingerprint)?.tracker;
        // Expectations are not judged while the site is down.
        if tracker.last_slot != Some(check.id.created_at()) {
            return None;
        }
        let event = self
            .events
            .iter()
            .find(|event| event.evaluation.fingerprint == fingerprint)
            .map(|event| event.event);
        match (event, tracker.phase) {
            (Some(Event::Opened { .. }), _) => Some(Seen::Opened),
            (_, Phase::Down { .. }) => Some(Seen::Active),
            (event, Phase::Up { .. } | Phase::Recovering { .. }) => {
                Some(Seen::Good { resolved: event.is_some() })
            }
            (_, Phase::Pending | Phase::Failing { .. }) => None,
        }
    }
}

impl ToolState {
    /// Where the marks of a fingerprint are; `None` if it has no tracker.
    fn evidence_marks(&mut self, fingerprint: Fingerprint) -> Option<&mut Option<EvidenceMarks>> {
        match fingerprint {
            Fingerprint::StatusDown => Some(&mut self.evidence),
            _ => Some(&mut self.trackers.get_mut(&fingerprint)?.evidence),
        }
    }
}
