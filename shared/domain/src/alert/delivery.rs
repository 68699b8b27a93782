//! What is outstanding for a channel: what it knows of each issue, and what waits to be sent.

use jiff::fmt::serde::timestamp::millisecond;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::channel::EventKind;
use super::due::{Due, Policy, Told, due};
use super::reminder::next_reminder;
use super::retry::{Failing, is_too_far};
use crate::clock::is_ahead;
use crate::id::{IssueId, TeamId};
use crate::issue::record::{Issue, IssueChange};

/// A change of an issue that channels have yet to learn of. It is written with the change itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OutboxEntry {
    /// The team of the site.
    pub team: TeamId,
    /// What happened; none where nothing is to be told, and only due times change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<EventKind>,
    /// The issue as it became.
    pub issue: Issue,
    /// The last write.
    pub at: Timestamp,
}

impl OutboxEntry {
    /// What channels have to learn of a change.
    pub fn of(team: TeamId, change: &IssueChange) -> Self {
        let was_active = change.before.as_ref().is_some_and(|issue| issue.lifecycle.is_active());
        let event = match (was_active, change.after.lifecycle.is_active()) {
            (false, true) => Some(EventKind::Opened),
            (true, false) => Some(EventKind::Resolved),
            _ => None,
        };
        Self { team, event, issue: change.after.clone(), at: change.after.updated_at }
    }
}

/// What a channel knows of an issue, and when to look at it again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursor {
    /// The issue.
    pub issue: IssueId,
    /// What the channel was told; none where an opening is still to be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told: Option<Told>,
    /// The first opening that it may not have been told of.
    #[serde(with = "millisecond::required")]
    pub from: Timestamp,
    /// When to look again; none where nothing happens by itself.
    // Not `due`: redelivery puts that off when it sends a message.
    #[serde(
        rename = "at",
        default,
        with = "millisecond::optional",
        skip_serializing_if = "Option::is_none"
    )]
    pub due: Option<Timestamp>,
    /// Rises with every write.
    pub rev: u64,
}

impl Cursor {
    /// A channel that has yet to learn of an issue, to be written for the first time.
    pub const fn new(issue: IssueId, from: Timestamp, now: Timestamp) -> Self {
        Self { issue, told: None, from, due: Some(now), rev: 1 }
    }

    /// The cursor once the clock was set back to `now`, by which reminders are due again; none where nothing in it
    /// lies ahead.
    pub fn rewound(&self, now: Timestamp) -> Option<Self> {
        let told = self.told.filter(|told| is_ahead(told.reminded_until, now))?;
        let told = Some(Told { reminded_until: now, ..told });
        Some(Self { told, due: Some(now), rev: self.rev + 1, ..self.clone() })
    }

    /// The cursor once people were told of the issue; none where nothing is left to be known.
    pub fn once_told(
        &self,
        issue: &Issue,
        told: Option<Told>,
        policy: &Policy<'_>,
        now: Timestamp,
    ) -> Option<Self> {
        let told = Some(told?);
        let due = match due(issue, told, self.from, policy, now) {
            Due::Later { at, .. } => at,
            Due::Tell { .. } | Due::Nothing(_) => Some(now),
        };
        Some(Self { told, due, rev: self.rev + 1, ..self.clone() })
    }

    /// The cursor of an issue to which something happened while people were told of it as it was: they
    /// are told the rest now.
    #[must_use]
    pub fn told_meanwhile(&self, issue: &Issue, told: Option<Told>, now: Timestamp) -> Self {
        let after = issue.lifecycle.opened_at().saturating_add(SignedDuration::from_millis(1));
        let from = if told.is_some() { self.from } else { after.unwrap_or(self.from) };
        Self { told, from, due: Some(now), rev: self.rev + 1, ..self.clone() }
    }

    /// The cursor once a reminder of the issue was queued.
    #[must_use]
    pub fn once_reminded(&self, issue: &Issue, policy: &Policy<'_>, now: Timestamp) -> Self {
        let told = Told { opened_at: issue.lifecycle.opened_at(), reminded_until: now };
        let mut next = Self { told: Some(told), rev: self.rev + 1, ..self.clone() };
        next.due = match reminder_step(issue, &next, policy, now) {
            ReminderStep::Wait { due } => due,
            ReminderStep::Send | ReminderStep::Forget => Some(now),
        };
        next
    }
}

/// What a reminder of an issue does to a channel that is told of every event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReminderStep {
    /// The issue is over: there is nothing to remember.
    Forget,
    /// Nothing yet.
    Wait {
        /// When to look again.
        due: Option<Timestamp>,
    },
    /// It is due now.
    Send,
}

/// What is due of an issue's reminders to a channel that is told of every event.
pub fn reminder_step(
    issue: &Issue,
    cursor: &Cursor,
    policy: &Policy<'_>,
    now: Timestamp,
) -> ReminderStep {
    if !issue.lifecycle.is_active() {
        return ReminderStep::Forget;
    }
    if !policy.filter.wants(EventKind::Reminder, issue) {
        return ReminderStep::Wait { due: None };
    }
    let opened_at = issue.lifecycle.opened_at();
    let told = cursor.told.filter(|told| told.opened_at == opened_at);
    let reminded_until = told.map_or(opened_at, |told| told.reminded_until);
    let next = next_reminder(issue, reminded_until, policy.escalation, policy.time_scale);
    let held = next.map(|next| issue.snoozed_until.map_or(next, |until| until.max(next)));
    match held {
        Some(due) if due <= now => ReminderStep::Send,
        due => ReminderStep::Wait { due },
    }
}

/// Where an event stands among those of its issue: transitions by the issue's `rev`, and after each of
/// them its reminders by their time.
pub fn place(rev: u64, reminder: Option<Timestamp>) -> String {
    let reminder = reminder.map_or(0, |at| at.as_millisecond().max(0));
    format!("{rev:010}#{reminder:014}")
}

/// Parts the events of an issue, in their order, into reminders that its resolution has overtaken,
/// which nobody needs any more, and those that are to be sent.
pub fn overtaken(group: Vec<Queued>) -> (Vec<Queued>, Vec<Queued>) {
    let is = |queued: &Queued, kind| matches!(queued.content, Content::Event { event, .. } if event == kind);
    let last = group.iter().rposition(|queued| is(queued, EventKind::Resolved)).unwrap_or(0);
    let (stale, kept): (Vec<_>, Vec<_>) = group
        .into_iter()
        .enumerate()
        .partition(|(place, queued)| *place < last && is(queued, EventKind::Reminder));
    let events = |numbered: Vec<(usize, Queued)>| numbered.into_iter().map(|(_, event)| event);
    (events(stale).collect(), events(kept).collect())
}

/// Something that waits to be sent, after everything of its group that was queued before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queued {
    /// What is sent in order: an issue, or a message of its own.
    pub group: String,
    /// Its place in the group.
    pub place: String,
    /// What is sent.
    pub content: Content,
    /// How that has failed so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failing: Option<Failing>,
    /// When to send it.
    // Not `due`: redelivery puts that off when it sends a message.
    #[serde(
        rename = "at",
        default,
        with = "millisecond::optional",
        skip_serializing_if = "Option::is_none"
    )]
    pub due: Option<Timestamp>,
    /// Rises with every write.
    pub rev: u64,
}

impl Queued {
    /// An event of an issue, to be sent now; see [`place`].
    pub fn event(issue: IssueId, place: String, content: Content, now: Timestamp) -> Self {
        let (group, due) = (issue.to_string(), Some(now));
        Self { group, place, content, failing: None, due, rev: 1 }
    }

    /// A message of its own, to be sent now.
    pub fn notice(group: String, content: Content, now: Timestamp) -> Self {
        Self { group, place: "0".to_owned(), content, failing: None, due: Some(now), rev: 1 }
    }

    /// Whether it waits longer than anything could: the clock was set back since.
    pub fn waits_too_long(&self, now: Timestamp) -> bool {
        self.due.is_some_and(|due| is_too_far(due, self.failing, now))
    }

    /// The same, to be sent now, as if it had not failed before.
    #[must_use]
    pub fn again(&self, now: Timestamp) -> Self {
        Self { failing: None, due: Some(now), rev: self.rev + 1, ..self.clone() }
    }
}

/// What is sent to a channel besides what it is told of an issue that it knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Content {
    /// An event of an issue, as it happened, to a webhook.
    Event {
        /// The same for every attempt: by it the receiver knows a repetition.
        id: String,
        /// What happened.
        event: EventKind,
        /// The very bytes.
        body: String,
    },
    /// Somebody tries the channel.
    Test {
        /// Names the message.
        id: String,
    },
    /// Another channel of the team does not work.
    BrokenChannel {
        /// Names the message.
        id: String,
        /// The other channel's name.
        channel: String,
        /// Why it does not.
        reason: String,
    },
    /// Asks the reader of an address whether it may be written to.
    Confirmation {
        /// Names the message; empty where a version before this one queued it.
        #[serde(default)]
        id: String,
    },
}

impl Content {
    /// What it is, for people.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Event { event, .. } => event.as_str(),
            Self::Test { .. } => "test",
            Self::BrokenChannel { .. } => "notice",
            Self::Confirmation { .. } => "confirmation",
        }
    }

    /// Whether an address receives it that nobody has confirmed.
    pub const fn needs_no_confirmation(&self) -> bool {
        matches!(self, Self::Confirmation { .. })
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::alert::channel::Target;
    use crate::alert::retry::retry;
    use crate::id::ChannelId;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_795_000_000 + second).expect("a timestamp")
    }

    #[test]
    fn what_was_given_up_is_sent_again_from_the_first_try() {
        let content = Content::Test { id: "1".to_owned() };
        let notice = Queued::notice("test-1".to_owned(), content, at(0));
        let failing = retry(
            &Target::email("a@example.com").expect("an address"),
            ChannelId(Uuid::nil()),
            None,
            None,
            at(1),
        )
        .failing;
        let parked = Queued { failing: Some(failing), due: None, rev: 20, ..notice.clone() };
        let expected = Queued { due: Some(at(5)), rev: 21, ..notice };
        assert_eq!(parked.again(at(5)), expected);
    }

    #[test]
    fn a_confirmation_that_the_previous_version_queued_is_read() {
        let read: Content = serde_json::from_str(r#"{"kind":"confirmation"}"#).expect("content");
        assert_eq!(read, Content::Confirmation { id: String::new() });
    }
}
