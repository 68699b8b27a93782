//! Telling programs: every event, in the order of its issue.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use vedette_domain::alert::channel::EventKind;
use vedette_domain::alert::channel_state::FailedAttempt;
use vedette_domain::alert::delivery::{
    Cursor, Queued, ReminderStep, overtaken, place, reminder_step,
};
use vedette_domain::alert::retry::{Retry, retry};
use vedette_store::{IssueWithSite, unless_conflict};

use crate::deliver::{Pass, Transport};
use crate::events::event_of;
use crate::send::SendOutcome;
use crate::{NotifierError, broken};

/// Failures of a pass after which the receiver is taken to be down, and the rest waits with it.
const FAILURES_MAX: usize = 3;

/// Sends events whose turn it is, and makes reminders that are due.
pub(crate) async fn tell<T: Transport>(
    pass: &mut Pass<'_, T>,
    cursors: Vec<Cursor>,
    mut events: Vec<Queued>,
) -> Result<(), NotifierError> {
    let now = pass.now();
    if let Some(end) = pass.team.settings.quiet_time.until(now) {
        return hold(pass, cursors, events, now, end).await;
    }
    events.extend(make_reminders(pass, cursors, now).await?);
    let mut groups: BTreeMap<String, Vec<Queued>> = BTreeMap::new();
    for event in events {
        groups.entry(event.group.clone()).or_default().push(event);
    }
    let mut down: Vec<Timestamp> = Vec::new();
    for mut group in groups.into_values() {
        group.sort_by(|one, other| one.place.cmp(&other.place));
        let (stale, group) = overtaken(group);
        for reminder in stale {
            pass.drop_queued(&reminder).await?;
        }
        if pass.is_off() {
            pass.park(Vec::new(), group).await?;
        } else if down.len() >= FAILURES_MAX || !pass.has_time() {
            let again = down.first().copied().unwrap_or(now);
            wait(pass, group, again, now).await?;
        } else if let Some(failed) = send_in_order(pass, group).await? {
            down.push(failed);
        }
    }
    Ok(())
}

/// Keeps everything that is due for the end of the quiet time.
async fn hold<T: Transport>(
    pass: &mut Pass<'_, T>,
    cursors: Vec<Cursor>,
    events: Vec<Queued>,
    now: Timestamp,
    end: Timestamp,
) -> Result<(), NotifierError> {
    for cursor in pass.take_due(cursors, now) {
        pass.put_off(cursor, Some(end)).await?;
    }
    wait(pass, events, end, now).await
}

/// Has those events wait that are due.
async fn wait<T: Transport>(
    pass: &mut Pass<'_, T>,
    events: Vec<Queued>,
    until: Timestamp,
    now: Timestamp,
) -> Result<(), NotifierError> {
    for event in events {
        if event.due.is_some_and(|due| due <= now) && until > now {
            pass.save_queued(Queued { due: Some(until), ..event }).await?;
        } else {
            pass.look_at(event.due);
        }
    }
    Ok(())
}

/// Queues the reminders that are due; returns them.
async fn make_reminders<T: Transport>(
    pass: &mut Pass<'_, T>,
    cursors: Vec<Cursor>,
    now: Timestamp,
) -> Result<Vec<Queued>, NotifierError> {
    let due_now = pass.take_due(cursors, now);
    let ids: Vec<_> = due_now.iter().map(|cursor| cursor.issue).collect();
    let issues = pass.app.store.current_issues(ids).await?;
    let mut made = Vec::new();
    for cursor in due_now {
        let step =
            |found: &IssueWithSite| reminder_step(&found.issue, &cursor, &pass.policy(), now);
        match issues.get(&cursor.issue).map(|found| (found, step(found))) {
            None | Some((_, ReminderStep::Forget)) => pass.forget(&cursor).await?,
            Some((_, ReminderStep::Wait { due })) => pass.put_off(cursor, due).await?,
            Some((found, ReminderStep::Send)) => {
                made.extend(make_reminder(pass, &cursor, found, now).await?);
            }
        }
    }
    Ok(made)
}

async fn make_reminder<T: Transport>(
    pass: &mut Pass<'_, T>,
    cursor: &Cursor,
    found: &IssueWithSite,
    now: Timestamp,
) -> Result<Option<Queued>, NotifierError> {
    let content = event_of(pass.app, found, pass.team, EventKind::Reminder, now).await?;
    let place = place(found.issue.rev, Some(now));
    let reminder = Queued::event(cursor.issue, place, content, now);
    let next = cursor.once_reminded(&found.issue, &pass.policy(), now);
    let queued = pass.app.store.queue_event(pass.place(), &next, &reminder).await;
    // Otherwise something happened to the issue: it is looked at again.
    let is_queued = unless_conflict(queued)?;
    pass.look_at(if is_queued { next.due } else { Some(now) });
    Ok(is_queued.then_some(reminder))
}

/// Sends events of one issue until one fails, and says when that is tried again.
async fn send_in_order<T: Transport>(
    pass: &mut Pass<'_, T>,
    group: Vec<Queued>,
) -> Result<Option<Timestamp>, NotifierError> {
    let mut group = group.into_iter();
    while let Some(event) = group.next() {
        let now = pass.now();
        if event.due.is_none_or(|due| due > now) {
            // The others wait for it.
            let until = event.due.unwrap_or(now);
            pass.look_at(event.due);
            wait(pass, group.collect(), until, now).await?;
            return Ok(None);
        }
        if !pass.has_time() {
            pass.look_at(event.due);
            return Ok(None);
        }
        let outcome = broken::send(pass, &event.content).await;
        pass.count(outcome == SendOutcome::Delivered);
        let (asked, why) = match outcome {
            SendOutcome::Delivered => {
                pass.state.delivered(now);
                pass.drop_queued(&event).await?;
                continue;
            }
            SendOutcome::Retry { after, why } => {
                (after.and_then(|after| SignedDuration::try_from(after).ok()), why)
            }
            SendOutcome::Held { after, why } => (SignedDuration::try_from(after).ok(), why),
            SendOutcome::Refused { why } => (None, why),
            SendOutcome::Gone { why } => {
                disable(pass, &event, &why).await?;
                let left = std::iter::once(event).chain(group).collect();
                pass.park(Vec::new(), left).await?;
                return Ok(None);
            }
        };
        let Retry { at, failing, is_exhausted } =
            retry(&pass.channel.target, pass.channel.id, event.failing, asked, pass.now());
        let event = Queued { failing: Some(failing), due: Some(at), ..event };
        if !is_exhausted {
            let attempt = attempt(&event, &why, now);
            pass.state.note(attempt);
            pass.save_queued(event).await?;
            wait(pass, group.collect(), at, pass.now()).await?;
            return Ok(Some(at));
        }
        disable(pass, &event, &why).await?;
        let left = std::iter::once(event).chain(group).collect();
        pass.park(Vec::new(), left).await?;
        return Ok(None);
    }
    Ok(None)
}

fn attempt(event: &Queued, why: &str, at: Timestamp) -> FailedAttempt {
    FailedAttempt { at, what: event.content.name().to_owned(), why: why.to_owned() }
}

async fn disable<T: Transport>(
    pass: &mut Pass<'_, T>,
    event: &Queued,
    why: &str,
) -> Result<(), NotifierError> {
    let attempt = attempt(event, why, pass.now());
    pass.state.disable(attempt);
    broken::tell_owner(pass, why).await
}
