//! How long work may take, from the probe to the queue: what engines, work index, Lambda functions and queues follow.
//! The limits of each tool are in [`checks::tool`](crate::checks::tool).

use std::time::Duration;

use jiff::SignedDuration;

/// The longest delay of a queue message: SQS allows 15 minutes.
pub const LONGEST_DELAY: SignedDuration = SignedDuration::from_mins(15);

/// How long schedules, purges and the like may take before they are sent again; also the timeout of
/// the Lambda function that does them.
pub const MAINTENANCE_GRACE: SignedDuration = SignedDuration::from_mins(2);

/// How long the way of an alert from one queue message to the next may take before the message is sent
/// again.
pub const ALERT_GRACE: SignedDuration = SignedDuration::from_secs(30);

/// How often the timeout of its function fits into the time for which a queue hides a message that
/// was delivered: what AWS advises.
pub const TIMEOUTS_PER_VISIBILITY: u32 = 6;

/// The timeout of the Lambda function with the browser: room for the longest deadline, and for Chromium to start
/// before and to end after it.
pub const BROWSER_TIMEOUT: Duration = Duration::from_secs(270);

/// What is left of a run for saving it, once the answer of a browser in another process is there or given up.
const SAVING: Duration = Duration::from_secs(10);

/// How long the work of a tool may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolLimits {
    /// The probe.
    pub deadline: Duration,
    /// A run, from its start to its row; after that it is sent again.
    pub run: SignedDuration,
    /// The Lambda function that runs it. One of a short tool has time for a run that begins while
    /// another one, of a slow target, goes on.
    pub function_timeout: Duration,
    /// An on-demand check, until it is given up as failed.
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
    fn a_run_has_time_to_ask_witnesses() {
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
