//! `vedette channel test`: a test goes the way of all alerts, and is tried once.

use std::time::Duration;

use serde::Serialize;
use tokio::time::{Instant, sleep};
use vedette_domain::alert::channel::Channel;
use vedette_domain::alert::delivery::{Content, FailedAttempt, Queued};
use vedette_domain::id::ChannelId;
use vedette_runtime::App;
use vedette_store::{ChannelRef, Deliveries, budget, retry_on_conflict};

use crate::Failure;
use crate::output::{Show, printable};

/// How often to look whether the test was sent.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Sends a test to a channel, and waits for what becomes of it.
pub(super) async fn run(app: &App, channel: &Channel, wait: Duration) -> Result<Arrived, Failure> {
    let place = ChannelRef::from(channel);
    let before = app.store.deliveries(place).await?;
    let name = &channel.name;
    let disabled = channel.disabled.as_ref().or(before.state.disabled.as_ref());
    if let Some(disabled) = disabled {
        let reason = printable(&disabled.reason);
        return Err(Failure::refused(format!("{name} is disabled ({reason}); enable it first")));
    }
    if channel.since.is_none() {
        return Err(Failure::refused(format!("the reader of {name} has not confirmed it yet")));
    }
    let id = app.entropy.request_id();
    let group = format!("test-{id}");
    let test = Queued::notice(group, Content::Test { id }, app.clock.now());
    app.store.put_queued(place, &test).await?;
    vedette_notifier::wake(app, channel.into(), Duration::ZERO).await;
    let begun = Instant::now();
    loop {
        match Outcome::of(&test, &before.state.log, &app.store.deliveries(place).await?, app) {
            Outcome::Arrived => return Ok(Arrived::at(channel)),
            Outcome::Failed(why) => {
                take_back(app, place, &test).await?;
                let why = printable(&why);
                return Err(Failure::refused(format!("the test did not arrive: {why}")));
            }
            Outcome::Open if begun.elapsed() >= wait => {
                take_back(app, place, &test).await?;
                let seconds = wait.as_secs();
                return Err(Failure::refused(format!(
                    "nobody sent the test within {seconds} s: is the service running?"
                )));
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
async fn take_back(app: &App, place: ChannelRef, test: &Queued) -> Result<(), Failure> {
    retry_on_conflict(budget::WRITE, || async {
        let left = app.store.deliveries(place).await?.queued;
        match left.iter().find(|queued| queued.group == test.group) {
            Some(queued) => Ok(app.store.delete_queued(place, queued).await?),
            None => Ok::<_, Failure>(()),
        }
    })
    .await
}

/// A channel that took a test.
#[derive(Serialize)]
pub(super) struct Arrived {
    uuid: ChannelId,
    name: String,
}

impl Arrived {
    fn at(channel: &Channel) -> Self {
        Self { uuid: channel.id, name: channel.name.clone() }
    }
}

impl Show for Arrived {
    fn text(&self) -> String {
        format!("{} took the test.\n", printable(&self.name))
    }
}
