//! What each channel is to learn of a change of an issue.

use std::time::Duration;

use jiff::Timestamp;
use vedette_domain::alert::channel::{Channel, EventKind};
use vedette_domain::alert::delivery::{Content, Cursor, OutboxEntry, Queued};
use vedette_domain::alert::due::Told;
use vedette_domain::id::{IssueId, TeamId};
use vedette_runtime::App;
use vedette_store::{ChannelRef, Lesson, budget, retry_on_conflict};

use crate::NotifierError;
use crate::deliver::wake;
use crate::events::EventBody;

/// Has the channels of a team learn of all changes of an issue that they do not know of, in their
/// order.
///
/// # Errors
///
/// When the table does not answer.
pub async fn fan_out(app: &App, team: TeamId, issue: IssueId) -> Result<(), NotifierError> {
    let taught = retry_on_conflict(budget::WRITE, || async {
        let (entries, channels) = futures::try_join!(
            app.store.outbox(issue.partition(), issue.fingerprint()),
            app.store.channels(team),
        )?;
        let mut taught = Vec::new();
        for entry in entries {
            let lessons = lessons(app, &channels, &entry).await?;
            app.store.fan_out(&entry, &lessons).await?;
            taught.extend(lessons.iter().map(|lesson| lesson.channel));
        }
        Ok::<_, NotifierError>(taught)
    });
    let mut taught = taught.await?;
    taught.sort_unstable();
    taught.dedup();
    for channel in taught {
        wake(app, channel, Duration::ZERO).await;
    }
    Ok(())
}

async fn lessons(
    app: &App,
    channels: &[Channel],
    entry: &OutboxEntry,
) -> Result<Vec<Lesson>, NotifierError> {
    let concerned = |channel: &&Channel| channel.is_on() && channel.filter.wants_any(&entry.issue);
    let channels: Vec<&Channel> = channels.iter().filter(concerned).collect();
    if channels.is_empty() {
        return Ok(Vec::new());
    }
    let refs: Vec<ChannelRef> = channels.iter().map(|channel| (*channel).into()).collect();
    let states = app.store.channel_states(&refs, entry.issue.id).await?;
    let now = app.clock.now();
    let mut body = EventBody::new(app, entry);
    let mut lessons = Vec::new();
    for (channel, (state, cursor)) in channels.into_iter().zip(states) {
        if state.disabled.is_some() || is_of_before(channel, cursor.as_ref(), entry) {
            continue;
        }
        let mut lesson = Lesson { channel: channel.into(), cursor: None, event: None };
        lesson.cursor = next_cursor(channel, cursor, entry, now);
        let event = entry.event.filter(|event| channel.filter.wants(*event, &entry.issue));
        if let Some(event) = event.filter(|_| !channel.target.is_for_people()) {
            let Some(content) = body.of(event, entry.at).await? else { return Ok(Vec::new()) };
            lesson.event = Some(queued(entry, content, now));
        }
        if lesson.cursor.is_some() || lesson.event.is_some() {
            lessons.push(lesson);
        }
    }
    Ok(lessons)
}

/// Whether the issue opened before the channel was there.
fn is_of_before(channel: &Channel, cursor: Option<&Cursor>, entry: &OutboxEntry) -> bool {
    let opened_at = entry.issue.lifecycle.opened_at();
    cursor.is_none() && channel.since.is_none_or(|since| opened_at < since)
}

fn next_cursor(
    channel: &Channel,
    cursor: Option<Cursor>,
    entry: &OutboxEntry,
    now: Timestamp,
) -> Option<Cursor> {
    let opened_at = entry.issue.lifecycle.opened_at();
    let is_opening = entry.event == Some(EventKind::Opened);
    let mut next = match cursor {
        Some(cursor) => Cursor { due: Some(now), rev: cursor.rev + 1, ..cursor },
        None if is_opening => Cursor::new(entry.issue.id, opened_at, now),
        None => return None,
    };
    if !channel.target.is_for_people() && is_opening {
        next.told = Some(Told { opened_at, reminded_until: opened_at });
    }
    Some(next)
}

fn queued(entry: &OutboxEntry, content: Content, now: Timestamp) -> Queued {
    Queued {
        group: entry.issue.id.to_string(),
        place: place(entry.issue.rev, None),
        content,
        failing: None,
        due: Some(now),
        rev: 1,
    }
}

/// Where an event stands among those of its issue: transitions by the issue's `rev`, and after each of
/// them its reminders by their time.
pub(crate) fn place(rev: u64, reminder: Option<Timestamp>) -> String {
    let reminder = reminder.map_or(0, |at| at.as_millisecond().max(0));
    format!("{rev:010}#{reminder:014}")
}
