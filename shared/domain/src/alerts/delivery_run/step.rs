//! The steps of a delivery run.

use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::alerts::Alert;
use crate::alerts::channel::EventKind;
use crate::alerts::delivery::{Content, DeliveryState, Queued};
use crate::alerts::due::Notified;
use crate::alerts::ended::EndReason;
use crate::id::{IssueId, UserId};
use crate::issues::record::Issue;
use crate::sites::site::Site;

use super::batch::{AlertBatch, ReadyNews};

/// The next step of a delivery run. The run gets each step back with its outcome.
#[derive(Debug)]
pub enum DeliveryStep {
    /// Load these issues with their sites, and call [`DeliveryRun::loaded`](super::DeliveryRun::loaded).
    LoadIssues(Vec<DeliveryState>),
    /// Load these users, and call [`DeliveryRun::loaded_users`](super::DeliveryRun::loaded_users).
    LoadUsers(BTreeSet<UserId>),
    /// Read the outbox of [an issue](OutboxCheck::issue), and call
    /// [`DeliveryRun::checked_outbox`](super::DeliveryRun::checked_outbox).
    CheckOutbox(OutboxCheck),
    /// Create events and write them to the queue, and call [`DeliveryRun::queued`](super::DeliveryRun::queued).
    QueueEvents(Box<EventPlan>),
    /// Write to the table, and call [`DeliveryRun::wrote`](super::DeliveryRun::wrote).
    Write(Write),
    /// Send [a message](Delivery::message) once, and call [`DeliveryRun::sent`](super::DeliveryRun::sent); if the
    /// receiver's host is at its limit, call
    /// [`DeliveryRun::reached_host_limit`](super::DeliveryRun::reached_host_limit) instead.
    Send(Delivery),
    /// Tell the team, through another channel, that this one does not work. This step has no outcome.
    NotifyOwner {
        /// Why it does not work.
        why: String,
    },
}

/// An issue that was loaded, and what the channel knows about it.
#[derive(Debug)]
pub(super) struct KnownIssue {
    pub(super) delivery: DeliveryState,
    pub(super) issue: Issue,
    pub(super) site: Site,
}

/// Asks whether the outbox has an entry for an issue.
#[derive(Debug)]
pub enum OutboxCheck {
    /// The issue is gone. If its deletion is still in the outbox, the channel hears of it from there.
    Gone(DeliveryState),
    /// The channel missed these events while it was off. They are queued only after the outbox is empty, because events
    /// that are still in it would be sent twice.
    Missed(Box<EventPlan>),
}

impl OutboxCheck {
    /// The issue that this is about.
    pub const fn issue(&self) -> IssueId {
        match self {
            Self::Gone(delivery) => delivery.issue,
            Self::Missed(plan) => plan.next.issue,
        }
    }
}

/// Events of one issue, to be queued in the same transaction as the delivery state that follows.
#[derive(Debug)]
pub struct EventPlan {
    /// What the channel knows about the issue after they are queued.
    pub next: DeliveryState,
    /// The issue's site.
    pub site: Site,
    /// The events, oldest first; empty if the channel wants none of them.
    pub events: Vec<PlannedEvent>,
    /// When they are due.
    pub due: Timestamp,
}

/// An event whose body has not been created yet.
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

/// A write to what is outstanding for the channel. All but the last two depend on the `rev` that was read.
#[derive(Debug)]
pub enum Write {
    /// Saves what the channel knows about an issue.
    PutState(DeliveryState),
    /// Forgets an issue.
    DeleteState(DeliveryState),
    /// Saves a queued message.
    PutQueued(Queued),
    /// Queues a message, unless the same one already exists.
    AddQueued(Queued),
    /// Saves what people were notified of.
    PutNotified(Box<NotifiedIssue>),
    /// Removes a queued message, even if it has changed meanwhile: it must not be sent twice.
    DeleteQueued(Queued),
}

/// An issue of which people were notified. Changes that happened meanwhile come next: see
/// [`DeliveryState::notified_meanwhile`].
#[derive(Debug)]
pub struct NotifiedIssue {
    /// What the channel knew before.
    pub before: DeliveryState,
    /// What it knows now; `None` if nothing needs to be remembered.
    pub next: Option<DeliveryState>,
    /// The issue in the state of which they were notified.
    pub issue: Issue,
    /// What they know now.
    pub notified: Option<Notified>,
}

/// A message that is being sent, with everything that depends on its outcome.
#[derive(Debug)]
pub enum Delivery {
    /// A message about the channels themselves.
    Notice(Queued),
    /// An alert for people.
    Alert(Box<AlertDelivery>),
    /// An event for a program.
    Event(EventDelivery),
}

/// An alert that is being sent.
#[derive(Debug)]
pub struct AlertDelivery {
    pub(super) alert: Alert,
    pub(super) id: String,
    /// What the alert names.
    pub(super) batch: AlertBatch,
    /// What it had no room for.
    pub(super) unnamed: Vec<ReadyNews>,
}

/// An event that is being sent.
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
    /// An alert that was just created.
    Alert {
        /// What it says.
        alert: &'a Alert,
        /// Its id, which is the same whenever it is sent again.
        id: &'a str,
    },
}

impl Delivery {
    /// The issues that it is about, and what a channel learns of them; none of a message about the channels.
    pub fn about(&self) -> Vec<(IssueId, EventKind)> {
        match self {
            Self::Notice(_) => Vec::new(),
            Self::Alert(delivery) => delivery.batch.about().collect(),
            Self::Event(EventDelivery { event: Queued { group, content, .. }, .. }) => {
                let Content::Event { event, .. } = content else { return Vec::new() };
                IssueId::parse(group).map(|issue| (issue, *event)).into_iter().collect()
            }
        }
    }

    /// The message to send.
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
