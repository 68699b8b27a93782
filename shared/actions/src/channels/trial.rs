//! Trying a channel: a test goes the way of all alerts, and is tried once.

use std::time::Duration;

use tokio::time::{Instant, sleep};
use vedette_domain::alert::channel::Channel;
use vedette_domain::alert::channel_state::FailedAttempt;
use vedette_domain::alert::delivery::{Content, Queued};
use vedette_runtime::App;
use vedette_store::{ChannelRef, Deliveries, StoreError, budget, retry_on_conflict};

use super::{ChannelError, wake};

/// How often to look whether the test was sent.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Sends a test to a channel, and waits for what becomes of it.
///
/// # Errors
///
/// Why it did not arrive, or was not sent; a fault of the table.
pub async fn try_channel(app: &App, channel: &Channel, wait: Duration) -> Result<(), ChannelError> {
    let place = ChannelRef::from(channel);
    let before = app.store.deliveries(place).await?;
    let name = channel.name.clone();
    let disabled = channel.disabled.as_ref().or(before.state.disabled.as_ref());
    if let Some(disabled) = disabled {
        return Err(ChannelError::Disabled { name, reason: disabled.reason.clone() });
    }
    if channel.since.is_none() {
        return Err(ChannelError::Unconfirmed(name));
    }
    let id = app.entropy.request_id();
    let group = format!("test-{id}");
    let test = Queued::notice(group, Content::Test { id }, app.clock.now());
    app.store.put_queued(place, &test).await?;
    wake(app, place, Duration::ZERO).await;
    let begun = Instant::now();
    loop {
        match Outcome::of(&test, &before.state.log, &app.store.deliveries(place).await?, app) {
            Outcome::Arrived => return Ok(()),
            Outcome::Failed(why) => {
                take_back(app, place, &test).await?;
                return Err(ChannelError::NotArrived(why));
            }
            Outcome::Open if begun.elapsed() >= wait => {
                take_back(app, place, &test).await?;
                return Err(ChannelError::NotSent(wait.as_secs()));
            }
            Outcome::Open => sleep(LOOK_EVERY).await,
        }
    }
}

/// What became of a test.
enum Outcome {
    Open,
    Arrived,
    Failed(String),
}

impl Outcome {
    /// What became of a test, by what is in the table; `seen` is what had failed before it.
    fn of(test: &Queued, seen: &[FailedAttempt], now: &Deliveries, app: &App) -> Self {
        // Whoever sends says at the end how it went.
        if now.state.is_leased(app.clock.now()) {
            return Self::Open;
        }
        let mut failed = now.state.log.iter().rev().filter(|attempt| !seen.contains(attempt));
        if let Some(attempt) = failed.find(|attempt| attempt.what == test.content.name()) {
            return Self::Failed(attempt.why.clone());
        }
        match now.queued.iter().find(|queued| queued.group == test.group) {
            None => Self::Arrived,
            Some(queued) if queued.due.is_none() => {
                Self::Failed("the channel was disabled meanwhile".to_owned())
            }
            Some(_) => Self::Open,
        }
    }
}

/// Nobody wants a test hours later.
async fn take_back(app: &App, place: ChannelRef, test: &Queued) -> Result<(), StoreError> {
    retry_on_conflict(budget::WRITE, || async {
        let left = app.store.deliveries(place).await?.queued;
        match left.iter().find(|queued| queued.group == test.group) {
            Some(queued) => app.store.delete_queued(place, queued).await,
            None => Ok(()),
        }
    })
    .await
}
