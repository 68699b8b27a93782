//! Syncs what is due after settings have changed, and rebuilds what channels know.

use std::collections::BTreeSet;
use std::time::Duration;

use vedette_actions::{look_again, send_again, wake};
use vedette_domain::alerts::channel::Channel;
use vedette_domain::alerts::delivery::{DeliveryState, Queued};
use vedette_domain::id::{IssueId, TeamId};
use vedette_domain::time_zone::NamedZone;
use vedette_runtime::App;
use vedette_store::{ChannelRef, IssueWithMonitor, unless_conflict};

use crate::NotifierError;

/// What a rebuild repaired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rebuilt {
    /// Channels looked at.
    pub channels: u64,
    /// Active issues that a channel should have known.
    pub missing: u64,
    /// Issues that a channel knew although they no longer exist.
    pub stray: u64,
}

/// Makes a team's channels look again at everything that they know, after their settings changed or one of them was
/// enabled again. A channel that was enabled is notified of what it has missed.
///
/// # Errors
///
/// When the table does not answer. No channel is woken then: the message that asked for this comes again, and would
/// wake all of them each time.
pub async fn sync(app: &App, team: TeamId) -> Result<(), NotifierError> {
    let request = app.store.channel_sync(team).await?;
    rebuild_asleep(app, team).await?;
    let channels = app.store.channels(team).await?;
    for channel in &channels {
        let place = ChannelRef::from(channel);
        // A message that quiet time holds back. A message that was given up has no time, and a message that failed
        // keeps its own time.
        let is_held = |queued: &&Queued| queued.failing.is_none() && queued.due.is_some();
        let deliveries = app.store.deliveries(place).await?;
        for queued in deliveries.queued.iter().filter(is_held) {
            send_again(app, place, queued).await?;
        }
    }
    if let Some(request) = request {
        app.store.finish_channel_sync(request).await?;
    }
    // What is due by now is in the table, so redelivery finds it if this process dies here.
    for channel in &channels {
        wake(app, channel.into(), Duration::ZERO).await;
    }
    Ok(())
}

/// Rebuilds what the channels of a team know from its issues, and makes them look again at all of it.
///
/// # Errors
///
/// When the table does not answer. No channel is woken then.
pub async fn rebuild(app: &App, team: TeamId) -> Result<Rebuilt, NotifierError> {
    let (rebuilt, to_wake) = rebuild_asleep(app, team).await?;
    for channel in to_wake {
        wake(app, channel, Duration::ZERO).await;
    }
    Ok(rebuilt)
}

/// Does what [`rebuild`] does, but wakes no channel. Returns those to wake.
async fn rebuild_asleep(
    app: &App,
    team: TeamId,
) -> Result<(Rebuilt, Vec<ChannelRef>), NotifierError> {
    let (mut rebuilt, mut to_wake) = (Rebuilt::default(), Vec::new());
    let channels = app.store.channels(team).await?;
    if channels.is_empty() {
        return Ok((rebuilt, to_wake));
    }
    let Some(found) = app.store.team(team, app.clock.now()).await? else {
        return Ok((rebuilt, to_wake));
    };
    let zone = found.team.zone;
    let active: BTreeSet<IssueId> =
        app.store.issue_index(team, true).await?.into_iter().map(|row| row.id).collect();
    let issues = app.store.current_issues(active).await?;
    for channel in &channels {
        if !channel.is_on() {
            continue;
        }
        rebuilt.channels += 1;
        let place = ChannelRef::from(channel);
        let deliveries = app.store.deliveries(place).await?;
        if deliveries.state.disabled.is_some() {
            continue;
        }
        let known: BTreeSet<IssueId> =
            deliveries.deliveries.iter().map(|delivery| delivery.issue).collect();
        let remembered = app.store.current_issues(known.clone()).await?;
        schedule_test(app, channel, &zone, &deliveries.queued).await?;
        for delivery in deliveries.deliveries {
            rebuilt.stray += u64::from(!remembered.contains_key(&delivery.issue));
            look_again(app, place, delivery).await?;
        }
        for found in issues.values() {
            let issue = &found.issue;
            if !known.contains(&issue.id) && channel.follows(issue) && channel.was_there(issue) {
                let is_added = add_missing_delivery(app, channel, found).await?;
                rebuilt.missing += u64::from(is_added);
            }
        }
        to_wake.push(place);
    }
    Ok((rebuilt, to_wake))
}

/// Queues the weekly test of a channel, or moves it to the hour that the owner has chosen since. One that has failed, or
/// is due by now, is left to the next run.
async fn schedule_test(
    app: &App,
    channel: &Channel,
    zone: &NamedZone,
    queued: &[Queued],
) -> Result<(), NotifierError> {
    let (place, now) = (ChannelRef::from(channel), app.clock.now());
    let next = Queued::weekly_test(channel, zone, now);
    let saved = match (queued.iter().find(|queued| queued.is_weekly_test()), next) {
        (Some(current), Some(next)) if current.due == next.due => return Ok(()),
        (Some(current), Some(_)) if !current.is_scheduled() || current.is_due(now) => return Ok(()),
        (Some(current), Some(next)) => {
            let moved = Queued { rev: current.rev + 1, ..next };
            app.store.put_queued(place, &moved).await
        }
        (None, Some(next)) => app.store.put_queued(place, &next).await,
        (Some(current), None) => app.store.delete_queued(place, current).await,
        (None, None) => return Ok(()),
    };
    unless_conflict(saved)?;
    Ok(())
}

/// Adds an active issue that a channel should know. Returns false if the issue or the delivery state has changed since,
/// or if the outbox has newer entries.
async fn add_missing_delivery(
    app: &App,
    channel: &Channel,
    IssueWithMonitor { issue, monitor, .. }: &IssueWithMonitor,
) -> Result<bool, NotifierError> {
    // The outbox is read after the issue: what is no longer there was fanned out.
    if !issue.lifecycle.is_active()
        || !app.store.outbox(issue.id.partition(), issue.id.fingerprint()).await?.is_empty()
    {
        return Ok(false);
    }
    let (gets_events, selects) =
        (channel.target.gets_events(), channel.filter.selects(monitor.tags()));
    let delivery = DeliveryState::of_unknown(issue, gets_events, selects, app.clock.now());
    Ok(unless_conflict(app.store.add_missing_delivery(channel.into(), &delivery, issue).await)?)
}
