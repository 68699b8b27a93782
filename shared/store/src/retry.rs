//! Repeats a conflicting write. All such loops are here, with how long each kind of them continues.

use std::time::{Duration, Instant};

use crate::StoreError;

/// How long an attempt is repeated. Each budget is shorter than the timeout of the process that spends it.
pub mod budget {
    use std::time::Duration;

    /// For a read that needs several items of the same moment.
    pub const READ: Duration = Duration::from_secs(5);
    /// For a write for a request, a run or an operator.
    pub const WRITE: Duration = Duration::from_secs(10);
    /// For the keys that DynamoDB leaves unprocessed in a batch.
    pub const BATCH: Duration = Duration::from_secs(10);
    /// For schedules that follow settings that keep changing.
    pub const SYNC: Duration = Duration::from_secs(30);
}

const FIRST_WAIT: Duration = Duration::from_millis(8);
const LONGEST_WAIT: Duration = Duration::from_millis(250);

/// An error that may be a conflict with another writer.
pub trait MayConflict {
    /// Whether another attempt with fresh data may succeed.
    fn is_conflict(&self) -> bool;
}

/// Makes an attempt (load, decide, save), and repeats it after a conflict until the budget is spent.
///
/// # Errors
///
/// Any error except a conflict at once; the last conflict when the budget is spent.
pub async fn retry_on_conflict<T, E, F>(
    budget: Duration,
    mut attempt: impl FnMut() -> F,
) -> Result<T, E>
where
    E: MayConflict,
    F: Future<Output = Result<T, E>>,
{
    let mut backoff = Backoff::new(budget);
    loop {
        match attempt().await {
            Err(error) => backoff.wait(error).await?,
            done => return done,
        }
    }
}

/// The waits between attempts, for a loop that keeps state from one attempt to the next. They are random and grow
/// ("full jitter"), so that many writers of one item do not collide again and again.
#[derive(Debug)]
pub struct Backoff {
    deadline: Instant,
    ceiling: Duration,
}

impl Backoff {
    /// Gives up when the budget is spent.
    pub fn new(budget: Duration) -> Self {
        Self { deadline: Instant::now() + budget, ceiling: FIRST_WAIT }
    }

    /// Waits before the next attempt. There is always a second attempt: on a machine so busy that the first one takes
    /// all the time, the second one tells a passing conflict from a permanent one.
    ///
    /// # Errors
    ///
    /// The error itself if it is not a conflict, or if the budget is spent.
    pub async fn wait<E: MayConflict>(&mut self, error: E) -> Result<(), E> {
        let is_spent = self.ceiling > FIRST_WAIT && Instant::now() >= self.deadline;
        if !error.is_conflict() || is_spent {
            return Err(error);
        }
        tokio::time::sleep(self.ceiling.mul_f64(fraction())).await;
        self.ceiling = LONGEST_WAIT.min(2 * self.ceiling);
        Ok(())
    }
}

impl MayConflict for StoreError {
    fn is_conflict(&self) -> bool {
        Self::is_conflict(self)
    }
}

/// A random number from 0 to 1.
fn fraction() -> f64 {
    // Without randomness, wait the whole time.
    getrandom::u32().map_or(1.0, |random| f64::from(random) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[tokio::test]
    async fn conflicts_are_retried_within_the_budget_and_once_in_any_case() {
        for (budget, succeeds_at, attempts) in
            [(Duration::ZERO, 2, 2), (Duration::ZERO, 9, 2), (budget::WRITE, 4, 4)]
        {
            let attempted = Cell::new(0);
            let outcome = retry_on_conflict(budget, || async {
                attempted.set(attempted.get() + 1);
                if attempted.get() < succeeds_at { Err(StoreError::STALE) } else { Ok(()) }
            });
            assert_eq!(outcome.await.is_ok(), attempts == succeeds_at);
            assert_eq!(attempted.get(), attempts);
        }
    }

    #[tokio::test]
    async fn other_errors_are_not_retried() {
        let attempted = Cell::new(0);
        let outcome: Result<(), _> = retry_on_conflict(budget::WRITE, || async {
            attempted.set(attempted.get() + 1);
            Err(StoreError::unavailable("closed"))
        })
        .await;
        assert!(outcome.is_err());
        assert_eq!(attempted.get(), 1);
    }
}
