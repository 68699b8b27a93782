//! What all crawls of a process ask of one address.
//!
//! Anyone with a site chooses what is crawled, and can have several sites, with several names for
//! the same machine. So a request counts at the address that it is sent to, whoever's crawl it is
//! of; at that one alone, or whoever lists the address of another under a name of theirs could take
//! up its places without a word to it. And no crawl has more than half of the places at an address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep_until, timeout_at};

/// Addresses that are remembered before those at rest are let go.
const ADDRESSES: usize = 1_024;

/// How fast hosts are asked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// Requests under way at an address: twice what one crawl asks of its own site.
    pub(super) under_way: usize,
    /// Those of them that are of crawls of other sites than the one that lives there.
    pub(super) under_way_elsewhere: usize,
    /// How long a request of such a crawl waits for its turn, which keeps others of it waiting.
    pub(super) patience: Duration,
    /// The time between two requests of such crawls to an address, in the long run.
    pub(super) interval: Duration,
    /// Requests that may follow each other at once after a rest.
    pub(super) burst: u32,
    /// The time between two requests of one crawl to a host elsewhere.
    pub(super) pause: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            under_way: 32,
            under_way_elsewhere: 4,
            patience: Duration::from_secs(2),
            interval: Duration::from_millis(100),
            burst: 10,
            pause: Duration::from_millis(150),
        }
    }
}

/// Holds all crawls of a process together to what one address can be asked for. One a process.
#[derive(Default)]
pub struct Traffic {
    pace: Pace,
    addresses: Mutex<HashMap<IpAddr, Address>>,
}

/// What one crawl may ask of each address.
pub(super) struct Share<'a> {
    traffic: &'a Traffic,
    /// As many as there are links at most.
    places: Mutex<HashMap<IpAddr, Places>>,
}

/// Places at an address.
#[derive(Clone)]
struct Places {
    all: Arc<Semaphore>,
    elsewhere: Arc<Semaphore>,
}

struct Address {
    places: Places,
    /// When it will have had its share of what was asked for so far.
    busy_until: Instant,
}

/// A request's place at its address, for as long as the request is under way.
pub(super) struct Turn {
    _places: Vec<OwnedSemaphorePermit>,
}

impl Traffic {
    #[cfg(test)]
    pub(super) fn of(pace: Pace) -> Self {
        Self { pace, ..Self::default() }
    }

    /// The time between two requests of one crawl to a host elsewhere.
    pub(super) const fn pause(&self) -> Duration {
        self.pace.pause
    }

    /// For one more crawl.
    pub(super) fn share(&self) -> Share<'_> {
        Share { traffic: self, places: Mutex::default() }
    }

    fn with<T>(&self, address: IpAddr, work: impl FnOnce(&mut Address) -> T) -> T {
        let mut addresses = self.addresses.lock().unwrap_or_else(PoisonError::into_inner);
        if addresses.len() >= ADDRESSES && !addresses.contains_key(&address) {
            let now = Instant::now();
            addresses.retain(|_, known| !known.is_at_rest(now));
        }
        work(addresses.entry(address).or_insert_with(|| Address {
            places: Places::new(self.pace.under_way, self.pace.under_way_elsewhere),
            busy_until: Instant::now(),
        }))
    }
}

impl Share<'_> {
    /// Waits until a request may be sent to `address`; `own` says whether the site lives there. One
    /// that does not waits for a moment only: none where its turn does not come in time.
    pub(super) async fn turn(&self, address: IpAddr, own: bool) -> Option<Turn> {
        let Traffic { pace, .. } = self.traffic;
        let half = |places: usize| places.div_ceil(2);
        let of_crawl = {
            let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
            let new = || Places::new(half(pace.under_way), half(pace.under_way_elsewhere));
            places.entry(address).or_insert_with(new).clone()
        };
        let of_all = self.traffic.with(address, |known| known.places.clone());
        // The crawl's own places first, so that whoever waits for them holds nobody else up.
        if own {
            let places = vec![place(of_crawl.all).await, place(of_all.all).await];
            return Some(Turn { _places: places.into_iter().flatten().collect() });
        }
        let until = Instant::now() + pace.patience;
        let places = async {
            [
                place(of_crawl.elsewhere).await,
                place(of_all.elsewhere).await,
                place(of_all.all).await,
            ]
        };
        let places = timeout_at(until, places).await.ok()?.into_iter().flatten().collect();
        let now = Instant::now();
        let start = self.traffic.with(address, |known| known.reserve(now, until, pace))?;
        sleep_until(start).await;
        Some(Turn { _places: places })
    }
}

/// Waits for a place; there always comes one, as they are never closed.
async fn place(places: Arc<Semaphore>) -> Option<OwnedSemaphorePermit> {
    places.acquire_owned().await.ok()
}

impl Places {
    fn new(all: usize, elsewhere: usize) -> Self {
        Self { all: Arc::new(Semaphore::new(all)), elsewhere: Arc::new(Semaphore::new(elsewhere)) }
    }
}

impl Address {
    /// When the next request may start, which is counted; none where that is later than `until`.
    fn reserve(&mut self, now: Instant, until: Instant, pace: &Pace) -> Option<Instant> {
        let ahead = pace.interval * pace.burst.saturating_sub(1);
        let start = self.busy_until.checked_sub(ahead).map_or(now, |start| start.max(now));
        if start > until.max(now) {
            return None;
        }
        self.busy_until = self.busy_until.max(now) + pace.interval;
        Some(start)
    }

    /// Whether nothing is under way, waits, or counts any more.
    fn is_at_rest(&self, now: Instant) -> bool {
        [&self.places.all, &self.places.elsewhere]
            .iter()
            .all(|places| Arc::strong_count(places) == 1)
            && self.busy_until <= now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESS: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    /// Whoever has to wait has waited long enough.
    fn hasty() -> Pace {
        Pace { patience: Duration::ZERO, interval: Duration::ZERO, ..Pace::default() }
    }

    #[test]
    fn some_requests_follow_at_once_and_the_others_at_intervals_while_they_can_be_waited_for() {
        let pace = Pace { burst: 3, interval: Duration::from_millis(100), ..Pace::default() };
        let mut address = Address { places: Places::new(1, 1), busy_until: Instant::now() };
        let now = address.busy_until;
        let mut starts = |now: Instant, count| -> Vec<_> {
            let until = now + Duration::from_millis(300);
            (0..count)
                .map(|_| Some((address.reserve(now, until, &pace)? - now).as_millis()))
                .collect()
        };
        let at = [Some(0), Some(0), Some(0), Some(100), Some(200), Some(300), None, None];
        assert_eq!(starts(now, 8), at);
        let later = now + Duration::from_millis(600);
        assert_eq!(starts(later, 4), at[..4], "after a rest, and none counts that did not wait");
    }

    #[tokio::test]
    async fn no_crawl_has_the_last_place_at_an_address() {
        let traffic = Traffic::of(hasty());
        let (one, other) = (traffic.share(), traffic.share());
        let mut turns = Vec::new();
        for _ in 0..2 {
            turns.push(one.turn(ADDRESS, false).await.expect("a place"));
        }
        assert!(one.turn(ADDRESS, false).await.is_none());
        turns.push(other.turn(ADDRESS, false).await.expect("a place"));
        // Its own site, under whatever name.
        for _ in 0..16 {
            turns.push(one.turn(ADDRESS, true).await.expect("a place"));
        }
        let further = tokio::time::timeout(Duration::from_millis(20), one.turn(ADDRESS, true));
        assert!(further.await.is_err());
        turns.push(other.turn(ADDRESS, true).await.expect("a place"));
    }

    #[tokio::test]
    async fn crawls_share_the_places_at_an_address() {
        let traffic = Traffic::of(hasty());
        let shares: Vec<_> = (0..3).map(|_| traffic.share()).collect();
        let mut turns = Vec::new();
        for share in &shares[..2] {
            for _ in 0..2 {
                turns.push(share.turn(ADDRESS, false).await.expect("a place"));
            }
        }
        assert!(shares[2].turn(ADDRESS, false).await.is_none());
        turns.pop();
        assert!(shares[2].turn(ADDRESS, false).await.is_some());
    }

    #[tokio::test]
    async fn requests_from_elsewhere_are_paced_and_those_of_the_site_are_not() {
        let traffic =
            Traffic::of(Pace { interval: Duration::from_secs(3_600), burst: 2, ..hasty() });
        let share = traffic.share();
        let mut turns = Vec::new();
        for own in [false, false, false, true] {
            turns.push(share.turn(ADDRESS, own).await.is_some());
        }
        assert_eq!(turns, [true, true, false, true]);
    }

    #[tokio::test]
    async fn addresses_at_rest_are_let_go() {
        let traffic = Traffic::default();
        for number in 0..2 * ADDRESSES as u32 {
            traffic.share().turn(IpAddr::V4(number.into()), true).await;
        }
        assert!(traffic.addresses.lock().expect("no panic").len() <= ADDRESSES);
    }
}
