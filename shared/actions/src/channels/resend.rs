//! Sends again what a channel did not accept.

use std::time::Duration;

use vedette_domain::alerts::channel::Channel;
use vedette_domain::alerts::channel_state::ChannelState;
use vedette_domain::alerts::delivery::{DeliveryState, Queued};
use vedette_runtime::App;
use vedette_store::{Audit, ChannelRef, Deliveries, StoreError, unless_conflict};

use super::wake;

/// Gives the receiver of a channel another chance, with an audit entry that may depend on how the channel behaved. Makes
/// everything that waits for the channel due now, including what was given up, and everything that the channel knows.
///
/// # Errors
///
/// When the table does not answer; a conflict while another process sends to the channel, which ends soon.
pub(super) async fn resend<'a>(
    app: &App,
    channel: &Channel,
    audit: impl FnOnce(&ChannelState) -> Audit<'a>,
) -> Result<(), StoreError> {
    let place = ChannelRef::from(channel);
    let before = app.store.states_of_channels(&[place]).await?.pop().unwrap_or_default();
    let state = before.enabled(app.clock.now()).ok_or(StoreError::STALE)?;
    app.store.put_channel_state(place, &state, audit(&before)).await?;
    make_due(app, place).await
}

/// Makes everything that waits for a channel due now, after its state was written: until then, what the channel misses is
/// recorded.
///
/// # Errors
///
/// When the table does not answer.
pub(super) async fn make_due(app: &App, place: ChannelRef) -> Result<(), StoreError> {
    let deliveries = app.store.deliveries(place).await?;
    for queued in deliveries.queued {
        send_again(app, place, &queued).await?;
    }
    for delivery in deliveries.deliveries {
        look_again(app, place, delivery).await?;
    }
    wake(app, place, Duration::ZERO).await;
    Ok(())
}

/// Makes everything due now that waits for its next attempt, after the channel has accepted a message.
///
/// # Errors
///
/// When the table does not answer.
pub async fn send_sooner(app: &App, place: ChannelRef) -> Result<(), StoreError> {
    let (store, now) = (&app.store, app.clock.now());
    let Deliveries { deliveries, queued, .. } = store.deliveries(place).await?;
    for queued in queued.iter().filter_map(|queued| queued.sooner(now)) {
        unless_conflict(store.put_queued(place, &queued).await)?;
    }
    for delivery in deliveries.into_iter().filter(|one| one.due.is_some_and(|due| due > now)) {
        look_again(app, place, delivery).await?;
    }
    wake(app, place, Duration::ZERO).await;
    Ok(())
}

/// Makes a message due now, unless it was sent meanwhile.
///
/// # Errors
///
/// When the table does not answer.
pub async fn send_again(app: &App, place: ChannelRef, queued: &Queued) -> Result<(), StoreError> {
    let Some(again) = queued.again(app.clock.now()) else { return Ok(()) };
    unless_conflict(app.store.put_queued(place, &again).await).map(drop)
}

/// Makes an issue due now, unless the channel has looked at it meanwhile.
///
/// # Errors
///
/// When the table does not answer.
pub async fn look_again(
    app: &App,
    place: ChannelRef,
    delivery: DeliveryState,
) -> Result<(), StoreError> {
    let next = DeliveryState { due: Some(app.clock.now()), rev: delivery.rev + 1, ..delivery };
    unless_conflict(app.store.put_delivery_state(place, &next).await).map(drop)
}
