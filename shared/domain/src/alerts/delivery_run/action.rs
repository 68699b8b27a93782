//! What a delivery run still has to do.

use std::collections::VecDeque;

use jiff::Timestamp;

use crate::alerts::AlertKind;
use crate::alerts::delivery::{DeliveryState, Queued};
use crate::alerts::storm::Window;

use super::batch::{AlertBatch, ReadyNews};
use super::step::{DeliveryStep, Write};

/// Something that a run still has to do. What it needs is decided when its turn comes.
#[derive(Debug)]
pub(super) enum Action {
    /// Request a step.
    DeliveryStep(DeliveryStep),
    /// Begin: messages about the channels themselves come first.
    Begin(Vec<DeliveryState>, Vec<Queued>),
    /// Send a message about the channels themselves.
    Notice(Queued),
    /// Continue with the issues.
    Issues(Vec<DeliveryState>, Vec<Queued>),
    /// Notify people of this news, one kind after the other.
    News(Vec<ReadyNews>),
    /// Notify people in this alert.
    Alert(AlertBatch),
    /// Remember how many alerts of a kind were sent lately.
    SetWindow(AlertKind, Option<Window>),
    /// Send the events of a program, one issue after the other.
    AllEvents,
    /// Send the events of an issue, unless they have to wait with those of other issues.
    EventsOfIssue(Vec<Queued>),
    /// Send these events of an issue in order, until one fails.
    EventsInOrder(VecDeque<Queued>),
    /// Remove a test that cannot be sent, and record why.
    DropTest(Queued),
    /// Count an alert that the channel will not get.
    GiveUp,
}

/// Requests to load issues, if there are any.
pub(super) fn load_issues(deliveries: Vec<DeliveryState>) -> Vec<Action> {
    match deliveries.is_empty() {
        true => Vec::new(),
        false => vec![Action::DeliveryStep(DeliveryStep::LoadIssues(deliveries))],
    }
}

/// Looks at an issue again at another time, unless it has changed meanwhile.
pub(super) fn put_off(delivery: DeliveryState, due: Option<Timestamp>) -> Action {
    let rev = delivery.rev + 1;
    Action::DeliveryStep(DeliveryStep::Write(Write::PutState(DeliveryState {
        due,
        rev,
        ..delivery
    })))
}

/// Forgets an issue when there is nothing to say about it.
pub(super) const fn forget(delivery: DeliveryState) -> Action {
    Action::DeliveryStep(DeliveryStep::Write(Write::DeleteState(delivery)))
}

/// Saves something that waits to be sent. Only this run writes it.
pub(super) fn save_queued(queued: Queued) -> Action {
    let rev = queued.rev + 1;
    Action::DeliveryStep(DeliveryStep::Write(Write::PutQueued(Queued { rev, ..queued })))
}

/// Removes something that was sent or no longer needs to be sent.
pub(super) const fn drop_queued(queued: Queued) -> Action {
    Action::DeliveryStep(DeliveryStep::Write(Write::DeleteQueued(queued)))
}
