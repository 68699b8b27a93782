//! What is outstanding for a channel: what it knows of each issue, what waits to be sent, and how it
//! has behaved lately.

use jiff::fmt::serde::timestamp::millisecond;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::AlertKind;
use super::channel::{Channel, Disabled, EventKind, Target};
use super::due::{Due, Policy, Told, due};
use super::reminder::next_reminder;
use super::retry::{Failing, Retry, retry};
use super::storm::Window;
use crate::id::{ChannelId, IssueId, TeamId};
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
    Confirmation,
}

impl Content {
    /// What it is, for people.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Event { event, .. } => event.as_str(),
            Self::Test { .. } => "test",
            Self::BrokenChannel { .. } => "notice",
            Self::Confirmation => "confirmation",
        }
    }

    /// Whether an address receives it that nobody has confirmed.
    pub const fn needs_no_confirmation(&self) -> bool {
        matches!(self, Self::Confirmation)
    }
}

/// How a channel has behaved lately.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ChannelState {
    /// Rises with every write.
    pub rev: u64,
    /// Until when somebody sends to it; nobody else does meanwhile.
    #[serde(with = "millisecond::optional", skip_serializing_if = "Option::is_none")]
    pub leased_until: Option<Timestamp>,
    /// Openings sent lately.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub openings: Option<Window>,
    /// Resolutions sent lately.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolutions: Option<Window>,
    /// Reminders sent lately.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reminders: Option<Window>,
    /// Messages to people that failed in a row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failing: Option<Failing>,
    /// Whether the team was told that it fails.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_reported: bool,
    /// Not before then is anything sent to people again.
    #[serde(with = "millisecond::optional", skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Timestamp>,
    /// Messages in a row that the receiver refused for what they are.
    pub refusals: u32,
    /// Why nothing is sent any more, if the receiver does not want it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disabled: Option<Disabled>,
    /// The last thing that arrived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivered_at: Option<Timestamp>,
    /// What did not arrive lately, the newest last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<FailedAttempt>,
}

/// How a channel stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// It receives alerts.
    On,
    /// It receives alerts, and has not taken the last one.
    Failing,
    /// Its reader has yet to agree.
    Unconfirmed,
    /// It receives nothing.
    Disabled,
}

impl Standing {
    /// How a channel stands that has behaved so lately.
    pub fn of(channel: &Channel, state: &ChannelState) -> Self {
        let failed = state.log.last().map(|attempt| attempt.at);
        if channel.disabled.is_some() || state.disabled.is_some() {
            Self::Disabled
        } else if channel.since.is_none() {
            Self::Unconfirmed
        } else if failed > state.delivered_at {
            Self::Failing
        } else {
            Self::On
        }
    }

    /// As written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::Failing => "failing",
            Self::Unconfirmed => "unconfirmed",
            Self::Disabled => "disabled",
        }
    }
}

/// An attempt that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedAttempt {
    /// When.
    pub at: Timestamp,
    /// What was sent.
    pub what: String,
    /// Why it did not arrive.
    pub why: String,
}

/// How long somebody may send to a channel before others take it that the process has died; also the
/// timeout of the Lambda function that sends.
pub const LEASE: SignedDuration = SignedDuration::from_secs(120);
/// Failed attempts that are kept.
const LOG_MAX: usize = 20;
/// Refused messages in a row after which a channel is disabled.
const REFUSALS_MAX: u32 = 3;
/// Characters of the reason for a failure that are kept.
const WHY_MAX: usize = 300;

impl ChannelState {
    /// Whether somebody sends to the channel.
    pub fn is_leased(&self, now: Timestamp) -> bool {
        self.leased_until.is_some_and(|until| now < until)
    }

    /// The state in which whatever failed is tried again, and the receiver is given another chance;
    /// none while somebody sends. What failed is still to be read.
    pub fn enabled(&self, now: Timestamp) -> Option<Self> {
        (!self.is_leased(now)).then(|| Self {
            rev: self.rev + 1,
            leased_until: None,
            failing: None,
            is_reported: false,
            retry_at: None,
            refusals: 0,
            disabled: None,
            ..self.clone()
        })
    }

    /// The state while somebody sends; none where somebody else does.
    pub fn leased(&self, now: Timestamp) -> Option<Self> {
        if self.is_leased(now) {
            return None;
        }
        let until = now.saturating_add(LEASE).unwrap_or(now);
        Some(Self { leased_until: Some(until), rev: self.rev + 1, ..self.clone() })
    }

    /// The state without a lease that was taken before `start`; none where there is no such lease.
    pub fn released(&self, start: Timestamp) -> Option<Self> {
        let taken_at = self.leased_until?.saturating_sub(LEASE).ok()?;
        (taken_at < start).then(|| Self { leased_until: None, rev: self.rev + 1, ..self.clone() })
    }

    /// The window of a kind of news.
    pub const fn window_mut(&mut self, kind: AlertKind) -> &mut Option<Window> {
        match kind {
            AlertKind::Resolved => &mut self.resolutions,
            AlertKind::Reminder => &mut self.reminders,
            _ => &mut self.openings,
        }
    }

    /// Something arrived.
    pub const fn delivered(&mut self, now: Timestamp) {
        self.failing = None;
        self.is_reported = false;
        self.refusals = 0;
        self.retry_at = None;
        self.delivered_at = Some(now);
    }

    /// A message to people did not arrive, and may later.
    pub fn failed(
        &mut self,
        (target, channel): (&Target, ChannelId),
        attempt: FailedAttempt,
        asked: Option<SignedDuration>,
    ) -> Retry {
        let now = attempt.at;
        self.note(attempt);
        let retry = retry(target, channel, self.failing, asked, now);
        self.failing = Some(retry.failing);
        self.retry_at = Some(retry.at);
        retry
    }

    /// The receiver refused a message for what it is. Says whether the channel is disabled for that.
    pub fn refused(&mut self, attempt: FailedAttempt) -> bool {
        self.refusals = self.refusals.saturating_add(1);
        let disables = self.refusals >= REFUSALS_MAX;
        if disables {
            self.disable(attempt);
        } else {
            self.note(attempt);
        }
        disables
    }

    /// Nothing is sent any more, for the reason that an attempt failed.
    pub fn disable(&mut self, attempt: FailedAttempt) {
        self.disabled = Some(Disabled { at: attempt.at, reason: attempt.why.clone() });
        self.note(attempt);
    }

    /// Keeps a failed attempt to be shown.
    pub fn note(&mut self, mut attempt: FailedAttempt) {
        attempt.why = attempt.why.chars().take(WHY_MAX).collect();
        self.log.push(attempt);
        let past = self.log.len().saturating_sub(LOG_MAX);
        self.log.drain(..past);
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::alert::channel::SecretUrl;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_795_000_000 + second).expect("a timestamp")
    }

    #[test]
    fn a_channel_that_is_enabled_again_begins_anew_and_shows_what_failed() {
        let target = Target::Slack { url: SecretUrl::new("https://hooks.slack.com/x") };
        let attempt = |second| FailedAttempt {
            at: at(second),
            what: "test".to_owned(),
            why: "HTTP 500".to_owned(),
        };
        let mut state = ChannelState::default();
        state.failed((&target, ChannelId(Uuid::nil())), attempt(0), None);
        state.refused(attempt(1));
        state.disable(attempt(2));
        let enabled = state.enabled(at(3)).expect("nobody sends");
        let expected = ChannelState { rev: 1, log: state.log.clone(), ..ChannelState::default() };
        assert_eq!(enabled, expected);
        assert_eq!(enabled.log.len(), 3);
        let leased = state.leased(at(3)).expect("nobody sends");
        assert_eq!(leased.enabled(at(3)), None, "whoever sends saves the state at the end");
        assert!(leased.enabled(at(3) + LEASE).is_some(), "unless they died");
    }

    #[test]
    fn only_a_lease_from_before_a_start_is_ended_by_it() {
        let leased = ChannelState::default().leased(at(0)).expect("nobody sends");
        let released = ChannelState { leased_until: None, rev: 2, ..leased.clone() };
        assert_eq!(leased.released(at(1)), Some(released));
        assert_eq!(leased.released(at(0)), None);
        assert_eq!(ChannelState::default().released(at(1)), None);
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
}
