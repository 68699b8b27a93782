//! Limits of a host: concurrent requests, pauses and back-off.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// Concurrent requests to the site's own hosts.
const MAX_OWN_REQUESTS: usize = 16;

/// The time between two requests to the site's own hosts, one at a time, after they have asked for a longer back-off
/// than we can give.
const SLOW_PAUSE: Duration = Duration::from_secs(1);

/// Concurrent requests to one external host.
const MAX_HOST_REQUESTS: usize = 2;

/// The longest back-off that a host gets at once, and in total.
const MAX_BACKOFF: Duration = Duration::from_secs(30);
const MAX_TOTAL_BACKOFF: Duration = Duration::from_secs(60);

/// The index of the site's own hosts, which count as one.
pub(super) const OWN: u32 = 0;

/// A host and its limits.
#[derive(Default)]
pub(super) struct Host {
    pub(super) origins: Vec<u32>,
    /// Its origins that have work.
    pub(super) waiting: VecDeque<u32>,
    /// Links to it, if it is external.
    pub(super) links: u32,
    in_flight: usize,
    /// Whether it is in a queue of hosts with work.
    pub(super) is_listed: bool,
    /// When its pause ends.
    paused_until: Option<Instant>,
    /// When the back-off that it asked for ends.
    backs_off_until: Option<Instant>,
    /// Its total back-off so far.
    backed_off: Duration,
    /// Whether it asked for more back-off than there is time for, and gets no more requests.
    pub(super) is_closed: bool,
    /// Whether it is the site's own, asked for more back-off than there is time for, and is crawled
    /// slowly.
    pub(super) is_slow: bool,
}

impl Host {
    /// Whether it has work, and a free place among its concurrent requests.
    pub(super) fn has_room(&self, index: u32) -> bool {
        let places = match index {
            OWN if self.is_slow => 1,
            OWN => MAX_OWN_REQUESTS,
            _ => MAX_HOST_REQUESTS,
        };
        !self.waiting.is_empty() && self.in_flight < places
    }

    /// The end of its pause or back-off, if that is in the future.
    pub(super) fn not_before(&self, now: Instant) -> Option<Instant> {
        self.paused_until.max(self.backs_off_until).filter(|until| *until > now)
    }

    /// Counts a request. The next one starts after a pause at the earliest.
    pub(super) fn start_request(&mut self, now: Instant, pause: Duration) {
        self.in_flight += 1;
        let pause = if self.is_slow { pause.max(SLOW_PAUSE) } else { pause };
        self.paused_until = Some(now + pause);
    }

    /// Crawls it slowly from now on.
    pub(super) fn slow_down(&mut self, now: Instant) {
        self.is_slow = true;
        self.pause_until(now + SLOW_PAUSE);
    }

    /// Pauses it, without counting that as back-off.
    pub(super) fn pause_until(&mut self, until: Instant) {
        self.paused_until = self.paused_until.max(Some(until));
    }

    /// Ends a request.
    pub(super) const fn release(&mut self) {
        self.in_flight -= 1;
    }

    /// Backs off for as long as the host asks. Returns false if that would end too late.
    pub(super) fn back_off(&mut self, pause: Duration, now: Instant, deadline: Instant) -> bool {
        if pause > MAX_BACKOFF || now + pause >= deadline {
            return false;
        }
        let resting = self.backs_off_until.map_or(now, |until| until.max(now));
        // Concurrent requests that are all refused ask for the same back-off.
        let longer = (now + pause).saturating_duration_since(resting);
        if self.backed_off + longer > MAX_TOTAL_BACKOFF {
            return false;
        }
        self.backed_off += longer;
        self.backs_off_until = Some(resting + longer);
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
            // Requested by others that were in progress.
            (1, 10, true, Some(30)),
            (10, 25, true, Some(35)),
            (100, 26, false, None),
            (100, 25, true, Some(125)),
            (200, 1, false, None),
            (200, 0, true, None),
        ] {
            let pause = Duration::from_secs(pause);
            assert_eq!(host.back_off(pause, at(now), at(1_000)), rests, "{now}");
            assert_eq!(host.not_before(at(now)), until.map(at), "{now}");
        }
        let mut host = Host::default();
        assert!(!host.back_off(Duration::from_secs(9), at(0), at(9)), "not over in time");
        assert!(host.back_off(Duration::from_secs(9), at(0), at(10)));
    }
}
