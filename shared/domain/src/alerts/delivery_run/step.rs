//! The steps of a delivery run.

use std::collections::BTreeSet;
use std::fmt;

use jiff::Timestamp;

use crate::alerts::channel::EventKind;
use crate::alerts::delivery::{DeliveryState, Queued};
use crate::alerts::due::Notified;
use crate::alerts::ended::EndReason;
use crate::alerts::handle::Handle;
use crate::alerts::outgoing_message::OutgoingMessage;
use crate::alerts::send_outcome::{SendOutcome, SendReason};
use crate::id::{IssueId, UserId};
use crate::issues::record::Issue;
use crate::monitor::Monitor;

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
    Write(Box<Write>),
    /// Send a message once, and call [`DeliveryRun::sent`](super::DeliveryRun::sent); if the
    /// receiver's host is at its limit, call
    /// [`DeliveryRun::reached_host_limit`](super::DeliveryRun::reached_host_limit) instead.
    Send(Box<Delivery>),
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
    pub(super) monitor: Monitor,
}

/// Asks whether the outbox has an entry for an issue.
#[derive(Debug)]
pub enum OutboxCheck {
    /// The issue is gone or over. Its state is kept until the outbox is empty: the channel hears of the end from there,
    /// if it knows of the opening.
    Forget(Box<DeliveryState>),
    /// Events that do not come from the outbox. They are queued only after it is empty, because events that are still in
    /// it would be sent twice.
    Queue(Box<EventPlan>),
}

impl OutboxCheck {
    /// The issue that this is about.
    pub const fn issue(&self) -> IssueId {
        match self {
            Self::Forget(delivery) => delivery.issue,
            Self::Queue(plan) => plan.next.issue,
        }
    }
}

/// Events of one issue, to be queued in the same transaction as the delivery state that follows.
#[derive(Debug)]
pub struct EventPlan {
    /// What the channel knows about the issue after they are queued.
    pub next: DeliveryState,
    /// The issue's site.
    pub monitor: Monitor,
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
    /// What their receiver answered to the message about the opening.
    pub handle: Option<Handle>,
}

/// A message that is being sent, with everything that depends on its outcome.
pub struct Delivery {
    /// The message.
    pub message: OutgoingMessage,
    /// Why it is sent now.
    pub reason: SendReason,
    /// The issues that it is about, and what the channel learns of each; none for a message about the channels. A
    /// snapshot is about the issues that changed since the last one.
    pub about: Vec<(IssueId, EventKind)>,
    pub(super) of: Sending,
}

impl Delivery {
    /// The issues whose timelines get an outcome. A receiver that refuses several alerts may have accepted most of them;
    /// each is sent alone next.
    pub fn recorded(&self, outcome: &SendOutcome) -> &[(IssueId, EventKind)] {
        match (&self.of, outcome) {
            (Sending::Snapshot(request), SendOutcome::Refused { .. }) if request.len() > 1 => &[],
            _ => &self.about,
        }
    }
}

impl fmt::Debug for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The links of a message are secret.
        f.debug_struct("Delivery").field("about", &self.about).finish_non_exhaustive()
    }
}

/// What depends on the outcome of a delivery.
#[derive(Debug)]
pub(super) enum Sending {
    /// A message about the channels themselves.
    Notice(Queued),
    /// An alert for people.
    Alert {
        title: String,
        /// What the alert names.
        batch: AlertBatch,
        /// What it had no room for.
        unnamed: Vec<ReadyNews>,
    },
    /// An event for a program.
    Event {
        event: Queued,
        /// When the attempt began.
        at: Timestamp,
    },
    /// The alerts of these issues, as part of a snapshot.
    Snapshot(Vec<IssueId>),
}
