//! A heartbeat's newest runs, in two bytes each.

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;

use crate::checks::check::RunOutcome;

/// How many runs are kept.
const KEPT: usize = 30;
/// The bits of a duration. The outcome has the three bits above them.
const DURATION_BITS: u32 = 13;
/// How finely durations are kept: this many steps for each doubling, so that they are right to 0.2 %. The longest that
/// fits is about two years.
const STEPS: f64 = 226.0;

/// A run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecentRun {
    /// How it ended.
    pub outcome: RunOutcome,
    /// How long it took, if that is known.
    pub lasted: Option<SignedDuration>,
}

/// The newest runs of a job, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RecentRuns(ByteBuf);

impl RecentRuns {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a run. The oldest ones make room.
    pub(super) fn push(&mut self, run: RecentRun) {
        let outcome = RunOutcome::ALL.iter().position(|one| *one == run.outcome).unwrap_or(0);
        let steps = run.lasted.map_or(0, |lasted| {
            let millis = lasted.as_millis().max(0) as f64;
            // The first step is that of 0 ms.
            ((millis + 1.0).log2() * STEPS).round() as u16 + 1
        });
        let steps = steps.min((1 << DURATION_BITS) - 1);
        self.0.extend((((outcome as u16) << DURATION_BITS) | steps).to_be_bytes());
        let excess = self.0.len().saturating_sub(2 * KEPT);
        self.0.drain(..excess);
    }

    /// The runs, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = RecentRun> + ExactSizeIterator {
        self.0.chunks_exact(2).map(|pair| {
            let packed = u16::from_be_bytes([pair[0], pair[1]]);
            let outcome = RunOutcome::ALL.get(usize::from(packed >> DURATION_BITS)).copied();
            let steps = packed & ((1 << DURATION_BITS) - 1);
            let lasted = steps.checked_sub(1).map(|steps| {
                let millis = (f64::from(steps) / STEPS).exp2() - 1.0;
                SignedDuration::from_millis(millis.round() as i64)
            });
            RecentRun { outcome: outcome.unwrap_or(RunOutcome::Log), lasted }
        })
    }

    /// The median duration of the runs that succeeded; `None` if none has told its duration.
    pub fn median(&self) -> Option<SignedDuration> {
        let successes = self.iter().filter(|run| run.outcome == RunOutcome::Success);
        let mut lasted: Vec<_> = successes.filter_map(|run| run.lasted).collect();
        lasted.sort_unstable();
        lasted.get(lasted.len() / 2).copied()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_newest_runs_are_kept() {
        let mut runs = RecentRuns::default();
        assert_eq!((runs.is_empty(), runs.median()), (true, None));
        for second in 0..40 {
            let lasted = Some(SignedDuration::from_secs(second));
            runs.push(RecentRun { outcome: RunOutcome::Success, lasted });
        }
        assert_eq!((runs.0.len(), runs.iter().len()), (60, 30));
        assert_eq!(runs.median().map(|median| median.as_secs_f64().round() as u8), Some(25));
        for outcome in RunOutcome::ALL {
            let run = RecentRun { outcome, lasted: None };
            runs.push(run);
            assert_eq!(runs.iter().last(), Some(run));
        }
    }

    proptest! {
        #[test]
        fn a_duration_is_right_to_two_thousandths(millis in 0_i64..=365 * 86_400_000) {
            let mut runs = RecentRuns::default();
            let lasted = Some(SignedDuration::from_millis(millis));
            runs.push(RecentRun { outcome: RunOutcome::Failure, lasted });
            let kept = runs.iter().next().and_then(|run| run.lasted).expect("a duration");
            let off = (kept.as_millis() - i128::from(millis)).unsigned_abs();
            prop_assert!(off * 500 <= u128::try_from(millis + 500).expect("positive"), "{kept:?}");
        }
    }
}
