//! Notifying people: the current state, compared with what they know.

use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::alerts::collection::{Collecting, Collection};
use crate::alerts::delivery::DeliveryState;
use crate::alerts::due::{Due, due};
use crate::alerts::send_outcome::SendOutcome;
use crate::alerts::storm::{Batching, Rest, Window, batch};
use crate::checks::limits::ALERT_GRACE;
use crate::id::UserId;

use super::action::{Action, forget, load_issues, put_off};
use super::batch::{AlertBatch, ReadyNews, alert_id};
use super::catch_up;
use super::progress::{Attempt, Progress};
use super::step::{
    AlertDelivery, Delivery, DeliveryStep, KnownIssue, NotifiedIssue, OutboxCheck, Write,
};

/// Loads the issues that are due, unless the channel waits for its next attempt.
pub(super) fn begin(progress: &mut Progress<'_>, deliveries: Vec<DeliveryState>) -> Vec<Action> {
    let due_now = progress.take_due(deliveries);
    let retry_at = progress.channel_state.retry_at;
    match retry_at.filter(|retry_at| *retry_at > progress.began_at) {
        Some(at) => due_now.into_iter().map(|delivery| put_off(delivery, Some(at))).collect(),
        None => load_issues(due_now),
    }
}

/// Decides what people are notified of now. The rest is saved with the time when it is due.
pub(super) fn decide(
    progress: &Progress<'_>,
    known: Vec<KnownIssue>,
    gone: Vec<DeliveryState>,
) -> Vec<Action> {
    let now = progress.began_at;
    let checks =
        gone.into_iter().map(|delivery| DeliveryStep::CheckOutbox(OutboxCheck::Gone(delivery)));
    let mut plan: Vec<Action> = checks.map(Action::DeliveryStep).collect();
    let mut ready = Vec::new();
    for KnownIssue { delivery, issue, site } in catch_up::people(progress, known, &mut plan) {
        let policy = progress.context.policy(&issue, &site);
        match due(&issue, delivery.notified, delivery.from, &policy, now) {
            Due::Nothing(_) => plan.push(forget(delivery)),
            Due::Later { at, notified, .. } => {
                plan.push(put_off(DeliveryState { notified, ..delivery }, at));
            }
            Due::Notify { news, notified, .. } => {
                ready.push(ReadyNews { delivery, issue, site, news, notified });
            }
        }
    }
    // News that has waited longest goes first, so that no kind of news waits for another forever.
    ready.sort_by_key(|ready| (ready.news.since(&ready.issue), ready.delivery.issue));
    let users: BTreeSet<UserId> = ready.iter().filter_map(ReadyNews::decided_by).collect();
    if !users.is_empty() {
        plan.push(Action::DeliveryStep(DeliveryStep::LoadUsers(users)));
    }
    plan.push(Action::News(ready));
    plan
}

/// Decides about an issue that is gone. If the outbox still has its deletion, people have not been notified of it yet.
pub(super) fn forget_gone(
    progress: &Progress<'_>,
    gone: DeliveryState,
    is_in_outbox: bool,
) -> Action {
    if is_in_outbox {
        let now = progress.began_at;
        return put_off(gone, Some(now.saturating_add(ALERT_GRACE).unwrap_or(now)));
    }
    forget(gone)
}

/// Notifies people of the next kind of news: the first few messages one by one, the rest together.
pub(super) fn next_kind(
    progress: &mut Progress<'_>,
    ready: Vec<ReadyNews>,
    now: Timestamp,
) -> Vec<Action> {
    let Some(kind) = ready.first().map(|ready| ready.news.kind()) else { return Vec::new() };
    if progress.is_off() {
        let left = ready.into_iter().map(|ready| ready.delivery).collect();
        return progress.park(left, Vec::new(), now);
    }
    let (mut singles, others): (Vec<_>, Vec<_>) =
        ready.into_iter().partition(|ready| ready.news.kind() == kind);
    let window = progress.channel_state.window_mut(kind);
    let Batching { singles: count, rest, window: next } = batch(*window, singles.len(), now);
    let is_collection = matches!(rest, Rest::Together { .. });
    if !is_collection {
        *window = next;
    }
    let together = singles.split_off(count);
    let mut batches: Vec<Vec<ReadyNews>> = singles.into_iter().map(|single| vec![single]).collect();
    let mut plan = Vec::new();
    match rest {
        Rest::Together { .. } => batches.push(together),
        Rest::None => {}
        Rest::Until(end) => plan.extend(put_all_off(together, Some(end))),
    }
    let continues = rest == Rest::Together { continues: true };
    let collecting = Collecting { kind, continues };
    plan.extend(batches.into_iter().map(|ready| {
        Action::Alert(AlertBatch { collecting, ready, window: next, is_collection, made_at: now })
    }));
    plan.push(Action::News(others));
    plan
}

/// Sends an alert, unless it has to wait.
pub(super) fn alert(progress: &mut Progress<'_>, batch: AlertBatch, now: Timestamp) -> Vec<Action> {
    if progress.is_off() {
        let mut plan: Vec<_> = put_all_off(batch.ready, None).collect();
        plan.push(Action::GiveUp);
        return plan;
    }
    let retry_at = progress.channel_state.retry_at.filter(|retry_at| *retry_at > batch.made_at);
    let waits = retry_at
        .or_else(|| (!progress.has_time(now)).then_some(batch.made_at))
        .or_else(|| progress.host_limit(now));
    if let Some(due) = waits {
        return put_all_off(batch.ready, Some(due)).collect();
    }
    let mut batch = batch;
    let Collection { alert, named } = batch.compose(&progress.context, &progress.users, now);
    // People hear only of the issues that an alert names. The others stay due.
    let unnamed = batch.ready.split_off(named);
    let id = alert_id(progress.context.channel.id, &alert);
    let delivery = AlertDelivery { alert, id, batch, unnamed };
    vec![Action::DeliveryStep(DeliveryStep::Send(Delivery::Alert(Box::new(delivery))))]
}

/// Makes the news of an alert wait for its host.
pub(super) fn postpone(delivery: AlertDelivery, until: Timestamp) -> Vec<Action> {
    let AlertDelivery { batch, unnamed, .. } = delivery;
    put_all_off(batch.ready.into_iter().chain(unnamed), Some(until)).collect()
}

/// What follows from an attempt.
pub(super) fn sent(
    progress: &mut Progress<'_>,
    delivery: AlertDelivery,
    outcome: SendOutcome,
    now: Timestamp,
) -> Vec<Action> {
    let AlertDelivery { alert, batch, unnamed, .. } = delivery;
    let AlertBatch { collecting, ready, window, is_collection, .. } = batch;
    if outcome.is_final() {
        progress.delivered.given_up += 1;
    }
    let mut plan = Vec::new();
    let due = match progress.note(&alert.title(), outcome, now, &mut plan) {
        Attempt::Notified => {
            plan.extend(ready.into_iter().map(|ready| save_notified(progress, ready, now)));
            if is_collection {
                // The window changes only now: if an alert does not arrive, it must still be sent.
                let window = match unnamed.is_empty() {
                    true => window,
                    false => window.map(Window::left_some),
                };
                plan.push(Action::SetWindow(collecting.kind, window));
            }
            plan.extend(put_all_off(unnamed, window.map(Window::end)));
            return plan;
        }
        Attempt::Again(at) => Some(at),
        Attempt::Disabled => None,
    };
    plan.extend(put_all_off(ready.into_iter().chain(unnamed), due));
    plan
}

/// Saves what people know now. Changes that happened meanwhile come next.
fn save_notified(progress: &Progress<'_>, ready: ReadyNews, now: Timestamp) -> Action {
    let ReadyNews { delivery: before, issue, site, notified, .. } = ready;
    let policy = progress.context.policy(&issue, &site);
    let next = before.once_notified(&issue, notified, &policy, now);
    Action::DeliveryStep(DeliveryStep::Write(Write::PutNotified(Box::new(NotifiedIssue {
        before,
        next,
        issue,
        notified,
    }))))
}

fn put_all_off(
    ready: impl IntoIterator<Item = ReadyNews>,
    due: Option<Timestamp>,
) -> impl Iterator<Item = Action> {
    ready.into_iter().map(move |ready| put_off(ready.delivery, due))
}
