//! What a run in a maintenance window leaves to do.

use jiff::Timestamp;

use super::ToolState;
use crate::checks::run::Run;
use crate::checks::timer::Timer;
use crate::issues::Outcome;
use crate::issues::evaluate::Evaluation;

impl ToolState {
    /// Leaves the trackers as they are. If there is a problem, now or from before, the next retry or follow-up comes
    /// when the window ends, so that people soon know whether the problem remains.
    pub(super) fn wait_for_end(
        &mut self,
        run: &Run,
        evaluations: &[Evaluation],
        end: Timestamp,
        now: Timestamp,
    ) {
        let fails = evaluations.iter().any(|evaluation| evaluation.outcome == Outcome::Down);
        let is_failing = fails || self.is_failing_below_threshold();
        let wanted = run.policy().next_run(self.is_down(), is_failing);
        self.timer = wanted.map(|(reason, _)| {
            Timer::at_end(reason, end, run.check.created_at().max(now), run.time_scale)
        });
    }
}
