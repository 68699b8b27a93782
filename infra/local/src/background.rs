//! What the process does beside requests and checks: the reconciler's passes, and expiry.

use std::error::Error;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures::FutureExt as _;
use jiff::Timestamp;
use tokio::time::{MissedTickBehavior, interval, sleep};
use tracing::{debug, error, info};
use vedette_domain::ErrorChain;
use vedette_embedded::Expiry;
use vedette_runtime::App;

use crate::clock::ClockWatch;

/// Between two looks at what is overdue. On AWS it is a minute; here it is also how soon the
/// changes of the command line take effect.
const REDELIVER_EVERY: Duration = Duration::from_secs(1);
/// Between the beginnings of two walks that remove what has expired.
const FORGET_EVERY: Duration = Duration::from_hours(1);
/// Between two times that timers and alerts are derived anew.
const REBUILD_EVERY: Duration = Duration::from_hours(24);
/// Before the next try to bring back what the last process had in memory.
const REBUILD_AGAIN: Duration = Duration::from_secs(5);

/// Brings back what the last process had in memory: schedules, then messages. If it was killed while it
/// sent alerts, it holds their channels no longer.
pub(crate) async fn rebuild(app: App, start: Timestamp) {
    loop {
        let rebuilt = caught("rebuilding the schedules", async {
            vedette_reconciler::reconcile(&app, &|_| {}).await
        });
        if rebuilt.await.is_some() {
            break;
        }
        // Without schedules nothing is monitored.
        sleep(REBUILD_AGAIN).await;
    }
    caught("releasing channels", vedette_notifier::release(&app, start)).await;
    let sent = caught("sending outstanding work", vedette_reconciler::redeliver_all(&app)).await;
    if let Some(sent @ 1..) = sent {
        info!(sent, "outstanding work was sent again");
    }
}

/// Has timers and alerts derived anew, at the start and once a day.
pub(crate) async fn rebuild_daily(app: App) {
    let mut ticks = interval(REBUILD_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        caught("rebuilding timers and alerts", vedette_reconciler::rebuild_all(&app)).await;
    }
}

/// Sends again what is overdue.
pub(crate) async fn redeliver(app: App) {
    let mut ticks = interval(REDELIVER_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        caught("redelivery", vedette_reconciler::redeliver(&app)).await;
    }
}

/// Derives anew whatever is outstanding after the clock was set back: by then its times lie too far ahead.
pub(crate) async fn realign(app: &App) {
    caught("having channels wait no longer", vedette_notifier::rewind(app)).await;
    rebuild(app.clone(), app.clock.now()).await;
    caught("rebuilding timers and alerts", vedette_reconciler::rebuild_all(app)).await;
}

/// Removes expired items, as DynamoDB does on its own: a walk over the table, then a long pause. While the
/// clock is in doubt, nothing is removed: what a clock that is too fast takes for expired would be lost.
pub(crate) async fn forget(clock: ClockWatch, mut expiry: Expiry) {
    let mut ticks = interval(FORGET_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let mut removed = 0;
        while let Some(now) = clock.confirmed_now()
            && let Some(swept) = caught("removing expired items", expiry.step(now)).await
        {
            removed += swept.removed;
            if swept.is_last {
                break;
            }
            sleep(Expiry::PAUSE).await;
        }
        debug!(removed, "expired items were removed");
    }
}

/// What a piece of work yields; where it fails or panics, that is logged and the round goes on.
pub(crate) async fn caught<T, E: Error>(
    what: &'static str,
    work: impl Future<Output = Result<T, E>>,
) -> Option<T> {
    match AssertUnwindSafe(work).catch_unwind().await {
        Ok(Ok(done)) => Some(done),
        Ok(Err(error)) => {
            error!(error = %ErrorChain(&error), "{what} failed");
            None
        }
        Err(_) => {
            error!("{what} ended in a panic");
            None
        }
    }
}
