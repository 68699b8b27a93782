//! Notifying programs: every event, in order for each issue.

use jiff::{SignedDuration, Timestamp};

use crate::alerts::channel::EventKind;
use crate::alerts::channel_state::FailedAttempt;
use crate::alerts::delivery::{
    Content, DeliveryState, ProgramStep, Queued, overtaken, program_step, step_place,
};
use crate::alerts::retry::{Retry, retry};
use crate::alerts::send_outcome::SendOutcome;
use crate::id::IssueId;

use super::DeliveryRun;
use super::step::{
    Delivery, DeliveryStep, EventPlan, KnownIssue, OutboxCheck, PlannedEvent, Sending,
};

/// After this many failures in a run, the receiver is assumed to be down, and the rest waits.
const FAILURES_MAX: usize = 3;

impl DeliveryRun<'_> {
    /// Adds an event to those of its issue.
    pub(super) fn add_event(&mut self, event: Queued) {
        self.events.entry(event.group.clone()).or_default().push(event);
    }

    /// The issues to load: those that are due, unless everything waits for the end of the quiet time.
    pub(super) fn begin_program(&mut self, due_now: Vec<DeliveryState>) -> Vec<DeliveryState> {
        // An event without a time waits for somebody to enable the channel. Whoever did may have died before making it
        // due, or found another process sending. The events after it would wait for it without end, and look again at
        // once.
        for event in self.events.values_mut().flatten() {
            event.due = event.due.or(Some(self.began_at));
        }
        let Some(end) = self.context.quiet_until(self.began_at) else { return due_now };
        due_now.into_iter().for_each(|delivery| self.put_off(delivery, Some(end)));
        let events = std::mem::take(&mut self.events);
        let held = |event| Queued { opened_at: None, ..event };
        self.wait(events.into_values().flatten().map(held), end, self.began_at);
        Vec::new()
    }

    /// Queues what is due about issues: what the program missed while it was off, the end of monitoring, and reminders.
    pub(super) fn decide_for_program(&mut self, known: Vec<KnownIssue>) {
        let now = self.began_at;
        let (missed, known): (Vec<_>, Vec<_>) =
            known.into_iter().partition(|known| known.delivery.missed.is_some());
        self.catch_up_program(missed);
        for KnownIssue { delivery, issue, monitor } in known {
            let policy = self.context.policy(&issue, &monitor);
            let (event, reason, next) = match program_step(&issue, &delivery, &policy, now) {
                ProgramStep::Forget => {
                    self.forget_after_outbox(delivery);
                    continue;
                }
                ProgramStep::Wait { due } => {
                    self.put_off(delivery, due);
                    continue;
                }
                ProgramStep::Remind => {
                    (EventKind::Reminder, None, delivery.once_reminded(&issue, &policy, now))
                }
                ProgramStep::End(reason) => {
                    (EventKind::Resolved, Some(reason), delivery.once_ended())
                }
                ProgramStep::Reopen => (EventKind::Opened, None, delivery.once_opened(&issue, now)),
            };
            let mut events = Vec::new();
            if policy.filter.wants(event, &issue) {
                let place = step_place(issue.rev, now, next.rev);
                // The program may have forgotten who takes care of an issue that opens again.
                let is_acknowledged = event == EventKind::Opened
                    && issue.lifecycle.acknowledgement().is_some()
                    && policy.filter.wants(EventKind::Acknowledged, &issue);
                let acknowledged = is_acknowledged.then(|| PlannedEvent {
                    event: EventKind::Acknowledged,
                    reason,
                    issue: issue.clone(),
                    at: now,
                    place: format!("{place}#"),
                });
                events.push(PlannedEvent { event, reason, issue, at: now, place });
                events.extend(acknowledged);
            }
            let is_reopened =
                matches!(events.first(), Some(PlannedEvent { event: EventKind::Opened, .. }));
            let plan = Box::new(EventPlan { next, monitor, events, due: now });
            self.steps.push_back(match is_reopened {
                true => DeliveryStep::CheckOutbox(OutboxCheck::Queue(plan)),
                false => DeliveryStep::QueueEvents(plan),
            });
        }
    }

    /// Begins with the events of an issue, unless they have to wait with those of other issues.
    pub(super) fn begin_events(&mut self, mut events: Vec<Queued>, now: Timestamp) {
        events.sort_by(|one, other| one.place.cmp(&other.place));
        let (stale, events) = overtaken(events);
        stale.into_iter().for_each(|event| self.drop_queued(event));
        let began_at = self.began_at;
        if self.is_off() {
            self.park(Vec::new(), events, now);
        } else if let Some(until) = self.host_limited_until {
            self.wait(events, until, began_at);
        } else if self.retries.len() >= FAILURES_MAX || !self.has_time(now) {
            let again = self.retries.first().copied().unwrap_or(began_at);
            self.wait(events, again, began_at);
        } else {
            self.events_in_order = events.into();
        }
    }

    /// Sends the next event of an issue, if it is due.
    pub(super) fn send_event(&mut self, event: Queued, now: Timestamp) {
        if event.due.is_none_or(|due| due > now) {
            // The others wait for it.
            self.look_at(event.due);
            return self.wait_in_order(event.due.unwrap_or(now), now);
        }
        if !self.has_time(now) {
            self.events_in_order.clear();
            return self.look_at(event.due);
        }
        if let Some(until) = self.host_limit(now) {
            return self.wait_with(event, until, now);
        }
        let Some(message) = self.context.queued(&event, now) else { return };
        let about = match (&event.content, IssueId::parse(&event.group)) {
            (Content::Event { event, .. }, Some(issue)) => vec![(issue, *event)],
            _ => Vec::new(),
        };
        let (reason, of) = (self.reason(), Sending::Event { event, at: now });
        self.send(Delivery { message, reason, about, of });
    }

    /// What follows from an attempt: the next event of the issue, or another attempt with all of them later. `at` is
    /// when it began.
    pub(super) fn sent_event(
        &mut self,
        event: Queued,
        at: Timestamp,
        outcome: SendOutcome,
        now: Timestamp,
    ) {
        let (asked, why) = match outcome {
            SendOutcome::Delivered { .. } => {
                self.arrived(at);
                self.count_latency(event.opened_at, now);
                return self.drop_queued(event);
            }
            SendOutcome::Retry { after, why } => (after, why),
            SendOutcome::Held { after, why, .. } => (Some(after), why),
            SendOutcome::Refused { why } => (None, why),
            SendOutcome::Gone { why } => {
                self.delivered.failed += 1;
                return self.disable(event, why, now);
            }
        };
        self.delivered.failed += 1;
        let channel = self.context.channel;
        let asked = asked.and_then(|asked| SignedDuration::try_from(asked).ok());
        let retry = retry(&channel.target, channel.id, event.failing, asked, now);
        let Retry { at: again, failing, is_exhausted } = retry;
        let event = Queued { failing: Some(failing), due: Some(again), ..event };
        if is_exhausted {
            return self.disable(event, why, now);
        }
        self.channel_state.note(attempt(&event, why, at));
        self.retries.push(again);
        self.save_queued(event);
        self.wait_in_order(again, now);
    }

    /// Disables the channel.
    fn disable(&mut self, event: Queued, why: String, now: Timestamp) {
        // The attempt is counted together with the events that are parked after it.
        self.channel_state.disable(attempt(&event, why.clone(), now));
        self.steps.push_back(DeliveryStep::NotifyOwner { why });
        self.events_in_order.push_front(event);
        let left = std::mem::take(&mut self.events_in_order).into();
        self.park(Vec::new(), left, now);
    }

    /// Makes an event and those after it wait for their host.
    pub(super) fn wait_with(&mut self, event: Queued, until: Timestamp, now: Timestamp) {
        self.events_in_order.push_front(event);
        self.wait_in_order(until, now);
    }

    fn wait_in_order(&mut self, until: Timestamp, now: Timestamp) {
        let events = std::mem::take(&mut self.events_in_order);
        self.wait(events, until, now);
    }

    /// Makes the events that are due wait.
    fn wait(&mut self, events: impl IntoIterator<Item = Queued>, until: Timestamp, now: Timestamp) {
        for event in events {
            if event.is_due(now) && until > now {
                self.save_queued(Queued { due: Some(until), ..event });
            } else {
                self.look_at(event.due);
            }
        }
    }
}

fn attempt(event: &Queued, why: String, at: Timestamp) -> FailedAttempt {
    FailedAttempt { at, what: event.content.name().to_owned(), why }
}
