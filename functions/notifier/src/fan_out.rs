//! What each channel is notified of after a change of an issue.

use std::time::Duration;

use vedette_actions::wake;
use vedette_domain::alerts::channel::{Channel, EventKind};
use vedette_domain::alerts::channel_state::ChannelState;
use vedette_domain::alerts::delivery::{OutboxEntry, Queued, place};
use vedette_domain::alerts::fan_out::ChannelNews;
use vedette_domain::id::{IssueId, TeamId};
use vedette_domain::message::{Message, ReconcileMessage};
use vedette_domain::sites::tag::Tags;
use vedette_runtime::App;
use vedette_store::{ChannelRef, FanOut, Off, budget, retry_on_conflict};

use crate::NotifierError;
use crate::events::EventBody;

/// Records all changes of an issue for the team's channels that do not know them yet, in order.
///
/// # Errors
///
/// When the table does not answer.
pub async fn fan_out(app: &App, team: TeamId, issue: IssueId) -> Result<(), NotifierError> {
    let changed = retry_on_conflict(budget::WRITE, || async {
        let (entries, channels) = futures::try_join!(
            app.store.outbox(issue.partition(), issue.fingerprint()),
            app.store.channels(team),
        )?;
        let mut changed = Vec::new();
        // The issue is stored as the page will show it. If this fan-out is lost, the next one requests it again.
        let pages = match entries.iter().any(|entry| entry.publishes) {
            true => app.store.want_publications(team, app.clock.now()).await?,
            false => Vec::new(),
        };
        for entry in &entries {
            let fan_outs = fan_outs(app, &channels, entry, &entries).await?;
            app.store.fan_out(entry, &fan_outs).await?;
            let due = fan_outs.iter().filter(|fan_out| fan_out.off.is_none() && is_due(fan_out));
            changed.extend(due.map(|fan_out| fan_out.channel));
        }
        Ok::<_, NotifierError>((changed, pages))
    });
    let (mut changed, pages) = changed.await?;
    changed.sort_unstable();
    changed.dedup();
    for channel in changed {
        wake(app, channel, Duration::ZERO).await;
    }
    for page in pages {
        let message = Message::Reconcile(ReconcileMessage::Publish { team, page });
        app.enqueue_or_leave(message, Duration::ZERO).await;
    }
    Ok(())
}

async fn fan_outs(
    app: &App,
    channels: &[Channel],
    entry: &OutboxEntry,
    entries: &[OutboxEntry],
) -> Result<Vec<FanOut>, NotifierError> {
    let channels: Vec<&Channel> =
        channels.iter().filter(|channel| channel.follows(&entry.issue)).collect();
    if channels.is_empty() {
        return Ok(Vec::new());
    }
    let refs: Vec<ChannelRef> = channels.iter().map(|channel| (*channel).into()).collect();
    let states = app.store.channel_states(&refs, entry.issue.id).await?;
    let tags = tags(app, &channels, entry, entries).await?;
    let now = app.clock.now();
    let mut body = EventBody::new(app, entry, entries);
    let mut fan_outs = Vec::new();
    for (channel, (state, delivery)) in channels.into_iter().zip(states) {
        let (off, selects) = (off(channel, &state), channel.filter.selects(&tags));
        let news = match off {
            Some(_) => channel.missed_while_off(delivery, entry, selects, now),
            None => channel.news(delivery, entry, selects, now),
        };
        let Some(ChannelNews { delivery, event }) = news else { continue };
        let mut fan_out = FanOut { channel: channel.into(), delivery, event: None, off };
        if let Some(event) = event {
            let Some(content) = body.of(event, entry.at).await? else { return Ok(Vec::new()) };
            let place = place(entry.issue.rev, None);
            let opened_at = entry.issue.lifecycle.opened_at();
            let opened_at = (event == EventKind::Opened).then_some(opened_at);
            let queued = Queued::event(entry.issue.id, place, content, now);
            fan_out.event = Some(Queued { opened_at, ..queued });
        }
        fan_outs.push(fan_out);
    }
    Ok(fan_outs)
}

/// Whether the channel has something to do now.
fn is_due(FanOut { delivery, event, .. }: &FanOut) -> bool {
    event.is_some() || delivery.due.is_some()
}

/// The tags of the issue's site or heartbeat, if one of the channels is only about some; none if it is gone.
async fn tags(
    app: &App,
    channels: &[&Channel],
    entry: &OutboxEntry,
    entries: &[OutboxEntry],
) -> Result<Tags, NotifierError> {
    if channels.iter().all(|channel| channel.filter.selector.is_none()) {
        return Ok(Tags::new());
    }
    if let Some(monitor) = entries.iter().find_map(|entry| entry.deleted.as_ref()) {
        return Ok(monitor.tags().clone());
    }
    let found = app.store.issue_with_monitor(entry.issue.id).await?;
    Ok(found.map(|found| found.monitor.tags().clone()).unwrap_or_default())
}

/// Why a channel is off, if it is.
fn off(channel: &Channel, state: &ChannelState) -> Option<Off> {
    if !channel.is_on() {
        return Some(Off::Channel(channel.rev));
    }
    state.disabled.is_some().then_some(Off::State(state.rev))
}
