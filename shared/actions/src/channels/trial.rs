//! Tests a channel. A test takes the same path as alerts, but is sent only once.

use std::time::Duration;

use tokio::time::{Instant, sleep};
use vedette_domain::alerts::channel::Channel;
use vedette_domain::alerts::delivery::{Content, Queued};
use vedette_domain::alerts::refusal::ChannelRefusal;
use vedette_runtime::App;
use vedette_store::{ChannelRef, StoreError, budget, retry_on_conflict, unless_conflict};

use super::wake;
use crate::ChannelError;

/// How often to check whether the test was sent.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Queues a test for a channel. If a test is already in progress, it serves both callers. The channel's state has the
/// outcome.
///
/// # Errors
///
/// When the channel receives nothing, or a fault of the table.
pub async fn queue_test(app: &App, channel: &Channel) -> Result<Queued, ChannelError> {
    queue(app, channel).await.map(|(queued, _)| queued)
}

/// Queues a test like [`queue_test`]; also returns whether the test is this call's own.
async fn queue(app: &App, channel: &Channel) -> Result<(Queued, bool), ChannelError> {
    let place = ChannelRef::from(channel);
    let state = app.store.states_of_channels(&[place]).await?.into_iter().next();
    let name = channel.name.clone();
    let disabled = channel.disabled.clone().or_else(|| state?.disabled);
    if let Some(disabled) = disabled {
        return Err(ChannelRefusal::Disabled { name, reason: disabled.reason }.into());
    }
    if channel.since.is_none() {
        return Err(ChannelRefusal::Unconfirmed(name).into());
    }
    let test = Queued::test(app.entropy.request_id(), app.clock.now());
    let is_own = unless_conflict(app.store.put_queued(place, &test).await)?;
    let queued = match is_own {
        true => test,
        false => {
            let pending = app.store.deliveries(place).await?.queued;
            let pending = pending.into_iter().find(|queued| queued.group == test.group);
            // A test that was sent meanwhile makes room for this one.
            pending.ok_or(StoreError::STALE)?
        }
    };
    wake(app, place, Duration::ZERO).await;
    Ok((queued, is_own))
}

/// Sends a test to a channel, and waits for the outcome.
///
/// # Errors
///
/// Why the test did not arrive or was not sent, or a fault of the table.
pub async fn try_channel(app: &App, channel: &Channel, wait: Duration) -> Result<(), ChannelError> {
    let place = ChannelRef::from(channel);
    let (test, is_own) = retry_on_conflict(budget::WRITE, || queue(app, channel)).await?;
    let Content::Test { id } = &test.content else { return Ok(()) };
    let begun = Instant::now();
    loop {
        let state = app.store.channel_state(place).await?;
        match state.last_test.filter(|tested| tested.id == *id) {
            Some(tested) => {
                return tested
                    .failed
                    .map_or(Ok(()), |why| Err(ChannelRefusal::NotArrived(why).into()));
            }
            None if begun.elapsed() >= wait => {
                let queued = app.store.queued(place, &test).await?;
                let queued = queued.filter(|queued| queued.content == test.content);
                if queued.is_some_and(|queued| queued.due > Some(app.clock.now())) {
                    return Err(ChannelRefusal::HostIsFull.into());
                }
                // If another caller requested the test, that caller waits for it.
                if is_own {
                    take_back(app, place, &test).await?;
                }
                return Err(ChannelRefusal::NotSent(wait.as_secs()).into());
            }
            None => sleep(LOOK_EVERY).await,
        }
    }
}

/// Removes a test that was not sent in time. Nobody wants a test hours later.
async fn take_back(app: &App, place: ChannelRef, test: &Queued) -> Result<(), StoreError> {
    retry_on_conflict(budget::WRITE, || async {
        match app.store.queued(place, test).await? {
            Some(queued) if queued.content == test.content => {
                app.store.delete_queued(place, &queued).await
            }
            _ => Ok(()),
        }
    })
    .await
}
