//! The result of a heartbeat's check: how a run of the job ended, or that none was reported.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Check, StatusResult};

/// How a run of a job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RunOutcome {
    /// Without a problem.
    Success,
    /// With a problem.
    Failure,
    /// No ping came by the deadline.
    Missed,
    /// It takes longer than it may. It may still end.
    RunningLong,
    /// It has not ended; the job only wrote something to the log.
    Log,
}

impl RunOutcome {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Success, Self::Failure, Self::Missed, Self::RunningLong, Self::Log];

    /// Whether a run has ended.
    pub const fn is_end(self) -> bool {
        matches!(self, Self::Success | Self::Failure)
    }
}

/// How a run of a job ended, or that none was reported.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HeartbeatResult {
    /// How the run ended.
    pub outcome: RunOutcome,
    /// The exit status that the job reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "u8"))]
    pub exit_status: Option<u8>,
    /// How long the run has taken, in milliseconds, if the job reported its start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    pub duration: Option<f64>,
    /// When the missed ping was expected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Timestamp"))]
    pub expected_at: Option<Timestamp>,
    /// Until when it was awaited, or until when the run should have ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Timestamp"))]
    pub deadline: Option<Timestamp>,
    /// The end of the job's output, or what it wrote to the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub output: Option<String>,
}

impl HeartbeatResult {
    /// A result of which nothing but the outcome is known.
    pub const fn new(outcome: RunOutcome) -> Self {
        Self {
            outcome,
            exit_status: None,
            duration: None,
            expected_at: None,
            deadline: None,
            output: None,
        }
    }

    /// The result of a check; `None` if it is not the check of a heartbeat.
    pub fn of(check: &Check) -> Option<Self> {
        serde_json::from_value(check.result.clone()?).ok()
    }

    /// The result in the form in which a block keeps it, which is that of a status check: whether the run succeeded, the
    /// exit status as the code, and the duration as the response time. `None` if it says more than that.
    pub fn packed(&self) -> Option<StatusResult> {
        if !self.outcome.is_end() || self.output.is_some() {
            return None;
        }
        Some(StatusResult {
            up: self.outcome == RunOutcome::Success,
            code: self.exit_status.map_or(0, |status| u16::from(status) + 1),
            url: String::new(),
            effective_url: String::new(),
            response_time: self.duration.unwrap_or_default(),
            redirected: self.duration.is_some(),
            redirect_count: 0,
            redirects: Vec::new(),
            error: None,
            phases: None,
            judged: None,
        })
    }

    /// The result that a block keeps in this form.
    pub fn unpacked(packed: &StatusResult) -> Self {
        let outcome = if packed.up { RunOutcome::Success } else { RunOutcome::Failure };
        Self {
            exit_status: packed.code.checked_sub(1).and_then(|code| u8::try_from(code).ok()),
            duration: packed.redirected.then_some(packed.response_time),
            ..Self::new(outcome)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_keeps_runs_without_output() {
        for outcome in RunOutcome::ALL {
            for exit_status in [None, Some(0), Some(255)] {
                for duration in [None, Some(0.0), Some(1_234.0)] {
                    let result =
                        HeartbeatResult { exit_status, duration, ..HeartbeatResult::new(outcome) };
                    let unpacked = result.packed().as_ref().map(HeartbeatResult::unpacked);
                    assert_eq!(unpacked, outcome.is_end().then_some(result));
                }
            }
        }
        let output = Some("done".to_owned());
        let result = HeartbeatResult { output, ..HeartbeatResult::new(RunOutcome::Success) };
        assert_eq!(result.packed(), None);
    }
}
