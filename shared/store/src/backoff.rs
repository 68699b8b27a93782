//! Waiting between two tries of a conflicting write.

use std::time::{Duration, Instant};

use crate::StoreError;

/// Tries again after a conflict, for a bounded time, with growing random waits ("full jitter") so
/// that many writers of one item do not meet again and again.
#[derive(Debug)]
pub struct Backoff {
    deadline: Instant,
    tries: u32,
}

const FIRST_WAIT: Duration = Duration::from_millis(8);
const LONGEST_WAIT: Duration = Duration::from_millis(250);

impl Backoff {
    /// Gives up after `patience`.
    pub fn new(patience: Duration) -> Self {
        Self { deadline: Instant::now() + patience, tries: 0 }
    }

    /// Waits before the next try.
    ///
    /// # Errors
    ///
    /// The error itself, where it is not a conflict or the patience has run out.
    pub async fn wait(&mut self, error: StoreError) -> Result<(), StoreError> {
        if !error.is_conflict() || Instant::now() >= self.deadline {
            return Err(error);
        }
        let ceiling = LONGEST_WAIT.min(FIRST_WAIT * 2_u32.saturating_pow(self.tries));
        self.tries += 1;
        tokio::time::sleep(ceiling.mul_f64(fraction())).await;
        Ok(())
    }
}

/// A random number from 0 to 1.
fn fraction() -> f64 {
    // Without randomness the whole wait is as good.
    getrandom::u32().map_or(1.0, |random| f64::from(random) / f64::from(u32::MAX))
}
