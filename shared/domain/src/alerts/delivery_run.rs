//! One run for a channel, decided step by step: what is due, how much of it is sent now, and what follows from each
//! outcome.
//!
//! A [`DeliveryRun`] has no side effects. Its executor asks for the [`next`](DeliveryRun::next) step, carries it out,
//! and passes its outcome back, which may add steps. At the [`end`](DeliveryRun::end), the channel's state remains to
//! be saved. The steps run one after the other, so a process that dies leaves the table as it was after some step, and
//! the next run starts from there.

mod attempt;
mod batch;
mod catch_up;
mod context;
mod message;
mod notices;
mod people;
mod programs;
mod snapshots;
mod step;
#[cfg(test)]
mod tests;
mod writes;

use std::collections::{BTreeMap, VecDeque};

use jiff::{SignedDuration, Timestamp};

use crate::accounts::account::User;
use crate::alerts::channel_state::ChannelState;
use crate::alerts::delivery::{Content, DeletedIssue, DeliveryState, Queued};
use crate::alerts::send_outcome::SendOutcome;
use crate::checks::limits::ALERT_GRACE;
use crate::id::{IssueId, UserId};
use crate::issues::record::Issue;
use crate::monitor::Monitor;

use batch::{AlertBatch, ReadyNews};
use snapshots::SnapshotRun;
use step::{KnownIssue, Sending};

pub use attempt::Delivered;
pub use context::DeliveryContext;
pub use step::{
    Delivery, DeliveryStep, EventPlan, NotifiedIssue, OutboxCheck, PlannedEvent, Write,
};

/// How long before its lease ends a run starts nothing new: sending takes at most 30 seconds.
const LEASE_MARGIN: SignedDuration = SignedDuration::from_secs(35);

/// A run for a channel, to which no other process sends meanwhile.
#[derive(Debug)]
pub struct DeliveryRun<'a> {
    context: DeliveryContext<'a>,
    channel_state: ChannelState,
    delivered: Delivered,
    /// Whether the channel, which was failing, has accepted a message.
    has_recovered: bool,
    /// The earliest time at which something is due.
    next_due: Option<Timestamp>,
    /// Until when the channel's host is at its limit.
    host_limited_until: Option<Timestamp>,

    /// The steps that are decided, in their order. What follows is decided about when there are none, from the first
    /// field to the last.
    steps: VecDeque<DeliveryStep>,
    /// Everything that is outstanding, before the run has begun.
    outstanding: Option<Outstanding>,
    /// Messages about the channels themselves.
    notices: VecDeque<Queued>,
    /// What the channel knows about issues, before the run looks at them.
    deliveries: Option<Vec<DeliveryState>>,
    /// When the run began with the issues.
    began_at: Timestamp,
    /// The alerts for people, of the kind of news that is sent at present.
    batches: VecDeque<AlertBatch>,
    /// The other news for people.
    news: Vec<ReadyNews>,
    /// The users who decided about the issues that people are notified of.
    users: BTreeMap<UserId, User>,
    /// The events of the issue of which a program is being notified, in their order.
    events_in_order: VecDeque<Queued>,
    /// The events of the other issues.
    events: BTreeMap<String, Vec<Queued>>,
    /// When the issues whose events failed in this run are tried again.
    retries: Vec<Timestamp>,
    /// The snapshot for a channel that is sent some.
    snapshot: SnapshotRun,
}

/// Everything that is outstanding for a channel.
#[derive(Debug)]
struct Outstanding {
    deliveries: Vec<DeliveryState>,
    queued: Vec<Queued>,
}

impl<'a> DeliveryRun<'a> {
    /// A run for a channel in this state, whose lease is taken. `deliveries` is what the channel knows about each
    /// issue, and `queued` what waits to be sent.
    pub fn new(
        context: DeliveryContext<'a>,
        channel_state: ChannelState,
        deliveries: Vec<DeliveryState>,
        queued: Vec<Queued>,
    ) -> Self {
        Self {
            context,
            channel_state,
            delivered: Delivered::default(),
            has_recovered: false,
            next_due: None,
            host_limited_until: None,
            steps: VecDeque::new(),
            outstanding: Some(Outstanding { deliveries, queued }),
            notices: VecDeque::new(),
            deliveries: None,
            began_at: Timestamp::MIN,
            batches: VecDeque::new(),
            news: Vec::new(),
            users: BTreeMap::new(),
            events_in_order: VecDeque::new(),
            events: BTreeMap::new(),
            retries: Vec::new(),
            snapshot: SnapshotRun::default(),
        }
    }

    /// The next step; `None` when everything is done.
    pub fn next(&mut self, now: Timestamp) -> Option<DeliveryStep> {
        while self.steps.is_empty() && self.decide(now) {}
        self.steps.pop_front()
    }

    /// Decides about what comes next. Returns whether there was anything.
    fn decide(&mut self, now: Timestamp) -> bool {
        if let Some(outstanding) = self.outstanding.take() {
            self.begin(outstanding, now);
        } else if let Some(notice) = self.notices.pop_front() {
            self.decide_notice(notice, now);
        } else if let Some(deliveries) = self.deliveries.take() {
            self.begin_issues(deliveries, now);
        } else if let Some(batch) = self.batches.pop_front() {
            self.send_alert(batch, now);
        } else if let Some(ready) = self.news.first() {
            self.form_batches(ready.news.kind(), now);
        } else if let Some(event) = self.events_in_order.pop_front() {
            self.send_event(event, now);
        } else if let Some((_, events)) = self.events.pop_first() {
            self.begin_events(events, now);
        } else {
            return self.continue_snapshot(now);
        }
        true
    }

    /// Begins with the messages about the channels themselves, or leaves everything as it is if the channel is off.
    fn begin(&mut self, Outstanding { deliveries, queued }: Outstanding, now: Timestamp) {
        if self.is_off() {
            return self.park(deliveries, queued, now);
        }
        for queued in queued {
            match queued.content {
                Content::Event { .. } => self.add_event(queued),
                Content::Repeat { .. } => self.snapshot.timer = Some(queued),
                _ => self.notices.push_back(queued),
            }
        }
        self.deliveries = Some(deliveries);
    }

    /// Continues with the issues.
    fn begin_issues(&mut self, deliveries: Vec<DeliveryState>, now: Timestamp) {
        if self.is_unconfirmed() || self.is_off() {
            let events = std::mem::take(&mut self.events).into_values().flatten();
            let queued = events.chain(self.snapshot.timer.take()).collect();
            return self.park(deliveries, queued, now);
        }
        self.began_at = now;
        if self.context.period().is_some() {
            self.begin_snapshot(&deliveries);
        }
        let due_now = self.take_due(deliveries);
        let due_now = match self.context.channel.target.kind() {
            kind if kind.gets_events() => self.begin_program(due_now),
            kind if kind.is_for_people() => self.begin_people(due_now),
            _ => due_now,
        };
        if !due_now.is_empty() {
            self.steps.push_back(DeliveryStep::LoadIssues(due_now));
        }
    }

    /// Issues were loaded with their sites. An issue that is missing from `issues` no longer exists.
    pub fn loaded(
        &mut self,
        deliveries: Vec<DeliveryState>,
        mut issues: BTreeMap<IssueId, (Issue, Monitor)>,
    ) {
        let mut known = Vec::new();
        for delivery in deliveries {
            let left = || {
                let DeletedIssue { issue, monitor } =
                    DeletedIssue::clone(delivery.deleted.as_ref()?);
                Some((issue, monitor))
            };
            match issues.remove(&delivery.issue).or_else(left) {
                Some((issue, monitor)) => known.push(KnownIssue { delivery, issue, monitor }),
                None => self.forget_after_outbox(delivery),
            }
        }
        match self.context.channel.target.kind() {
            kind if kind.gets_events() => self.decide_for_program(known),
            kind if kind.is_for_people() => self.decide_for_people(known),
            _ => self.decide_for_snapshot(known),
        }
    }

    /// Users were loaded.
    pub fn loaded_users(&mut self, users: BTreeMap<UserId, User>) {
        self.users = users;
    }

    /// The outbox of an issue was read; `is_in_outbox` says whether it has an entry.
    pub fn checked_outbox(&mut self, check: OutboxCheck, is_in_outbox: bool) {
        match check {
            OutboxCheck::Forget(delivery) if is_in_outbox => {
                let again = self.began_at.saturating_add(ALERT_GRACE).unwrap_or(self.began_at);
                self.put_off(*delivery, Some(again));
            }
            OutboxCheck::Forget(delivery) => self.forget(*delivery),
            // Its entry makes the channel look again.
            OutboxCheck::Queue(_) if is_in_outbox => {}
            OutboxCheck::Queue(plan) => self.steps.push_back(DeliveryStep::QueueEvents(plan)),
        }
    }

    /// Events were queued. `None` if their issue has changed meanwhile; it is then looked at again.
    pub fn queued(&mut self, plan: &EventPlan, events: Option<Vec<Queued>>, now: Timestamp) {
        self.look_at(if events.is_some() { plan.next.due } else { Some(now) });
        events.into_iter().flatten().for_each(|event| self.add_event(event));
    }

    /// A write was made. If the item had changed meanwhile, `is_written` is false, and it is looked at again.
    pub fn wrote(&mut self, write: &Write, is_written: bool, now: Timestamp) {
        if let (Write::PutState(delivery), false) = (write, is_written) {
            self.leave_out(delivery.issue);
        }
        let due = match write {
            Write::AddQueued(queued) => queued.due,
            Write::DeleteQueued(_) => None,
            _ if !is_written => Some(now),
            Write::PutState(delivery) => delivery.due,
            // The run decides at its end when the next snapshot is due.
            Write::PutQueued(Queued { content: Content::Repeat { .. }, .. }) => None,
            Write::PutQueued(queued) => queued.due,
            Write::PutNotified(notified) => notified.next.as_ref().and_then(|next| next.due),
            Write::DeleteState(_) => None,
        };
        self.look_at(due);
    }

    /// The outcome of an attempt to send a message.
    pub fn sent(&mut self, delivery: Delivery, outcome: SendOutcome, now: Timestamp) {
        self.channel_state.is_requested = false;
        match delivery.of {
            Sending::Notice(notice) => self.sent_notice(notice, outcome, now),
            Sending::Alert { title, batch, unnamed } => {
                self.sent_alert(&title, batch, unnamed, outcome, now);
            }
            Sending::Event { event, at } => self.sent_event(event, at, outcome, now),
            Sending::Snapshot(request) => self.sent_snapshot(request, outcome, now),
        }
    }

    /// A message was not sent, because its host is at its limit until then. It keeps its place and waits, and does not
    /// count as a failed attempt.
    pub fn reached_host_limit(&mut self, delivery: Delivery, until: Timestamp) {
        self.host_limited_until = Some(until);
        match delivery.of {
            Sending::Notice(notice) => self.save_queued(Queued { due: Some(until), ..notice }),
            Sending::Alert { batch, unnamed, .. } => {
                self.put_all_off(batch.ready.into_iter().chain(unnamed), Some(until));
            }
            Sending::Event { event, at } => self.wait_with(event, until, at),
            Sending::Snapshot(request) => self.interrupt(&request, Some(until)),
        }
    }

    /// What has been delivered so far.
    pub const fn delivered(&self) -> Delivered {
        self.delivered
    }

    /// Whether the channel, which was failing, has accepted a message. What waits for it can be sent, too.
    pub const fn has_recovered(&self) -> bool {
        self.has_recovered
    }

    fn send(&mut self, delivery: Delivery) {
        self.steps.push_back(DeliveryStep::Send(Box::new(delivery)));
    }

    /// Releases the channel: returns its state, to be saved, and the delay of the message that looks at it again, if
    /// one is needed.
    pub fn end(self, now: Timestamp) -> (ChannelState, Option<SignedDuration>) {
        let Self { mut channel_state, next_due, .. } = self;
        channel_state.is_requested = false;
        let wait = channel_state.end(next_due, now);
        (channel_state, wait)
    }

    /// Whether the channel is off.
    const fn is_off(&self) -> bool {
        self.channel_state.disabled.is_some() || self.context.channel.disabled.is_some()
    }

    /// Whether the channel's reader has not confirmed it yet.
    const fn is_unconfirmed(&self) -> bool {
        self.context.channel.since.is_none()
    }

    /// Whether there is time to send something more before another process may.
    fn has_time(&self, now: Timestamp) -> bool {
        let until = self.channel_state.leased_until.unwrap_or(Timestamp::MIN);
        until.duration_since(now) > LEASE_MARGIN
    }

    /// Until when nothing is sent to the channel's host, if it is at its limit.
    fn host_limit(&mut self, now: Timestamp) -> Option<Timestamp> {
        self.host_limited_until = self.host_limited_until.filter(|until| *until > now);
        self.host_limited_until
    }

    /// Remembers that something is due at this time.
    fn look_at(&mut self, due: Option<Timestamp>) {
        self.next_due = self.next_due.into_iter().chain(due).min();
    }

    /// The issues to look at now: those that are due, and those of which the channel missed something while it was off.
    /// Remembers when the others are due.
    fn take_due(&mut self, deliveries: Vec<DeliveryState>) -> Vec<DeliveryState> {
        let now = self.began_at;
        let is_due = |delivery: &DeliveryState| match delivery.due {
            Some(due) => due <= now,
            None => delivery.missed.is_some(),
        };
        let (due, later): (Vec<_>, Vec<_>) = deliveries.into_iter().partition(is_due);
        later.iter().for_each(|delivery| self.look_at(delivery.due));
        due
    }
}
