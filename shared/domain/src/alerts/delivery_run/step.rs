//! What a delivery run asks for, one step at a time.

use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::alerts::Alert;
use crate::alerts::channel::EventKind;
use crate::alerts::delivery::{DeliveryState, Queued};
use crate::alerts::due::Notified;
use crate::alerts::ended::EndReason;
use crate::id::{IssueId, UserId};
use crate::issues::record::Issue;
use crate::sites::site::Site;

use super::batch::{AlertBatch, ReadyNews};

/// What a delivery run does next. Each step is handed back to the run with its outcome.
#[derive(Debug)]
pub enum DeliveryStep {
    /// Load the issues of these with their sites, and call [`DeliveryRun::loaded`](super::DeliveryRun::loaded).
    LoadIssues(Vec<DeliveryState>),
    /// Load these users, and call [`DeliveryRun::loaded_users`](super::DeliveryRun::loaded_users).
    LoadUsers(BTreeSet<UserId>),
    /// Read the outbox of [an issue](OutboxCheck::issue), and call
    /// [`DeliveryRun::checked_outbox`](super::DeliveryRun::checked_outbox).
    CheckOutbox(OutboxCheck),
    /// Make events and write them to the queue, and call [`DeliveryRun::queued`](super::DeliveryRun::queued).
    QueueEvents(Box<EventPlan>),
    /// Write to the table, and call [`DeliveryRun::wrote`](super::DeliveryRun::wrote).
    Write(Write),
    /// Send [a message](Delivery::message) once, and call [`DeliveryRun::sent`](super::DeliveryRun::sent); if the
    /// receiver's host is at its limit, call
    /// [`DeliveryRun::reached_host_limit`](super::DeliveryRun::reached_host_limit) instead.
    Send(Delivery),
    /// Tell the team, through another channel, that this one does not work. It has no outcome.
    NotifyOwner {
        /// Why it does not work.
        why: String,
    },
}

/// An issue that was loaded, and what the channel knows of it.
#[derive(Debug)]
pub(super) struct KnownIssue {
    pub(super) delivery: DeliveryState,
    pub(super) issue: Issue,
    pub(super) site: Site,
}

/// A question whether something happened to an issue that channels have yet to learn of.
#[derive(Debug)]
pub enum OutboxCheck {
    /// The issue is gone. If its deletion is still in the outbox, the channel learns of it from there.
    Gone(DeliveryState),
    /// The channel missed these events while it was off. What is still in the outbox would be sent twice, so
    /// they are queued only after the outbox is empty.
    Missed(Box<EventPlan>),
}

impl OutboxCheck {
    /// The issue in question.
    pub const fn issue(&self) -> IssueId {
        match self {
            Self::Gone(delivery) => delivery.issue,
            Self::Missed(plan) => plan.next.issue,
        }
    }
}

/// Events of one issue to be queued in one transaction with the delivery state that follows.
#[derive(Debug)]
pub struct EventPlan {
    /// What the channel knows of the issue once they are queued.
    pub next: DeliveryState,
    /// The issue's site.
    pub site: Site,
    /// The events, oldest first; none if the channel wants none of them.
    pub events: Vec<PlannedEvent>,
    /// When they are due.
    pub due: Timestamp,
}

/// An event whose body has yet to be made.
#[derive(Debug)]
pub struct PlannedEvent {
    /// What happened.
    pub event: EventKind,
    /// Why monitoring ended, if that is the event.
    pub reason: Option<EndReason>,
    /// The issue as it was then.
    pub issue: Issue,
    /// When it happened.
    pub at: Timestamp,
    /// Its place among the events of the issue.
    pub place: String,
}

/// A write to what is outstanding for the channel. Each but the last two is conditional on the `rev` that was
/// read.
#[derive(Debug)]
pub enum Write {
    /// Puts what the channel knows of an issue.
    PutState(DeliveryState),
    /// Forgets an issue.
    DeleteState(DeliveryState),
    /// Puts a queued message.
    PutQueued(Queued),
    /// Queues a message, unless the same one is there already.
    AddQueued(Queued),
    /// Saves what people were notified of.
    PutNotified(Box<NotifiedIssue>),
    /// Removes a queued message, even if it was written meanwhile: it must not be sent twice.
    DeleteQueued(Queued),
}

/// An issue of which people were notified. What happened to it meanwhile comes next: see
/// [`DeliveryState::notified_meanwhile`].
#[derive(Debug)]
pub struct NotifiedIssue {
    /// What the channel knew before.
    pub before: DeliveryState,
    /// What it knows now; none if there is nothing left to know.
    pub next: Option<DeliveryState>,
    /// The issue as they were notified of it.
    pub issue: Issue,
    /// What they know now.
    pub notified: Option<Notified>,
}

/// A message on its way, with what depends on its outcome.
#[derive(Debug)]
pub enum Delivery {
    /// A message about the channels themselves.
    Notice(Queued),
    /// An alert for people.
    Alert(Box<AlertDelivery>),
    /// An event for a program.
    Event(EventDelivery),
}

/// An alert on its way.
#[derive(Debug)]
pub struct AlertDelivery {
    pub(super) alert: Alert,
    pub(super) id: String,
    /// What the alert names.
    pub(super) batch: AlertBatch,
    /// What it had no room for.
    pub(super) unnamed: Vec<ReadyNews>,
}

/// An event on its way.
#[derive(Debug)]
pub struct EventDelivery {
    pub(super) event: Queued,
    /// The later events of its issue.
    pub(super) rest: Vec<Queued>,
    /// When the attempt began.
    pub(super) at: Timestamp,
}

/// What a delivery sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryMessage<'a> {
    /// Something that was queued.
    Queued(&'a Queued),
    /// An alert, made just now.
    Alert {
        /// What it says.
        alert: &'a Alert,
        /// Its identity, which is the same whenever it is sent again.
        id: &'a str,
    },
}

impl Delivery {
    /// The message to be sent.
    pub fn message(&self) -> DeliveryMessage<'_> {
        match self {
            Self::Notice(notice) => DeliveryMessage::Queued(notice),
            Self::Event(delivery) => DeliveryMessage::Queued(&delivery.event),
            Self::Alert(delivery) => {
                DeliveryMessage::Alert { alert: &delivery.alert, id: &delivery.id }
            }
        }
    }
}
