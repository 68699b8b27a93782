//! The polling scheduler: sends the runs that are due, once a minute.

use std::time::Duration;

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use jiff::{SignedDuration, Timestamp};
use vedette_domain::accounts::plan::CADENCE_MINUTES;
use vedette_domain::checks::schedule::second;
use vedette_domain::checks::tool::{RunReason, Tool};
use vedette_domain::clock::CLOCK_SKEW;
use vedette_domain::message::{CheckMessage, Message, RunOrder};
use vedette_runtime::{App, SQS_CALL};
use vedette_store::{PolledPage, PolledRun};

use crate::ReconcilerError;

/// How many minutes are made up for after an outage. If a tool missed several runs, only the newest is useful anyway.
const MINUTES_MAX: i64 = 15;
/// Partitions read at once.
const CONCURRENCY: usize = 16;

/// Sends the runs of every minute that has begun since the last time, and returns how many there were. If it is
/// interrupted, the next call sends them again; a run counts once.
///
/// # Errors
///
/// When the table or the queue does not answer.
pub async fn dispatch(app: &App) -> Result<u64, ReconcilerError> {
    let now = app.clock.now().as_second().div_euclid(60);
    // A minute in the future was sent before the clock was set back.
    let sent = app.store.sent_minute().await?.filter(|sent| *sent <= now + CLOCK_SKEW.as_mins());
    let sent = sent.unwrap_or(now - 1);
    let mut count = 0;
    for minute in (sent + 1).max(now - MINUTES_MAX + 1)..=now {
        let buckets = Tool::ALL.into_iter().flat_map(|tool| {
            let possible = CADENCE_MINUTES.into_iter();
            let possible = possible.filter(move |cadence| *cadence >= tool.cadence_floor_minutes());
            possible.map(move |cadence| (tool, cadence))
        });
        let sent = stream::iter(buckets)
            .map(|(tool, cadence)| send_polled(app, tool, cadence, minute))
            .buffer_unordered(CONCURRENCY);
        let (sent, rests): (Vec<_>, Vec<_>) =
            sent.try_collect::<Vec<_>>().await?.into_iter().unzip();
        // The cadences of a tool share the last calls.
        app.queue.send_all(&rests.concat()).await?;
        count += sent.iter().sum::<u64>();
        app.store.set_sent_minute(minute).await?;
    }
    Ok(count)
}

/// A message and its delay.
type Delayed = (Message, Duration);

/// Sends the due runs of a tool and cadence, a page at a time, while it reads the next page. Returns how many are due, and
/// those that fill no call of their own.
async fn send_polled(
    app: &App,
    tool: Tool,
    cadence_minutes: u32,
    minute: i64,
) -> Result<(u64, Vec<Delayed>), ReconcilerError> {
    let slot = Timestamp::from_second(minute * 60).unwrap_or(Timestamp::MAX);
    let order = RunOrder::Automatic { reason: RunReason::Scheduled, slot };
    // Spread over the minute. Otherwise, the table would get the writes of a minute within a few seconds.
    let message = |PolledRun { team, site }: PolledRun, now: Timestamp| {
        let begin = slot.saturating_add(SignedDuration::from_secs(second(site, tool).into()));
        let delay = begin.unwrap_or(slot).duration_since(now).max(SignedDuration::ZERO);
        (Message::Check(CheckMessage { team, site, tool, order }), delay.unsigned_abs())
    };
    let (mut count, mut rest) = (0, Vec::new());
    let mut page = app.store.polled_page(tool, cadence_minutes, minute, None).await?;
    loop {
        let PolledPage { rows, next } = page;
        count += rows.len() as u64;
        let now = app.clock.now();
        rest.extend(rows.into_iter().map(|row| message(row, now)));
        let messages: Vec<_> = rest.drain(..rest.len() - rest.len() % SQS_CALL).collect();
        let sent = app.queue.send_all(&messages);
        let Some(next) = next else {
            sent.await?;
            return Ok((count, rest));
        };
        let read = app.store.polled_page(tool, cadence_minutes, minute, Some(next));
        let (sent, read) = futures::join!(sent, read);
        sent?;
        page = read?;
    }
}
