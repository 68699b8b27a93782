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

    /// Waits before the next try. There is always a second one: on a machine so busy that the first
    /// takes all the time, it is what tells a conflict with others from one that stays.
    ///
    /// # Errors
    ///
    /// The error itself, where it is not a conflict or the patience has run out.
    pub async fn wait(&mut self, error: StoreError) -> Result<(), StoreError> {
        let is_over = self.tries > 0 && Instant::now() >= self.deadline;
        if !error.is_conflict() || is_over {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn there_is_always_a_second_try() {
        let conflict = || StoreError::Conflict { failed: Vec::new() };
        let mut backoff = Backoff::new(Duration::ZERO);
        assert!(backoff.wait(conflict()).await.is_ok());
        assert!(backoff.wait(conflict()).await.is_err());
        let unavailable = StoreError::Unavailable("closed".to_owned());
        assert!(Backoff::new(Duration::from_secs(1)).wait(unavailable).await.is_err());
    }
}
