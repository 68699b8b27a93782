//! Removes expired items from the table, as DynamoDB does by itself.

use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval, sleep};
use tracing::debug;
use vedette_embedded::Expiry;

use crate::background::caught;
use crate::clock::ClockWatch;

/// The time between the starts of two scans that remove expired items.
const FORGET_EVERY: Duration = Duration::from_hours(1);

/// Removes expired items: scans the table, then pauses for a long time. While the clock is in doubt, nothing is
/// removed: a fast clock would remove items that have not expired.
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
        debug!(removed, "removed expired items");
    }
}
