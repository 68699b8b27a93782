//! The timer of a tool on a site: the one next run outside the schedule.
//!
//! It is a follow-up while an issue is active, or otherwise a retry while something fails below its threshold;
//! [`ToolPolicy::next_run`](crate::checks::policy::ToolPolicy::next_run) decides which. This module says when the run
//! is due, when its message is sent, and when redelivery looks for it.

use jiff::fmt::serde::timestamp::millisecond;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::checks::limits::LONGEST_DELAY;
use crate::checks::policy::ToolPolicy;
use crate::checks::schedule::TimeScale;
use crate::checks::tool::{RunReason, Tool};
use crate::clock::is_ahead;
use crate::id::{CheckId, SiteId};

/// If a timer is further ahead than this, the reconciler sends it, as soon as a queue can delay it that long. The limit
/// is below [`LONGEST_DELAY`], so that the reconciler has one or two runs in which to send it. A run that is saved
/// meanwhile does not know whether the message was sent, and may cause it to be sent again.
const SENT_AT_ONCE: SignedDuration = SignedDuration::from_mins(13);

/// A run outside the schedule. A tool of a site has at most one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timer {
    /// Confirmation retry or incident follow-up. `Scheduled` means the first run on a new site.
    pub reason: RunReason,
    /// When it is due, which is also the slot of its run.
    #[serde(with = "millisecond::required")]
    pub due: Timestamp,
}

impl Timer {
    /// The timer of a tool after a run at `slot`. `wanted` is the kind of the next run, and in how many monitoring
    /// minutes it should come.
    ///
    /// An outstanding timer of the wanted kind stays as it is, because scheduled runs that are more frequent than
    /// follow-ups would otherwise postpone these forever. It is set again only if it is further ahead than a new one
    /// would be: because it waited for the end of a maintenance window that ended early, or because the setting was
    /// lowered. A timer is also set again once a run at its instant or later was observed: slots must increase, so the
    /// timer's own run could no longer be counted.
    pub(crate) fn after_run(
        outstanding: Option<Self>,
        wanted: Option<(RunReason, u32)>,
        slot: Timestamp,
        now: Timestamp,
        time_scale: TimeScale,
    ) -> Option<Self> {
        let (reason, minutes) = wanted?;
        // Clocks differ. Counted from a `now` before the slot, the run could come too early to be counted.
        let due = due(now.max(slot), minutes, time_scale);
        let kept = outstanding
            .filter(|timer| timer.reason == reason && timer.due > slot && timer.due <= due);
        Some(kept.unwrap_or(Self { reason, due }))
    }

    /// The timer of a tool after a run in a maintenance window. It is due when the window ends, but not before the
    /// earliest slot at which a run after this one counts.
    pub(crate) fn at_end(
        reason: RunReason,
        end: Timestamp,
        after: Timestamp,
        time_scale: TimeScale,
    ) -> Self {
        let due = if end > after { whole_second(end) } else { due(after, 1, time_scale) };
        Self { reason, due }
    }

    /// The check of its run.
    pub fn check(self, site: SiteId, tool: Tool) -> CheckId {
        CheckId::automatic(site, tool, self.reason, self.due)
    }

    /// Whether it is due later than any run after `now` could have set it, because the clock has been set back since.
    pub(crate) fn is_too_far(
        self,
        policy: &ToolPolicy,
        time_scale: TimeScale,
        now: Timestamp,
    ) -> bool {
        let minutes = match self.reason {
            RunReason::Scheduled => Some(0),
            RunReason::ConfirmationRetry => policy.retry_minutes,
            RunReason::IncidentFollowUp => policy.follow_up_minutes,
        };
        // If the timer is no longer wanted, that is decided when it is due.
        minutes.is_some_and(|minutes| is_ahead(self.due, due(now, minutes, time_scale)))
    }

    /// Whether a queue can delay its message that long.
    pub fn fits_a_queue(self, now: Timestamp) -> bool {
        self.due.duration_since(now) <= LONGEST_DELAY
    }

    /// Whether the reconciler sends it later, when a queue can delay it that long.
    pub fn is_far(self, now: Timestamp) -> bool {
        self.due.duration_since(now) > SENT_AT_ONCE
    }

    /// When its run should have ended, or when it must be sent if that has not happened yet.
    pub fn work_due(self, tool: Tool, now: Timestamp) -> Timestamp {
        let look = if self.is_far(now) {
            self.due.saturating_sub(LONGEST_DELAY)
        } else {
            self.due.saturating_add(tool.limits().run)
        };
        look.unwrap_or(self.due)
    }
}

/// An instant some monitoring minutes later, at least one, rounded up to a whole second, which is the resolution of a
/// check's creation; at most [`Timestamp::MAX`].
fn due(from: Timestamp, minutes: u32, time_scale: TimeScale) -> Timestamp {
    let Ok(due) = from.checked_add(time_scale.minutes(minutes.max(1))) else {
        return Timestamp::MAX;
    };
    whole_second(due)
}

/// The instant rounded up to a whole second; at most [`Timestamp::MAX`].
fn whole_second(due: Timestamp) -> Timestamp {
    // Rounds up, also for instants before the epoch.
    let second = -(-due.as_nanosecond()).div_euclid(1_000_000_000);
    i64::try_from(second)
        .ok()
        .and_then(|second| Timestamp::from_second(second).ok())
        .unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;
    use std::time::Duration;

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::checks::policy::ToolPolicy;
    use crate::issues::tracker::TrackerPolicy;

    fn at(text: &str) -> Timestamp {
        text.parse().expect("a timestamp")
    }

    fn timer(reason: RunReason, due: &str) -> Timer {
        Timer { reason, due: at(due) }
    }

    /// The input that decides the timer after a run.
    #[derive(Debug, Clone, Copy)]
    struct AfterRun {
        issue_active: bool,
        failing: bool,
        outstanding: Option<Timer>,
        slot: Timestamp,
        now: Timestamp,
        retry_minutes: Option<u32>,
        follow_up_minutes: Option<u32>,
        time_scale: TimeScale,
    }

    impl AfterRun {
        fn timer(self) -> Option<Timer> {
            let policy = ToolPolicy {
                thresholds: TrackerPolicy {
                    open_after: NonZeroU32::MIN,
                    resolve_after: NonZeroU32::MIN,
                },
                retry_minutes: self.retry_minutes,
                follow_up_minutes: self.follow_up_minutes,
            };
            let wanted = policy.next_run(self.issue_active, self.failing);
            Timer::after_run(self.outstanding, wanted, self.slot, self.now, self.time_scale)
        }
    }

    /// A scheduled run at 10:00 that ends at 10:00:01.5 without a problem.
    fn run() -> AfterRun {
        AfterRun {
            issue_active: false,
            failing: false,
            outstanding: None,
            slot: at("2026-11-20T10:00:00Z"),
            now: at("2026-11-20T10:00:01.5Z"),
            retry_minutes: Some(2),
            follow_up_minutes: Some(5),
            time_scale: TimeScale::default(),
        }
    }

    #[test]
    fn the_timer_follows_the_run() {
        use RunReason::{ConfirmationRetry, IncidentFollowUp};
        let failing = AfterRun { failing: true, ..run() };
        let active = AfterRun { issue_active: true, ..run() };
        let retry = |due| timer(ConfirmationRetry, due);
        let follow_up = |due| timer(IncidentFollowUp, due);
        let with = |run: AfterRun, outstanding| AfterRun { outstanding: Some(outstanding), ..run };

        let new_retry = Some(retry("2026-11-20T10:02:02Z"));
        let new_follow_up = Some(follow_up("2026-11-20T10:05:02Z"));
        let cases = [
            ("all is well", run(), None),
            ("the first failure", failing, new_retry),
            ("an issue opens", active, new_follow_up),
            ("active goes before failing", AfterRun { failing: true, ..active }, new_follow_up),
            // Kept: a scheduled run in between does not postpone it.
            (
                "a retry to come",
                with(failing, retry("2026-11-20T10:01:00Z")),
                Some(retry("2026-11-20T10:01:00Z")),
            ),
            (
                "a follow-up to come",
                with(active, follow_up("2026-11-20T10:00:00.001Z")),
                Some(follow_up("2026-11-20T10:00:00.001Z")),
            ),
            (
                "a follow-up further away than the setting now says",
                with(active, follow_up("2026-11-20T11:00:00Z")),
                new_follow_up,
            ),
            // Used up by its own run, or by a run that its own run cannot follow any more.
            ("its own run", with(failing, retry("2026-11-20T10:00:00Z")), new_retry),
            ("its own run", with(active, follow_up("2026-11-20T10:00:00Z")), new_follow_up),
            ("overtaken", with(active, follow_up("2026-11-20T09:59:59Z")), new_follow_up),
            // A clock that is behind the clock that set the slot.
            (
                "before its slot",
                AfterRun { now: at("2026-11-20T09:55:00Z"), ..failing },
                Some(retry("2026-11-20T10:02:00Z")),
            ),
            // A timer of the other kind.
            (
                "the retry finds the issue open",
                with(active, retry("2026-11-20T10:01:00Z")),
                new_follow_up,
            ),
            (
                "failing again after a resolution by hand",
                with(failing, follow_up("2026-11-20T10:01:00Z")),
                new_retry,
            ),
            // No longer needed.
            ("recovered", with(run(), retry("2026-11-20T10:01:00Z")), None),
            ("resolved", with(run(), follow_up("2026-11-20T10:00:00Z")), None),
            // A maintenance window ended before its time.
            ("waits too long", with(failing, retry("2026-11-20T14:00:00Z")), new_retry),
            // Tools without follow-ups, or without any timer.
            ("ssl is down", AfterRun { follow_up_minutes: None, ..active }, None),
            (
                "ssl is down and about to expire",
                AfterRun { follow_up_minutes: None, failing: true, ..active },
                new_retry,
            ),
            (
                "broken links",
                AfterRun { follow_up_minutes: None, retry_minutes: None, ..failing },
                None,
            ),
        ];
        for (case, run, expected) in cases {
            assert_eq!(run.timer(), expected, "{case}");
        }
    }

    #[test]
    fn it_is_due_at_a_whole_second() {
        let due_after =
            |now: &str, minutes, time_scale| due(at(now), minutes, time_scale).to_string();
        let real = TimeScale::default();
        let fast = TimeScale::new(Duration::from_secs(1)).expect("a time scale");
        let odd = TimeScale::new(Duration::from_millis(1)).expect("a time scale");
        assert_eq!(due_after("2026-11-20T10:00:01Z", 2, real), "2026-11-20T10:02:01Z");
        assert_eq!(due_after("2026-11-20T10:00:01.000000001Z", 2, real), "2026-11-20T10:02:02Z");
        assert_eq!(due_after("2026-11-20T10:00:01.2Z", 2, fast), "2026-11-20T10:00:04Z");
        assert_eq!(due_after("2026-11-20T10:00:01Z", 2, odd), "2026-11-20T10:00:02Z");
        assert_eq!(due_after("2026-11-20T10:00:01Z", 0, real), "2026-11-20T10:01:01Z");
        assert_eq!(due_after("1969-12-31T23:58:00.5Z", 1, real), "1969-12-31T23:59:01Z");
        assert_eq!(due(Timestamp::MAX, 1, real), Timestamp::MAX);
        let day = TimeScale::new(Duration::from_secs(86_400)).expect("a time scale");
        assert_eq!(due(Timestamp::MIN, u32::MAX, day), Timestamp::MAX);
    }

    #[test]
    fn it_is_stored_in_a_stable_form() {
        let timer = timer(RunReason::IncidentFollowUp, "2026-11-20T10:05:00Z");
        let stored = json!({"reason": "incident_follow_up", "due": 1_795_169_100_000_i64});
        assert_eq!(serde_json::to_value(timer).expect("json"), stored);
        assert_eq!(serde_json::from_value::<Timer>(stored).expect("readable"), timer);
    }

    fn instants() -> impl Strategy<Value = Timestamp> {
        (0_i64..10_000).prop_map(|millis| Timestamp::from_millisecond(millis).expect("in range"))
    }

    proptest! {
        /// In every case, the remaining timer can still be observed, and is of the kind that the state asks for.
        #[test]
        fn a_timer_left_can_always_run(
            issue_active: bool,
            failing: bool,
            outstanding in prop::option::of((any::<bool>(), instants())),
            slot in instants(),
            now in instants(),
            retry_minutes in prop::option::of(0_u32..6),
            follow_up_minutes in prop::option::of(0_u32..61),
            millis in 1_u64..61_000,
        ) {
            let outstanding = outstanding.map(|(follow_up, due)| Timer {
                reason: if follow_up {
                    RunReason::IncidentFollowUp
                } else {
                    RunReason::ConfirmationRetry
                },
                due,
            });
            let time_scale = TimeScale::new(Duration::from_millis(millis)).expect("in bounds");
            let run = AfterRun {
                issue_active, failing, outstanding, slot, now, retry_minutes, follow_up_minutes, time_scale,
            };
            let timer = run.timer();
            let wanted = if issue_active && follow_up_minutes.is_some() {
                Some(RunReason::IncidentFollowUp)
            } else if failing && retry_minutes.is_some() {
                Some(RunReason::ConfirmationRetry)
            } else {
                None
            };
            prop_assert_eq!(timer.map(|timer| timer.reason), wanted);
            if let Some(timer) = timer {
                prop_assert!(timer.due > slot);
            }
            if let Some(timer) = timer.filter(|_| timer != outstanding) {
                prop_assert!(timer.due > now);
                prop_assert_eq!(timer.due.subsec_nanosecond(), 0);
            }
            // Deciding again about the same run changes nothing.
            let again = AfterRun { outstanding: timer, ..run };
            prop_assert_eq!(again.timer(), timer);
        }
    }
}
