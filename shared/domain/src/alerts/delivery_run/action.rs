//! What a delivery run has yet to do.

use std::collections::VecDeque;

use jiff::Timestamp;

use crate::alerts::AlertKind;
use crate::alerts::delivery::{DeliveryState, Queued};
use crate::alerts::storm::Window;

use super::batch::{AlertBatch, ReadyNews};
use super::step::{DeliveryStep, Write};

/// Something that a run has yet to do. What it needs to know for that is decided when its turn comes.
#[derive(Debug)]
pub(super) enum Action {
    /// Ask for a step.
    DeliveryStep(DeliveryStep),
    /// Begin: messages about the channels themselves come first.
    Begin(Vec<DeliveryState>, Vec<Queued>),
    /// Send a message about the channels themselves.
    Notice(Queued),
    /// Turn to the issues.
    Issues(Vec<DeliveryState>, Vec<Queued>),
    /// Tell people this, one kind of news after the other.
    News(Vec<ReadyNews>),
    /// Tell people this in one alert.
    Alert(AlertBatch),
    /// Remember how many alerts of a kind went out lately.
    SetWindow(AlertKind, Option<Window>),
    /// Send a program its events, one issue after the other.
    AllEvents,
    /// Send the events of an issue, unless they have to wait with those of others.
    EventsOfIssue(Vec<Queued>),
    /// Send these events of an issue in their order, until one fails.
    EventsInOrder(VecDeque<Queued>),
    /// Remove a test that cannot be sent, and note why.
    DropTest(Queued),
    /// Count an alert that the channel will not get.
    GiveUp,
}

/// Has issues loaded, if there are any.
pub(super) fn load_issues(deliveries: Vec<DeliveryState>) -> Vec<Action> {
    match deliveries.is_empty() {
        true => Vec::new(),
        false => vec![Action::DeliveryStep(DeliveryStep::LoadIssues(deliveries))],
    }
}

/// Looks at an issue again at another time, unless something happened to it meanwhile.
pub(super) fn put_off(delivery: DeliveryState, due: Option<Timestamp>) -> Action {
    let rev = delivery.rev + 1;
    Action::DeliveryStep(DeliveryStep::Write(Write::PutState(DeliveryState {
        due,
        rev,
        ..delivery
    })))
}

/// Forgets an issue about which there is nothing to say.
pub(super) const fn forget(delivery: DeliveryState) -> Action {
    Action::DeliveryStep(DeliveryStep::Write(Write::DeleteState(delivery)))
}

/// Writes what waits to be sent; only this run does.
pub(super) fn save_queued(queued: Queued) -> Action {
    let rev = queued.rev + 1;
    Action::DeliveryStep(DeliveryStep::Write(Write::PutQueued(Queued { rev, ..queued })))
}

/// Removes what was sent, or need not be any more.
pub(super) const fn drop_queued(queued: Queued) -> Action {
    Action::DeliveryStep(DeliveryStep::Write(Write::DeleteQueued(queued)))
}
