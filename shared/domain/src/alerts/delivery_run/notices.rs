//! Messages about the channels themselves: tests, confirmations, and the news that a channel missed something, or that
//! another channel does not work. They are sent even in quiet time.

use jiff::Timestamp;

use crate::alerts::delivery::{Content, Queued};
use crate::alerts::send_outcome::SendOutcome;

use super::action::{Action, drop_queued, save_queued};
use super::progress::{Attempt, Progress};
use super::step::{Delivery, DeliveryStep};

/// Why a test was not sent to a channel that is off.
const OFF: &str = "the channel was disabled in the meantime";
/// Why a test was not sent if the reader of the address has unsubscribed meanwhile.
const UNCONFIRMED: &str = "its recipient has not confirmed the address";

/// Decides about a message whose turn it is.
pub(super) fn take(progress: &mut Progress<'_>, notice: Queued, now: Timestamp) -> Vec<Action> {
    let (is_off, is_unconfirmed) = (progress.is_off(), progress.is_unconfirmed());
    if matches!(notice.content, Content::Test { .. }) && (is_off || is_unconfirmed) {
        return vec![Action::DropTest(notice)];
    }
    if notice.due.is_none_or(|due| due > now) || is_off {
        progress.look_at(notice.due);
        return Vec::new();
    }
    if is_unconfirmed && !notice.content.needs_no_confirmation() {
        return vec![save_queued(Queued { due: None, ..notice })];
    }
    if let Some(until) = progress.host_limit(now) {
        return postpone(notice, until);
    }
    vec![Action::DeliveryStep(DeliveryStep::Send(Delivery::Notice(notice)))]
}

/// Makes a message wait for its host.
pub(super) fn postpone(notice: Queued, until: Timestamp) -> Vec<Action> {
    vec![save_queued(Queued { due: Some(until), ..notice })]
}

/// What follows from an attempt.
pub(super) fn sent(
    progress: &mut Progress<'_>,
    notice: Queued,
    outcome: SendOutcome,
    now: Timestamp,
) -> Vec<Action> {
    let mut plan = Vec::new();
    let failed = outcome.why().map(str::to_owned);
    let attempt = progress.note(notice.content.name(), outcome, now, &mut plan);
    // A test is sent only once: nobody wants it hours later.
    if let Content::Test { id } = &notice.content {
        progress.channel_state.tested(id, failed, now);
        plan.push(drop_queued(notice));
        return plan;
    }
    plan.push(match attempt {
        Attempt::Notified => drop_queued(notice),
        Attempt::Again(at) => save_queued(Queued { due: Some(at), ..notice }),
        Attempt::Disabled => save_queued(Queued { due: None, ..notice }),
    });
    plan
}

/// Records why a test is not sent, and removes it.
pub(super) fn drop_test(progress: &mut Progress<'_>, test: Queued, now: Timestamp) -> Action {
    if let Content::Test { id } = &test.content {
        let why = if progress.is_off() { OFF } else { UNCONFIRMED };
        progress.channel_state.tested(id, Some(why.to_owned()), now);
    }
    drop_queued(test)
}
