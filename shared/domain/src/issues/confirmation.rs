//! Whether an outage that home sees is confirmed: `status:down` opens, waits, or `status:partial` opens instead.
//!
//! The rule is pure. If [`ToolState::suspects`] says that a run would open `status:down`, the caller that saves the run
//! asks all other locations once and passes their [`Votes`] with the run.
//!
//! - One other location that agrees opens the issue at once.
//! - When all other locations are silent, the first silent run holds the issue, and the next one opens it unconfirmed.
//! - Dissent holds the issue. The third run that would open it opens `status:partial` in its place.
//! - A run that would open it, but for which no other location was asked, holds it and counts as one of the three.
//!
//! So an outage opens `status:down` or `status:partial` by the third run that would open it, whatever the other
//! locations say: another location that lies can downgrade an outage, but cannot hide it.
//!
//! [`ToolState::suspects`]: crate::checks::tool_state::ToolState::suspects

use serde_json::json;

use super::evaluate::Evaluation;
use super::tracker::{Observation, Phase, Tracker, TrackerPolicy};
use super::{Fingerprint, Outcome};
use crate::locations::{Confirmation, HOME, Location, Votes};

/// How many runs in a row may hold an issue before `status:down` or `status:partial` opens.
const MAX_HELD_RUNS: u32 = 2;

/// Decides about a run that would open `status:down`, given the tracker before the run. `is_partial` says whether
/// `status:partial` is active.
pub(crate) fn rule(
    tracker: &Tracker,
    policy: &TrackerPolicy,
    is_partial: bool,
    votes: &Votes,
) -> Observation {
    let (holds, was_unanswered) = match tracker.phase {
        Phase::Failing { failures, is_unanswered } => {
            let holds = (failures.streak.get() + 1).saturating_sub(policy.open_after.get());
            (holds, is_unanswered)
        }
        _ => (0, false),
    };
    let is_last = holds >= MAX_HELD_RUNS && !is_partial;
    match votes.confirmation() {
        None if *votes == Votes::NoLocation => Observation::Down,
        None => Observation::Held { is_unanswered: was_unanswered, is_partial },
        Some(Confirmation::Confirmed) => Observation::Down,
        Some(Confirmation::Unconfirmed) if was_unanswered || is_last => Observation::Down,
        Some(Confirmation::Unconfirmed) => Observation::Held { is_unanswered: true, is_partial },
        Some(Confirmation::Denied) => {
            Observation::Held { is_unanswered: false, is_partial: is_partial || is_last }
        }
    }
}

/// What a run says about `status:partial`: the site fails from home, and answers from elsewhere.
pub(crate) fn partial(
    status: &Evaluation,
    outcome: Outcome,
    host: &str,
    votes: &Votes,
) -> Evaluation {
    let elsewhere: Vec<&str> = votes.disagreeing().map(Location::as_str).collect();
    let summary = match (outcome, elsewhere.is_empty()) {
        (Outcome::Up, _) => format!("{host} is the same from {HOME} as from elsewhere"),
        (Outcome::Down, true) => format!("{host} fails from {HOME}, answers from elsewhere"),
        (Outcome::Down, false) => {
            format!("{host} fails from {HOME}, answers from {}", elsewhere.join(" and "))
        }
    };
    Evaluation {
        fingerprint: Fingerprint::StatusPartial,
        outcome,
        summary,
        measured: match outcome {
            Outcome::Down => status.measured.clone(),
            Outcome::Up => json!(null),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use jiff::Timestamp;

    use super::*;
    use crate::issues::tracker::Failures;
    use crate::locations::{Answer, HomeStatus, LocationVote, NoVote, RemoteStatus};

    fn given(code: Option<u16>) -> Votes {
        let answer = code
            .ok_or(NoVote::NoAnswer)
            .map(|code| Answer::Checked(RemoteStatus { code, error: None, response_time: 1.0 }));
        let location = Location::parse("eu-west-1").expect("a location");
        let incident_codes = &[503].into();
        let home = HomeStatus { code: 503, incident_codes };
        Votes::Given(vec![LocationVote::new(location, answer, home)])
    }

    /// What runs of an outage lead to, given how the other locations vote in each: `a`gree, `d`isagree,
    /// `s`ilent, `n`ot asked.
    fn observations(said: &str) -> String {
        let policy = TrackerPolicy {
            open_after: NonZeroU32::new(2).expect("not zero"),
            resolve_after: NonZeroU32::MIN,
        };
        let (mut streak, mut is_unanswered, mut was_partial) = (1, false, false);
        let mut observations = String::new();
        for vote in said.chars() {
            let streak_before = NonZeroU32::new(streak).expect("not zero");
            let failures = Failures {
                first: Timestamp::UNIX_EPOCH,
                last: Timestamp::UNIX_EPOCH,
                streak: streak_before,
            };
            let phase = Phase::Failing { failures, is_unanswered };
            let tracker = Tracker { phase, last_slot: None };
            let votes = match vote {
                'a' => given(Some(503)),
                'd' => given(Some(200)),
                's' => given(None),
                'n' => Votes::NotAsked,
                _ => Votes::NoLocation,
            };
            match rule(&tracker, &policy, was_partial, &votes) {
                Observation::Down => {
                    observations.push('D');
                    return observations;
                }
                Observation::Up => panic!("no location says that the site is up"),
                Observation::Held { is_unanswered: without_answer, is_partial } => {
                    (is_unanswered, was_partial) = (without_answer, is_partial);
                    observations.push(if is_partial { 'P' } else { '-' });
                }
            }
            streak += 1;
        }
        observations
    }

    #[test]
    fn an_outage_opens_holds_or_is_partial() {
        for (said, expected) in [
            (".", "D"),
            ("a", "D"),
            ("da", "-D"),
            ("sa", "-D"),
            ("na", "-D"),
            // No vote holds once.
            ("ss", "-D"),
            ("dss", "--D"),
            ("nss", "--D"),
            // Dissent holds, and the third run opens one of the two issues.
            ("dd", "--"),
            ("ddd", "--P"),
            ("sdd", "--P"),
            ("dsd", "--P"),
            ("nnd", "--P"),
            ("dds", "--D"),
            ("sds", "--D"),
            ("nns", "--D"),
            // Nothing opens if no other location was ever asked.
            ("nnnn", "----"),
            // A partial outage stays partial until another location agrees, or all are silent twice.
            ("ddddd", "--PPP"),
            ("dddsd", "--PPP"),
            ("dddss", "--PPD"),
            ("ddda", "--PD"),
            ("dddn", "--PP"),
        ] {
            assert_eq!(observations(said), expected, "{said}");
        }
    }

    #[test]
    fn however_locations_vote_one_of_the_two_opens_at_the_third_run() {
        for first in "ads".chars() {
            for second in "ads".chars() {
                for third in "ads".chars() {
                    let said = String::from_iter([first, second, third]);
                    assert!(
                        observations(&said).ends_with(['D', 'P']),
                        "{said}: {}",
                        observations(&said)
                    );
                }
            }
        }
    }
}
