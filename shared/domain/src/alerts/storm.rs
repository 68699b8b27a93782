//! Storms: when many sites fail at once, people get a few messages, and then one a minute, which names as many of the
//! other sites as fit.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::clock::is_ahead;

/// How many messages of a kind a window lets through one by one.
pub(crate) const SINGLES: usize = 3;
/// How long a window lasts. The remaining messages are combined into one at its end.
pub const WINDOW: SignedDuration = SignedDuration::from_secs(60);

/// The messages of one kind that a channel was sent lately.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// When the first of them was sent.
    since: Timestamp,
    /// How many were sent.
    sent: usize,
    /// Whether others wait for the window's end.
    collecting: bool,
    /// Whether some of these did not fit into the last message.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    continues: bool,
}

impl Window {
    /// When it ends.
    pub fn end(self) -> Timestamp {
        self.since.saturating_add(WINDOW).unwrap_or(self.since)
    }

    /// The window after a message that did not have room for everything. The rest waits for its end.
    #[must_use]
    pub(crate) const fn left_some(self) -> Self {
        Self { collecting: true, continues: true, ..self }
    }
}

/// How to send the alerts that are ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Batching {
    /// How many of the first alerts are sent one by one.
    pub(crate) singles: usize,
    /// What happens to the other alerts.
    pub(crate) rest: Rest,
    /// The window after these were sent.
    pub(crate) window: Option<Window>,
}

/// What happens to alerts that are not sent one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rest {
    /// There are none.
    None,
    /// They go into one message now, as far as they fit; see [`Window::left_some`].
    Together {
        /// Whether the message before it did not have room for all of them.
        continues: bool,
    },
    /// They wait.
    Until(Timestamp),
}

/// Decides how `ready` alerts of one kind are sent.
pub(crate) fn batch(window: Option<Window>, ready: usize, now: Timestamp) -> Batching {
    let none = Batching { singles: 0, rest: Rest::None, window };
    if ready == 0 {
        return none;
    }
    let begun = Window { since: now, sent: 0, collecting: false, continues: false };
    let current = match window {
        // A window that begins in the future is from before the clock was set back.
        Some(window) if now < window.end() && !is_ahead(window.since, now) => window,
        Some(Window { collecting: true, continues, .. }) => {
            let window = Some(Window { sent: 1, ..begun });
            return match ready {
                1 => Batching { singles: 1, window, ..none },
                _ => Batching { rest: Rest::Together { continues }, window, ..none },
            };
        }
        _ => begun,
    };
    let singles = ready.min(SINGLES.saturating_sub(current.sent));
    let waits = singles < ready;
    let window =
        Window { sent: current.sent + singles, collecting: current.collecting || waits, ..current };
    let rest = if waits { Rest::Until(current.end()) } else { Rest::None };
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
        assert_eq!((end.singles, end.rest), (0, Rest::Together { continues: false }));
        // The message that names them is the first of the next window.
        let next = batch(end.window, 4, at(61));
        assert_eq!((next.singles, next.rest), (2, Rest::Until(at(120))));
    }

    #[test]
    fn alerts_beyond_the_size_of_a_message_follow_a_minute_later() {
        let first = batch(None, 200, at(0));
        let end = batch(first.window, 197, at(60));
        assert_eq!(end.rest, Rest::Together { continues: false });
        let window = end.window.expect("a window").left_some();
        assert_eq!(window.end(), at(120));
        // Alerts that arise meanwhile are sent one by one, as far as a window allows.
        let meanwhile = batch(Some(window), 4, at(70));
        assert_eq!((meanwhile.singles, meanwhile.rest), (2, Rest::Until(at(120))));
        let next = batch(meanwhile.window, 149, at(120));
        assert_eq!((next.singles, next.rest), (0, Rest::Together { continues: true }));
        let last = batch(next.window.map(Window::left_some), 1, at(180));
        assert_eq!((last.singles, last.rest), (1, Rest::None));
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
            assert_eq!(
                (now.singles, now.rest),
                (0, Rest::Together { continues: false }),
                "{ahead}"
            );
        }
        let corrected = batch(batch(None, 5, at(30)).window, 3, at(0));
        assert_eq!((corrected.singles, corrected.rest), (0, Rest::Until(at(90))));
    }

    #[test]
    fn a_single_alert_that_waited_is_sent_as_usual() {
        let first = batch(None, 4, at(0));
        assert_eq!((first.singles, first.rest), (3, Rest::Until(at(60))));
        let end = batch(first.window, 1, at(75));
        assert_eq!((end.singles, end.rest), (1, Rest::None));
    }
}
