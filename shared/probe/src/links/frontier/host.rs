//! How much a host is asked at a time, and when it is left alone.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// Requests under way at the site's own hosts.
const OWN_REQUESTS: usize = 16;

/// The time between two requests, one under way at a time, to the site's own hosts once they asked for
/// more rest than they can be given.
const SLOW_PAUSE: Duration = Duration::from_secs(1);

/// Requests under way at one host elsewhere, which did not ask to be checked.
const HOST_REQUESTS: usize = 2;

/// The longest rest that a host is given when it asks for one, and all its rests together.
const REST: Duration = Duration::from_secs(30);
const RESTS: Duration = Duration::from_secs(60);

/// The site's own hosts are one host here, with this index.
pub(super) const OWN: u32 = 0;

/// What is asked a few things at a time, with pauses.
#[derive(Default)]
pub(super) struct Host {
    pub(super) origins: Vec<u32>,
    /// Those of them that have something to do.
    pub(super) waiting: VecDeque<u32>,
    /// Links to it, where it is elsewhere.
    pub(super) links: u32,
    under_way: usize,
    /// Whether it is among those that have something to do.
    pub(super) is_listed: bool,
    /// When its pause is over.
    paused_until: Option<Instant>,
    /// When the rest that it asked for is over.
    rests_until: Option<Instant>,
    /// How long it rested so far.
    rested: Duration,
    /// Whether it asked for more rest than there is time for, and is asked no more.
    pub(super) is_closed: bool,
    /// Whether it is the site's own, asked for more rest than there is time for, and is asked slowly.
    pub(super) is_slow: bool,
}

impl Host {
    /// Whether something may be asked of it once its time has come.
    pub(super) fn has_room(&self, index: u32) -> bool {
        let places = match index {
            OWN if self.is_slow => 1,
            OWN => OWN_REQUESTS,
            _ => HOST_REQUESTS,
        };
        !self.waiting.is_empty() && self.under_way < places
    }

    /// Until when nothing may be asked of it, where that is not over.
    pub(super) fn not_before(&self, now: Instant) -> Option<Instant> {
        self.paused_until.max(self.rests_until).filter(|until| *until > now)
    }

    /// A request is under way; the next one starts no earlier than a pause after it.
    pub(super) fn enter(&mut self, now: Instant, pause: Duration) {
        self.under_way += 1;
        let pause = if self.is_slow { pause.max(SLOW_PAUSE) } else { pause };
        self.paused_until = Some(now + pause);
    }

    /// It is asked slowly from now on.
    pub(super) fn slow_down(&mut self, now: Instant) {
        self.is_slow = true;
        self.pause_until(now + SLOW_PAUSE);
    }

    /// Nothing is asked of it until then, which is no rest that it asked for.
    pub(super) fn pause_until(&mut self, until: Instant) {
        self.paused_until = self.paused_until.max(Some(until));
    }

    /// A request is over.
    pub(super) const fn leave(&mut self) {
        self.under_way -= 1;
    }

    /// Gives it the rest that it asks for, if that is over in time.
    pub(super) fn rest(&mut self, pause: Duration, now: Instant, deadline: Instant) -> bool {
        if pause > REST || now + pause >= deadline {
            return false;
        }
        let resting = self.rests_until.map_or(now, |until| until.max(now));
        // Requests that were under way together ask for one rest.
        let longer = (now + pause).saturating_duration_since(resting);
        if self.rested + longer > RESTS {
            return false;
        }
        self.rested += longer;
        self.rests_until = Some(resting + longer);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rests_are_bounded_alone_and_together() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut host = Host::default();
        for (now, pause, rests, until) in [
            (0, u64::MAX, false, None),
            (0, 31, false, None),
            (0, 30, true, Some(30)),
            // Asked for by others that were under way.
            (1, 10, true, Some(30)),
            (10, 25, true, Some(35)),
            (100, 26, false, None),
            (100, 25, true, Some(125)),
            (200, 1, false, None),
            (200, 0, true, None),
        ] {
            let pause = Duration::from_secs(pause);
            assert_eq!(host.rest(pause, at(now), at(1_000)), rests, "{now}");
            assert_eq!(host.not_before(at(now)), until.map(at), "{now}");
        }
        let mut host = Host::default();
        assert!(!host.rest(Duration::from_secs(9), at(0), at(9)), "not over in time");
        assert!(host.rest(Duration::from_secs(9), at(0), at(10)));
    }
}
