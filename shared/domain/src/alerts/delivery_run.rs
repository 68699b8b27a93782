//! One run for a channel, decided step by step: what is due, how much of it is sent now, and what follows from each
//! outcome.
//!
//! A [`DeliveryRun`] has no side effects. Its executor asks for the [`next`](DeliveryRun::next) step, carries it out,
//! and passes its outcome back, which may add to the plan. At the [`end`](DeliveryRun::end), the channel's state
//! remains to be saved. The steps run one after the other, so a process that dies leaves the table as it was after some
//! step, and the next run starts from there.

mod action;
mod batch;
mod catch_up;
mod context;
mod notices;
mod people;
mod programs;
mod progress;
mod step;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};

use jiff::{SignedDuration, Timestamp};

use crate::accounts::account::User;
use crate::alerts::channel_state::ChannelState;
use crate::alerts::delivery::{Content, DeletedIssue, DeliveryState, Queued};
use crate::alerts::send_outcome::{SendOutcome, SendReason};
use crate::id::{IssueId, UserId};
use crate::issues::record::Issue;
use crate::sites::site::Site;

use action::Action;
use progress::Progress;
use step::KnownIssue;

pub use context::DeliveryContext;
pub use progress::Delivered;
pub use step::{
    AlertDelivery, Delivery, DeliveryMessage, DeliveryStep, EventDelivery, EventPlan,
    NotifiedIssue, OutboxCheck, PlannedEvent, Write,
};

/// A run for a channel, to which no other process sends meanwhile.
#[derive(Debug)]
pub struct DeliveryRun<'a> {
    progress: Progress<'a>,
    /// What remains to be done, in this order.
    plan: VecDeque<Action>,
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
        let progress = Progress {
            context,
            channel_state,
            delivered: Delivered::default(),
            next_due: None,
            host_limited_until: None,
            began_at: Timestamp::MIN,
            users: BTreeMap::new(),
            events: Vec::new(),
            retries: Vec::new(),
            has_recovered: false,
        };
        Self { progress, plan: VecDeque::from([Action::Begin(deliveries, queued)]) }
    }

    /// The next step; `None` when everything is done.
    pub fn next(&mut self, now: Timestamp) -> Option<DeliveryStep> {
        loop {
            let action = self.plan.pop_front()?;
            let progress = &mut self.progress;
            let decided = match action {
                Action::DeliveryStep(step) => return Some(step),
                Action::Begin(deliveries, queued) => begin(progress, deliveries, queued, now),
                Action::Notice(notice) => notices::take(progress, notice, now),
                Action::Issues(deliveries, events) => issues(progress, deliveries, events, now),
                Action::News(ready) => people::next_kind(progress, ready, now),
                Action::Alert(batch) => people::alert(progress, batch, now),
                Action::AllEvents => programs::all_events(progress),
                Action::EventsOfIssue(events) => programs::events_of_issue(progress, events, now),
                Action::EventsInOrder(events) => programs::events_in_order(progress, events, now),
                Action::DropTest(test) => vec![notices::drop_test(progress, test, now)],
                Action::SetWindow(kind, window) => {
                    *progress.channel_state.window_mut(kind) = window;
                    Vec::new()
                }
                Action::GiveUp => {
                    progress.delivered.given_up += 1;
                    Vec::new()
                }
            };
            self.go_on_with(decided);
        }
    }

    /// Issues were loaded with their sites. An issue that is missing from `issues` no longer exists.
    pub fn loaded(
        &mut self,
        deliveries: Vec<DeliveryState>,
        mut issues: BTreeMap<IssueId, (Issue, Site)>,
    ) {
        let (mut known, mut gone) = (Vec::new(), Vec::new());
        for delivery in deliveries {
            let left = || {
                let DeletedIssue { issue, site } = DeletedIssue::clone(delivery.deleted.as_ref()?);
                Some((issue, site))
            };
            match issues.remove(&delivery.issue).or_else(left) {
                Some((issue, site)) => known.push(KnownIssue { delivery, issue, site }),
                None => gone.push(delivery),
            }
        }
        let decided = match self.progress.context.channel.target.is_for_people() {
            true => people::decide(&self.progress, known, gone),
            false => programs::decide(&self.progress, known, gone),
        };
        self.go_on_with(decided);
    }

    /// Users were loaded.
    pub fn loaded_users(&mut self, users: BTreeMap<UserId, User>) {
        self.progress.users = users;
    }

    /// The outbox of an issue was read; `is_in_outbox` says whether it has an entry.
    pub fn checked_outbox(&mut self, check: OutboxCheck, is_in_outbox: bool) {
        let decided = match check {
            OutboxCheck::Gone(gone) => people::forget_gone(&self.progress, gone, is_in_outbox),
            // Its entry makes the channel look again.
            OutboxCheck::Missed(_) if is_in_outbox => return,
            OutboxCheck::Missed(plan) => Action::DeliveryStep(DeliveryStep::QueueEvents(plan)),
        };
        self.plan.push_front(decided);
    }

    /// Events were queued. `None` if their issue has changed meanwhile; it is then looked at again.
    pub fn queued(&mut self, plan: &EventPlan, events: Option<Vec<Queued>>, now: Timestamp) {
        self.progress.look_at(if events.is_some() { plan.next.due } else { Some(now) });
        self.progress.events.extend(events.into_iter().flatten());
    }

    /// A write was made. If the item had changed meanwhile, `is_written` is false, and it is looked at again.
    pub fn wrote(&mut self, write: &Write, is_written: bool, now: Timestamp) {
        let due = match write {
            Write::AddQueued(queued) => queued.due,
            Write::DeleteQueued(_) => None,
            _ if !is_written => Some(now),
            Write::PutState(delivery) => delivery.due,
            Write::PutQueued(queued) => queued.due,
            Write::PutNotified(notified) => notified.next.as_ref().and_then(|next| next.due),
            Write::DeleteState(_) => None,
        };
        self.progress.look_at(due);
    }

    /// Why a message is sent. The first one after a person's request stands for all that wait.
    pub fn reason(&self, delivery: &Delivery) -> SendReason {
        let is_test =
            matches!(delivery, Delivery::Notice(Queued { content: Content::Test { .. }, .. }));
        match is_test || self.progress.channel_state.is_requested {
            true => SendReason::Requested,
            false => SendReason::Due,
        }
    }

    /// The outcome of an attempt to send a message.
    pub fn sent(&mut self, delivery: Delivery, outcome: SendOutcome, now: Timestamp) {
        let progress = &mut self.progress;
        progress.channel_state.is_requested = false;
        let decided = match delivery {
            Delivery::Notice(notice) => notices::sent(progress, notice, outcome, now),
            Delivery::Alert(alert) => people::sent(progress, *alert, outcome, now),
            Delivery::Event(event) => programs::sent(progress, event, outcome, now),
        };
        self.go_on_with(decided);
    }

    /// A message was not sent, because its host is at its limit until then. It keeps its place and waits, and does not
    /// count as a failed attempt.
    pub fn reached_host_limit(&mut self, delivery: Delivery, until: Timestamp) {
        let progress = &mut self.progress;
        progress.host_limited_until = Some(until);
        let decided = match delivery {
            Delivery::Notice(notice) => notices::postpone(notice, until),
            Delivery::Alert(alert) => people::postpone(*alert, until),
            Delivery::Event(event) => programs::postpone(progress, event, until),
        };
        self.go_on_with(decided);
    }

    /// What has been delivered so far.
    pub const fn delivered(&self) -> Delivered {
        self.progress.delivered
    }

    /// Whether the channel, which was failing, has accepted a message. What waits for it can be sent, too.
    pub const fn has_recovered(&self) -> bool {
        self.progress.has_recovered
    }

    /// Releases the channel: returns its state, to be saved, and the delay of the message that looks at it again, if
    /// one is needed.
    pub fn end(self, now: Timestamp) -> (ChannelState, Option<SignedDuration>) {
        let Progress { mut channel_state, next_due, .. } = self.progress;
        channel_state.is_requested = false;
        let wait = channel_state.end(next_due, now);
        (channel_state, wait)
    }

    fn go_on_with(&mut self, decided: Vec<Action>) {
        for action in decided.into_iter().rev() {
            self.plan.push_front(action);
        }
    }
}

fn begin(
    progress: &Progress<'_>,
    deliveries: Vec<DeliveryState>,
    queued: Vec<Queued>,
    now: Timestamp,
) -> Vec<Action> {
    if progress.is_off() {
        return progress.park(deliveries, queued, now);
    }
    let (events, notices): (Vec<_>, Vec<_>) =
        queued.into_iter().partition(|queued| matches!(queued.content, Content::Event { .. }));
    let mut plan: Vec<_> = notices.into_iter().map(Action::Notice).collect();
    plan.push(Action::Issues(deliveries, events));
    plan
}

fn issues(
    progress: &mut Progress<'_>,
    deliveries: Vec<DeliveryState>,
    events: Vec<Queued>,
    now: Timestamp,
) -> Vec<Action> {
    if progress.is_unconfirmed() || progress.is_off() {
        return progress.park(deliveries, events, now);
    }
    progress.began_at = now;
    match progress.context.channel.target.is_for_people() {
        true => people::begin(progress, deliveries),
        false => programs::begin(progress, deliveries, events),
    }
}
