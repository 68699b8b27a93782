//! Limits what a browser sends to addresses other than the site's.
//!
//! A page's scripts choose which hosts a browser contacts, and how often. The browser must not become a weapon. Excess
//! requests are refused rather than delayed, because a page that waits for them would hold up the check.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Bytes a second that an address may be sent in the long run.
const BYTES_PER_SECOND: u32 = 4_096;

/// Bytes that a connection, or an attempt at one, counts as.
const CONNECTION_COST: usize = 1_024;

/// Addresses tracked. Further ones are refused until one of these has become idle.
const MAX_TRACKED: usize = 4_096;

/// What each address was sent, as the time for which that uses up the rate.
#[derive(Clone)]
pub(super) struct SendLimiter {
    /// How far ahead of the clock an address may be.
    burst: Duration,
    busy_until: Arc<Mutex<HashMap<IpAddr, Instant>>>,
}

impl SendLimiter {
    pub(super) fn new(burst: Duration) -> Self {
        Self { burst, busy_until: Arc::default() }
    }

    /// Counts a connection for each of the `addresses` that may be tried; counts nothing and
    /// returns false if one of them is exhausted.
    pub(super) fn try_reserve(&self, addresses: &[IpAddr], now: Instant) -> bool {
        let mut known = self.known();
        if known.len() + addresses.len() > MAX_TRACKED {
            known.retain(|_, busy_until| *busy_until > now);
        }
        let has_room = known.len() + addresses.len() <= MAX_TRACKED;
        let admits = |address: &IpAddr| match known.get(address) {
            Some(busy_until) => *busy_until < now + self.burst,
            None => has_room,
        };
        if !addresses.iter().all(admits) {
            return false;
        }
        for address in addresses {
            charge(&mut known, *address, CONNECTION_COST, now);
        }
        true
    }

    /// Whether `address` has been sent its limit.
    pub(super) fn is_exhausted(&self, address: IpAddr, now: Instant) -> bool {
        self.known().get(&address).is_some_and(|busy_until| *busy_until >= now + self.burst)
    }

    /// Counts bytes already sent; exceeding the limit by one buffer does not matter.
    pub(super) fn charge(&self, address: IpAddr, bytes: usize, now: Instant) {
        charge(&mut self.known(), address, bytes, now);
    }

    fn known(&self) -> MutexGuard<'_, HashMap<IpAddr, Instant>> {
        self.busy_until.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn charge(known: &mut HashMap<IpAddr, Instant>, address: IpAddr, bytes: usize, now: Instant) {
    let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
    let busy_until = known.entry(address).or_insert(now);
    *busy_until = (*busy_until).max(now) + Duration::from_secs(1) * bytes / BYTES_PER_SECOND;
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn address(number: u32) -> IpAddr {
        Ipv4Addr::from_bits(number).into()
    }

    #[test]
    fn an_address_has_enough_after_a_burst_and_more_with_time() {
        let sent = SendLimiter::new(Duration::from_secs(2));
        let now = Instant::now();
        let [one, two] = [1, 2].map(address);
        assert!(sent.try_reserve(&[one], now));
        sent.charge(one, 7 * 1_024 - 8, now);
        assert!(!sent.is_exhausted(one, now));
        sent.charge(one, 9, now);
        assert!(sent.is_exhausted(one, now) && !sent.try_reserve(&[one], now));
        assert!(!sent.try_reserve(&[two, one], now), "it may be tried");
        assert!(!sent.known().contains_key(&two), "what is refused does not count");
        let later = now + Duration::from_secs(1);
        let admitted = (0..9).filter(|_| sent.try_reserve(&[two, one], later)).count();
        assert_eq!(admitted, 4, "so much goes out in a second");
        assert!(!sent.is_exhausted(two, later));
    }

    #[test]
    fn no_address_is_contacted_beyond_those_that_are_remembered() {
        let sent = SendLimiter::new(Duration::from_secs(2));
        let now = Instant::now();
        let admitted =
            (0..10_000).filter(|&number| sent.try_reserve(&[address(number)], now)).count();
        assert_eq!(admitted, MAX_TRACKED);
        assert!(sent.try_reserve(&[address(1)], now), "one that is known");
        let rested = now + Duration::from_secs(1);
        assert!(sent.try_reserve(&[address(1_000_000)], rested));
    }
}
