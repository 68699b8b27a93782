//! What a channel is to learn of a change of an issue.

use jiff::Timestamp;

use super::channel::{Channel, EventKind};
use super::delivery::{Cursor, OutboxEntry};
use super::due::Told;
use crate::issue::record::Issue;

/// What a channel is to learn of a change of an issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lesson {
    /// What it knows of the issue then, if that changes.
    pub cursor: Option<Cursor>,
    /// What a program is told; people are told by the cursor.
    pub event: Option<EventKind>,
}

impl Channel {
    /// Whether it is to learn of changes of an issue.
    pub fn follows(&self, issue: &Issue) -> bool {
        self.is_on() && self.filter.wants_any(issue)
    }

    /// Whether it received alerts already when an issue opened.
    pub fn was_there(&self, issue: &Issue) -> bool {
        self.since.is_some_and(|since| issue.lifecycle.opened_at() >= since)
    }

    /// What it is to learn of a change of an issue that it follows, of which it knows `cursor`; none
    /// where the change does not concern it.
    pub fn lesson(
        &self,
        cursor: Option<Cursor>,
        entry: &OutboxEntry,
        now: Timestamp,
    ) -> Option<Lesson> {
        if cursor.is_none() && !self.was_there(&entry.issue) {
            return None;
        }
        let opened_at = entry.issue.lifecycle.opened_at();
        let is_for_people = self.target.is_for_people();
        let is_opening = entry.event == Some(EventKind::Opened);
        let mut cursor = match cursor {
            Some(cursor) => Some(Cursor { due: Some(now), rev: cursor.rev + 1, ..cursor }),
            None => is_opening.then(|| Cursor::new(entry.issue.id, opened_at, now)),
        };
        if let Some(cursor) = cursor.as_mut().filter(|_| is_opening && !is_for_people) {
            // A program is told of an opening by the event alone.
            cursor.told = Some(Told { opened_at, reminded_until: opened_at });
        }
        let wanted = entry.event.filter(|event| self.filter.wants(*event, &entry.issue));
        let event = wanted.filter(|_| !is_for_people);
        (cursor.is_some() || event.is_some()).then_some(Lesson { cursor, event })
    }
}
