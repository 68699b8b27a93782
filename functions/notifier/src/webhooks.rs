//! Telling programs: every event, in the order of its issue.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use vedette_domain::alerts::channel::EventKind;
use vedette_domain::alerts::channel_state::FailedAttempt;
use vedette_domain::alerts::delivery::{
    DeliveryState, ProgramStep, Queued, overtaken, program_step, step_place,
};
use vedette_domain::alerts::ended::EndReason;
use vedette_domain::alerts::retry::{Retry, retry};
use vedette_store::{IssueWithSite, unless_conflict};

use crate::deliver::{DeliveryRun, Transport};
use crate::events::{deleted, event_of};
use crate::send::SendOutcome;
use crate::{NotifierError, broken, catch_up};

/// Failures of a pass after which the receiver is taken to be down, and the rest waits with it.
const FAILURES_MAX: usize = 3;

/// Sends events whose turn it is, and makes those that are due.
pub(crate) async fn notify<T: Transport>(
    run: &mut DeliveryRun<'_, T>,
    deliveries: Vec<DeliveryState>,
    mut events: Vec<Queued>,
) -> Result<(), NotifierError> {
    let now = run.now();
    if let Some(end) = run.team.settings.quiet_time.until(now) {
        return hold(run, deliveries, events, now, end).await;
    }
    events.extend(look(run, deliveries, now).await?);
    let mut groups: BTreeMap<String, Vec<Queued>> = BTreeMap::new();
    for event in events {
        groups.entry(event.group.clone()).or_default().push(event);
    }
    let mut down: Vec<Timestamp> = Vec::new();
    for mut group in groups.into_values() {
        group.sort_by(|one, other| one.place.cmp(&other.place));
        let (stale, group) = overtaken(group);
        for reminder in stale {
            run.drop_queued(&reminder).await?;
        }
        if run.is_off() {
            run.park(Vec::new(), group).await?;
        } else if let Some(until) = run.held_until {
            wait(run, group, until, now).await?;
        } else if down.len() >= FAILURES_MAX || !run.has_time() {
            let again = down.first().copied().unwrap_or(now);
            wait(run, group, again, now).await?;
        } else if let Some(failed) = send_in_order(run, group).await? {
            down.push(failed);
        }
    }
    Ok(())
}

/// Keeps everything that is due for the end of the quiet time.
async fn hold<T: Transport>(
    run: &mut DeliveryRun<'_, T>,
    deliveries: Vec<DeliveryState>,
    events: Vec<Queued>,
    now: Timestamp,
    end: Timestamp,
) -> Result<(), NotifierError> {
    for delivery in run.take_due(deliveries, now) {
        run.put_off(delivery, Some(end)).await?;
    }
    wait(run, events, end, now).await
}

/// Has those events wait that are due.
async fn wait<T: Transport>(
    run: &mut DeliveryRun<'_, T>,
    events: Vec<Queued>,
    until: Timestamp,
    now: Timestamp,
) -> Result<(), NotifierError> {
    for event in events {
        if event.due.is_some_and(|due| due <= now) && until > now {
            run.save_queued(Queued { due: Some(until), ..event }).await?;
        } else {
            run.look_at(event.due);
        }
    }
    Ok(())
}

/// Queues what is due of the issues to look at: what the program missed while it was off, the end of
/// monitoring, and reminders. Returns what was queued.
async fn look<T: Transport>(
    run: &mut DeliveryRun<'_, T>,
    deliveries: Vec<DeliveryState>,
    now: Timestamp,
) -> Result<Vec<Queued>, NotifierError> {
    let due_now = run.take_due(deliveries, now);
    let ids: Vec<_> = due_now.iter().map(|delivery| delivery.issue).collect();
    let mut issues = run.app.store.current_issues(ids).await?;
    let (mut missed, mut known) = (Vec::new(), Vec::new());
    for delivery in due_now {
        match issues.remove(&delivery.issue).or_else(|| deleted(&delivery)) {
            Some(found) if delivery.missed.is_some() => missed.push((delivery, found)),
            Some(found) => known.push((delivery, found)),
            None => run.forget(&delivery).await?,
        }
    }
    let mut made = catch_up::program(run, missed, now).await?;
    for (delivery, found) in known {
        let policy = run.policy(&found);
        let (event, next) = match program_step(&found.issue, &delivery, &policy, now) {
            ProgramStep::Forget => {
                run.forget(&delivery).await?;
                continue;
            }
            ProgramStep::Wait { due } => {
                run.put_off(delivery, due).await?;
                continue;
            }
            ProgramStep::Remind => {
                ((EventKind::Reminder, None), delivery.once_reminded(&found.issue, &policy, now))
            }
            ProgramStep::End(reason) => {
                ((EventKind::Resolved, Some(reason)), delivery.once_ended())
            }
            ProgramStep::Reopen => {
                ((EventKind::Opened, None), delivery.once_opened(&found.issue, now))
            }
        };
        made.extend(queue(run, &next, &found, event, now).await?);
    }
    Ok(made)
}

/// Queues an event that a look at an issue has brought about, if the program wants it.
async fn queue<T: Transport>(
    run: &mut DeliveryRun<'_, T>,
    next: &DeliveryState,
    found: &IssueWithSite,
    event: (EventKind, Option<EndReason>),
    now: Timestamp,
) -> Result<Option<Queued>, NotifierError> {
    let mut queued = None;
    if run.channel.filter.wants(event.0, &found.issue) {
        let content = event_of(run.app, found, run.team, event, now).await?;
        let place = step_place(found.issue.rev, now, next.rev);
        queued = Some(Queued::event(next.issue, place, content, now));
    }
    let saved = run.app.store.queue_events(run.place(), next, queued.as_slice()).await;
    // Otherwise something happened to the issue: it is looked at again.
    let is_queued = unless_conflict(saved)?;
    run.look_at(if is_queued { next.due } else { Some(now) });
    Ok(queued.filter(|_| is_queued))
}

/// Sends events of one issue until one fails, and says when that is tried again.
async fn send_in_order<T: Transport>(
    run: &mut DeliveryRun<'_, T>,
    group: Vec<Queued>,
) -> Result<Option<Timestamp>, NotifierError> {
    let mut group = group.into_iter();
    while let Some(event) = group.next() {
        let now = run.now();
        if event.due.is_none_or(|due| due > now) {
            // The others wait for it.
            let until = event.due.unwrap_or(now);
            run.look_at(event.due);
            wait(run, group.collect(), until, now).await?;
            return Ok(None);
        }
        if !run.has_time() {
            run.look_at(event.due);
            return Ok(None);
        }
        if let Some(until) = run.held().await? {
            let waiting = std::iter::once(event).chain(group).collect();
            wait(run, waiting, until, now).await?;
            return Ok(None);
        }
        let outcome = broken::send(run, &event.content).await;
        run.count(outcome == SendOutcome::Delivered);
        let (asked, why) = match outcome {
            SendOutcome::Delivered => {
                run.state.delivered(now);
                run.drop_queued(&event).await?;
                continue;
            }
            SendOutcome::Retry { after, why } => {
                (after.and_then(|after| SignedDuration::try_from(after).ok()), why)
            }
            SendOutcome::Held { after, why } => (SignedDuration::try_from(after).ok(), why),
            SendOutcome::Refused { why } => (None, why),
            SendOutcome::Gone { why } => {
                disable(run, &event, &why).await?;
                let left = std::iter::once(event).chain(group).collect();
                run.park(Vec::new(), left).await?;
                return Ok(None);
            }
        };
        let Retry { at, failing, is_exhausted } =
            retry(&run.channel.target, run.channel.id, event.failing, asked, run.now());
        let event = Queued { failing: Some(failing), due: Some(at), ..event };
        if !is_exhausted {
            let attempt = attempt(&event, &why, now);
            run.state.note(attempt);
            run.save_queued(event).await?;
            wait(run, group.collect(), at, run.now()).await?;
            return Ok(Some(at));
        }
        disable(run, &event, &why).await?;
        let left = std::iter::once(event).chain(group).collect();
        run.park(Vec::new(), left).await?;
        return Ok(None);
    }
    Ok(None)
}

fn attempt(event: &Queued, why: &str, at: Timestamp) -> FailedAttempt {
    FailedAttempt { at, what: event.content.name().to_owned(), why: why.to_owned() }
}

async fn disable<T: Transport>(
    run: &mut DeliveryRun<'_, T>,
    event: &Queued,
    why: &str,
) -> Result<(), NotifierError> {
    let attempt = attempt(event, why, run.now());
    // It is counted with those that are parked after it.
    run.state.disable(attempt);
    broken::notify_owner(run, why).await
}
