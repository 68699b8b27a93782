//! Notifying programs: every event, in order for each issue.

use std::collections::{BTreeMap, VecDeque};

use jiff::{SignedDuration, Timestamp};

use crate::alerts::channel::EventKind;
use crate::alerts::channel_state::FailedAttempt;
use crate::alerts::delivery::{
    DeliveryState, ProgramStep, Queued, overtaken, program_step, step_place,
};
use crate::alerts::retry::{Retry, retry};
use crate::alerts::send_outcome::SendOutcome;

use super::action::{Action, drop_queued, forget, load_issues, put_off, save_queued};
use super::catch_up;
use super::progress::Progress;
use super::step::{Delivery, DeliveryStep, EventDelivery, EventPlan, KnownIssue, PlannedEvent};

/// After this many failures in a run, the receiver is assumed to be down, and the rest waits.
const FAILURES_MAX: usize = 3;

/// Loads the issues that are due, or makes everything wait for the end of the quiet time.
pub(super) fn begin(
    progress: &mut Progress<'_>,
    deliveries: Vec<DeliveryState>,
    events: Vec<Queued>,
) -> Vec<Action> {
    let due_now = progress.take_due(deliveries);
    // An event without a time waits for somebody to enable the channel. Whoever did may have died before making it due,
    // or found another process sending. The events after it would wait for it without end, and look again at once.
    let as_due = |event: Queued| Queued { due: event.due.or(Some(progress.began_at)), ..event };
    let events: Vec<_> = events.into_iter().map(as_due).collect();
    if let Some(end) = progress.context.quiet_until(progress.began_at) {
        let mut plan: Vec<_> =
            due_now.into_iter().map(|delivery| put_off(delivery, Some(end))).collect();
        plan.extend(wait(progress, events, end, progress.began_at));
        return plan;
    }
    progress.events = events;
    let mut plan = load_issues(due_now);
    plan.push(Action::AllEvents);
    plan
}

/// Queues what is due about issues: what the program missed while it was off, the end of monitoring, and reminders.
pub(super) fn decide(
    progress: &Progress<'_>,
    known: Vec<KnownIssue>,
    gone: Vec<DeliveryState>,
) -> Vec<Action> {
    let now = progress.began_at;
    let mut plan: Vec<Action> = gone.into_iter().map(forget).collect();
    let (missed, known): (Vec<_>, Vec<_>) =
        known.into_iter().partition(|known| known.delivery.missed.is_some());
    plan.extend(catch_up::program(progress, missed));
    for KnownIssue { delivery, issue, site } in known {
        let policy = progress.context.policy(&issue, &site);
        let (event, reason, next) = match program_step(&issue, &delivery, &policy, now) {
            ProgramStep::Forget => {
                plan.push(forget(delivery));
                continue;
            }
            ProgramStep::Wait { due } => {
                plan.push(put_off(delivery, due));
                continue;
            }
            ProgramStep::Remind => {
                (EventKind::Reminder, None, delivery.once_reminded(&issue, &policy, now))
            }
            ProgramStep::End(reason) => (EventKind::Resolved, Some(reason), delivery.once_ended()),
            ProgramStep::Reopen => (EventKind::Opened, None, delivery.once_opened(&issue, now)),
        };
        let mut events = Vec::new();
        if policy.filter.wants(event, &issue) {
            let place = step_place(issue.rev, now, next.rev);
            events.push(PlannedEvent { event, reason, issue, at: now, place });
        }
        let events = EventPlan { next, site, events, due: now };
        plan.push(Action::DeliveryStep(DeliveryStep::QueueEvents(Box::new(events))));
    }
    plan
}

/// Sends the events of one issue after the other.
pub(super) fn all_events(progress: &mut Progress<'_>) -> Vec<Action> {
    let mut issues: BTreeMap<String, Vec<Queued>> = BTreeMap::new();
    for event in std::mem::take(&mut progress.events) {
        issues.entry(event.group.clone()).or_default().push(event);
    }
    issues.into_values().map(Action::EventsOfIssue).collect()
}

/// Sends the events of an issue, unless they have to wait with those of other issues.
pub(super) fn events_of_issue(
    progress: &mut Progress<'_>,
    mut events: Vec<Queued>,
    now: Timestamp,
) -> Vec<Action> {
    events.sort_by(|one, other| one.place.cmp(&other.place));
    let (stale, events) = overtaken(events);
    let mut plan: Vec<_> = stale.into_iter().map(drop_queued).collect();
    let began_at = progress.began_at;
    if progress.is_off() {
        plan.extend(progress.park(Vec::new(), events, now));
    } else if let Some(until) = progress.host_limited_until {
        plan.extend(wait(progress, events, until, began_at));
    } else if progress.retries.len() >= FAILURES_MAX || !progress.has_time(now) {
        let again = progress.retries.first().copied().unwrap_or(began_at);
        plan.extend(wait(progress, events, again, began_at));
    } else {
        plan.push(Action::EventsInOrder(events.into()));
    }
    plan
}

/// Sends the first of some events of an issue, if it is due.
pub(super) fn events_in_order(
    progress: &mut Progress<'_>,
    mut events: VecDeque<Queued>,
    now: Timestamp,
) -> Vec<Action> {
    let Some(event) = events.pop_front() else { return Vec::new() };
    if event.due.is_none_or(|due| due > now) {
        // The others wait for it.
        progress.look_at(event.due);
        return wait(progress, events, event.due.unwrap_or(now), now);
    }
    if !progress.has_time(now) {
        progress.look_at(event.due);
        return Vec::new();
    }
    let delivery = EventDelivery { event, rest: events.into(), at: now };
    match progress.host_limit(now) {
        Some(until) => postpone(progress, delivery, until),
        None => vec![Action::DeliveryStep(DeliveryStep::Send(Delivery::Event(delivery)))],
    }
}

/// Makes an event and those after it wait for their host.
pub(super) fn postpone(
    progress: &mut Progress<'_>,
    delivery: EventDelivery,
    until: Timestamp,
) -> Vec<Action> {
    let EventDelivery { event, rest, at } = delivery;
    wait(progress, std::iter::once(event).chain(rest), until, at)
}

/// What follows from an attempt: the next event of the issue, or another attempt with all of them later.
pub(super) fn sent(
    progress: &mut Progress<'_>,
    delivery: EventDelivery,
    outcome: SendOutcome,
    now: Timestamp,
) -> Vec<Action> {
    let EventDelivery { event, rest, at } = delivery;
    let (asked, why) = match outcome {
        SendOutcome::Delivered => {
            progress.delivered(at);
            return vec![drop_queued(event), Action::EventsInOrder(rest.into())];
        }
        SendOutcome::Retry { after, why } => (after, why),
        SendOutcome::Held { after, why, .. } => (Some(after), why),
        SendOutcome::Refused { why } => (None, why),
        SendOutcome::Gone { why } => {
            progress.delivered.failed += 1;
            return disable(progress, event, rest, why, now);
        }
    };
    progress.delivered.failed += 1;
    let channel = progress.context.channel;
    let asked = asked.and_then(|asked| SignedDuration::try_from(asked).ok());
    let retry = retry(&channel.target, channel.id, event.failing, asked, now);
    let Retry { at: again, failing, is_exhausted } = retry;
    let event = Queued { failing: Some(failing), due: Some(again), ..event };
    if is_exhausted {
        return disable(progress, event, rest, why, now);
    }
    progress.channel_state.note(attempt(&event, why, at));
    progress.retries.push(again);
    let mut plan = vec![save_queued(event)];
    plan.extend(wait(progress, rest, again, now));
    plan
}

/// Disables the channel.
fn disable(
    progress: &mut Progress<'_>,
    event: Queued,
    rest: Vec<Queued>,
    why: String,
    now: Timestamp,
) -> Vec<Action> {
    // The attempt is counted together with the events that are parked after it.
    progress.channel_state.disable(attempt(&event, why.clone(), now));
    let left = std::iter::once(event).chain(rest).collect();
    let mut plan = vec![Action::DeliveryStep(DeliveryStep::NotifyOwner { why })];
    plan.extend(progress.park(Vec::new(), left, now));
    plan
}

fn attempt(event: &Queued, why: String, at: Timestamp) -> FailedAttempt {
    FailedAttempt { at, what: event.content.name().to_owned(), why }
}

/// Makes the events that are due wait.
fn wait(
    progress: &mut Progress<'_>,
    events: impl IntoIterator<Item = Queued>,
    until: Timestamp,
    now: Timestamp,
) -> Vec<Action> {
    let mut plan = Vec::new();
    for event in events {
        if event.due.is_some_and(|due| due <= now) && until > now {
            plan.push(save_queued(Queued { due: Some(until), ..event }));
        } else {
            progress.look_at(event.due);
        }
    }
    plan
}
