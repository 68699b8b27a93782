//! Rate limits shared by all crawls of a process, by IP address.
//!
//! Anyone with a site chooses what is crawled, and may have several sites, and several names for
//! the same machine. So a request counts for the address that it is sent to, whichever crawl sends
//! it. It counts for that address only: otherwise, anyone who lists somebody else's address under
//! their own name could use up its permits without sending it anything. The crawls of one team
//! together get no more than half of an address's permits, and requests that wait take turns.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep_until, timeout_at};
use vedette_domain::id::TeamId;

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
    /// The team whose crawls use this; `None` outside a service.
    team: Option<TeamId>,
    addresses: Arc<Mutex<HashMap<IpAddr, AddressState>>>,
}

/// The permits of an address.
#[derive(Clone)]
struct Semaphores {
    all: Arc<Semaphore>,
    external: Arc<Semaphore>,
}

struct AddressState {
    of_all: Semaphores,
    /// Those of the teams that crawl now.
    of_teams: HashMap<Option<TeamId>, Semaphores>,
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

    /// The same limits for the crawls of a team, which share half of an address's permits.
    #[must_use]
    pub fn of_team(&self, team: Option<TeamId>) -> Self {
        Self { limits: self.limits, team, addresses: Arc::clone(&self.addresses) }
    }

    fn with<T>(&self, address: IpAddr, work: impl FnOnce(&mut AddressState) -> T) -> T {
        let mut addresses = self.addresses.lock().unwrap_or_else(PoisonError::into_inner);
        if addresses.len() >= MAX_TRACKED && !addresses.contains_key(&address) {
            let now = Instant::now();
            addresses.retain(|_, known| !known.is_idle(now));
        }
        work(addresses.entry(address).or_insert_with(|| AddressState::new(&self.limits)))
    }

    /// Waits for permission to send a request to `address`; `own` says whether it is the site's
    /// own. An external request waits only for a moment: `None` if it gets no permit in time.
    pub(super) async fn acquire(&self, address: IpAddr, own: bool) -> Option<Permit> {
        let limits = &self.limits;
        let (of_team, of_all) =
            self.with(address, |known| (known.of_team(self.team, limits), known.of_all.clone()));
        // The team's own permits first, so that waiting for them blocks no other team.
        if own {
            let permits = vec![permit(of_team.all).await, permit(of_all.all).await];
            return Some(Permit { _permits: permits.into_iter().flatten().collect() });
        }
        let until = Instant::now() + limits.max_wait;
        let permits = async {
            [
                permit(of_team.external).await,
                permit(of_all.external).await,
                permit(of_all.all).await,
            ]
        };
        let permits = timeout_at(until, permits).await.ok()?.into_iter().flatten().collect();
        let now = Instant::now();
        let start = self.with(address, |known| known.reserve(now, until, limits))?;
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

    /// Whether nobody holds a permit, or waits for one.
    fn is_idle(&self) -> bool {
        [&self.all, &self.external].iter().all(|semaphore| Arc::strong_count(semaphore) == 1)
    }
}

impl AddressState {
    fn new(limits: &RateLimits) -> Self {
        Self {
            of_all: Semaphores::new(limits.in_flight, limits.in_flight_external),
            of_teams: HashMap::new(),
            busy_until: Instant::now(),
        }
    }

    /// The permits of a team: half of all.
    fn of_team(&mut self, team: Option<TeamId>, limits: &RateLimits) -> Semaphores {
        self.of_teams.retain(|_, permits| !permits.is_idle());
        let half = |permits: usize| permits.div_ceil(2);
        let new = || Semaphores::new(half(limits.in_flight), half(limits.in_flight_external));
        self.of_teams.entry(team).or_insert_with(new).clone()
    }

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
        self.of_all.is_idle()
            && self.of_teams.values().all(Semaphores::is_idle)
            && self.busy_until <= now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESS: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn of_team(limiter: &CrawlLimiter, number: u32) -> CrawlLimiter {
        let team = TeamId::parse(&format!("0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e0{number}"));
        limiter.of_team(Some(team.expect("an id")))
    }

    /// Without any waiting.
    fn hasty() -> RateLimits {
        RateLimits { max_wait: Duration::ZERO, interval: Duration::ZERO, ..RateLimits::default() }
    }

    #[test]
    fn some_requests_follow_at_once_and_the_others_at_intervals_while_they_can_be_waited_for() {
        let limits =
            RateLimits { burst: 3, interval: Duration::from_millis(100), ..RateLimits::default() };
        let mut address = AddressState::new(&limits);
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
    async fn no_team_has_the_last_place_at_an_address() {
        let limiter = CrawlLimiter::with_limits(hasty());
        let (one, other) = (of_team(&limiter, 1), of_team(&limiter, 2));
        let mut permits = Vec::new();
        for _ in 0..2 {
            // Each is by another crawl.
            permits.push(of_team(&limiter, 1).acquire(ADDRESS, false).await.expect("a place"));
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
    async fn teams_share_the_places_at_an_address() {
        let limiter = CrawlLimiter::with_limits(hasty());
        let shares = [1, 2, 3].map(|team| of_team(&limiter, team));
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
        let mut permits = Vec::new();
        for own in [false, false, false, true] {
            permits.push(limiter.acquire(ADDRESS, own).await.is_some());
        }
        assert_eq!(permits, [true, true, false, true]);
    }

    #[tokio::test]
    async fn addresses_at_rest_are_let_go() {
        let limiter = CrawlLimiter::default();
        for number in 0..2 * MAX_TRACKED as u32 {
            limiter.acquire(IpAddr::V4(number.into()), true).await;
        }
        assert!(limiter.addresses.lock().expect("no panic").len() <= MAX_TRACKED);
    }
}
