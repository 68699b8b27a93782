//! Removes what has expired from the table, as DynamoDB does on its own.

use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval, sleep};
use tracing::debug;
use vedette_embedded::Expiry;

use crate::background::caught;
use crate::clock::ClockWatch;

/// Between the beginnings of two walks that remove what has expired.
const FORGET_EVERY: Duration = Duration::from_hours(1);

/// Removes expired items: a walk over the table, then a long pause. While the
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
