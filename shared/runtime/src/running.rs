//! Whether this process runs all the time. It does not while it is stopped, or while its machine is suspended.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tokio::time::timeout;
use vedette_domain::clock::{BEAT, Pause};

/// How long the machine has run, including the time that it slept. This timer cannot be set.
pub fn running_time() -> Duration {
    // Only Linux has a timer that includes the time that a machine sleeps.
    #[cfg(target_os = "linux")]
    const TIMER: ClockId = ClockId::Boottime;
    #[cfg(not(target_os = "linux"))]
    const TIMER: ClockId = ClockId::Monotonic;
    Duration::try_from(clock_gettime(TIMER)).unwrap_or_default()
}

/// Waits for work on other machines. `None` if this process did not run for a while in the meantime: timeouts may have
/// passed and connections may have been lost because of that. The work is then abandoned.
pub async fn uninterrupted<T>(work: impl Future<Output = T> + Unpin) -> Option<T> {
    uninterrupted_by(running_time, work).await
}

async fn uninterrupted_by<T>(
    timer: impl Fn() -> Duration,
    mut work: impl Future<Output = T> + Unpin,
) -> Option<T> {
    loop {
        let began = timer();
        let done = timeout(BEAT, &mut work).await;
        if Pause::is_in(timer().saturating_sub(began)) {
            return None;
        }
        if let Ok(done) = done {
            return Some(done);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::pin::pin;

    use tokio::time::{Instant, sleep};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn work_counts_unless_the_process_stops_before_its_end() {
        let (began, stopped) = (Instant::now(), Cell::new(Duration::ZERO));
        let timer = || began.elapsed() + stopped.get();
        // The process stops for 40 seconds after so many seconds of 12.
        for (after, counts) in [(Some(0), false), (Some(5), false), (Some(12), false), (None, true)]
        {
            let work = pin!(async {
                for second in 0..=12 {
                    if after == Some(second) {
                        stopped.set(stopped.get() + Duration::from_secs(40));
                    }
                    sleep(Duration::from_secs((second < 12).into())).await;
                }
            });
            let done = uninterrupted_by(timer, work).await;
            assert_eq!(done.is_some(), counts, "{after:?}");
        }
    }
}
