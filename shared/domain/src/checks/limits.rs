//! How long work may take, from the probe to the queue. Engines, the work index, Lambda functions and queues follow
//! these limits. The limits of each tool are in [`checks::tool`](crate::checks::tool).

use std::time::Duration;

use jiff::SignedDuration;

/// The longest delay of a queue message: SQS allows 15 minutes.
pub const LONGEST_DELAY: SignedDuration = SignedDuration::from_mins(15);

/// How long maintenance work, such as schedules and purges, may take before it is sent again; also the timeout of the
/// Lambda function that does it.
pub const RECONCILE_GRACE: SignedDuration = SignedDuration::from_mins(2);

/// How long each step of an alert may take, from one queue message to the next, before the message is sent again.
pub const ALERT_GRACE: SignedDuration = SignedDuration::from_secs(30);

/// A queue hides a delivered message for this many timeouts of its function, as AWS recommends.
pub const TIMEOUTS_PER_VISIBILITY: u32 = 6;

/// The timeout of the Lambda function with the browser. It covers the longest deadline, and the time for Chromium to
/// start before it and to end after it.
pub const BROWSER_TIMEOUT: Duration = Duration::from_secs(270);

/// The time left to save a run after the answer of a browser in another process has arrived or been given up.
const SAVING: Duration = Duration::from_secs(10);

/// How long the work of a tool may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolLimits {
    /// The probe.
    pub deadline: Duration,
    /// A run, from its start until it is saved. After that, its message is sent again.
    pub run: SignedDuration,
    /// The timeout of the Lambda function that runs it. For a short tool, it leaves time for a run that begins while
    /// another run still waits for a slow target.
    pub function_timeout: Duration,
    /// An on-demand check, until it counts as failed.
    pub pending: SignedDuration,
}

impl ToolLimits {
    /// How long a checker waits for the answer of a browser in another process.
    pub const fn answer(self) -> Duration {
        self.run.unsigned_abs().saturating_sub(SAVING)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::tool::Tool;
    use crate::locations::QUESTION_TIMEOUT;

    #[test]
    fn each_limit_leaves_room_for_the_one_before_it() {
        for tool in Tool::ALL {
            let ToolLimits { deadline, run, function_timeout, pending } = tool.limits();
            assert!(deadline < run.unsigned_abs(), "{tool}: probe and commit");
            assert!(run.unsigned_abs() <= function_timeout, "{tool}");
            assert!(function_timeout < pending.unsigned_abs(), "{tool}");
        }
    }

    #[test]
    fn a_run_has_time_to_ask_other_locations() {
        let ToolLimits { deadline, run, .. } = Tool::Status.limits();
        assert!(deadline + QUESTION_TIMEOUT < run.unsigned_abs(), "probe, question and commit");
    }

    #[test]
    fn a_browser_elsewhere_ends_before_its_checker_gives_it_up() {
        let long = || Tool::ALL.into_iter().filter(|tool| tool.is_long()).map(Tool::limits);
        assert!(long().all(|limits| limits.deadline < limits.answer()));
        let longest = |of: fn(ToolLimits) -> Duration| long().map(of).max().expect("a tool");
        assert!(longest(|limits| limits.deadline) < BROWSER_TIMEOUT);
        assert!(BROWSER_TIMEOUT < longest(ToolLimits::answer));
    }
}
