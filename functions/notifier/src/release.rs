//! Ends what channels wait for: the lease of a process that has died, or a mail server that refused all email.

use jiff::Timestamp;
use vedette_actions::send_sooner;
use vedette_runtime::App;
use vedette_store::{Audit, ChannelRef, budget, retry_on_conflict, unless_conflict};

use crate::NotifierError;

/// Ends the leases of channels that were taken before `start`. Use it in a process that is alone with the table and has
/// its queues in memory: the process that took the leases has died, and its messages with it. Nothing that is due has
/// to wait for them. Returns the number of channels.
///
/// # Errors
///
/// When the table does not answer.
pub async fn release(app: &App, start: Timestamp) -> Result<u64, NotifierError> {
    let mut released = 0;
    for team in app.store.listed_teams().await?.items {
        for channel in app.store.channels(team).await? {
            let place = ChannelRef::from(&channel);
            let state = app.store.channel_state(place).await?;
            if let Some(state) = state.released(start) {
                let written = app.store.put_channel_state(place, &state, Audit::None).await;
                released += u64::from(unless_conflict(written)?);
            }
        }
    }
    Ok(released)
}

/// Sends email that waits for the mail server now, to this many channels at most: to all of them once the server has
/// accepted an email, and to one to try whether it does. Use it in a process that is alone with the table.
///
/// # Errors
///
/// When the table does not answer.
pub async fn redeliver_held_mail(app: &App, most: usize) -> Result<(), NotifierError> {
    let mut released = 0;
    for team in app.store.listed_teams().await?.items {
        for channel in app.store.channels(team).await? {
            if released == most {
                return Ok(());
            }
            let place = ChannelRef::from(&channel);
            // Somebody else who writes the state at the same time keeps the wait.
            let is_released = retry_on_conflict(budget::WRITE, || async {
                let state = app.store.channel_state(place).await?;
                let Some(state) = state.no_longer_held(app.clock.now()) else { return Ok(false) };
                app.store.put_channel_state(place, &state, Audit::None).await.map(|()| true)
            });
            if is_released.await? {
                released += 1;
                send_sooner(app, place).await?;
            }
        }
    }
    Ok(())
}
