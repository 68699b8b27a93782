//! What the reconciler rebuilds of a tool's state.

use jiff::Timestamp;

use super::ToolState;
use crate::checks::policy::ToolPolicy;
use crate::checks::schedule::TimeScale;
use crate::checks::timer::Timer;
use crate::checks::tool::RunReason;

impl ToolState {
    /// The state with the retry or follow-up that is missing under a policy, or is further ahead than it can be because
    /// the clock was set back; `None` if nothing is wrong. `maintenance_until` is the end of the maintenance window that
    /// the site is in, for which retries and follow-ups wait.
    pub fn with_missing_timer(
        &self,
        policy: &ToolPolicy,
        time_scale: TimeScale,
        maintenance_until: Option<Timestamp>,
        now: Timestamp,
    ) -> Option<Self> {
        let waits = |timer: Timer| {
            maintenance_until.is_some_and(|end| {
                timer.due <= Timer::at_end(timer.reason, end, now, time_scale).due
            })
        };
        let timer = match self.timer {
            Some(timer) if !timer.is_too_far(policy, time_scale, now) || waits(timer) => {
                return None;
            }
            Some(Timer { reason: RunReason::Scheduled, .. }) => {
                Some(Timer { reason: RunReason::Scheduled, due: now })
            }
            _ => {
                let wanted = policy.next_run(self.is_down(), self.is_failing_below_threshold());
                let last = self.last_slot(now).unwrap_or(now);
                match (maintenance_until, wanted) {
                    (Some(end), Some((reason, _))) => {
                        Some(Timer::at_end(reason, end, last.max(now), time_scale))
                    }
                    _ => Timer::after_run(None, wanted, last, now, time_scale),
                }
            }
        };
        let is_changed = timer != self.timer;
        is_changed.then(|| Self { rev: self.rev + 1, timer, ..self.clone() })
    }
}
