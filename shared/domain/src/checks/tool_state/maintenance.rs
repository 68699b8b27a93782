//! What a run in a maintenance window leaves to do.

use jiff::Timestamp;

use super::ToolState;
use crate::checks::run::Run;
use crate::checks::timer::Timer;
use crate::issues::evaluate::{Evaluation, any_down};

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
        let is_failing = any_down(evaluations) || self.is_failing_below_threshold();
        let wanted = run.policy().next_run(self.is_down(), is_failing);
        self.timer = wanted.map(|(reason, _)| {
            Timer::at_end(reason, end, run.check.created_at().max(now), run.time_scale)
        });
    }
}
