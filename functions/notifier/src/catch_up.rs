//! What a channel missed while it was off, once it is on again.

use jiff::Timestamp;
use vedette_domain::alerts::delivery::{Content, DeliveryState, Queued, missed_place};
use vedette_domain::alerts::ended::EndReason;
use vedette_domain::alerts::missed::{Missed, is_too_much};
use vedette_store::{IssueWithSite, unless_conflict};

use crate::NotifierError;
use crate::deliver::{DeliveryRun, Transport};
use crate::events::event_of;

/// What a channel knows of an issue, and the issue.
type Known = (DeliveryState, IssueWithSite);

/// Events of an issue that are queued at once: a transaction has room for a hundred items.
const QUEUED_AT_ONCE: usize = 50;

/// What people are notified of: where they missed too much, neither outages that are over and that they were not
/// notified of, nor when an issue was active before. A message says so.
pub(crate) async fn people<T: Transport>(
    run: &mut DeliveryRun<'_, T>,
    mut known: Vec<Known>,
    now: Timestamp,
) -> Result<Vec<Known>, NotifierError> {
    if has_missed_too_much(&known, now) {
        queue_notice(run, &known, now).await?;
        let is_over = |(delivery, found): &Known| {
            delivery.missed.is_some()
                && delivery.notified.is_none()
                && !found.issue.lifecycle.is_active()
        };
        let (over, rest): (Vec<_>, Vec<_>) = known.into_iter().partition(is_over);
        for (delivery, _) in over {
            run.forget(&delivery).await?;
        }
        known = rest;
    }
    for (delivery, _) in &mut known {
        delivery.missed = None;
    }
    Ok(known)
}

/// Queues the transitions that a program missed, or an event that says that it missed too many. Returns the
/// transitions.
pub(crate) async fn program<T: Transport>(
    run: &mut DeliveryRun<'_, T>,
    known: Vec<Known>,
    now: Timestamp,
) -> Result<Vec<Queued>, NotifierError> {
    if has_missed_too_much(&known, now) {
        queue_notice(run, &known, now).await?;
        for (delivery, found) in known {
            skip(run, delivery, &found, now).await?;
        }
        return Ok(Vec::new());
    }
    let mut queued = Vec::new();
    for (delivery, found) in known {
        // Read after the issue: what the outbox does not have now was fanned out. What it still has would be
        // sent twice; it has the channel looked at again.
        let (partition, fingerprint) = (delivery.issue.partition(), delivery.issue.fingerprint());
        if run.app.store.outbox(partition, fingerprint).await?.is_empty() {
            queued.extend(queue_transitions(run, &delivery, &found, now).await?);
        }
    }
    Ok(queued)
}

fn has_missed_too_much(known: &[Known], now: Timestamp) -> bool {
    let missed = known
        .iter()
        .filter_map(|(delivery, found)| Some((delivery.missed.as_ref()?, &found.issue)));
    is_too_much(missed, now)
}

/// Has the channel notified that it missed something, and since when. People are told after their quiet time.
async fn queue_notice<T: Transport>(
    run: &mut DeliveryRun<'_, T>,
    known: &[Known],
    now: Timestamp,
) -> Result<(), NotifierError> {
    let first = known.iter().filter_map(|(delivery, _)| Some(delivery.missed?.at)).min();
    let since = first.unwrap_or(now);
    let [from, to] = [since, now].map(Timestamp::as_millisecond);
    let id = format!("missed-{}-{from}-{to}", run.channel.id);
    let due = run.team.settings.quiet_time.until(now).unwrap_or(now);
    let content = Content::Missed { id, since, until: now };
    let notice = Queued::notice("missed".to_owned(), content, due);
    // One that waits says it already.
    unless_conflict(run.app.store.put_queued(run.place(), &notice).await)?;
    run.look_at(Some(due));
    Ok(())
}

/// Goes on with an issue from how it is now.
async fn skip<T: Transport>(
    run: &mut DeliveryRun<'_, T>,
    delivery: DeliveryState,
    found: &IssueWithSite,
    now: Timestamp,
) -> Result<(), NotifierError> {
    if !found.issue.lifecycle.is_active() {
        return run.forget(&delivery).await;
    }
    let is_ended = run.policy(found).ended.is_some();
    let next = delivery.once_caught_up(&found.issue, is_ended, now);
    save(run, &next, &[], now).await.map(drop)
}

/// Queues the next transitions of an issue that the program missed.
async fn queue_transitions<T: Transport>(
    run: &mut DeliveryRun<'_, T>,
    delivery: &DeliveryState,
    found: &IssueWithSite,
    now: Timestamp,
) -> Result<Vec<Queued>, NotifierError> {
    let issue = &found.issue;
    let missed = delivery.missed.unwrap_or_else(|| Missed::opening(issue));
    let transitions = missed.transitions(issue).unwrap_or_default();
    let mut events = Vec::new();
    for transition in transitions.iter().take(QUEUED_AT_ONCE) {
        let Some(past) = issue.as_of(transition.place) else { continue };
        if !run.channel.filter.wants(transition.event, issue) {
            continue;
        }
        let is_last = transition.place + 1 == issue.timeline.entries().len();
        let reason = (delivery.deleted.is_some() && is_last).then_some(EndReason::SiteDeleted);
        let then = IssueWithSite { issue: past.issue, ..found.clone() };
        let event = (transition.event, reason);
        let content = event_of(run.app, &then, run.team, event, past.at).await?;
        let place = missed_place(&missed, transition.number);
        events.push(Queued::event(delivery.issue, place, content, now));
    }
    let next = match transitions.len() > QUEUED_AT_ONCE {
        true => delivery.once_queued(missed, QUEUED_AT_ONCE, now),
        false => delivery.once_caught_up(issue, false, now),
    };
    let is_saved = save(run, &next, &events, now).await?;
    Ok(if is_saved { events } else { Vec::new() })
}

/// Queues events with what the channel knows then, and has that looked at next. Says no where something happened
/// to the issue meanwhile: then it is looked at again.
async fn save<T: Transport>(
    run: &mut DeliveryRun<'_, T>,
    next: &DeliveryState,
    events: &[Queued],
    now: Timestamp,
) -> Result<bool, NotifierError> {
    let saved = run.app.store.queue_events(run.place(), next, events).await;
    run.look_at(Some(now));
    Ok(unless_conflict(saved)?)
}
