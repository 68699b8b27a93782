//! Rebuilds the waits of channels after the clock was set back; otherwise they would wait until time catches up.

use std::time::Duration;

use vedette_actions::{send_again, wake};
use vedette_runtime::App;
use vedette_store::{Audit, ChannelRef, Deliveries, StoreError, budget, retry_on_conflict};

use crate::NotifierError;

/// Makes sure that no channel waits for an instant too far in the future after the clock was set back. Use it in a
/// process that has the table for itself. [`rebuild`](crate::rebuild) derives reminders from their issues.
///
/// # Errors
///
/// When the table does not answer. Repeat it then: until it succeeds, a channel that was created later than `now`
/// receives no news of new issues.
pub async fn rebuild_waits(app: &App) -> Result<(), NotifierError> {
    for team in app.store.listed_teams().await?.items {
        for channel in app.store.channels(team).await? {
            let place = ChannelRef::from(&channel);
            // What somebody else has written meanwhile may be too far ahead as well.
            retry_on_conflict(budget::WRITE, || rebuild_channel(app, place)).await?;
        }
    }
    Ok(())
}

async fn rebuild_channel(app: &App, place: ChannelRef) -> Result<(), StoreError> {
    let (store, now) = (&app.store, app.clock.now());
    let Some(channel) = store.channel(place).await? else { return Ok(()) };
    let mut is_changed = false;
    if let Some(rebuilt) = channel.without_future(now) {
        is_changed = true;
        store.put_channel(&rebuilt, Audit::None).await?;
    }
    let Deliveries { state, deliveries, queued } = store.deliveries(place).await?;
    if let Some(rebuilt) = state.without_future(now) {
        is_changed = true;
        store.put_channel_state(place, &rebuilt, Audit::None).await?;
    }
    for delivery in deliveries.iter().filter_map(|delivery| delivery.without_future(now)) {
        is_changed = true;
        store.put_delivery_state(place, &delivery).await?;
    }
    for queued in queued.iter().filter(|queued| queued.waits_too_long(now)) {
        is_changed = true;
        send_again(app, place, queued).await?;
    }
    if is_changed {
        wake(app, place, Duration::ZERO).await;
    }
    Ok(())
}
