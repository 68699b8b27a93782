//! One channel at a time: the process that holds the channel's lease loads what is outstanding, executes a delivery
//! run, and saves how the channel has behaved.

use std::time::Duration;

use vedette_actions::{send_sooner, wake};
use vedette_domain::alerts::channel::{Channel, PublicTarget};
use vedette_domain::alerts::delivery_run::{Delivered, DeliveryContext, DeliveryRun};
use vedette_domain::time_zone::NamedZone;
use vedette_runtime::App;
use vedette_runtime::metrics::{self, Metric};
use vedette_store::{Audit, ChannelRef, Deliveries, StoreError, unless_conflict};

use crate::NotifierError;
use crate::execute::Executor;
use crate::transport::Transport;

/// How long to wait before checking again whether a channel is free.
const BUSY: Duration = Duration::from_secs(2);

/// Sends what is due to a channel.
///
/// # Errors
///
/// When the table does not answer. Messages that were sent but not saved are sent once more.
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
        // The channel was removed meanwhile; this removes what is left of it.
        app.store.delete_deliveries(place).await?;
        return Ok(Delivered::default());
    };
    let Some(mut state) = state.leased(now) else {
        wake(app, place, BUSY).await;
        return Ok(Delivered::default());
    };
    // The last holder's writes ended before it released the lease, so they are visible here.
    let (leased, deliveries, target, zone) = futures::join!(
        app.store.put_channel_state(place, &state, Audit::None),
        app.store.deliveries(place),
        app.store.target_of(&channel),
        zone_of_reader(app, &channel),
    );
    if !unless_conflict(leased)? {
        wake(app, place, BUSY).await;
        return Ok(Delivered::default());
    }
    let found = target.and_then(|target| Ok((target, deliveries?, zone?)));
    let (target, Deliveries { deliveries, queued, .. }, zone) = match found {
        Ok(found) => found,
        Err(error) => {
            state.end(None, now);
            app.store.put_channel_state(place, &state, Audit::None).await?;
            return Err(error.into());
        }
    };
    let zone = zone.as_ref().unwrap_or(&team.team.zone);
    let context = DeliveryContext {
        channel: &channel,
        team: &team.team,
        zone,
        settings: &team.settings,
        time_scale: app.service.time_scale,
        pages_base: app.service.pages_base(),
    };
    let mut run = DeliveryRun::new(context, state, deliveries, queued);
    let executor = Executor { app, transport, channel: &channel, target, team: &team };
    let executed = executor.execute(&mut run).await;
    let delivered = run.delivered();
    // Send this before anything else can fail: no later run would send it.
    if delivered.given_up > 0 {
        metrics::emit(&[(Metric::AlertsGivenUp, delivered.given_up)], app.clock.now());
    }
    let has_recovered = run.has_recovered();
    end(app, place, run).await?;
    executed?;
    if has_recovered {
        send_sooner(app, place).await?;
    }
    Ok(delivered)
}

/// The time zone that the user at the channel's address has chosen, if it is an address of a user who has chosen one.
async fn zone_of_reader(app: &App, channel: &Channel) -> Result<Option<NamedZone>, StoreError> {
    match &channel.target {
        PublicTarget::Email { address } => app.store.zone_at(address).await,
        _ => Ok(None),
    }
}

/// Releases the lease, and enqueues a message for the next time something is due.
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
