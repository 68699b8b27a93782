//! Wrong clocks: how much clocks may differ, and what happens after one has jumped.
//!
//! A stored instant that is further ahead than clocks may differ was written before the clock was set back. Code that
//! reads such an instant must not wait for it: see [`is_ahead`]. Anything that a fast clock deletes is gone for good,
//! so nothing expires while there is [`ClockRecord::doubt`].

use std::time::Duration;

use jiff::fmt::serde::timestamp::millisecond;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// How much two clocks may differ, or one may be corrected at once, without any consequence.
pub const CLOCK_SKEW: SignedDuration = SignedDuration::from_secs(60);

/// How long a clock must be steady before it is trusted again after a jump.
pub(crate) const STEADY: SignedDuration = SignedDuration::from_hours(24);

/// How long a service may be stopped without raising doubt about its clock. After a stop, time that has passed looks
/// the same as a clock that was set forward. If the stop was no longer than a day, at most a day of history is at risk.
const LONGEST_STOP: SignedDuration = SignedDuration::from_hours(24);

/// How often a process that waits looks whether it has run.
pub const BEAT: Duration = Duration::from_secs(1);
/// A process that does not run for less than this is busy rather than stopped.
const PAUSE_MIN: Duration = Duration::from_secs(5);
/// How many pauses are remembered.
const PAUSES_MAX: usize = 100;

/// A time in which a service did not run, so nothing was checked: it was stopped, or its machine was suspended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pause {
    /// When it last ran.
    #[serde(with = "millisecond::required")]
    pub from: Timestamp,
    /// When it ran again.
    #[serde(with = "millisecond::required")]
    pub to: Timestamp,
}

impl Pause {
    /// Whether a process that was to wake up after a [`BEAT`], and did so after this time, did not run for a while.
    pub fn is_in(beat: Duration) -> bool {
        beat >= BEAT + PAUSE_MIN
    }

    /// How much of it lies between two instants.
    pub fn within(&self, from: Timestamp, to: Timestamp) -> SignedDuration {
        let part = self.to.min(to).duration_since(self.from.max(from));
        part.max(SignedDuration::ZERO)
    }
}

/// The latest pauses of a service, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Pauses {
    /// Increases with every write; 0 if nothing was written yet.
    pub rev: u64,
    /// The pauses.
    pub pauses: Vec<Pause>,
}

impl Pauses {
    /// Adds a pause, and forgets the oldest ones if there are too many.
    pub fn add(&mut self, pause: Pause) {
        self.pauses.push(pause);
        let excess = self.pauses.len().saturating_sub(PAUSES_MAX);
        self.pauses.drain(..excess);
    }
}

/// Whether an instant is so far ahead of `now` that a clock has been set back since it was written.
pub fn is_ahead(instant: Timestamp, now: Timestamp) -> bool {
    instant.duration_since(now) > CLOCK_SKEW
}

/// What Vedette remembers about a machine's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockRecord {
    /// Increases with every write; 0 if nothing was written yet.
    pub rev: u64,
    /// The clock's time when it was last checked.
    #[serde(with = "millisecond::required")]
    pub seen_at: Timestamp,
    /// Why the clock is not trusted, if it is not. Nothing expires meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<Doubt>,
}

/// A jump that nobody has confirmed yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Doubt {
    /// The last jump.
    pub jump: Jump,
    /// For how many seconds the clock has been steady since.
    pub steady_seconds: i64,
}

/// A clock that shows another time than it should.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Jump {
    /// The time that the clock should have shown.
    #[serde(with = "millisecond::required")]
    pub from: Timestamp,
    /// The time that it showed.
    #[serde(with = "millisecond::required")]
    pub to: Timestamp,
    /// Whether the service was stopped meanwhile. If so, a jump forward may be time that passed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub while_stopped: bool,
}

impl Jump {
    /// Whether the clock was set back.
    pub fn is_back(&self) -> bool {
        self.to < self.from
    }

    /// How far the clock has jumped.
    pub fn size(&self) -> SignedDuration {
        self.to.duration_since(self.from).abs()
    }
}

impl std::fmt::Display for Jump {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { from, to, while_stopped } = self;
        let [from, to] = [from, to].map(|at| TimeZone::UTC.to_datetime(*at));
        let [from, to] = [from, to].map(|at| at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string());
        match (self.is_back(), while_stopped) {
            (true, _) => write!(f, "The clock was set back from {from} to {to}"),
            (false, false) => write!(f, "The clock jumped forward from {from} to {to}"),
            (false, true) => write!(
                f,
                "The service was stopped from {from} to {to}, or the clock was set forward"
            ),
        }
    }
}

impl ClockRecord {
    /// The first check of a clock.
    pub const fn new(now: Timestamp) -> Self {
        Self { rev: 0, seen_at: now, doubt: None }
    }

    /// Checks the clock again. `ran` is the time since the last check by a timer that nobody can set; `None` if the
    /// service was stopped in between.
    pub fn looked(&self, now: Timestamp, ran: Option<SignedDuration>) -> (Self, Option<Jump>) {
        let from = self.seen_at.saturating_add(ran.unwrap_or_default()).unwrap_or(self.seen_at);
        let off = now.duration_since(from);
        let tolerated_forward = if ran.is_some() { CLOCK_SKEW } else { LONGEST_STOP };
        let has_jumped = off < -CLOCK_SKEW || off > tolerated_forward;
        let jump = has_jumped.then_some(Jump { from, to: now, while_stopped: ran.is_none() });
        let doubt = match jump {
            Some(jump) => Some(Doubt { jump, steady_seconds: 0 }),
            None => self.doubt.and_then(|doubt| doubt.after(ran.unwrap_or_default())),
        };
        (Self { seen_at: now, doubt, ..*self }, jump)
    }

    /// When the service did not run before it started `now`, as far as that is certain: the record was last saved
    /// before the stop, but no longer than `saved_every` before it.
    pub fn stop(&self, now: Timestamp, saved_every: Duration) -> Option<Pause> {
        let from = self.seen_at.saturating_add(saved_every).unwrap_or(self.seen_at);
        (from < now).then_some(Pause { from, to: now })
    }

    /// The record after somebody has confirmed that the clock is right; `None` if there was no doubt.
    pub fn accepted(&self) -> Option<Self> {
        self.doubt.is_some().then_some(Self { doubt: None, ..*self })
    }
}

impl Doubt {
    /// What is left of the doubt after the clock has been steady for a while longer.
    fn after(self, ran: SignedDuration) -> Option<Self> {
        let steady_seconds = self.steady_seconds.saturating_add(ran.as_secs());
        (steady_seconds < STEADY.as_secs()).then_some(Self { steady_seconds, ..self })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().expect("a timestamp")
    }

    fn seconds(seconds: i64) -> SignedDuration {
        SignedDuration::from_secs(seconds)
    }

    #[test]
    fn the_latest_pauses_are_kept_and_divided_among_days() {
        let at = |minute: i64| Timestamp::UNIX_EPOCH + SignedDuration::from_mins(minute);
        let mut pauses = Pauses::default();
        for number in 0..150 {
            pauses.add(Pause { from: at(number), to: at(number) + seconds(30) });
        }
        assert_eq!((pauses.pauses.len(), pauses.pauses[0].from), (PAUSES_MAX, at(50)));
        let pause = Pause { from: at(10), to: at(20) };
        for (from, to, minutes) in [(0, 30, 10), (0, 12, 2), (12, 15, 3), (18, 30, 2), (20, 30, 0)]
        {
            let within = pause.within(at(from), at(to));
            assert_eq!(within, SignedDuration::from_mins(minutes), "{from} to {to}");
        }
    }

    #[test]
    fn a_beat_that_takes_some_seconds_longer_is_a_pause() {
        for (millis, is_pause) in [(1_000, false), (5_900, false), (6_000, true), (60_000, true)] {
            assert_eq!(Pause::is_in(Duration::from_millis(millis)), is_pause, "{millis}");
        }
    }

    #[test]
    fn a_jump_is_what_a_clock_does_beyond_what_time_does() {
        let record = ClockRecord::new(at("2026-11-20T10:00:00Z"));
        const YEAR: i64 = 365 * 86_400;
        for (now, ran, jumps) in [
            (5, Some(5), None),
            (3_605, Some(3_605), None),
            (65, Some(5), None),
            (-55, Some(5), None),
            (66, Some(5), Some(false)),
            (-56, Some(5), Some(true)),
            (3_600, Some(5), Some(false)),
            (-3_600, Some(5), Some(true)),
            (YEAR, Some(5), Some(false)),
            (-YEAR, Some(5), Some(true)),
            // It is unknown how long it was stopped.
            (86_400, None, None),
            (86_401, None, Some(false)),
            (-60, None, None),
            (-61, None, Some(true)),
        ] {
            let now = record.seen_at + seconds(now);
            let (next, jump) = record.looked(now, ran.map(seconds));
            assert_eq!(jump.map(|jump| jump.is_back()), jumps, "{now} {ran:?}");
            assert_eq!((next.seen_at, next.doubt.map(|doubt| doubt.jump)), (now, jump));
        }
    }

    #[test]
    fn a_stop_counts_from_when_the_service_last_may_have_run() {
        let record = ClockRecord::new(at("2026-11-20T10:00:00Z"));
        for (later, lasted) in [(-60, None), (60, None), (61, Some(1)), (3_660, Some(3_600))] {
            let stop = record.stop(record.seen_at + seconds(later), Duration::from_secs(60));
            let found = stop.map(|Pause { from, to }| to.duration_since(from).as_secs());
            assert_eq!(found, lasted, "{later}");
        }
    }

    #[test]
    fn a_doubt_ends_with_a_steady_day_or_when_somebody_accepts_the_clock() {
        let record = ClockRecord::new(at("2026-11-20T10:00:00Z"));
        let (mut record, jump) = record.looked(at("2027-11-20T10:00:00Z"), Some(seconds(5)));
        assert!(jump.is_some());
        assert_eq!(record.accepted().expect("in doubt").doubt, None);
        for _ in 0..1_439 {
            (record, _) = record.looked(record.seen_at + seconds(60), Some(seconds(60)));
            // A restart adds nothing, because it is unknown whether the clock was steady meanwhile.
            (record, _) = record.looked(record.seen_at + seconds(30), None);
        }
        assert_eq!(record.doubt.map(|doubt| doubt.steady_seconds), Some(86_340));
        let (steady, _) = record.looked(record.seen_at + seconds(60), Some(seconds(60)));
        assert_eq!((steady.doubt, steady.accepted()), (None, None));
        // Another jump restarts the day.
        let (again, jump) = record.looked(record.seen_at - seconds(3_600), Some(seconds(60)));
        let doubt = again.doubt.expect("in doubt");
        assert_eq!((Some(doubt.jump), doubt.steady_seconds), (jump, 0));
    }

    #[test]
    fn a_clock_jump_is_described_in_words() {
        let [early, late] = [at("2026-11-20T10:00:00.5Z"), at("2026-11-20T11:00:00Z")];
        let told = |from, to, while_stopped| Jump { from, to, while_stopped }.to_string();
        insta::assert_snapshot!(
            [told(late, early, false), told(early, late, false), told(early, late, true)].join("\n"),
            @r"
        The clock was set back from 2026-11-20 11:00:00 UTC to 2026-11-20 10:00:00 UTC
        The clock jumped forward from 2026-11-20 10:00:00 UTC to 2026-11-20 11:00:00 UTC
        The service was stopped from 2026-11-20 10:00:00 UTC to 2026-11-20 11:00:00 UTC, or the clock was set forward
        "
        );
    }

    #[test]
    fn a_record_is_stored_in_a_stable_form() {
        let record = ClockRecord::new(at("2026-11-20T10:00:00Z"));
        let (record, _) = record.looked(at("2026-11-20T11:00:00Z"), Some(seconds(0)));
        let stored = serde_json::json!({
            "rev": 0,
            "seen_at": 1_795_172_400_000_i64,
            "doubt": {
                "jump": { "from": 1_795_168_800_000_i64, "to": 1_795_172_400_000_i64 },
                "steady_seconds": 0,
            },
        });
        assert_eq!(serde_json::to_value(record).expect("json"), stored);
        assert_eq!(serde_json::from_value::<ClockRecord>(stored).expect("readable"), record);
    }
}
