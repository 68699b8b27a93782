//! What a channel needs to learn about a change of an issue.

use jiff::Timestamp;

use super::channel::{Channel, EventKind};
use super::delivery::{DeliveryState, OutboxEntry};
use super::due::Notified;
use crate::issues::record::Issue;

/// What a channel needs to learn about a change of an issue.
#[derive(Debug, Clone, PartialEq)]
pub struct ChannelNews {
    /// What it then knows about the issue.
    pub delivery: DeliveryState,
    /// The event for a program. For the others, the delivery state decides.
    pub event: Option<EventKind>,
}

impl Channel {
    /// Whether changes of an issue concern the channel, even while it is off.
    pub fn follows(&self, issue: &Issue) -> bool {
        self.began().is_some() && self.filter.wants_any(issue)
    }

    /// Whether it already received alerts when an issue opened.
    pub fn was_there(&self, issue: &Issue) -> bool {
        self.began().is_some_and(|since| issue.lifecycle.opened_at() >= since)
    }

    /// What the channel needs to learn about a change of an issue that it follows; `delivery` is what it knows so far,
    /// and `selects` whether it is about the site, by the site's tags. `None` if the change does not concern it.
    pub fn news(
        &self,
        delivery: Option<DeliveryState>,
        entry: &OutboxEntry,
        selects: bool,
        now: Timestamp,
    ) -> Option<ChannelNews> {
        let is_opening = entry.event == Some(EventKind::Opened);
        // A channel that follows an issue has a delivery state until the issue is over and the outbox says so.
        if delivery.is_none() && !(is_opening && self.was_there(&entry.issue)) {
            return None;
        }
        let opened_at = entry.issue.lifecycle.opened_at();
        let gets_events = self.target.gets_events();
        let is_ended = |delivery: &DeliveryState| gets_events && delivery.notified.is_none();
        // What a channel has missed is derived from the timeline, which includes this change. A program that was
        // notified that monitoring ended does not need to hear of a resolution.
        let learns = match &delivery {
            None => selects,
            Some(delivery) if is_opening => delivery.missed.is_none() && selects,
            Some(delivery) => delivery.missed.is_none() && !is_ended(delivery),
        };
        let mut delivery = match delivery {
            Some(delivery) => DeliveryState { due: Some(now), rev: delivery.rev + 1, ..delivery },
            // If the site gets other tags, they make it due.
            None => DeliveryState {
                due: selects.then_some(now),
                ..DeliveryState::new(entry.issue.id, opened_at, now)
            },
        };
        if is_opening {
            delivery.is_held = false;
        }
        if is_opening && !selects {
            delivery.leave_out(&entry.issue);
        }
        if is_opening && delivery.missed.is_none() && gets_events {
            // A program is notified of an opening by the event itself.
            let notified = Notified { opened_at, reminded_until: opened_at };
            delivery.notified = learns.then_some(notified);
        }
        if delivery.missed.is_some() || !gets_events && delivery.notified.is_some() {
            delivery.note_deletion(entry);
        }
        let wanted = entry.event.filter(|event| self.filter.wants(*event, &entry.issue));
        let event = wanted.filter(|_| gets_events && learns);
        Some(ChannelNews { delivery, event })
    }

    /// What is recorded about a change of an issue while the channel is off: the first transition that it misses, if it
    /// is about the site by then or knows of the opening. The others follow from the issue's timeline. `None` if nothing
    /// needs to be recorded.
    pub fn missed_while_off(
        &self,
        delivery: Option<DeliveryState>,
        entry: &OutboxEntry,
        selects: bool,
        now: Timestamp,
    ) -> Option<ChannelNews> {
        let is_opening = entry.event == Some(EventKind::Opened);
        let before = match delivery {
            Some(delivery) => delivery,
            None if is_opening && self.was_there(&entry.issue) => {
                let opened_at = entry.issue.lifecycle.opened_at();
                DeliveryState { rev: 0, ..DeliveryState::new(entry.issue.id, opened_at, now) }
            }
            None => return None,
        };
        let is_missed = match is_opening {
            true => selects,
            false if before.notified.is_some() => true,
            false => !self.target.gets_events() && !before.leaves_out(&entry.issue),
        };
        let mut next = DeliveryState { due: None, rev: before.rev + 1, ..before.clone() };
        next.missed = next.missed.or_else(|| entry.missed().filter(|_| is_missed));
        if is_opening && !selects {
            next.leave_out(&entry.issue);
            if self.target.gets_events() && next.missed.is_none() {
                // The end of what it knew before is queued already.
                next.notified = None;
            }
        }
        next.note_deletion(entry);
        let unchanged = DeliveryState { due: None, rev: next.rev, ..before.clone() };
        let is_noted = before.rev == 0 || next != unchanged;
        is_noted.then_some(ChannelNews { delivery: next, event: None })
    }
}
