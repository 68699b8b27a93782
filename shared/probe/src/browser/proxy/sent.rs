//! What a browser sends to others than the site.
//!
//! A page's scripts choose whom a browser asks, and how often: it must not become their weapon. What
//! goes beyond is refused, as a page that waited for it would hold up the check.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Bytes that an address may be sent each second, in the long run.
const RATE: u32 = 4_096;

/// Bytes that a connection counts as, or the attempt to make one.
const CONNECTION: usize = 1_024;

/// Addresses that are remembered; those beyond are refused until one has had a rest.
const KNOWN: usize = 4_096;

/// What each address was sent, counted as the time that it has enough for.
#[derive(Clone)]
pub(super) struct Sent {
    /// How far ahead of the clock an address may be.
    burst: Duration,
    busy_until: Arc<Mutex<HashMap<IpAddr, Instant>>>,
}

impl Sent {
    pub(super) fn new(burst: Duration) -> Self {
        Self { burst, busy_until: Arc::default() }
    }

    /// Counts a connection at each of the `addresses` that may be tried for it; none where one of
    /// them has had enough.
    pub(super) fn admit(&self, addresses: &[IpAddr], now: Instant) -> bool {
        let mut known = self.known();
        if known.len() + addresses.len() > KNOWN {
            known.retain(|_, busy_until| *busy_until > now);
        }
        let has_room = known.len() + addresses.len() <= KNOWN;
        let admits = |address: &IpAddr| match known.get(address) {
            Some(busy_until) => *busy_until < now + self.burst,
            None => has_room,
        };
        if !addresses.iter().all(admits) {
            return false;
        }
        for address in addresses {
            charge(&mut known, *address, CONNECTION, now);
        }
        true
    }

    /// Whether `address` has had enough.
    pub(super) fn is_enough(&self, address: IpAddr, now: Instant) -> bool {
        self.known().get(&address).is_some_and(|busy_until| *busy_until >= now + self.burst)
    }

    /// Counts what `address` was sent already: a buffer's worth beyond the end is no matter.
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
    *busy_until = (*busy_until).max(now) + Duration::from_secs(1) * bytes / RATE;
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
        let sent = Sent::new(Duration::from_secs(2));
        let now = Instant::now();
        let [one, two] = [1, 2].map(address);
        assert!(sent.admit(&[one], now));
        sent.charge(one, 7 * 1_024 - 8, now);
        assert!(!sent.is_enough(one, now));
        sent.charge(one, 9, now);
        assert!(sent.is_enough(one, now) && !sent.admit(&[one], now));
        assert!(!sent.admit(&[two, one], now), "it may be tried");
        assert!(!sent.known().contains_key(&two), "what is refused does not count");
        let later = now + Duration::from_secs(1);
        let admitted = (0..9).filter(|_| sent.admit(&[two, one], later)).count();
        assert_eq!(admitted, 4, "so much goes out in a second");
        assert!(!sent.is_enough(two, later));
    }

    #[test]
    fn there_are_no_more_addresses_than_can_be_remembered() {
        let sent = Sent::new(Duration::from_secs(2));
        let now = Instant::now();
        let admitted = (0..10_000).filter(|&number| sent.admit(&[address(number)], now)).count();
        assert_eq!(admitted, KNOWN);
        assert!(sent.admit(&[address(1)], now), "one that is known");
        let rested = now + Duration::from_secs(1);
        assert!(sent.admit(&[address(1_000_000)], rested));
    }
}
