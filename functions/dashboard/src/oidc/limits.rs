//! Limits how often strangers can make us call the OpenID provider. The counts are kept in the process, so that
//! strangers cause no writes.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};
use vedette_domain::rate_limit::RateLimit;
use vedette_domain::source::Source;

/// The limit for answers of the provider from all sources.
const ALL: RateLimit = RateLimit { burst: 60, every: SignedDuration::from_secs(1) };

/// The limit for each source.
const OF_SOURCE: RateLimit = RateLimit { burst: 10, every: SignedDuration::from_secs(5) };

/// How long no requests go to the provider after it failed.
pub(super) const REST: SignedDuration = SignedDuration::from_secs(10);

/// How often the provider was called, and whether it is left alone after a failure.
#[derive(Debug, Default)]
pub(super) struct Limits(Mutex<Buckets>);

#[derive(Debug, Default)]
struct Buckets {
    all: Option<Timestamp>,
    of_sources: HashMap<Source, Timestamp>,
    rests_until: Option<Timestamp>,
}

impl Limits {
    /// Counts an answer from a source before it is processed.
    ///
    /// # Errors
    ///
    /// How long to wait, if the source or all sources have reached their limit.
    pub(super) fn take(&self, source: Source, now: Timestamp) -> Result<(), SignedDuration> {
        let mut buckets = self.buckets();
        let of_source = OF_SOURCE.take(buckets.of_sources.get(&source).copied(), now)?;
        buckets.all = Some(ALL.take(buckets.all, now)?);
        // Full buckets carry no information, so there are never more than the first limit allows in a minute or two.
        buckets.of_sources.retain(|_, full_at| now < *full_at);
        buckets.of_sources.insert(source, of_source);
        Ok(())
    }

    /// Sends no requests to the provider for a while.
    pub(super) fn rest(&self, now: Timestamp) {
        self.buckets().rests_until = now.saturating_add(REST).ok();
    }

    /// Whether the provider is left alone after a failure.
    pub(super) fn is_resting(&self, now: Timestamp) -> bool {
        let until = self.buckets().rests_until;
        // If the wait looks longer than `REST`, the clock was set back.
        until.is_some_and(|until| (now < until) && until.duration_since(now) <= REST)
    }

    fn buckets(&self) -> MutexGuard<'_, Buckets> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;

    #[test]
    fn a_source_has_a_few_and_all_sources_together_some_more() {
        let limits = Limits::default();
        let start: Timestamp = "2026-11-20T09:54:00Z".parse().expect("a timestamp");
        let source = |number: u8| Source::of(IpAddr::V4(Ipv4Addr::new(203, 0, 113, number)));
        let ask = |number, seconds| {
            limits.take(source(number), start + SignedDuration::from_secs(seconds))
        };
        for _ in 0..10 {
            assert_eq!(ask(1, 0), Ok(()));
        }
        assert_eq!(ask(1, 0), Err(SignedDuration::from_secs(5)));
        assert_eq!(ask(1, 5), Ok(()));
        // Five seconds have given back five of the sixty.
        for number in 0..54 {
            assert_eq!(ask(2 + number % 6, 5), Ok(()), "{number}");
        }
        assert_eq!(ask(9, 5), Err(SignedDuration::from_secs(1)));
        assert_eq!(ask(9, 6), Ok(()));
        assert_eq!(limits.buckets().of_sources.len(), 8);
        assert_eq!(ask(9, 600), Ok(()));
        assert_eq!(limits.buckets().of_sources.len(), 1, "what is full is forgotten");
    }

    #[test]
    fn a_provider_that_failed_rests_for_ten_seconds() {
        let limits = Limits::default();
        let failed: Timestamp = "2026-11-20T09:54:00Z".parse().expect("a timestamp");
        assert!(!limits.is_resting(failed));
        limits.rest(failed);
        for (seconds, is_resting) in [(0, true), (9, true), (10, false), (-3_600, false)] {
            let now = failed + SignedDuration::from_secs(seconds);
            assert_eq!(limits.is_resting(now), is_resting, "{seconds}");
        }
    }
}
