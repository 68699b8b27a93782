//! What a channel missed while it was off, after it is enabled again.

use jiff::Timestamp;

use crate::alerts::delivery::{Content, Queued, missed_place};
use crate::alerts::ended::EndReason;
use crate::alerts::missed::{Missed, is_too_much};

use super::DeliveryRun;
use super::step::{DeliveryStep, EventPlan, KnownIssue, OutboxCheck, PlannedEvent, Write};

/// How many events of an issue are queued at once: a transaction has room for 100 items.
const QUEUED_AT_ONCE: usize = 50;

impl DeliveryRun<'_> {
    /// What people are notified of. If they missed too much, outages that ended without an alert and the earlier
    /// openings of active issues are left out, and a message says so.
    pub(super) fn catch_up_people(&mut self, mut known: Vec<KnownIssue>) -> Vec<KnownIssue> {
        if self.has_missed_too_much(&known) {
            self.queue_notice(&known);
            let is_over = |KnownIssue { delivery, issue, .. }: &KnownIssue| {
                delivery.missed.is_some()
                    && delivery.notified.is_none()
                    && !issue.lifecycle.is_active()
            };
            let (over, rest): (Vec<_>, Vec<_>) = known.into_iter().partition(is_over);
            over.into_iter().for_each(|known| self.forget(known.delivery));
            known = rest;
        }
        for known in &mut known {
            known.delivery.is_held |= known.delivery.missed.take().is_some();
        }
        known
    }

    /// Queues the transitions that a program missed, or an event that says that it missed too many.
    pub(super) fn catch_up_program(&mut self, known: Vec<KnownIssue>) {
        if self.has_missed_too_much(&known) {
            self.queue_notice(&known);
            known.into_iter().for_each(|known| self.skip(known));
            return;
        }
        for known in known {
            let plan = Box::new(self.transitions(known));
            self.steps.push_back(DeliveryStep::CheckOutbox(OutboxCheck::Queue(plan)));
        }
    }

    fn has_missed_too_much(&self, known: &[KnownIssue]) -> bool {
        let missed =
            known.iter().filter_map(|known| Some((known.delivery.missed.as_ref()?, &known.issue)));
        is_too_much(missed, self.began_at)
    }

    /// Says that the channel missed something, and since when. People are notified after their quiet time.
    fn queue_notice(&mut self, known: &[KnownIssue]) {
        let now = self.began_at;
        let first = known.iter().filter_map(|known| Some(known.delivery.missed?.at)).min();
        let since = first.unwrap_or(now);
        let [from, to] = [since, now].map(Timestamp::as_millisecond);
        let id = format!("missed-{}-{from}-{to}", self.context.channel.id);
        let due = self.context.quiet_until(now).unwrap_or(now);
        let content = Content::Missed { id, since, until: now };
        // If such a message is already waiting, no second one is needed.
        self.write(Write::AddQueued(Queued::notice("missed".to_owned(), content, due)));
    }

    /// Continues with an issue from its current state.
    fn skip(&mut self, known: KnownIssue) {
        let KnownIssue { delivery, issue, monitor } = known;
        if !issue.lifecycle.is_active() {
            return self.forget(delivery);
        }
        let policy = self.context.policy(&issue, &monitor);
        let next = delivery.once_caught_up(&issue, policy.ended.is_some(), self.began_at);
        self.write(Write::PutState(next));
    }

    /// The next transitions of an issue that the program missed.
    fn transitions(&self, known: KnownIssue) -> EventPlan {
        let KnownIssue { delivery, issue, monitor } = known;
        let now = self.began_at;
        let missed = delivery.missed.unwrap_or_else(|| Missed::opening(&issue));
        let transitions = missed.transitions(&issue).unwrap_or_default();
        let mut events = Vec::new();
        for transition in transitions.iter().take(QUEUED_AT_ONCE) {
            let Some(past) = issue.as_of(transition.place) else { continue };
            if !self.context.channel.filter.wants(transition.event, &issue) {
                continue;
            }
            let is_last = transition.place + 1 == issue.timeline.entries().len();
            events.push(PlannedEvent {
                event: transition.event,
                reason: (delivery.deleted.is_some() && is_last).then_some(EndReason::SiteDeleted),
                issue: past.issue,
                at: past.at,
                place: missed_place(&missed, transition.number),
            });
        }
        let next = match transitions.len() > QUEUED_AT_ONCE {
            true => delivery.once_queued(missed, QUEUED_AT_ONCE, now),
            false => delivery.once_caught_up(&issue, false, now),
        };
        EventPlan { next, monitor, events, due: now }
    }
}
