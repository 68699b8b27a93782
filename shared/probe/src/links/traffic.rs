//! What all crawls of a process ask of one address.
//!
//! Anyone with a site chooses what is crawled, and can have several sites, with several names for
//! the same machine. So a request counts at each address that it may be sent to, whoever's crawl it
//! is of.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep_until};

use crate::connect::ADDRESSES_TRIED;
use crate::guard::Target;

/// Addresses that are remembered before those at rest are let go.
const ADDRESSES: usize = 1_024;

/// How fast hosts are asked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// Requests under way at an address: more than one crawl has at its own site.
    pub(super) under_way: usize,
    /// Those of them that are of crawls of other sites than the one that lives there.
    pub(super) under_way_elsewhere: usize,
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
            under_way: 24,
            under_way_elsewhere: 4,
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

struct Address {
    all: Arc<Semaphore>,
    elsewhere: Arc<Semaphore>,
    /// When it will have had its share of what was asked for so far.
    busy_until: Instant,
}

/// A request's place at its addresses, for as long as the request is under way.
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

    /// Waits until a request may be sent to `target`; `own` says whether the site lives there.
    pub(super) async fn turn(&self, target: &Target, own: bool) -> Turn {
        let tried = target.addresses().iter().take(ADDRESSES_TRIED);
        let mut addresses: Vec<_> = tried.map(|address| address.ip().to_canonical()).collect();
        // In one order, so that no two requests wait for each other.
        addresses.sort_unstable();
        addresses.dedup();
        let mut places = Vec::with_capacity(addresses.len());
        for address in &addresses {
            let (all, elsewhere) =
                self.with(*address, |known| (Arc::clone(&known.all), Arc::clone(&known.elsewhere)));
            for semaphore in [(!own).then_some(elsewhere), Some(all)].into_iter().flatten() {
                // Never closed.
                places.extend(semaphore.acquire_owned().await.ok());
            }
        }
        if !own {
            let now = Instant::now();
            let reserve = |address| self.with(address, |known| known.reserve(now, &self.pace));
            if let Some(start) = addresses.into_iter().map(reserve).max() {
                sleep_until(start).await;
            }
        }
        Turn { _places: places }
    }

    fn with<T>(&self, address: IpAddr, work: impl FnOnce(&mut Address) -> T) -> T {
        let mut addresses = self.addresses.lock().unwrap_or_else(PoisonError::into_inner);
        if addresses.len() >= ADDRESSES && !addresses.contains_key(&address) {
            let now = Instant::now();
            addresses.retain(|_, known| !known.is_at_rest(now));
        }
        work(addresses.entry(address).or_insert_with(|| Address {
            all: Arc::new(Semaphore::new(self.pace.under_way)),
            elsewhere: Arc::new(Semaphore::new(self.pace.under_way_elsewhere)),
            busy_until: Instant::now(),
        }))
    }
}

impl Address {
    /// When the next request may start, which is counted.
    fn reserve(&mut self, now: Instant, pace: &Pace) -> Instant {
        let ahead = pace.interval * pace.burst.saturating_sub(1);
        let start = self.busy_until.checked_sub(ahead).map_or(now, |start| start.max(now));
        self.busy_until = self.busy_until.max(now) + pace.interval;
        start
    }

    /// Whether nothing is under way, waits, or counts any more.
    fn is_at_rest(&self, now: Instant) -> bool {
        [&self.all, &self.elsewhere].iter().all(|places| Arc::strong_count(places) == 1)
            && self.busy_until <= now
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::Outbound;
    use crate::loopback::guard;
    use crate::loopback::names::{Entry, NameServer};

    fn address() -> Address {
        let places = || Arc::new(Semaphore::new(1));
        Address { all: places(), elsewhere: places(), busy_until: Instant::now() }
    }

    #[test]
    fn some_requests_follow_at_once_and_the_others_at_intervals() {
        let pace = Pace { burst: 3, interval: Duration::from_millis(100), ..Pace::default() };
        let mut address = address();
        let now = address.busy_until;
        let mut starts = |now: Instant, count| -> Vec<_> {
            (0..count).map(|_| (address.reserve(now, &pace) - now).as_millis()).collect()
        };
        assert_eq!(starts(now, 6), [0, 0, 0, 100, 200, 300]);
        let later = now + Duration::from_millis(600);
        assert_eq!(starts(later, 4), [0, 0, 0, 100], "after a rest");
    }

    #[tokio::test]
    async fn each_address_of_a_target_counts() {
        let addresses = Entry::addresses(&["127.0.0.1", "127.0.0.2"]);
        let names = NameServer::start([("two.example", addresses)]).await;
        let guard = names.guard(Outbound {
            allow: vec!["127.0.0.0/8".parse().expect("a network")],
            ..Outbound::default()
        });
        let admit = async |url: &str| guard.admit(&url.parse().expect("a URL")).await.expect("in");
        let two = admit("http://two.example/").await;
        let one = admit("http://127.0.0.2:8080/").await;
        let traffic = Traffic::of(Pace { under_way_elsewhere: 1, ..Pace::default() });
        let waits = async |target, own| {
            let turn = traffic.turn(target, own);
            tokio::time::timeout(Duration::from_millis(20), turn).await.is_err()
        };
        let turn = traffic.turn(&two, false).await;
        assert!(waits(&one, false).await, "whatever the port, and the order of addresses");
        assert!(!waits(&one, true).await, "a site has more places at its own address");
        drop(turn);
        assert!(!waits(&one, false).await);
    }

    #[tokio::test]
    async fn requests_from_elsewhere_are_paced_and_those_of_the_site_are_not() {
        let guard = guard();
        let target = guard.admit(&"http://127.0.0.1/".parse().expect("a URL")).await.expect("in");
        let pace = Pace { interval: Duration::from_secs(3_600), burst: 2, ..Pace::default() };
        let traffic = Traffic::of(pace);
        let mut waits = Vec::new();
        for own in [false, false, false, true] {
            let turn = traffic.turn(&target, own);
            waits.push(tokio::time::timeout(Duration::from_millis(20), turn).await.is_err());
        }
        assert_eq!(waits, [false, false, true, false]);
    }

    #[tokio::test]
    async fn addresses_at_rest_are_let_go() {
        let guard = guard();
        let traffic = Traffic::default();
        for number in 0..2 * ADDRESSES {
            let url = format!("http://127.0.{}.{}/", number / 250, number % 250);
            let target = guard.admit(&url.parse().expect("a URL")).await.expect("in");
            traffic.turn(&target, true).await;
        }
        assert!(traffic.addresses.lock().expect("no panic").len() <= ADDRESSES);
    }
}
