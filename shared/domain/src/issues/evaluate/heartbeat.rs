//! What the end of a job's run means, or that none was reported.

use serde_json::json;

use super::Evaluation;
use crate::checks::check::{HeartbeatResult, RunOutcome};
use crate::heartbeats::heartbeat::Heartbeat;
use crate::issues::{Fingerprint, Outcome};
use crate::time_zone::NamedZone;

/// Evaluates a heartbeat's check. Times in its summary are in the zone of the team.
pub(crate) fn heartbeat(result: &HeartbeatResult, zone: &NamedZone) -> Vec<Evaluation> {
    use Fingerprint::{HeartbeatDown, HeartbeatRunningLong};
    let deadline = || result.deadline.map_or_else(String::new, |at| zone.minute(at));
    let status = || result.exit_status.map(|status| format!(": exit status {status}"));
    let judged: &[_] = match result.outcome {
        RunOutcome::Success => &[
            (HeartbeatDown, Outcome::Up, "reported success".to_owned()),
            (HeartbeatRunningLong, Outcome::Up, "has ended".to_owned()),
        ],
        RunOutcome::Failure => &[
            (HeartbeatDown, Outcome::Down, format!("failed{}", status().unwrap_or_default())),
            (HeartbeatRunningLong, Outcome::Up, "has ended".to_owned()),
        ],
        RunOutcome::Missed => {
            &[(HeartbeatDown, Outcome::Down, format!("is late: no ping by {}", deadline()))]
        }
        RunOutcome::RunningLong => {
            &[(HeartbeatRunningLong, Outcome::Down, format!("has not ended by {}", deadline()))]
        }
        RunOutcome::Log => &[],
    };
    let evaluation = |(fingerprint, outcome, what): &(Fingerprint, Outcome, String)| Evaluation {
        fingerprint: *fingerprint,
        outcome: *outcome,
        summary: format!("{} {what}", Heartbeat::SUBJECT),
        measured: json!({
            "outcome": result.outcome,
            "exit_status": result.exit_status,
            "duration": result.duration,
            "expected_at": result.expected_at.map(crate::time::wire),
            "deadline": result.deadline.map(crate::time::wire),
        }),
    };
    judged.iter().map(evaluation).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_outcome_says_what_it_knows() {
        let zone = NamedZone::parse("Europe/Berlin").expect("a zone");
        let deadline = "2026-11-30T02:30:00Z".parse().ok();
        let said = |outcome, exit_status| {
            let result = HeartbeatResult { exit_status, deadline, ..HeartbeatResult::new(outcome) };
            let evaluations = heartbeat(&result, &zone).into_iter();
            let said = evaluations.map(|of| (of.fingerprint.as_str(), of.outcome, of.summary));
            said.collect::<Vec<_>>()
        };
        let (down, long) = ("heartbeat:down", "heartbeat:running_long");
        let case = |fingerprint, outcome, text: &str| (fingerprint, outcome, text.to_owned());
        let ended = case(long, Outcome::Up, "the job has ended");
        for (outcome, status, expected) in [
            (
                RunOutcome::Success,
                Some(0),
                vec![case(down, Outcome::Up, "the job reported success"), ended.clone()],
            ),
            (
                RunOutcome::Failure,
                Some(3),
                vec![case(down, Outcome::Down, "the job failed: exit status 3"), ended.clone()],
            ),
            (RunOutcome::Failure, None, vec![case(down, Outcome::Down, "the job failed"), ended]),
            (
                RunOutcome::Missed,
                None,
                vec![case(down, Outcome::Down, "the job is late: no ping by 2026-11-30 03:30 CET")],
            ),
            (
                RunOutcome::RunningLong,
                None,
                vec![case(long, Outcome::Down, "the job has not ended by 2026-11-30 03:30 CET")],
            ),
            (RunOutcome::Log, None, Vec::new()),
        ] {
            assert_eq!(said(outcome, status), expected);
        }
    }
}
