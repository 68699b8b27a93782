//! What is outstanding for a channel: what it knows about each issue, and what waits to be sent.

use jiff::fmt::serde::timestamp::millisecond;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::channel::{Channel, EventKind};
use super::due::{AlertPolicy, Due, Notified, due};
use super::ended::EndReason;
use super::handle::Handle;
use super::mail::Asker;
use super::missed::Missed;
use super::reminder::next_reminder;
use super::retry::{Failing, is_too_far};
use super::standing::StandingAlert;
use crate::clock::is_ahead;
use crate::id::{ChannelId, IssueId, SiteId, TeamId, UserId};
use crate::issues::Lifecycle;
use crate::issues::record::{Issue, IssueChange, end_with_site};
use crate::monitor::Monitor;
use crate::time_zone::NamedZone;

/// A change of an issue that channels do not know yet. It is written in the same transaction as the change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OutboxEntry {
    /// The team of the site.
    pub team: TeamId,
    /// What happened; `None` if there is nothing to send and only due times change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<EventKind>,
    /// The issue after the change.
    pub issue: Issue,
    /// When it was last written.
    pub at: Timestamp,
    /// The `rev` of the issue's site, if the site's settings or tags changed and the issue did not.
    // Earlier versions stored the site's `cfg`, which is lower.
    #[serde(rename = "cfg", default, skip_serializing_if = "Option::is_none")]
    pub site_rev: Option<u64>,
    /// The issue's site or heartbeat, if it was deleted: nothing else is left of it.
    #[serde(rename = "deleted_site", default, skip_serializing_if = "Option::is_none")]
    pub deleted: Option<Monitor>,
    /// Whether status pages of the team may show another state after the change.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub publishes: bool,
}

impl OutboxEntry {
    /// The entry for a change of an issue.
    pub fn of(team: TeamId, change: &IssueChange) -> Self {
        let before = change.before.as_ref().map(|issue| issue.lifecycle);
        let after = change.after.lifecycle;
        let was_acknowledged = before.is_some_and(|before| before.acknowledgement().is_some());
        let event = match (before.is_some_and(Lifecycle::is_active), after.is_active()) {
            (false, true) => Some(EventKind::Opened),
            (true, false) => Some(EventKind::Resolved),
            (true, true) if !was_acknowledged && after.acknowledgement().is_some() => {
                Some(EventKind::Acknowledged)
            }
            _ => None,
        };
        let (issue, at) = (change.after.clone(), change.after.updated_at);
        let publishes = change.publishes && event.is_some();
        Self { team, event, issue, at, site_rev: None, deleted: None, publishes }
    }

    /// Makes channels look again at an issue that has not changed, because its site or heartbeat has other settings or
    /// tags, with this `rev`.
    pub fn of_settings(team: TeamId, rev: u64, issue: Issue, now: Timestamp) -> Self {
        let site_rev = Some(rev);
        let publishes = false;
        Self { team, event: None, issue, at: now, site_rev, deleted: None, publishes }
    }

    /// The entry for an issue whose site or heartbeat was deleted by a member or an operator.
    pub fn of_deletion(
        monitor: &Monitor,
        issue: Issue,
        by: Option<UserId>,
        now: Timestamp,
    ) -> Self {
        let event = issue.lifecycle.is_active().then_some(EventKind::Resolved);
        let team = monitor.team();
        let deleted = Some(monitor.clone().without_secrets().without_notes());
        let issue = end_with_site(issue, by, now);
        // The transaction that deletes the site requests the publication.
        Self { team, event, issue, at: now, site_rev: None, deleted, publishes: false }
    }

    /// Why monitoring of the issue ended, if the entry says so.
    pub fn end_reason(&self) -> Option<EndReason> {
        self.deleted.as_ref().map(|monitor| match monitor {
            Monitor::Site(_) => EndReason::SiteDeleted,
            Monitor::Heartbeat(_) => EndReason::HeartbeatDeleted,
        })
    }

    /// The transition, in the form for a channel that is off and misses it; `None` if the change is not a transition.
    pub fn missed(&self) -> Option<Missed> {
        let event = self.event?;
        let at = match event {
            EventKind::Opened => self.issue.lifecycle.opened_at(),
            EventKind::Resolved => self.issue.lifecycle.resolved_at()?,
            EventKind::Reminder | EventKind::Acknowledged => return None,
        };
        Some(Missed { event, at, rev: self.issue.rev, queued: 0 })
    }
}

/// An issue and its site or heartbeat as they were when the latter was deleted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeletedIssue {
    /// The issue.
    pub issue: Issue,
    /// Its site or heartbeat.
    #[serde(rename = "site")]
    pub monitor: Monitor,
}

/// What a channel knows about an issue, and when to look at it again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeliveryState {
    /// The issue.
    pub issue: IssueId,
    /// What the channel was notified of; `None` if an opening still needs to be sent, or if the channel was notified
    /// that monitoring ended.
    #[serde(rename = "told", default, skip_serializing_if = "Option::is_none")]
    pub notified: Option<Notified>,
    /// The first opening that the channel may not have been notified of. If an issue that opened before is active,
    /// people were notified that monitoring ended, or the channel was not about the site when the issue opened.
    #[serde(with = "millisecond::required")]
    pub from: Timestamp,
    /// When to look again; `None` if nothing happens by itself.
    // This is separate from `due`, which redelivery postpones when it sends a message.
    #[serde(
        rename = "at",
        default,
        with = "millisecond::optional",
        skip_serializing_if = "Option::is_none"
    )]
    pub due: Option<Timestamp>,
    /// Whether something has held back the message about the last opening: quiet time, a storm, a snooze or a rule.
    #[serde(rename = "held", default, skip_serializing_if = "std::ops::Not::not")]
    pub is_held: bool,
    /// What the receiver answered to the message about the last opening.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handle: Option<Handle>,
    /// The first transition that the channel missed while it was off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missed: Option<Missed>,
    /// The issue as it was when its site was deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted: Option<Box<DeletedIssue>>,
    /// The alert of the issue in snapshots, if the receiver may know it.
    #[serde(rename = "alert", default, skip_serializing_if = "Option::is_none")]
    pub standing: Option<Box<StandingAlert>>,
    /// Rises with every write.
    pub rev: u64,
}

impl DeliveryState {
    /// The first delivery state of a channel that does not know an issue yet.
    pub const fn new(issue: IssueId, from: Timestamp, now: Timestamp) -> Self {
        Self {
            issue,
            notified: None,
            from,
            due: Some(now),
            is_held: false,
            handle: None,
            missed: None,
            deleted: None,
            standing: None,
            rev: 1,
        }
    }

    /// The first delivery state of a channel that should know an active issue, but does not. A channel that gets
    /// events is notified of everything since the opening, and others of the current state. `selects` is whether the channel is about the
    /// site.
    pub fn of_unknown(issue: &Issue, gets_events: bool, selects: bool, now: Timestamp) -> Self {
        let new = Self::new(issue.id, issue.lifecycle.opened_at(), now);
        match selects {
            true => Self { missed: gets_events.then(|| Missed::opening(issue)), ..new },
            false => Self { due: None, from: new.after_opening(issue), ..new },
        }
    }

    /// Leaves out an opening at which the channel is not about the site. If the site gets other tags while the issue is
    /// active, the channel is notified of it after all.
    pub(super) fn leave_out(&mut self, issue: &Issue) {
        let outages = issue.timeline.outages();
        let before = self.from..issue.lifecycle.opened_at();
        let is_pending = self.notified.is_none()
            && outages.iter().any(|outage| before.contains(&outage.opened_at));
        // Otherwise an earlier outage would be left out, too, of which people still have to hear.
        if !is_pending {
            self.from = self.after_opening(issue);
        }
    }

    /// Whether the channel would be notified of the end of an active issue only after it was notified of the opening.
    pub(super) fn leaves_out(&self, issue: &Issue) -> bool {
        self.notified.is_none() && issue.lifecycle.opened_at() < self.from
    }

    /// The delivery state before people are notified of an opening that was left out.
    #[must_use]
    pub(super) fn once_included(&self, issue: &Issue, now: Timestamp) -> Self {
        let from = issue.lifecycle.opened_at();
        Self { from, due: Some(now), is_held: true, rev: self.rev + 1, ..self.clone() }
    }

    /// When the check was due that opened the issue, if people are notified of that as soon as possible.
    pub(super) fn prompt(&self, issue: &Issue) -> Option<Timestamp> {
        let opened_at = issue.lifecycle.opened_at();
        (!self.is_held && self.from <= opened_at).then_some(opened_at)
    }

    /// Keeps what is left of an issue whose site was deleted.
    pub(super) fn note_deletion(&mut self, entry: &OutboxEntry) {
        if let Some(monitor) = &entry.deleted {
            let (issue, monitor) = (entry.issue.clone(), monitor.clone());
            self.deleted = Some(Box::new(DeletedIssue { issue, monitor }));
        }
    }

    /// The delivery state after the clock was set back to `now`, with reminders due again; `None` if nothing in it is
    /// in the future.
    pub fn without_future(&self, now: Timestamp) -> Option<Self> {
        let notified = self.notified.filter(|notified| is_ahead(notified.reminded_until, now))?;
        let notified = Some(Notified { reminded_until: now, ..notified });
        Some(Self { notified, due: Some(now), rev: self.rev + 1, ..self.clone() })
    }

    /// The delivery state after people were notified of the issue; `None` if nothing needs to be remembered.
    pub(crate) fn once_notified(
        &self,
        issue: &Issue,
        notified: Option<Notified>,
        policy: &AlertPolicy<'_>,
        now: Timestamp,
    ) -> Option<Self> {
        if notified.is_none() {
            // They were notified that monitoring of an active issue ended, or that the issue did.
            let from = self.after_end(issue);
            let next = || Self { notified, from, due: None, rev: self.rev + 1, ..self.clone() };
            return issue.lifecycle.is_active().then(next);
        }
        let due = match due(issue, notified, self.from, policy, now) {
            Due::Later { at, .. } => at,
            Due::Notify { .. } | Due::Nothing => Some(now),
        };
        Some(Self { notified, due, rev: self.rev + 1, ..self.clone() })
    }

    /// The delivery state of an issue that changed while people were being notified of it. They get the rest now.
    #[must_use]
    pub fn notified_meanwhile(
        &self,
        issue: &Issue,
        (notified, handle): (Option<Notified>, &Option<Handle>),
        now: Timestamp,
    ) -> Self {
        let from = if notified.is_some() { self.from } else { self.after_end(issue) };
        let handle = handle.clone();
        Self { notified, from, handle, due: Some(now), rev: self.rev + 1, ..self.clone() }
    }

    /// The first instant after an opening that people know about.
    fn after_opening(&self, issue: &Issue) -> Timestamp {
        let after = issue.lifecycle.opened_at().saturating_add(SignedDuration::from_millis(1));
        after.unwrap_or(self.from)
    }

    /// The first instant after an opening of whose end people know. Each end is later, so that a message that says
    /// again that the issue is open has another id.
    fn after_end(&self, issue: &Issue) -> Timestamp {
        let next = self.from.saturating_add(SignedDuration::from_millis(1)).unwrap_or(self.from);
        let after = self.after_opening(issue);
        if self.from < after { after } else { next }
    }

    /// The delivery state after a reminder of the issue was queued.
    #[must_use]
    pub(crate) fn once_reminded(
        &self,
        issue: &Issue,
        policy: &AlertPolicy<'_>,
        now: Timestamp,
    ) -> Self {
        let notified = Notified { opened_at: issue.lifecycle.opened_at(), reminded_until: now };
        let mut next = Self { notified: Some(notified), rev: self.rev + 1, ..self.clone() };
        next.due = match program_step(issue, &next, policy, now) {
            ProgramStep::Wait { due } => due,
            _ => Some(now),
        };
        next
    }

    /// The delivery state after a program was notified of the last opening of an issue, which is looked at again now.
    #[must_use]
    pub(crate) fn once_opened(&self, issue: &Issue, now: Timestamp) -> Self {
        let opened_at = issue.lifecycle.opened_at();
        let notified = Some(Notified { opened_at, reminded_until: now });
        Self { notified, due: Some(now), missed: None, rev: self.rev + 1, ..self.clone() }
    }

    /// The delivery state after a channel has been notified of what it missed, or does not need to be. The program then
    /// knows the issue as of that time, and the issue is looked at again now.
    #[must_use]
    pub(crate) fn once_caught_up(&self, issue: &Issue, is_ended: bool, now: Timestamp) -> Self {
        let next = self.once_opened(issue, now);
        if is_ended { Self { notified: None, ..next } } else { next }
    }

    /// The delivery state after more of what a program missed was queued.
    #[must_use]
    pub(crate) fn once_queued(&self, first: Missed, count: usize, now: Timestamp) -> Self {
        let missed = Some(Missed { queued: first.queued + count, ..first });
        Self { missed, due: Some(now), rev: self.rev + 1, ..self.clone() }
    }

    /// The delivery state after a program was notified that monitoring ended.
    #[must_use]
    pub(crate) fn once_ended(&self) -> Self {
        Self { notified: None, due: None, rev: self.rev + 1, ..self.clone() }
    }
}

/// What is due to a program about an issue, besides the transitions that it is notified of as they happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramStep {
    /// The issue is over: there is nothing to remember.
    Forget,
    /// Nothing yet.
    Wait {
        /// When to look again.
        due: Option<Timestamp>,
    },
    /// A reminder.
    Remind,
    /// Monitoring of the active issue ended.
    End(EndReason),
    /// The issue is active and monitored again.
    Reopen,
}

/// What is due to a program about an issue. The program was notified of every transition.
pub(crate) fn program_step(
    issue: &Issue,
    delivery: &DeliveryState,
    policy: &AlertPolicy<'_>,
    now: Timestamp,
) -> ProgramStep {
    if !issue.lifecycle.is_active() {
        return ProgramStep::Forget;
    }
    match (policy.ended, delivery.notified) {
        (Some(reason), Some(_)) => return ProgramStep::End(reason),
        (None, None) if policy.selects => return ProgramStep::Reopen,
        (_, None) => return ProgramStep::Wait { due: None },
        (None, Some(_)) => {}
    }
    if !policy.filter.wants(EventKind::Reminder, issue) {
        return ProgramStep::Wait { due: None };
    }
    let opened_at = issue.lifecycle.opened_at();
    let notified = delivery.notified.filter(|notified| notified.opened_at == opened_at);
    let reminded_until = notified.map_or(opened_at, |notified| notified.reminded_until);
    let next = next_reminder(issue, reminded_until, policy.reminders, policy.time_scale);
    match next.map(|next| policy.held_until(issue, next, now)) {
        Some(None) => ProgramStep::Remind,
        held => ProgramStep::Wait { due: held.flatten() },
    }
}

/// The place of an event among the events of its issue. Transitions are sorted by the issue's `rev`; the reminders
/// after each of them by their time.
///
/// See [`missed_place`] for events that a channel missed.
pub fn place(rev: u64, reminder: Option<Timestamp>) -> String {
    let reminder = reminder.map_or(0, |at| at.as_millisecond().max(0));
    format!("{rev:010}#{reminder:014}")
}

/// The place of an event that results from looking at the issue. It includes the delivery state's `rev`, because there
/// may be several at one instant.
pub(crate) fn step_place(issue_rev: u64, now: Timestamp, delivery_rev: u64) -> String {
    format!("{}#{delivery_rev:010}", place(issue_rev, Some(now)))
}

/// The place of a transition that a channel missed among the events of its issue: the place of the first that it
/// missed, followed by its number.
pub(crate) fn missed_place(first: &Missed, number: usize) -> String {
    format!("{:010}#{number:014}", first.rev)
}

/// Splits the events of an issue, in their order, into reminders that nobody needs after its resolution, and the events
/// to send.
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

/// Something that waits to be sent, after everything that was queued before it in its group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queued {
    /// What must be sent in order: the events of an issue, or a single message.
    pub group: String,
    /// Its place in the group.
    pub place: String,
    /// What is sent.
    pub content: Content,
    /// When the check was due that opened an issue, if this is that opening and nothing has held it back.
    #[serde(default, with = "millisecond::optional", skip_serializing_if = "Option::is_none")]
    pub opened_at: Option<Timestamp>,
    /// How sending has failed so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failing: Option<Failing>,
    /// When to send it.
    // This is separate from `due`, which redelivery postpones when it sends a message.
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

/// The group of a test.
pub const TEST_GROUP: &str = "test";
/// The group of the weekly test.
const WEEKLY_TEST_GROUP: &str = "weekly-test";
/// The place of the only message in a group.
pub const FIRST: &str = "0";

impl Queued {
    /// An event of an issue, to be sent now; see [`place`].
    pub fn event(issue: IssueId, place: String, content: Content, now: Timestamp) -> Self {
        let (group, due) = (issue.to_string(), Some(now));
        Self { group, place, content, opened_at: None, failing: None, due, rev: 1 }
    }

    /// A test. There is only one at a time.
    pub fn test(id: String, now: Timestamp) -> Self {
        Self::notice(TEST_GROUP.to_owned(), Content::Test { id }, now)
    }

    /// The next weekly test of a channel; `None` if it gets none. There is always one, from the time when the owner
    /// chooses the hour.
    pub fn weekly_test(channel: &Channel, zone: &NamedZone, now: Timestamp) -> Option<Self> {
        let due = channel.filter.weekly_test?.next(zone, now)?;
        let id = format!("{}-test-{}", channel.id, due.as_second());
        let group = WEEKLY_TEST_GROUP.to_owned();
        Some(Self { due: Some(due), ..Self::notice(group, Content::Test { id }, now) })
    }

    /// Whether it is a weekly test.
    pub fn is_weekly_test(&self) -> bool {
        self.group == WEEKLY_TEST_GROUP
    }

    /// Whether it is to be sent now.
    pub fn is_due(&self, now: Timestamp) -> bool {
        self.due.is_some_and(|due| due <= now)
    }

    /// Whether it is a weekly test that was not tried yet. Nobody waits for it.
    pub fn is_scheduled(&self) -> bool {
        self.is_weekly_test() && self.failing.is_none()
    }

    /// The next snapshot of a channel. There is only one at a time.
    pub(super) fn repeat(progress: SnapshotProgress, now: Timestamp) -> Self {
        Self::notice("repeat".to_owned(), Content::Repeat { progress }, now)
    }

    /// A single message, to be sent now.
    pub fn notice(group: String, content: Content, now: Timestamp) -> Self {
        let (place, due) = (FIRST.to_owned(), Some(now));
        Self { group, place, content, opened_at: None, failing: None, due, rev: 1 }
    }

    /// Whether it waits longer than anything should: the clock was set back since. A snapshot may always be early, and must
    /// not be late, because what it repeats would end.
    pub fn waits_too_long(&self, now: Timestamp) -> bool {
        self.due.is_some_and(|due| match self.content {
            Content::Repeat { .. } => is_ahead(due, now),
            _ => is_too_far(due, self.failing, now),
        })
    }

    /// The same message, to be sent now, as if it had not failed before; `None` if it is a test that is not due yet.
    pub fn again(&self, now: Timestamp) -> Option<Self> {
        let again = || Self { failing: None, due: Some(now), rev: self.rev + 1, ..self.clone() };
        (!self.is_scheduled()).then(again)
    }

    /// The same message, to be sent now, although its next attempt is due later; `None` if it is due, or waits for
    /// somebody to enable the channel.
    pub fn sooner(&self, now: Timestamp) -> Option<Self> {
        let is_later = self.due.is_some_and(|due| due > now) && !self.is_scheduled();
        is_later.then(|| Self { due: Some(now), rev: self.rev + 1, ..self.clone() })
    }
}

/// What is sent to a channel, apart from alerts about issues that it knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Content {
    /// An event of an issue for a webhook.
    Event {
        /// The same for every attempt, so that the receiver recognizes a repetition.
        id: String,
        /// What happened.
        event: EventKind,
        /// The exact bytes of the body.
        body: String,
    },
    /// A test of the channel.
    Test {
        /// The id of the message.
        id: String,
    },
    /// Another channel of the team does not work.
    BrokenChannel {
        /// The id of the message.
        id: String,
        /// The other channel; `None` if an earlier version queued it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        uuid: Option<ChannelId>,
        /// The other channel's name.
        channel: String,
        /// Why it does not work.
        reason: String,
    },
    /// A site can't be checked.
    Unchecked {
        /// The id of the message.
        id: String,
        /// The site.
        site: SiteId,
        /// Its name.
        name: String,
        /// Since when.
        since: Timestamp,
        /// Why.
        reason: String,
    },
    /// Asks the reader of an address whether it may receive alerts.
    Confirmation {
        /// The id of the message; empty if an earlier version queued it.
        #[serde(default)]
        id: String,
        /// The user who asks; `None` for the operator.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        asked_by: Option<Asker>,
    },
    /// Says that the channel was off for too long, or missed too much, to get everything.
    Missed {
        /// The id of the message.
        id: String,
        /// The first transition that is not sent.
        since: Timestamp,
        /// When the channel was enabled again.
        until: Timestamp,
    },
    /// The next snapshot of the current state, which repeats the alerts of all open issues.
    Repeat {
        /// How far the snapshots have come.
        #[serde(flatten)]
        progress: SnapshotProgress,
    },
}

/// How far the snapshots of a channel have come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SnapshotProgress {
    /// When the last one was sent. The receiver does not know yet what changed since.
    #[serde(default, with = "millisecond::optional", skip_serializing_if = "Option::is_none")]
    pub sent_at: Option<Timestamp>,
    /// From which issue on the receiver still has to be sent each alert alone, because it refused several at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alone_from: Option<IssueId>,
}

impl Content {
    /// What it is, for people.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Event { event, .. } => event.as_str(),
            Self::Test { .. } => "test",
            Self::BrokenChannel { .. } | Self::Unchecked { .. } => "notice",
            Self::Confirmation { .. } => "confirmation",
            Self::Missed { .. } => "missed",
            Self::Repeat { .. } => "open issues",
        }
    }

    /// Whether it may be sent to an address that nobody has confirmed.
    pub(crate) const fn needs_no_confirmation(&self) -> bool {
        matches!(self, Self::Confirmation { .. })
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::alerts::channel::Target;
    use crate::alerts::retry::retry;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_795_000_000 + second).expect("a timestamp")
    }

    #[test]
    fn what_was_given_up_is_sent_again_from_the_first_try() {
        let content = Content::Test { id: "1".to_owned() };
        let notice = Queued::notice("test-1".to_owned(), content, at(0));
        let failing = retry(
            &Target::email("a@example.com").expect("an address").public(),
            ChannelId(Uuid::nil()),
            None,
            None,
            at(1),
        )
        .failing;
        let parked = Queued { failing: Some(failing), due: None, rev: 20, ..notice.clone() };
        let expected = Queued { due: Some(at(5)), rev: 21, ..notice };
        assert_eq!(parked.again(at(5)), Some(expected));
    }

    #[test]
    fn a_snapshot_is_early_rather_than_late_after_the_clock_was_set_back() {
        let content = Content::Test { id: "1".to_owned() };
        let retried = Queued::notice("test".to_owned(), content, at(3_600));
        let repeated = Queued::repeat(SnapshotProgress::default(), at(3_600));
        assert_eq!([&retried, &repeated].map(|queued| queued.waits_too_long(at(0))), [false, true]);
        assert!(!Queued::repeat(SnapshotProgress::default(), at(30)).waits_too_long(at(0)));
        let progress = SnapshotProgress { sent_at: Some(at(0)), alone_from: None };
        let stored = r#"{"kind":"repeat","sent_at":1795000000000}"#;
        assert_eq!(serde_json::to_string(&Content::Repeat { progress }).expect("JSON"), stored);
        assert_eq!(serde_json::from_str(stored).ok(), Some(Content::Repeat { progress }));
    }

    #[test]
    fn a_confirmation_that_the_previous_version_queued_is_read() {
        let read: Content = serde_json::from_str(r#"{"kind":"confirmation"}"#).expect("content");
        assert_eq!(read, Content::Confirmation { id: String::new(), asked_by: None });
    }
}
