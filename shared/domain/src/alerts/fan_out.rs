//! What a channel needs to learn about a change of an issue.

use jiff::Timestamp;

use super::channel::{Channel, EventKind};
use super::delivery::{DeliveryState, OutboxEntry};
use super::due::Notified;
use crate::issues::record::Issue;

/// What a channel needs to learn about a change of an issue.
#[derive(Debug, Clone, PartialEq)]
pub struct ChannelNews {
    /// What it then knows about the issue, if that changes.
    pub delivery: Option<DeliveryState>,
    /// The event for a program. For people, the delivery state decides.
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
        if delivery.is_none() && !self.was_there(&entry.issue) {
            return None;
        }
        let opened_at = entry.issue.lifecycle.opened_at();
        let is_for_people = self.target.is_for_people();
        let is_opening = entry.event == Some(EventKind::Opened);
        let is_ended = |delivery: &DeliveryState| !is_for_people && delivery.notified.is_none();
        // What a channel has missed is derived from the timeline, which includes this change. A program that was
        // notified that monitoring ended does not need to hear of a resolution.
        let learns = match &delivery {
            None => selects,
            Some(delivery) if is_opening => delivery.missed.is_none() && selects,
            Some(delivery) => delivery.missed.is_none() && !is_ended(delivery),
        };
        let mut delivery = match delivery {
            Some(delivery) => {
                Some(DeliveryState { due: Some(now), rev: delivery.rev + 1, ..delivery })
            }
            None => is_opening.then(|| {
                let new = DeliveryState::new(entry.issue.id, opened_at, now);
                // If the site gets other tags, they make it due.
                DeliveryState { due: new.due.filter(|_| selects), ..new }
            }),
        };
        if let Some(delivery) = &mut delivery {
            if is_opening && delivery.missed.is_none() && !is_for_people {
                // A program is notified of an opening by the event itself.
                let notified = Notified { opened_at, reminded_until: opened_at };
                delivery.notified = learns.then_some(notified);
            }
            if delivery.missed.is_some() || is_for_people && delivery.notified.is_some() {
                delivery.note_deletion(entry);
            }
        }
        let wanted = entry.event.filter(|event| self.filter.wants(*event, &entry.issue));
        let event = wanted.filter(|_| !is_for_people && learns);
        (delivery.is_some() || event.is_some()).then_some(ChannelNews { delivery, event })
    }

    /// What is recorded about a change of an issue while the channel is off: the first transition that it misses. The
    /// others follow from the issue's timeline. `None` if nothing needs to be recorded.
    pub fn missed_while_off(
        &self,
        delivery: Option<DeliveryState>,
        entry: &OutboxEntry,
        now: Timestamp,
    ) -> Option<ChannelNews> {
        let is_opening = entry.event == Some(EventKind::Opened);
        let is_resolution =
            entry.event == Some(EventKind::Resolved) && !self.target.is_for_people();
        let before = match delivery {
            Some(delivery) => delivery,
            // A program's delivery state is deleted when its issue is over, which may happen before the outbox reports
            // the resolution. The program must hear of the resolution as well.
            None if (is_opening || is_resolution) && self.was_there(&entry.issue) => {
                let opened_at = entry.issue.lifecycle.opened_at();
                DeliveryState { rev: 0, ..DeliveryState::new(entry.issue.id, opened_at, now) }
            }
            None => return None,
        };
        let mut next = DeliveryState { due: None, rev: before.rev + 1, ..before.clone() };
        next.missed = next.missed.or_else(|| entry.missed());
        next.note_deletion(entry);
        let is_noted = next.missed != before.missed || next.deleted != before.deleted;
        is_noted.then_some(ChannelNews { delivery: Some(next), event: None })
    }
}
