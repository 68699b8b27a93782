//! Token buckets: a number of requests at once, and then one more at a regular interval.
//!
//! A bucket is one timestamp: when it will be full again (the generic cell rate algorithm). A bucket that is full, or
//! was never used, does not need to be stored.

use jiff::{SignedDuration, Timestamp};

use crate::clock::CLOCK_SKEW;

/// A limit on how often something may happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    /// How often at once.
    pub burst: u32,
    /// How long until it may happen once more.
    pub every: SignedDuration,
}

impl RateLimit {
    /// Uses a bucket that will be full at an instant. Returns when it will be full after that.
    ///
    /// # Errors
    ///
    /// How long to wait, if the bucket is empty.
    pub fn take(
        self,
        full_at: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<Timestamp, SignedDuration> {
        let whole = self.every.saturating_mul(i32::try_from(self.burst).unwrap_or(i32::MAX));
        let missing = match full_at.map(|full_at| full_at.duration_since(now)) {
            None => SignedDuration::ZERO,
            // The clock was set back. Nobody waits until it has caught up: this use empties the bucket.
            Some(missing) if missing > whole + CLOCK_SKEW => whole - self.every,
            Some(missing) => missing.clamp(SignedDuration::ZERO, whole),
        };
        let missing = missing + self.every;
        let wait = missing.saturating_sub(whole);
        if wait.is_positive() {
            return Err(wait);
        }
        Ok(now.saturating_add(missing).unwrap_or(Timestamp::MAX))
    }
}

/// The seconds that a client is asked to wait.
pub fn retry_after(wait: SignedDuration) -> u32 {
    let seconds = wait.as_millis().div_euclid(1_000) + i128::from(wait.as_millis() % 1_000 > 0);
    u32::try_from(seconds.max(1)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: RateLimit = RateLimit { burst: 3, every: SignedDuration::from_secs(10) };

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_795_168_440 + seconds).expect("a timestamp")
    }

    /// The result of using the bucket at each of these seconds: 0, or how many seconds to wait.
    fn take(full_at: Option<Timestamp>, seconds: &[i64]) -> Vec<i64> {
        let mut full_at = full_at;
        let taken = seconds.iter().map(|second| match LIMIT.take(full_at, at(*second)) {
            Ok(next) => {
                full_at = Some(next);
                0
            }
            Err(wait) => wait.as_secs(),
        });
        taken.collect()
    }

    #[test]
    fn a_bucket_is_used_up_and_fills_one_at_a_time() {
        assert_eq!(
            take(None, &[0, 0, 0, 0, 4, 9, 10, 10, 35, 35, 35]),
            [0, 0, 0, 10, 6, 1, 0, 10, 0, 0, 5]
        );
        // It never holds more than its burst, however long it was not used.
        assert_eq!(take(Some(at(-1_000)), &[0, 0, 0, 0]), [0, 0, 0, 10]);
    }

    #[test]
    fn refused_requests_take_no_tokens() {
        assert_eq!(take(None, &[0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]).last(), Some(&0));
    }

    #[test]
    fn a_clock_that_is_set_back_empties_a_bucket_and_no_more() {
        assert_eq!(take(Some(at(1_000_000)), &[0, 0, 10]), [0, 10, 0]);
        assert_eq!(take(Some(Timestamp::MAX), &[0, 0, 10]), [0, 10, 0]);
        // The clocks of two machines differ a little.
        assert_eq!(take(Some(at(31)), &[0]), [10]);
    }

    #[test]
    fn a_request_after_retry_after_is_served() {
        for (millis, seconds) in [(1, 1), (999, 1), (1_000, 1), (1_001, 2), (30_000, 30)] {
            assert_eq!(retry_after(SignedDuration::from_millis(millis)), seconds, "{millis}");
        }
    }
}
