//! Outstanding work: when the reconciler must look at it in case its queue message was lost.
//!
//! Everything that must still happen is in the table before it is in a queue. The message is the fast path. The work
//! index is the safety net, and the only path for work that is further ahead than a queue can delay.

use jiff::Timestamp;

use crate::accounts::team::Team;
use crate::checks::limits::RECONCILE_GRACE;
use crate::checks::tool::Tool;
use crate::checks::tool_state::ToolState;
use crate::sites::site::Site;

impl ToolState {
    /// When the reconciler must look at the tool; `None` if nothing is outstanding.
    ///
    /// This counts from when the work became outstanding, not from now, so that a steady stream of other runs does not
    /// postpone it.
    pub fn work_due(&self, tool: Tool, now: Timestamp) -> Option<Timestamp> {
        let timer = self.timer.map(|timer| timer.work_due(tool, now));
        let pending = self.pending.map(|check| {
            let created_at = check.created_at();
            created_at.saturating_add(tool.limits().run).unwrap_or(created_at)
        });
        timer.into_iter().chain(pending).min()
    }
}

/// When a message that was sent at an instant should have been handled.
fn after_grace(sent_at: Timestamp) -> Timestamp {
    sent_at.saturating_add(RECONCILE_GRACE).unwrap_or(sent_at)
}

impl Site {
    /// When the reconciler must look at the site; `None` if its schedules follow its settings.
    pub fn work_due(&self) -> Option<Timestamp> {
        (self.synced != self.cfg).then(|| after_grace(self.updated_at))
    }
}

impl Team {
    /// When the reconciler must look at the team; `None` if the schedules of all its sites follow its
    /// plan and settings.
    pub fn work_due(&self) -> Option<Timestamp> {
        (self.synced != self.cfg).then(|| after_grace(self.updated_at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::timer::Timer;
    use crate::checks::tool::RunReason;
    use crate::id::{CheckId, SiteId};

    fn at(text: &str) -> Timestamp {
        text.parse().expect("a timestamp")
    }

    #[test]
    fn the_earliest_outstanding_work_decides_when_it_is_due() {
        let now = at("2026-11-20T09:54:00Z");
        let site = SiteId::parse("0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01").expect("a site id");
        let timer = |due| Some(Timer { reason: RunReason::IncidentFollowUp, due: at(due) });
        let pending = Some(CheckId::on_demand(site, Tool::Status, now, 0));
        for (timer, pending, due) in [
            (None, None, None),
            // Sent with its delay: looked at when its run should have been saved.
            (timer("2026-11-20T09:56:00Z"), None, Some("2026-11-20T09:56:55Z")),
            // Too far ahead for a queue: looked at early enough to send it with its delay.
            (timer("2026-11-20T10:54:00Z"), None, Some("2026-11-20T10:39:00Z")),
            // A queue can delay it by now, but may not have it yet.
            (timer("2026-11-20T10:07:01Z"), None, Some("2026-11-20T09:52:01Z")),
            (timer("2026-11-20T10:07:00Z"), None, Some("2026-11-20T10:07:55Z")),
            (None, pending, Some("2026-11-20T09:54:55Z")),
            (timer("2026-11-20T09:56:00Z"), pending, Some("2026-11-20T09:54:55Z")),
        ] {
            let state = ToolState { timer, pending, ..ToolState::new() };
            assert_eq!(state.work_due(Tool::Status, now), due.map(at));
        }
    }
}
