//! Storms: when many sites fail at once, people get a few messages and then one that names the rest.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::clock::is_ahead;

/// Messages of a kind that a window lets through one by one.
pub const SINGLES: usize = 3;
/// How long a window lasts. What it does not let through is told together at its end.
pub const WINDOW: SignedDuration = SignedDuration::from_secs(60);

/// The messages of one kind that a channel was sent lately.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// When the first of them was sent.
    since: Timestamp,
    /// How many were.
    sent: usize,
    /// Whether others wait for its end.
    collecting: bool,
}

/// How to tell what is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batching {
    /// How many of the first are told one by one.
    pub singles: usize,
    /// What happens to the others.
    pub rest: Rest,
    /// The window once these are sent.
    pub window: Option<Window>,
}

/// What happens to alerts that are not told one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rest {
    /// There are none.
    None,
    /// They are told in one message now.
    Together,
    /// They wait.
    Until(Timestamp),
}

/// Decides how `ready` alerts of one kind are told.
pub fn batch(window: Option<Window>, ready: usize, now: Timestamp) -> Batching {
    let none = Batching { singles: 0, rest: Rest::None, window };
    if ready == 0 {
        return none;
    }
    let end = |since: Timestamp| since.saturating_add(WINDOW).unwrap_or(since);
    let current = match window {
        // One that begins ahead is from before the clock was set back.
        Some(window) if now < end(window.since) && !is_ahead(window.since, now) => window,
        Some(Window { collecting: true, .. }) => {
            let window = Some(Window { since: now, sent: 1, collecting: false });
            return match ready {
                1 => Batching { singles: 1, window, ..none },
                _ => Batching { rest: Rest::Together, window, ..none },
            };
        }
        _ => Window { since: now, sent: 0, collecting: false },
    };
    let singles = ready.min(SINGLES.saturating_sub(current.sent));
    let waits = singles < ready;
    let window =
        Window { sent: current.sent + singles, collecting: current.collecting || waits, ..current };
    let rest = if waits { Rest::Until(end(current.since)) } else { Rest::None };
    Batching { singles, rest, window: Some(window) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_795_000_000 + second).expect("a timestamp")
    }

    #[test]
    fn three_are_told_one_by_one_and_the_others_together_a_minute_after_the_first() {
        let first = batch(None, 2, at(0));
        assert_eq!((first.singles, first.rest), (2, Rest::None));
        let second = batch(first.window, 5, at(10));
        assert_eq!((second.singles, second.rest), (1, Rest::Until(at(60))));
        let third = batch(second.window, 9, at(59));
        assert_eq!((third.singles, third.rest), (0, Rest::Until(at(60))));
        let end = batch(third.window, 9, at(60));
        assert_eq!((end.singles, end.rest), (0, Rest::Together));
        // The message that names them is the first of the next window.
        let next = batch(end.window, 4, at(61));
        assert_eq!((next.singles, next.rest), (2, Rest::Until(at(120))));
    }

    #[test]
    fn a_quiet_minute_ends_a_storm() {
        let first = batch(None, 3, at(0));
        let later = batch(first.window, 3, at(60));
        assert_eq!((later.singles, later.rest), (3, Rest::None));
        let idle = batch(first.window, 0, at(90));
        assert_eq!((idle.singles, idle.rest, idle.window), (0, Rest::None, first.window));
    }

    #[test]
    fn a_storm_that_a_fast_clock_saw_holds_up_nothing() {
        for ahead in [3_600, 365 * 86_400] {
            let fast = batch(None, 5, at(ahead));
            let now = batch(fast.window, 3, at(10));
            assert_eq!((now.singles, now.rest), (0, Rest::Together), "{ahead}");
        }
        let corrected = batch(batch(None, 5, at(30)).window, 3, at(0));
        assert_eq!((corrected.singles, corrected.rest), (0, Rest::Until(at(90))));
    }

    #[test]
    fn one_that_waited_alone_is_told_as_any_other() {
        let first = batch(None, 4, at(0));
        assert_eq!((first.singles, first.rest), (3, Rest::Until(at(60))));
        let end = batch(first.window, 1, at(75));
        assert_eq!((end.singles, end.rest), (1, Rest::None));
    }
}
