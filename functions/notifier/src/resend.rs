//! Sending again what a channel did not take.

use std::time::Duration;

use vedette_domain::alert::channel::Channel;
use vedette_domain::alert::delivery::Queued;
use vedette_runtime::App;
use vedette_store::{ChannelRef, StoreError, unless_conflict};

use crate::NotifierError;
use crate::deliver::wake;
use crate::rederive::look_again;

/// Has everything that waits for a channel sent now, what was given up included, and everything that
/// it knows looked at again. Says whether it did: not while somebody sends to the channel.
///
/// # Errors
///
/// When the table does not answer; a conflict when somebody began to send meanwhile.
pub async fn resend(app: &App, channel: &Channel) -> Result<bool, NotifierError> {
    let place = ChannelRef::from(channel);
    let deliveries = app.store.deliveries(place).await?;
    let Some(state) = deliveries.state.enabled(app.clock.now()) else { return Ok(false) };
    app.store.put_channel_state(place, &state).await?;
    for queued in deliveries.queued {
        send_again(app, place, &queued).await?;
    }
    for cursor in deliveries.cursors {
        look_again(app, place, cursor).await?;
    }
    wake(app, place, Duration::ZERO).await;
    Ok(true)
}

/// Has a message sent now, unless it was sent meanwhile.
pub(crate) async fn send_again(
    app: &App,
    place: ChannelRef,
    queued: &Queued,
) -> Result<(), StoreError> {
    unless_conflict(app.store.put_queued(place, &queued.again(app.clock.now())).await).map(drop)
}
