//! The tracker: which sequence of observations opens an issue, and which resolves it.
//!
//! There is one tracker per site and fingerprint. It is pure: the caller loads it, passes one observation, and saves
//! the result on the condition that nobody saved another tracker in between. Alerts are decided elsewhere and never
//! affect the tracker.

use std::num::NonZeroU32;

use jiff::Timestamp;
use jiff::fmt::serde::timestamp::millisecond;
use serde::{Deserialize, Serialize};

use super::Outcome;
use crate::clock::is_ahead;
use crate::id::IssueId;

/// The thresholds that apply to one observation. There is no default, since most thresholds are settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrackerPolicy {
    /// Failing observations in a row that open the issue.
    pub open_after: NonZeroU32,
    /// Clean observations in a row that resolve it.
    pub resolve_after: NonZeroU32,
}

impl TrackerPolicy {
    /// Each observation counts.
    pub const AT_ONCE: Self = Self { open_after: NonZeroU32::MIN, resolve_after: NonZeroU32::MIN };
}

/// What a run says about a fingerprint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Observation {
    /// The condition does not hold.
    Up,
    /// The condition holds, and an issue may open.
    Down,
    /// The condition holds, but an issue does not open yet; [`confirmation`](super::confirmation) decides.
    Held {
        /// Whether all other locations were silent.
        is_unanswered: bool,
        /// Whether `status:partial` opens in its place, or stays open.
        is_partial: bool,
    },
}

impl From<Outcome> for Observation {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Up => Self::Up,
            Outcome::Down => Self::Down,
        }
    }
}

/// The failing observations of an incident, or of what may become one.
///
/// Before an issue opens, the observations are in a row, since any clean observation ends the sequence. While the issue
/// is active, the sequence continues: a recovery that does not last ends nothing, and its clean observations are not
/// counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failures {
    /// Slot of the first observation.
    #[serde(rename = "f", with = "millisecond::required")]
    pub first: Timestamp,
    /// Slot of the last observation so far.
    #[serde(rename = "l", with = "millisecond::required")]
    pub last: Timestamp,
    /// How many observations; the count stops at [`u32::MAX`], which is above every threshold.
    #[serde(rename = "n")]
    pub streak: NonZeroU32,
}

impl Failures {
    const fn start(slot: Timestamp) -> Self {
        Self { first: slot, last: slot, streak: NonZeroU32::MIN }
    }

    const fn and(self, slot: Timestamp) -> Self {
        Self { first: self.first, last: slot, streak: self.streak.saturating_add(1) }
    }

    fn without_future(self, now: Timestamp) -> Self {
        Self { first: self.first.min(now), last: self.last.min(now), ..self }
    }
}

/// What the observations so far add up to.
///
/// Stored under one-letter names: three trackers share an item that must stay below 1 KB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Phase {
    /// No observations yet, or none since a person resolved the issue.
    #[default]
    #[serde(rename = "p")]
    Pending,
    /// The last observation was clean.
    #[serde(rename = "u")]
    Up {
        /// Slot of the first clean observation.
        #[serde(rename = "s", with = "millisecond::required")]
        since: Timestamp,
    },
    /// Failing, but below the threshold, or held at the threshold until the failure is confirmed.
    #[serde(rename = "f")]
    Failing {
        /// The failing observations so far.
        #[serde(rename = "f")]
        failures: Failures,
        /// Whether the last observation was held and all other locations were silent.
        #[serde(rename = "q", default, skip_serializing_if = "is_false")]
        is_unanswered: bool,
    },
    /// An issue is active, and the last observation failed.
    #[serde(rename = "d")]
    Down {
        /// The issue.
        #[serde(rename = "i")]
        issue: IssueId,
        /// The failing observations that opened the issue, and those since.
        #[serde(rename = "f")]
        failures: Failures,
    },
    /// An issue is active, and the last observation was clean.
    #[serde(rename = "r")]
    Recovering {
        /// The issue.
        #[serde(rename = "i")]
        issue: IssueId,
        /// The failing observations that opened the issue, and those since.
        #[serde(rename = "f")]
        failures: Failures,
        /// Slot of the first clean observation of this recovery.
        #[serde(rename = "s", with = "millisecond::required")]
        since: Timestamp,
        /// Clean observations in a row; the count stops at [`u32::MAX`].
        #[serde(rename = "n")]
        streak: NonZeroU32,
    },
}

impl Phase {
    fn without_future(self, now: Timestamp) -> Self {
        match self {
            Self::Pending => Self::Pending,
            Self::Up { since } => Self::Up { since: since.min(now) },
            Self::Failing { failures, is_unanswered } => {
                Self::Failing { failures: failures.without_future(now), is_unanswered }
            }
            Self::Down { issue, failures } => {
                Self::Down { issue, failures: failures.without_future(now) }
            }
            Self::Recovering { issue, failures, since, streak } => Self::Recovering {
                issue,
                failures: failures.without_future(now),
                since: since.min(now),
                streak,
            },
        }
    }
}

/// The state that is kept for one fingerprint of one site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tracker {
    /// What the observations so far add up to.
    #[serde(rename = "p")]
    pub phase: Phase,
    /// Slot of the last observation that was counted.
    #[serde(
        rename = "s",
        default,
        skip_serializing_if = "Option::is_none",
        with = "millisecond::optional"
    )]
    pub last_slot: Option<Timestamp>,
}

impl Tracker {
    /// The active issue, if there is one; recovering counts as active.
    pub const fn issue(&self) -> Option<IssueId> {
        match self.phase {
            Phase::Pending | Phase::Up { .. } | Phase::Failing { .. } => None,
            Phase::Down { issue, .. } | Phase::Recovering { issue, .. } => Some(issue),
        }
    }

    /// The tracker after the clock was set back to `now`: no instant in it lies in the future, so that the next
    /// observation counts.
    #[must_use]
    pub fn without_future(&self, now: Timestamp) -> Self {
        let last_slot = self.last_slot.filter(|last| !is_ahead(*last, now));
        Self { phase: self.phase.without_future(now), last_slot }
    }

    /// Whether the last observation failed and no issue is active: a confirmation run is due.
    pub(crate) const fn is_failing_below_threshold(&self) -> bool {
        matches!(self.phase, Phase::Failing { .. })
    }

    /// The failing observations of the active issue, or of the issue that may open.
    pub const fn failures(&self) -> Option<Failures> {
        match self.phase {
            Phase::Pending | Phase::Up { .. } => None,
            Phase::Failing { failures, .. }
            | Phase::Down { failures, .. }
            | Phase::Recovering { failures, .. } => Some(failures),
        }
    }
}

/// The event that an observation causes, besides the new tracker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The threshold is reached: the issue opens, or its record opens again.
    Opened {
        /// The issue.
        issue: IssueId,
        /// The failing observations that opened it.
        failures: Failures,
    },
    /// The problem has cleared.
    Resolved {
        /// The issue.
        issue: IssueId,
        /// The failing observations of the issue.
        failures: Failures,
        /// Slot of the first of the clean observations that resolved it.
        since: Timestamp,
    },
}

impl Event {
    /// The issue that the event is about.
    pub const fn issue(&self) -> IssueId {
        match self {
            Self::Opened { issue, .. } | Self::Resolved { issue, .. } => *issue,
        }
    }
}

/// The result of one observation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The slot is not after the last one counted: a duplicate, or a run that another overtook. Nothing is counted.
    Stale,
    /// The observation counts.
    Advanced {
        /// The tracker to save.
        next: Tracker,
        /// The event to handle.
        event: Option<Event>,
    },
}

/// Counts one observation, of the run at a slot.
///
/// `issue` is the id to use if this observation opens an issue: the id of the fingerprint's record if there is one,
/// otherwise a new one. The current thresholds apply: a lowered threshold takes effect at the next failing (or clean)
/// observation, never on its own.
pub fn observe(
    tracker: &Tracker,
    policy: &TrackerPolicy,
    slot: Timestamp,
    observation: Observation,
    issue: IssueId,
) -> Step {
    // Compared as stored; otherwise a replayed slot with a finer fraction would count twice.
    if tracker.last_slot.is_some_and(|last| slot.as_millisecond() <= last.as_millisecond()) {
        return Step::Stale;
    }
    let (phase, event) = match observation {
        Observation::Up => succeed(tracker.phase, policy, slot),
        failed => fail(tracker.phase, policy, slot, failed, issue),
    };
    Step::Advanced { next: Tracker { phase, last_slot: Some(slot) }, event }
}

fn fail(
    phase: Phase,
    policy: &TrackerPolicy,
    slot: Timestamp,
    observation: Observation,
    new: IssueId,
) -> (Phase, Option<Event>) {
    let failures = match phase {
        Phase::Pending | Phase::Up { .. } => Failures::start(slot),
        Phase::Failing { failures, .. } => failures.and(slot),
        Phase::Down { issue, failures } | Phase::Recovering { issue, failures, .. } => {
            return (Phase::Down { issue, failures: failures.and(slot) }, None);
        }
    };
    if failures.streak < policy.open_after {
        return (Phase::Failing { failures, is_unanswered: false }, None);
    }
    if let Observation::Held { is_unanswered, .. } = observation {
        return (Phase::Failing { failures, is_unanswered }, None);
    }
    let event = Event::Opened { issue: new, failures };
    (Phase::Down { issue: new, failures }, Some(event))
}

fn succeed(phase: Phase, policy: &TrackerPolicy, slot: Timestamp) -> (Phase, Option<Event>) {
    let (issue, failures, since, streak) = match phase {
        Phase::Pending | Phase::Failing { .. } => return (Phase::Up { since: slot }, None),
        Phase::Up { since } => return (Phase::Up { since }, None),
        Phase::Down { issue, failures } => (issue, failures, slot, NonZeroU32::MIN),
        Phase::Recovering { issue, failures, since, streak } => {
            (issue, failures, since, streak.saturating_add(1))
        }
    };
    if streak >= policy.resolve_after {
        (Phase::Up { since }, Some(Event::Resolved { issue, failures, since }))
    } else {
        (Phase::Recovering { issue, failures, since, streak }, None)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_false(value: &bool) -> bool {
    !*value
}

/// A person resolves the issue: the next observation starts a new sequence, and slots that were counted stay counted.
pub(crate) const fn resolve_by_hand(tracker: &Tracker) -> Tracker {
    Tracker { phase: Phase::Pending, last_slot: tracker.last_slot }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;
    use serde_json::json;
    use uuid::Uuid;

    use super::super::Fingerprint;
    use super::*;
    use crate::id::SiteId;

    fn number(value: u32) -> NonZeroU32 {
        NonZeroU32::new(value).expect("not zero")
    }

    fn policy(open_after: u32, resolve_after: u32) -> TrackerPolicy {
        TrackerPolicy { open_after: number(open_after), resolve_after: number(resolve_after) }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("in range")
    }

    fn id(number: u128) -> IssueId {
        let site = SiteId(Uuid::from_u128(number));
        IssueId::new(site, Fingerprint::StatusDown, Timestamp::UNIX_EPOCH)
    }

    fn step(
        tracker: &Tracker,
        policy: &TrackerPolicy,
        slot: Timestamp,
        down: bool,
        new: IssueId,
    ) -> Step {
        observe(tracker, policy, slot, Outcome::of(down).into(), new)
    }

    /// Observes, and expects that the observation counts.
    fn advance(
        tracker: &mut Tracker,
        policy: &TrackerPolicy,
        second: i64,
        down: bool,
        new: IssueId,
    ) -> Option<Event> {
        match step(tracker, policy, at(second), down, new) {
            Step::Stale => panic!("the slot {second} is stale"),
            Step::Advanced { next, event } => {
                *tracker = next;
                event
            }
        }
    }

    fn failures(first: i64, last: i64, streak: u32) -> Failures {
        Failures { first: at(first), last: at(last), streak: number(streak) }
    }

    #[test]
    fn an_incident_from_the_first_failure_to_its_end() {
        let policy = policy(2, 2);
        let mut tracker = Tracker::default();
        assert_eq!(tracker.phase, Phase::Pending);

        assert_eq!(advance(&mut tracker, &policy, 10, false, id(9)), None);
        assert_eq!(advance(&mut tracker, &policy, 20, false, id(9)), None);
        assert_eq!(tracker.phase, Phase::Up { since: at(10) }, "since the first one");
        assert_eq!((tracker.issue(), tracker.failures()), (None, None));

        // A failure that is not confirmed yet.
        assert_eq!(advance(&mut tracker, &policy, 30, true, id(9)), None);
        assert!(tracker.is_failing_below_threshold());
        assert_eq!((tracker.issue(), tracker.failures()), (None, Some(failures(30, 30, 1))));

        // The failure is confirmed.
        let opened = Event::Opened { issue: id(1), failures: failures(30, 40, 2) };
        assert_eq!(advance(&mut tracker, &policy, 40, true, id(1)), Some(opened));
        assert_eq!(tracker.issue(), Some(id(1)));
        assert!(!tracker.is_failing_below_threshold());

        // The issue continues under its id.
        assert_eq!(advance(&mut tracker, &policy, 50, true, id(9)), None);
        assert_eq!(tracker.failures(), Some(failures(30, 50, 3)));

        // A recovery that does not last.
        assert_eq!(advance(&mut tracker, &policy, 60, false, id(9)), None);
        assert_eq!(tracker.issue(), Some(id(1)), "recovering is active");
        assert_eq!(advance(&mut tracker, &policy, 70, true, id(9)), None);
        assert_eq!(tracker.failures(), Some(failures(30, 70, 4)));

        // A recovery that lasts: it starts over, and its first success identifies it.
        assert_eq!(advance(&mut tracker, &policy, 80, false, id(9)), None);
        let resolved =
            Event::Resolved { issue: id(1), failures: failures(30, 70, 4), since: at(80) };
        assert_eq!(advance(&mut tracker, &policy, 90, false, id(9)), Some(resolved));
        assert_eq!(tracker.phase, Phase::Up { since: at(80) });
        assert_eq!(tracker.last_slot, Some(at(90)));
    }

    #[test]
    fn thresholds_of_one_act_at_once() {
        let policy = policy(1, 1);
        let mut tracker = Tracker::default();
        let opened = Event::Opened { issue: id(1), failures: failures(10, 10, 1) };
        assert_eq!(advance(&mut tracker, &policy, 10, true, id(1)), Some(opened));
        let resolved =
            Event::Resolved { issue: id(1), failures: failures(10, 10, 1), since: at(20) };
        assert_eq!(advance(&mut tracker, &policy, 20, false, id(2)), Some(resolved));
        let opened = Event::Opened { issue: id(2), failures: failures(30, 30, 1) };
        assert_eq!(advance(&mut tracker, &policy, 30, true, id(2)), Some(opened));
    }

    #[test]
    fn late_and_duplicate_slots_count_nothing() {
        let policy = policy(3, 1);
        let mut tracker = Tracker::default();
        advance(&mut tracker, &policy, 10, true, id(1));
        let millisecond = jiff::SignedDuration::from_millis(1);
        for slot in [at(10), at(9), Timestamp::MIN, at(10) + millisecond / 2] {
            for down in [true, false] {
                assert_eq!(step(&tracker, &policy, slot, down, id(1)), Step::Stale, "{slot}");
            }
        }
        assert!(matches!(
            step(&tracker, &policy, at(10) + millisecond, true, id(1)),
            Step::Advanced { .. }
        ));
    }

    #[test]
    fn a_fraction_finer_than_stored_does_not_count_twice() {
        let policy = policy(3, 1);
        for second in [-10, 10] {
            let slot = at(second) + jiff::SignedDuration::from_nanos(1_999_999);
            let Step::Advanced { next, .. } = step(&Tracker::default(), &policy, slot, true, id(1))
            else {
                panic!("nothing was counted before");
            };
            let stored = serde_json::to_value(next).expect("json");
            let loaded: Tracker = serde_json::from_value(stored).expect("readable");
            for tracker in [next, loaded] {
                assert_eq!(step(&tracker, &policy, slot, true, id(1)), Step::Stale);
            }
        }
    }

    #[test]
    fn changed_thresholds_take_effect_at_the_next_observation() {
        // The threshold is lowered below the streak: the issue opens at the next failure, not on its own.
        let mut tracker = Tracker::default();
        for second in 1..=4 {
            assert_eq!(advance(&mut tracker, &policy(5, 5), second, true, id(1)), None);
        }
        let opened = Event::Opened { issue: id(1), failures: failures(1, 5, 5) };
        assert_eq!(advance(&mut tracker, &policy(2, 5), 5, true, id(1)), Some(opened));
        // The threshold is raised while the issue is active: the issue stays open.
        assert_eq!(advance(&mut tracker, &policy(u32::MAX, 5), 6, true, id(1)), None);
        assert_eq!(tracker.issue(), Some(id(1)));
        // The same for the recovery.
        for second in 7..=9 {
            assert_eq!(advance(&mut tracker, &policy(2, 5), second, false, id(1)), None);
        }
        let resolved = Event::Resolved { issue: id(1), failures: failures(1, 6, 6), since: at(7) };
        assert_eq!(advance(&mut tracker, &policy(2, 1), 10, false, id(1)), Some(resolved));
        // The threshold is lowered, and a clean observation follows: the streak is over.
        assert_eq!(advance(&mut tracker, &policy(5, 1), 11, true, id(2)), None);
        assert_eq!(advance(&mut tracker, &policy(1, 1), 12, false, id(2)), None);
        assert_eq!(tracker.phase, Phase::Up { since: at(12) });
    }

    #[test]
    fn counters_stop_at_their_end() {
        let full = Failures { first: at(1), last: at(2), streak: NonZeroU32::MAX };
        let phases = [
            Phase::Failing { failures: full, is_unanswered: true },
            Phase::Down { issue: id(1), failures: full },
            Phase::Recovering { issue: id(1), failures: full, since: at(2), streak: number(1) },
            Phase::Recovering {
                issue: id(1),
                failures: full,
                since: at(2),
                streak: NonZeroU32::MAX,
            },
        ];
        for phase in phases {
            for down in [true, false] {
                let mut tracker = Tracker { phase, last_slot: Some(at(2)) };
                advance(&mut tracker, &policy(2_147_483_647, 2_147_483_647), 3, down, id(1));
                let streak = tracker.failures().map(|failures| failures.streak);
                assert!(streak.is_none_or(|streak| streak == NonZeroU32::MAX));
            }
        }
    }

    #[test]
    fn a_resolution_by_hand_starts_afresh() {
        let mut tracker = Tracker::default();
        advance(&mut tracker, &policy(1, 3), 10, true, id(1));
        advance(&mut tracker, &policy(1, 3), 20, false, id(1));
        let reset = resolve_by_hand(&tracker);
        assert_eq!(reset, Tracker { phase: Phase::Pending, last_slot: Some(at(20)) });
        // Slots that were counted before stay counted.
        assert_eq!(step(&reset, &policy(1, 1), at(20), true, id(2)), Step::Stale);
        // Still failing: a new streak begins, and the record opens again.
        let mut tracker = reset;
        assert_eq!(advance(&mut tracker, &policy(2, 1), 30, true, id(1)), None);
        let opened = Event::Opened { issue: id(1), failures: failures(30, 40, 2) };
        assert_eq!(advance(&mut tracker, &policy(2, 1), 40, true, id(1)), Some(opened));
    }

    #[test]
    fn the_stored_form_is_small_and_stable() {
        let cases = [
            (Phase::Pending, json!("p")),
            (Phase::Up { since: at(1) }, json!({"u": {"s": 1000}})),
            (
                Phase::Failing { failures: failures(1, 2, 3), is_unanswered: false },
                json!({"f": {"f": {"f": 1000, "l": 2000, "n": 3}}}),
            ),
            (
                Phase::Down { issue: id(10), failures: failures(1, 2, 3) },
                json!({"d": {
                    "i": "00000000-0000-8100-8000-00000000000a",
                    "f": {"f": 1000, "l": 2000, "n": 3},
                }}),
            ),
            (
                Phase::Recovering {
                    issue: id(10),
                    failures: failures(1, 2, 3),
                    since: at(4),
                    streak: number(5),
                },
                json!({"r": {
                    "i": "00000000-0000-8100-8000-00000000000a",
                    "f": {"f": 1000, "l": 2000, "n": 3}, "s": 4000, "n": 5,
                }}),
            ),
        ];
        for (phase, stored) in cases {
            let tracker = Tracker { phase, last_slot: Some(at(9)) };
            let stored = json!({"p": stored, "s": 9000});
            assert_eq!(serde_json::to_value(tracker).expect("json"), stored);
            assert_eq!(serde_json::from_value::<Tracker>(stored).expect("readable"), tracker);
        }
        let new = json!({"p": "p"});
        assert_eq!(serde_json::to_value(Tracker::default()).expect("json"), new);
        assert_eq!(serde_json::from_value::<Tracker>(new).expect("readable"), Tracker::default());
        // Older versions numbered trackers.
        let counted = json!({"p": "p", "g": 3});
        let read = serde_json::from_value::<Tracker>(counted).expect("readable");
        assert_eq!(read, Tracker::default());

        // Three of the largest trackers leave most of a kilobyte for the rest of the item.
        let late = at(4_000_000_000);
        let many = Failures { first: late, last: late, streak: NonZeroU32::MAX };
        let largest = Tracker {
            phase: Phase::Recovering {
                issue: id(u128::MAX),
                failures: many,
                since: late,
                streak: NonZeroU32::MAX,
            },
            last_slot: Some(late),
        };
        assert!(serde_json::to_string(&largest).expect("json").len() < 200);
    }

    #[test]
    fn events_tell_their_issue() {
        let failures = failures(1, 2, 3);
        let resolved = Event::Resolved { issue: id(4), failures, since: at(3) };
        for event in [Event::Opened { issue: id(4), failures }, resolved] {
            assert_eq!(event.issue(), id(4));
        }
    }

    /// The same rules, derived from the whole sequence of observations instead of from a state: every step looks
    /// everything up again.
    #[derive(Default)]
    struct Story {
        /// The observations since the last opening, resolution or reset that matter for the next one: the slot, and
        /// whether the observation failed.
        row: Vec<(Timestamp, bool)>,
        open: Option<IssueId>,
    }

    impl Story {
        fn tell(
            &mut self,
            policy: &TrackerPolicy,
            slot: Timestamp,
            down: bool,
            new: IssueId,
        ) -> Option<Event> {
            self.row.push((slot, down));
            let at_end =
                |wanted: bool| self.row.iter().rev().take_while(move |(_, down)| *down == wanted);
            match self.open {
                None => {
                    let streak = u32::try_from(at_end(true).count()).expect("short");
                    if streak < policy.open_after.get() {
                        return None;
                    }
                    let first = at_end(true).last().expect("at least one").0;
                    let failing = Failures { first, last: slot, streak: number(streak) };
                    self.row.drain(..self.row.len() - streak as usize);
                    self.open = Some(new);
                    Some(Event::Opened { issue: new, failures: failing })
                }
                Some(issue) => {
                    let clean = at_end(false).count();
                    let failed: Vec<_> = self.row.iter().filter(|(_, down)| *down).collect();
                    let failures = Failures {
                        first: failed.first().expect("it opened").0,
                        last: failed.last().expect("it opened").0,
                        streak: number(u32::try_from(failed.len()).expect("short")),
                    };
                    if clean >= policy.resolve_after.get() as usize {
                        let since = at_end(false).last().expect("at least one").0;
                        self.open = None;
                        self.row.clear();
                        Some(Event::Resolved { issue, failures, since })
                    } else {
                        None
                    }
                }
            }
        }
    }

    /// Every state that short sequences reach, under every small policy: each step is checked against the general
    /// properties of steps.
    #[test]
    fn every_small_state_keeps_the_rules() {
        const SLOTS: i64 = 6;
        let policies: Vec<TrackerPolicy> =
            (1..=4).flat_map(|open| (1..=4).map(move |resolve| policy(open, resolve))).collect();
        let mut seen = HashSet::new();
        let mut frontier = vec![Tracker::default()];
        let mut steps = 0_u32;
        while let Some(tracker) = frontier.pop() {
            assert!(seen.len() < 100_000, "six slots lead to few states");
            for policy in &policies {
                for slot in 0..SLOTS {
                    for down in [true, false] {
                        // Each opening has its own id, so that a mix-up shows.
                        let new = id(u128::try_from(slot).expect("positive") + 1);
                        let step = step(&tracker, policy, at(slot), down, new);
                        check(&tracker, policy, at(slot), down, new, step);
                        steps += 1;
                        if let Step::Advanced { next, .. } = step
                            && seen.insert(format!("{next:?}"))
                        {
                            frontier.push(next);
                            frontier.push(resolve_by_hand(&next));
                        }
                    }
                }
            }
        }
        assert!(steps > 100_000, "{steps} steps cover the rules");
    }

    fn check(
        tracker: &Tracker,
        policy: &TrackerPolicy,
        slot: Timestamp,
        down: bool,
        new: IssueId,
        answer: Step,
    ) {
        let said = format!("{tracker:?} {policy:?} {slot} {down}: {answer:?}");
        let late = tracker.last_slot.is_some_and(|last| slot <= last);
        let Step::Advanced { next, event } = answer else {
            assert!(late, "{said}");
            return;
        };
        assert!(!late, "{said}");
        assert_eq!(next.last_slot, Some(slot), "{said}");
        assert_eq!(step(&next, policy, slot, down, new), Step::Stale, "{said}");

        // Issues open and resolve in turn, and every event names the active issue.
        match event {
            Some(Event::Opened { issue, failures }) => {
                assert_eq!((tracker.issue(), next.issue()), (None, Some(issue)), "{said}");
                assert_eq!((issue, down), (new, true), "{said}");
                assert!(failures.streak >= policy.open_after, "{said}");
            }
            Some(Event::Resolved { issue, .. }) => {
                assert_eq!((tracker.issue(), next.issue()), (Some(issue), None), "{said}");
                assert!(!down && matches!(next.phase, Phase::Up { .. }), "{said}");
            }
            None => assert_eq!(tracker.issue(), next.issue(), "{said}"),
        }

        // The first failure and the first success are kept; counts rise by one.
        match (tracker.failures(), next.failures()) {
            (Some(before), Some(after)) if down => {
                assert_eq!((before.first, slot), (after.first, after.last), "{said}");
                assert_eq!(after.streak.get(), before.streak.get() + 1, "{said}");
            }
            (Some(before), Some(after)) => assert_eq!(before, after, "{said}"),
            (None, Some(after)) => assert_eq!(after, Failures::start(slot), "{said}"),
            (Some(_), None) => assert!(!down, "{said}"),
            (None, None) => assert!(!down, "{said}"),
        }
        if let Phase::Recovering { since: before, streak: fewer, .. } = tracker.phase {
            match next.phase {
                Phase::Recovering { since, streak, .. } => {
                    assert_eq!((since, streak.get()), (before, fewer.get() + 1), "{said}");
                }
                Phase::Up { since } => assert_eq!(since, before, "{said}"),
                _ => assert!(down, "{said}"),
            }
        }

        // No phase stays at or above its threshold.
        match next.phase {
            Phase::Failing { failures, .. } => {
                assert!(failures.streak < policy.open_after, "{said}");
            }
            Phase::Recovering { streak, .. } => assert!(streak < policy.resolve_after, "{said}"),
            Phase::Pending => panic!("nothing leads back to the beginning: {said}"),
            Phase::Up { .. } | Phase::Down { .. } => {}
        }
    }

    fn thresholds() -> impl Strategy<Value = TrackerPolicy> {
        let threshold = || prop_oneof![9 => 1_u32..5, 1 => 1_u32..=2_147_483_647];
        (threshold(), threshold()).prop_map(|(open, resolve)| policy(open, resolve))
    }

    proptest! {
        /// After every event, the tracker agrees with the sequence of observations. Thresholds may change before any
        /// observation, slots may come twice or late, and the tracker may go through its stored form at any time.
        #[test]
        fn the_tracker_agrees_with_the_stored_issue(
            row in prop::collection::vec((0_i64..3, any::<bool>(), thresholds(), any::<bool>(), 0_u8..20), 0..60),
        ) {
            let mut tracker = Tracker::default();
            let mut story = Story::default();
            let mut second = 0;
            let mut opened = false;
            for (number, (forward, down, policy, reload, by_hand)) in (1_u128..).zip(row) {
                if reload {
                    let stored = serde_json::to_string(&tracker).expect("json");
                    prop_assert_eq!(serde_json::from_str::<Tracker>(&stored).expect("readable"), tracker);
                }
                if by_hand == 0 && tracker.issue().is_some() {
                    tracker = resolve_by_hand(&tracker);
                    story = Story::default();
                    opened = false;
                }
                second += forward;
                let late = tracker.last_slot.is_some_and(|last| at(second) <= last);
                match step(&tracker, &policy, at(second), down, id(number)) {
                    Step::Stale => prop_assert!(late),
                    Step::Advanced { next, event } => {
                        prop_assert!(!late);
                        prop_assert_eq!(event, story.tell(&policy, at(second), down, id(number)));
                        match event {
                            Some(Event::Opened { .. }) => {
                                prop_assert!(!opened);
                                opened = true;
                            }
                            Some(Event::Resolved { .. }) => {
                                prop_assert!(opened);
                                opened = false;
                            }
                            None => {}
                        }
                        tracker = next;
                        prop_assert_eq!(tracker.issue(), story.open);
                        prop_assert_eq!(tracker.issue().is_some(), opened);
                    }
                }
            }
        }

        /// Thresholds are exact, however high.
        #[test]
        fn thresholds_hold_exactly(open_after in 1_u32..300, resolve_after in 1_u32..300) {
            let policy = policy(open_after, resolve_after);
            let mut tracker = Tracker::default();
            let mut second = 0;
            let mut run = |down: bool, length: u32| {
                for nth in 1..=length {
                    second += 1;
                    let event = advance(&mut tracker, &policy, second, down, id(1));
                    prop_assert_eq!(event.is_some(), nth == length, "observation {}", nth);
                }
                Ok(())
            };
            run(true, open_after)?;
            run(false, resolve_after)?;
            run(true, open_after)?;
            run(false, resolve_after)?;
        }
    }
}
