//! One channel at a time: whoever holds the channel's lease loads what is outstanding, executes a delivery run,
//! and saves how the channel has behaved.

use std::time::Duration;

use vedette_actions::wake;
use vedette_domain::alerts::delivery_run::{Delivered, DeliveryContext, DeliveryRun};
use vedette_runtime::App;
use vedette_runtime::metrics::{self, Metric};
use vedette_store::{Audit, ChannelRef, Deliveries, unless_conflict};

use crate::NotifierError;
use crate::execute::Executor;
use crate::transport::Transport;

/// How long to wait before looking again whether a channel is free.
const BUSY: Duration = Duration::from_secs(2);

/// Sends what is due to a channel.
///
/// # Errors
///
/// When the table does not answer. What was sent and is not saved is sent once more.
pub async fn deliver(
    app: &App,
    transport: &impl Transport,
    place: ChannelRef,
) -> Result<Delivered, NotifierError> {
    let now = app.clock.now();
    let (channel, team, state) = futures::try_join!(
        app.store.channel(place),
        app.store.team(place.team, now),
        app.store.channel_state(place),
    )?;
    let (Some(channel), Some(team)) = (channel, team) else {
        // What is left of a channel that was removed meanwhile.
        app.store.delete_deliveries(place).await?;
        return Ok(Delivered::default());
    };
    let Some(mut state) = state.leased(now) else {
        wake(app, place, BUSY).await;
        return Ok(Delivered::default());
    };
    // What the last holder of the lease has written is there, as that ended before.
    let (leased, deliveries, target) = futures::join!(
        app.store.put_channel_state(place, &state, Audit::None),
        app.store.deliveries(place),
        app.store.target_of(&channel),
    );
    if !unless_conflict(leased)? {
        wake(app, place, BUSY).await;
        return Ok(Delivered::default());
    }
    let (target, Deliveries { deliveries, queued, .. }) = match (target, deliveries) {
        (Ok(target), Ok(deliveries)) => (target, deliveries),
        (Err(error), _) | (_, Err(error)) => {
            state.end(None, now);
            app.store.put_channel_state(place, &state, Audit::None).await?;
            return Err(error.into());
        }
    };
    let context = DeliveryContext {
        channel: &channel,
        team: &team.team,
        settings: &team.settings,
        time_scale: app.service.time_scale,
        pages_base: app.service.pages_base(),
    };
    let mut run = DeliveryRun::new(context, state, deliveries, queued);
    let executor = Executor { app, transport, channel: &channel, target, team: &team };
    let executed = executor.execute(&mut run).await;
    let delivered = run.delivered();
    // Whatever goes wrong next: nothing says so again.
    if delivered.given_up > 0 {
        metrics::emit(&[(Metric::AlertsGivenUp, delivered.given_up)], app.clock.now());
    }
    end(app, place, run).await?;
    executed?;
    Ok(delivered)
}

/// Gives the lease back, and asks for a message when something is due again.
async fn end(app: &App, place: ChannelRef, run: DeliveryRun<'_>) -> Result<(), NotifierError> {
    let (state, wait) = run.end(app.clock.now());
    app.store.put_channel_state(place, &state, Audit::None).await?;
    if let Some(wait) = wait {
        // SQS delays by whole seconds, and an alert must not be early.
        let seconds = u64::try_from(wait.as_secs()).unwrap_or(0);
        let delay = Duration::from_secs(seconds + u64::from(wait.subsec_nanos() > 0));
        wake(app, place, delay).await;
    }
    Ok(())
}
