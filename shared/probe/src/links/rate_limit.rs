//! Rate limits shared by all crawls of a process, by IP address.
//!
//! Anyone with a site chooses what is crawled, and may have several sites, and several names for
//! the same machine. So a request counts for the address that it is sent to, whichever crawl sends
//! it. It counts for that address only: otherwise, anyone who lists somebody else's address under
//! their own name could use up its permits without sending it anything. No crawl gets more than
//! half of an address's permits.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep_until, timeout_at};

/// Addresses tracked before idle ones are dropped.
const MAX_TRACKED: usize = 1_024;

/// How fast hosts may be sent requests.
#[derive(Debug, Clone, Copy)]
pub(super) struct RateLimits {
    /// Concurrent requests to an address: twice what one crawl sends its own site.
    pub(super) in_flight: usize,
    /// Of these, requests by crawls of other sites.
    pub(super) in_flight_external: usize,
    /// How long such a request waits for a permit; meanwhile it keeps others of its crawl waiting.
    pub(super) max_wait: Duration,
    /// The average time between two such requests to an address.
    pub(super) interval: Duration,
    /// Requests that may be sent at once after a pause.
    pub(super) burst: u32,
    /// The time between two requests of one crawl to an external host.
    pub(super) pause: Duration,
}

impl Default for RateLimits {
    fn default() -> Self {
        Self {
            in_flight: 32,
            in_flight_external: 4,
            max_wait: Duration::from_secs(2),
            interval: Duration::from_millis(100),
            burst: 10,
            pause: Duration::from_millis(150),
        }
    }
}

/// Limits the requests of all crawls of a process to each address. One per process.
#[derive(Default)]
pub struct CrawlLimiter {
    limits: RateLimits,
    addresses: Mutex<HashMap<IpAddr, AddressState>>,
}

/// What one crawl may send to each address.
pub(super) struct CrawlQuota<'a> {
    limiter: &'a CrawlLimiter,
    /// At most one per link.
    semaphores: Mutex<HashMap<IpAddr, Semaphores>>,
}

/// The permits of an address.
#[derive(Clone)]
struct Semaphores {
    all: Arc<Semaphore>,
    external: Arc<Semaphore>,
}

struct AddressState {
    semaphores: Semaphores,
    /// When the requests so far will have used up their share of time.
    busy_until: Instant,
}

/// Permission for one request to an address, held while the request is in flight.
pub(super) struct Permit {
    _permits: Vec<OwnedSemaphorePermit>,
}

impl CrawlLimiter {
    #[cfg(test)]
    pub(super) fn with_limits(limits: RateLimits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// The time between two requests of one crawl to an external host.
    pub(super) const fn pause(&self) -> Duration {
        self.limits.pause
    }

    /// The quota of a new crawl.
    pub(super) fn quota(&self) -> CrawlQuota<'_> {
        CrawlQuota { limiter: self, semaphores: Mutex::default() }
    }

    fn with<T>(&self, address: IpAddr, work: impl FnOnce(&mut AddressState) -> T) -> T {
        let mut addresses = self.addresses.lock().unwrap_or_else(PoisonError::into_inner);
        if addresses.len() >= MAX_TRACKED && !addresses.contains_key(&address) {
            let now = Instant::now();
            addresses.retain(|_, known| !known.is_idle(now));
        }
        work(addresses.entry(address).or_insert_with(|| AddressState {
            semaphores: Semaphores::new(self.limits.in_flight, self.limits.in_flight_external),
            busy_until: Instant::now(),
        }))
    }
}

impl CrawlQuota<'_> {
    /// Waits for permission to send a request to `address`; `own` says whether it is the site's
    /// own. An external request waits only for a moment: `None` if it gets no permit in time.
    pub(super) async fn acquire(&self, address: IpAddr, own: bool) -> Option<Permit> {
        let CrawlLimiter { limits, .. } = self.limiter;
        let half = |permits: usize| permits.div_ceil(2);
        let of_crawl = {
            let mut semaphores = self.semaphores.lock().unwrap_or_else(PoisonError::into_inner);
            let new = || Semaphores::new(half(limits.in_flight), half(limits.in_flight_external));
            semaphores.entry(address).or_insert_with(new).clone()
        };
        let of_all = self.limiter.with(address, |known| known.semaphores.clone());
        // The crawl's own permits first, so that waiting for them blocks no other crawl.
        if own {
            let permits = vec![permit(of_crawl.all).await, permit(of_all.all).await];
            return Some(Permit { _permits: permits.into_iter().flatten().collect() });
        }
        let until = Instant::now() + limits.max_wait;
        let permits = async {
            [
                permit(of_crawl.external).await,
                permit(of_all.external).await,
                permit(of_all.all).await,
            ]
        };
        let permits = timeout_at(until, permits).await.ok()?.into_iter().flatten().collect();
        let now = Instant::now();
        let start = self.limiter.with(address, |known| known.reserve(now, until, limits))?;
        sleep_until(start).await;
        Some(Permit { _permits: permits })
    }
}

/// Waits for a permit. Never `None`, as the semaphores are never closed.
async fn permit(semaphore: Arc<Semaphore>) -> Option<OwnedSemaphorePermit> {
    semaphore.acquire_owned().await.ok()
}

impl Semaphores {
    fn new(all: usize, external: usize) -> Self {
        Self { all: Arc::new(Semaphore::new(all)), external: Arc::new(Semaphore::new(external)) }
    }
}

impl AddressState {
    /// Reserves the next start of a request; `None` if that is later than `until`.
    fn reserve(&mut self, now: Instant, until: Instant, limits: &RateLimits) -> Option<Instant> {
        let ahead = limits.interval * limits.burst.saturating_sub(1);
        let start = self.busy_until.checked_sub(ahead).map_or(now, |start| start.max(now));
        if start > until.max(now) {
            return None;
        }
        self.busy_until = self.busy_until.max(now) + limits.interval;
        Some(start)
    }

    /// Whether nothing is in flight, waiting, or still counted.
    fn is_idle(&self, now: Instant) -> bool {
        [&self.semaphores.all, &self.semaphores.external]
            .iter()
            .all(|semaphore| Arc::strong_count(semaphore) == 1)
            && self.busy_until <= now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESS: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    /// Without any waiting.
    fn hasty() -> RateLimits {
        RateLimits { max_wait: Duration::ZERO, interval: Duration::ZERO, ..RateLimits::default() }
    }

    #[test]
    fn some_requests_follow_at_once_and_the_others_at_intervals_while_they_can_be_waited_for() {
        let limits =
            RateLimits { burst: 3, interval: Duration::from_millis(100), ..RateLimits::default() };
        let mut address =
            AddressState { semaphores: Semaphores::new(1, 1), busy_until: Instant::now() };
        let now = address.busy_until;
        let mut starts = |now: Instant, count| -> Vec<_> {
            let until = now + Duration::from_millis(300);
            (0..count)
                .map(|_| Some((address.reserve(now, until, &limits)? - now).as_millis()))
                .collect()
        };
        let at = [Some(0), Some(0), Some(0), Some(100), Some(200), Some(300), None, None];
        assert_eq!(starts(now, 8), at);
        let later = now + Duration::from_millis(600);
        assert_eq!(starts(later, 4), at[..4], "after a rest, and none counts that did not wait");
    }

    #[tokio::test]
    async fn no_crawl_has_the_last_place_at_an_address() {
        let limiter = CrawlLimiter::with_limits(hasty());
        let (one, other) = (limiter.quota(), limiter.quota());
        let mut permits = Vec::new();
        for _ in 0..2 {
            permits.push(one.acquire(ADDRESS, false).await.expect("a place"));
        }
        assert!(one.acquire(ADDRESS, false).await.is_none());
        permits.push(other.acquire(ADDRESS, false).await.expect("a place"));
        // Its own site, under any name.
        for _ in 0..16 {
            permits.push(one.acquire(ADDRESS, true).await.expect("a place"));
        }
        let further = tokio::time::timeout(Duration::from_millis(20), one.acquire(ADDRESS, true));
        assert!(further.await.is_err());
        permits.push(other.acquire(ADDRESS, true).await.expect("a place"));
    }

    #[tokio::test]
    async fn crawls_share_the_places_at_an_address() {
        let limiter = CrawlLimiter::with_limits(hasty());
        let shares: Vec<_> = (0..3).map(|_| limiter.quota()).collect();
        let mut permits = Vec::new();
        for share in &shares[..2] {
            for _ in 0..2 {
                permits.push(share.acquire(ADDRESS, false).await.expect("a place"));
            }
        }
        assert!(shares[2].acquire(ADDRESS, false).await.is_none());
        permits.pop();
        assert!(shares[2].acquire(ADDRESS, false).await.is_some());
    }

    #[tokio::test]
    async fn requests_from_elsewhere_are_paced_and_those_of_the_site_are_not() {
        let limiter = CrawlLimiter::with_limits(RateLimits {
            interval: Duration::from_secs(3_600),
            burst: 2,
            ..hasty()
        });
        let share = limiter.quota();
        let mut permits = Vec::new();
        for own in [false, false, false, true] {
            permits.push(share.acquire(ADDRESS, own).await.is_some());
        }
        assert_eq!(permits, [true, true, false, true]);
    }

    #[tokio::test]
    async fn addresses_at_rest_are_let_go() {
        let limiter = CrawlLimiter::default();
        for number in 0..2 * MAX_TRACKED as u32 {
            limiter.quota().acquire(IpAddr::V4(number.into()), true).await;
        }
        assert!(limiter.addresses.lock().expect("no panic").len() <= MAX_TRACKED);
    }
}
