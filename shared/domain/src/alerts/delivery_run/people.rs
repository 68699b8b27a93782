//! Notifying people: the current state, compared with what they know.

use std::collections::{BTreeSet, VecDeque};

use jiff::Timestamp;

use crate::alerts::AlertKind;
use crate::alerts::collection::{Collecting, Collection};
use crate::alerts::delivery::DeliveryState;
use crate::alerts::due::{Due, due};
use crate::alerts::handle::Handle;
use crate::alerts::send_outcome::SendOutcome;
use crate::alerts::storm::{Batching, Rest, Window, batch};
use crate::id::UserId;

use super::DeliveryRun;
use super::attempt::Attempt;
use super::batch::{AlertBatch, ReadyNews, alert_id};
use super::step::{Delivery, DeliveryStep, KnownIssue, NotifiedIssue, Sending, Write};

impl DeliveryRun<'_> {
    /// The issues to load: those that are due, unless the channel waits for its next attempt.
    pub(super) fn begin_people(&mut self, due_now: Vec<DeliveryState>) -> Vec<DeliveryState> {
        let retry_at = self.channel_state.retry_at;
        let Some(retry_at) = retry_at.filter(|retry_at| *retry_at > self.began_at) else {
            return due_now;
        };
        due_now.into_iter().for_each(|delivery| self.put_off(delivery, Some(retry_at)));
        Vec::new()
    }

    /// Decides what people are notified of now. The rest is saved with the time when it is due.
    pub(super) fn decide_for_people(&mut self, known: Vec<KnownIssue>) {
        let now = self.began_at;
        for KnownIssue { delivery, issue, monitor } in self.catch_up_people(known) {
            let policy = self.context.policy(&issue, &monitor);
            match due(&issue, delivery.notified, delivery.from, &policy, now) {
                Due::Nothing => self.forget(delivery),
                Due::Later { at, notified } => {
                    self.put_off(DeliveryState { notified, is_held: true, ..delivery }, at);
                }
                // This is saved before they are notified: if the process dies then, they must hear of the end.
                Due::Notify { .. } if delivery.leaves_out(&issue) => {
                    self.write(Write::PutState(delivery.once_included(&issue, now)));
                }
                Due::Notify { news, notified } => {
                    self.news.push(ReadyNews { delivery, issue, monitor, news, notified });
                }
            }
        }
        // News that has waited longest goes first, so that no kind of news waits for another forever.
        self.news.sort_by_key(|ready| (ready.news.since(&ready.issue), ready.delivery.issue));
        let users: BTreeSet<UserId> = self.news.iter().filter_map(ReadyNews::decided_by).collect();
        if !users.is_empty() {
            self.steps.push_back(DeliveryStep::LoadUsers(users));
        }
    }

    /// Forms the alerts for the next kind of news: the first few messages one by one, the rest together.
    pub(super) fn form_batches(&mut self, kind: AlertKind, now: Timestamp) {
        let news = std::mem::take(&mut self.news);
        if self.is_off() {
            let left = news.into_iter().map(|ready| ready.delivery).collect();
            return self.park(left, Vec::new(), now);
        }
        let (mut singles, others): (Vec<_>, Vec<_>) =
            news.into_iter().partition(|ready| ready.news.kind() == kind);
        self.news = others;
        let window = self.channel_state.window_mut(kind);
        let Batching { singles: count, rest, window: next } = batch(*window, singles.len(), now);
        let is_collection = matches!(rest, Rest::Together { .. });
        if !is_collection {
            *window = next;
        }
        let together = singles.split_off(count);
        let mut batches: VecDeque<Vec<ReadyNews>> =
            singles.into_iter().map(|single| vec![single]).collect();
        match rest {
            Rest::Together { .. } => batches.push_back(together),
            Rest::None => {}
            Rest::Until(end) => {
                self.put_all_off(together.into_iter().map(ReadyNews::held), Some(end));
            }
        }
        let continues = rest == Rest::Together { continues: true };
        let collecting = Collecting { kind, continues };
        self.batches.extend(batches.into_iter().map(|ready| AlertBatch {
            collecting,
            ready,
            window: next,
            is_collection,
            made_at: now,
        }));
    }

    /// Sends an alert, unless it has to wait.
    pub(super) fn send_alert(&mut self, mut batch: AlertBatch, now: Timestamp) {
        if self.is_off() {
            self.delivered.given_up += 1;
            return self.put_all_off(batch.ready, None);
        }
        let retry_at = self.channel_state.retry_at.filter(|retry_at| *retry_at > batch.made_at);
        let waits = retry_at
            .or_else(|| (!self.has_time(now)).then_some(batch.made_at))
            .or_else(|| self.host_limit(now));
        if let Some(due) = waits {
            return self.put_all_off(batch.ready, Some(due));
        }
        let Collection { alert, named } = batch.compose(&self.context, &self.users, now);
        // People hear only of the issues that an alert names. The others stay due.
        let unnamed = batch.ready.split_off(named);
        let from = batch.ready.first().map(|ready| ready.delivery.from);
        let (title, id) = (alert.title(), alert_id(self.context.channel.id, &alert, from));
        let openings = batch.openings(&self.context.channel.target);
        self.send(Delivery {
            message: self.context.alert(alert, id, openings),
            reason: self.reason(),
            about: batch.about().collect(),
            of: Sending::Alert { title, batch, unnamed },
        });
    }

    /// What follows from an attempt.
    pub(super) fn sent_alert(
        &mut self,
        title: &str,
        batch: AlertBatch,
        unnamed: Vec<ReadyNews>,
        outcome: SendOutcome,
        now: Timestamp,
    ) {
        let AlertBatch { collecting, ready, window, is_collection, .. } = batch;
        self.delivered.given_up += u64::from(outcome.is_final());
        let handle = match &outcome {
            SendOutcome::Delivered { handle } => handle.clone(),
            _ => None,
        };
        let was_delivered = matches!(outcome, SendOutcome::Delivered { .. });
        let due = match self.note(title, outcome, now) {
            Attempt::Notified => {
                for ready in ready {
                    if was_delivered && !is_collection {
                        self.count_latency(ready.prompt(), now);
                    }
                    self.save_notified(ready, handle.as_ref(), now);
                }
                if is_collection {
                    // The window changes only now: if an alert does not arrive, it must still be sent.
                    let window = match unnamed.is_empty() {
                        true => window,
                        false => window.map(Window::left_some),
                    };
                    *self.channel_state.window_mut(collecting.kind) = window;
                }
                return self.put_all_off(unnamed, window.map(Window::end));
            }
            Attempt::Again(at) => Some(at),
            Attempt::Disabled => None,
        };
        self.put_all_off(ready.into_iter().chain(unnamed), due);
    }

    /// Saves what people know now. Changes that happened meanwhile come next.
    fn save_notified(&mut self, ready: ReadyNews, handle: Option<&Handle>, now: Timestamp) {
        let ReadyNews { delivery: before, issue, monitor, notified, news } = ready;
        let policy = self.context.policy(&issue, &monitor);
        // Later messages refer to the one about the opening.
        let handle = match news.kind() {
            AlertKind::Opened => handle
                .map(|handle| handle.clone().from_target(self.context.channel.target.digest())),
            _ => before.handle.clone(),
        };
        let next = before.once_notified(&issue, notified, &policy, now);
        let next = next.map(|next| DeliveryState { handle: handle.clone(), ..next });
        let notified = NotifiedIssue { before, next, issue, notified, handle };
        self.write(Write::PutNotified(Box::new(notified)));
    }
}
