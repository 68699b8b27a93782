//! Watches the machine's clock with a timer that cannot be set.
//!
//! A jump is logged, and nothing expires until the clock is confirmed. After a clock was set back, outstanding work is
//! rebuilt as at a start, because its times are too far in the future.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::time::sleep;
use tracing::{info, warn};
use vedette_domain::clock::{ClockRecord, Jump};
use vedette_runtime::health::ServiceProblem;
use vedette_runtime::{App, Clock, running_time};
use vedette_store::{Store, StoreError, unless_conflict};

use crate::background::{caught, realign};
use crate::pauses::Stopped;

/// How often the clock is checked.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// How many checks pass between two writes of the record.
const SAVE_EVERY: u32 = 12;
/// How old the record can be when the process ends; the last write takes a moment, too.
const RECORD_AGE: Duration = LOOK_EVERY.saturating_mul(SAVE_EVERY + 1);

/// The machine's clock and its timer. Clones share their state.
#[derive(Clone)]
pub(crate) struct ClockWatch {
    clock: Clock,
    timer: Timer,
    watched: Arc<Mutex<Watched>>,
    /// When the service did not run before this process started.
    pub(crate) stopped: Stopped,
}

/// How long the machine has run, including the time that it slept. This timer cannot be set.
type Timer = fn() -> Duration;

#[derive(Debug)]
struct Watched {
    record: ClockRecord,
    /// The timer at the last check.
    looked_at: Duration,
    /// A jump that has not been handled yet.
    jump: Option<Jump>,
    /// The doubt that the table has recorded.
    saved: Option<Jump>,
}

impl ClockWatch {
    /// Starts with the record of the last process.
    pub(crate) async fn begin(store: &Store, clock: Clock) -> Result<Self, StoreError> {
        Self::with_timer(store, clock, running_time).await
    }

    async fn with_timer(store: &Store, clock: Clock, timer: Timer) -> Result<Self, StoreError> {
        let (looked_at, now) = (timer(), clock.now());
        let before = store.clock().await?;
        let saved = before.and_then(|record| record.doubt).map(|doubt| doubt.jump);
        let stopped = Stopped {
            surely: before.and_then(|record| record.stop(now, RECORD_AGE)),
            perhaps: before.and_then(|record| record.stop(now, Duration::ZERO)),
        };
        let (record, jump) = match before {
            Some(before) => before.looked(now, None),
            None => (ClockRecord::new(now), None),
        };
        let watched = Watched { record, looked_at, jump, saved };
        Ok(Self { clock, timer, watched: Arc::new(Mutex::new(watched)), stopped })
    }

    fn watched(&self) -> MutexGuard<'_, Watched> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The time by which items expire; `None` while the clock is in doubt.
    pub(crate) fn confirmed_now(&self) -> Option<Timestamp> {
        let watched = self.look();
        watched.record.doubt.is_none().then_some(watched.record.seen_at)
    }

    fn look(&self) -> MutexGuard<'_, Watched> {
        let mut watched = self.watched();
        let (timer, now) = ((self.timer)(), self.clock.now());
        let ran = SignedDuration::try_from(timer.saturating_sub(watched.looked_at));
        let (record, jump) = watched.record.looked(now, Some(ran.unwrap_or_default()));
        if watched.record.doubt.is_some() && record.doubt.is_none() {
            info!("the clock has been steady for a day, and is trusted again");
        }
        watched.record = record;
        watched.looked_at = timer;
        watched.jump = jump.or(watched.jump);
        watched
    }

    /// Checks the clock for as long as the service runs.
    pub(crate) async fn run(self, app: App) {
        let mut looks = 0;
        // A process that died, or that could not write, may have left this undone.
        let mut must_rebuild = true;
        loop {
            let jump = self.look().jump.take();
            let is_back = jump.is_some_and(|jump| jump.is_back());
            let doubt = self.watched().record.doubt;
            if let Some(jump) = jump.filter(|_| is_reported(&app)) {
                // The first jump is logged with the problem.
                warn!("{jump}");
            }
            if jump.is_some() || doubt.is_some() || looks % SAVE_EVERY == 0 {
                caught("saving the state of the clock", self.save(&app.store)).await;
            }
            self.report(&app);
            must_rebuild |= is_back;
            if must_rebuild {
                let rebuilt = vedette_notifier::rebuild_waits(&app);
                must_rebuild = caught("resetting the waits of channels", rebuilt).await.is_none();
            }
            if is_back {
                realign(&app).await;
            }
            looks = looks.wrapping_add(1);
            sleep(LOOK_EVERY).await;
        }
    }

    /// Reports a jump, and its end once the clock is trusted again. A service that was stopped for a long time is not a
    /// problem; only expiry waits.
    fn report(&self, app: &App) {
        let doubt = self.watched().record.doubt.map(|doubt| doubt.jump);
        match doubt.filter(|jump| jump.is_back() || !jump.while_stopped) {
            Some(jump) => app.health.report(ServiceProblem::ClockJumped { jump }, app.clock.now()),
            None => {
                app.health
                    .report_over(|problem| matches!(problem, ServiceProblem::ClockJumped { .. }));
            }
        }
    }

    /// Saves the record, and reads whether somebody has confirmed the clock in the meantime.
    async fn save(&self, store: &Store) -> Result<(), StoreError> {
        let record = self.watched().record;
        let doubt = |record: ClockRecord| record.doubt.map(|doubt| doubt.jump);
        match store.put_clock(&record).await {
            Ok(written) => {
                let mut watched = self.watched();
                watched.record.rev = written.rev;
                watched.saved = doubt(written);
                return Ok(());
            }
            written => unless_conflict(written.map(drop))?,
        };
        let Some(stored) = store.clock().await? else { return Ok(()) };
        let mut watched = self.watched();
        watched.record.rev = stored.rev;
        // The confirmation is for the jump that the table recorded, not for a later one.
        if stored.doubt.is_none() && doubt(watched.record) == watched.saved {
            watched.record.doubt = None;
            watched.saved = None;
            info!("the operator confirmed the clock");
        }
        Ok(())
    }
}

impl fmt::Debug for ClockWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClockWatch").field("watched", &self.watched()).finish_non_exhaustive()
    }
}

fn is_reported(app: &App) -> bool {
    let ongoing = app.health.ongoing();
    ongoing.iter().any(|ongoing| matches!(ongoing.problem, ServiceProblem::ClockJumped { .. }))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

    use vedette_embedded::Database;

    use super::*;

    const NOW: i64 = 1_795_168_440;
    const HOUR: i64 = 3_600;

    /// A table, a clock that can be set, and a timer that only moves forward.
    async fn machine() -> (Store, Clock, &'static AtomicI64) {
        let database = Database::memory().expect("a database");
        let store = database.store();
        store.create_table().await.expect("a table");
        let now: &AtomicI64 = Box::leak(Box::new(AtomicI64::new(NOW)));
        let clock = Clock::from_fn(|| {
            Timestamp::from_second(now.load(Ordering::Relaxed)).expect("a timestamp")
        });
        (store, clock, now)
    }

    #[tokio::test]
    async fn nothing_expires_after_a_jump_until_it_is_accepted() {
        static TIMER: AtomicU64 = AtomicU64::new(0);
        let timer = || Duration::from_secs(TIMER.load(Ordering::Relaxed));
        let (store, clock, now) = machine().await;
        let watch = ClockWatch::with_timer(&store, clock.clone(), timer).await.expect("read");
        watch.save(&store).await.expect("saved");
        let at = |seconds| Timestamp::from_second(NOW + seconds).ok();
        assert_eq!(watch.confirmed_now(), at(0));
        now.fetch_add(60, Ordering::Relaxed);
        TIMER.fetch_add(60, Ordering::Relaxed);
        assert_eq!(watch.confirmed_now(), at(60));

        now.fetch_add(365 * 24 * HOUR, Ordering::Relaxed);
        assert_eq!(watch.confirmed_now(), None, "at once, without waiting for the next look");
        assert!(watch.look().jump.is_some_and(|jump| !jump.is_back()));
        watch.save(&store).await.expect("saved");
        // A restart does not confirm the clock.
        let again = ClockWatch::with_timer(&store, clock.clone(), timer).await.expect("read");
        assert_eq!(again.confirmed_now(), None);

        let accepted = store.clock().await.expect("read").and_then(|record| record.accepted());
        store.put_clock(&accepted.expect("in doubt")).await.expect("written");
        again.save(&store).await.expect("saved");
        assert_eq!(again.confirmed_now(), at(60 + 365 * 24 * HOUR));
        // The first process has not saved since, so it does not accept a confirmation for a later jump.
        now.fetch_sub(365 * 24 * HOUR, Ordering::Relaxed);
        assert_eq!(watch.confirmed_now(), None);
        watch.save(&store).await.expect("saved");
        assert_eq!(watch.confirmed_now(), None);
    }

    #[tokio::test]
    async fn a_clock_that_was_set_back_while_nothing_ran_is_noticed_at_the_start() {
        let timer = || Duration::ZERO;
        let (store, clock, now) = machine().await;
        let watch = ClockWatch::with_timer(&store, clock.clone(), timer).await.expect("read");
        watch.save(&store).await.expect("saved");
        for (by, is_noticed) in [(-30, false), (30 + 23 * HOUR, false), (-2 * HOUR, true)] {
            now.fetch_add(by, Ordering::Relaxed);
            let again = ClockWatch::with_timer(&store, clock.clone(), timer).await.expect("read");
            assert_eq!(again.watched().jump.is_some(), is_noticed, "{by}");
            assert_eq!(again.confirmed_now().is_none(), is_noticed, "{by}");
            again.save(&store).await.expect("saved");
        }
    }
}
