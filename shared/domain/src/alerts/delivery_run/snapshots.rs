//! Sending snapshots: the alerts of all open issues, in one request, again and again.
//!
//! One queued message, [`Content::Repeat`], says when the next snapshot is due. An issue that opens or ends is written
//! to the table before it is sent, and the message is made due before that. So a process may die anywhere: the next
//! snapshot has everything that its receiver may know.

use std::collections::{BTreeMap, VecDeque};

use jiff::{SignedDuration, Timestamp};

use crate::alerts::channel_state::FailedAttempt;
use crate::alerts::delivery::{Content, DeliveryState, Queued, SnapshotProgress};
use crate::alerts::outgoing_message::OutgoingMessage;
use crate::alerts::send_outcome::SendOutcome;
use crate::alerts::standing::StandingAlert;
use crate::id::IssueId;

use super::DeliveryRun;
use super::attempt::Attempt;
use super::step::{Delivery, DeliveryStep, KnownIssue, Sending, Write};

/// The most alerts in a request.
const ALERTS_MAX: usize = 500;

/// The snapshot of a run.
#[derive(Debug, Default)]
pub(super) struct SnapshotRun {
    /// When it is due.
    pub(super) timer: Option<Queued>,
    /// The issues with an alert.
    alerts: BTreeMap<IssueId, DeliveryState>,
    /// Its requests, in the order of the issues.
    requests: VecDeque<Vec<IssueId>>,
    /// What comes next.
    stage: Stage,
    /// Whether each alert is sent alone.
    is_alone: bool,
    /// Whether some alerts are not in it, because it continues one that was interrupted.
    is_partial: bool,
}

/// What comes next in a run that sends a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Stage {
    /// Nothing.
    #[default]
    Over,
    /// To form the requests.
    Form,
    /// To send them.
    Send,
    /// To say when the next snapshot is due.
    Settle,
}

impl DeliveryRun<'_> {
    /// Begins with what the receiver may know already.
    pub(super) fn begin_snapshot(&mut self, deliveries: &[DeliveryState]) {
        let with_alert = deliveries.iter().filter(|delivery| delivery.standing.is_some());
        let with_alert = with_alert.map(|delivery| (delivery.issue, delivery.clone()));
        self.snapshot.alerts = with_alert.collect();
        self.snapshot.stage = Stage::Form;
    }

    /// Saves what the receiver has to know by the next snapshot, before it is sent.
    pub(super) fn decide_for_snapshot(&mut self, known: Vec<KnownIssue>) {
        let now = self.began_at;
        let (mut writes, mut is_news) = (Vec::new(), false);
        for KnownIssue { delivery, issue, monitor } in known {
            let policy = self.context.policy(&issue, &monitor);
            let subject = self.context.subject(&delivery, &issue, &monitor);
            let is_requested = self.channel_state.is_requested;
            let next = delivery.looked_at(&subject, &policy, is_requested, now);
            let Some(next) = next else {
                self.snapshot.alerts.remove(&delivery.issue);
                writes.push(Write::DeleteState(delivery));
                continue;
            };
            if let Some(standing) = &next.standing {
                is_news |= standing.changed_at == now;
                self.snapshot.alerts.insert(next.issue, next.clone());
            } else {
                self.snapshot.alerts.remove(&next.issue);
            }
            writes.push(Write::PutState(next));
        }
        if is_news && !self.snapshot.timer.as_ref().is_some_and(|timer| timer.is_due(now)) {
            self.save_timer(Some(now), self.progress());
        }
        // What the end of an earlier outage has hidden begins in the next snapshot.
        self.snapshot.is_partial |= is_news && self.snapshot.stage == Stage::Settle;
        writes.into_iter().for_each(|write| self.write(write));
    }

    /// Continues with the snapshot. Returns whether there was anything to do.
    pub(super) fn continue_snapshot(&mut self, now: Timestamp) -> bool {
        match self.snapshot.stage {
            Stage::Over => return false,
            Stage::Form => self.form_requests(),
            Stage::Send => match self.snapshot.requests.pop_front() {
                Some(request) => self.send_snapshot(request, now),
                None => self.forget_ended(),
            },
            Stage::Settle => self.settle(),
        }
        true
    }

    /// An issue has changed since it was read. It is looked at again at once, and left out until then.
    pub(super) fn leave_out(&mut self, issue: IssueId) {
        self.snapshot.alerts.remove(&issue);
    }

    /// Forms the requests if the snapshot is due.
    fn form_requests(&mut self) {
        let now = self.began_at;
        self.snapshot.stage = Stage::Over;
        if self.snapshot.alerts.is_empty() {
            return self.drop_timer();
        }
        if self.snapshot.timer.is_none() {
            self.save_timer(Some(now), self.progress());
        }
        let due = self.snapshot.timer.as_ref().and_then(|timer| timer.due);
        if due > Some(now) {
            return self.look_at(due);
        }
        let alone_from = self.progress().alone_from;
        let snapshot = &mut self.snapshot;
        snapshot.stage = Stage::Send;
        snapshot.is_partial = alone_from.is_some();
        snapshot.is_alone = alone_from.is_some();
        let is_sent = |(issue, delivery): &(&IssueId, &DeliveryState)| {
            delivery.standing.as_ref().is_some_and(|standing| !standing.is_refused)
                && alone_from.is_none_or(|from| **issue >= from)
        };
        let issues: Vec<IssueId> =
            snapshot.alerts.iter().filter(is_sent).map(|(issue, _)| *issue).collect();
        let size = if snapshot.is_alone { 1 } else { ALERTS_MAX };
        snapshot.requests = issues.chunks(size).map(<[_]>::to_vec).collect();
    }

    /// Sends a request, unless it has to wait.
    fn send_snapshot(&mut self, request: Vec<IssueId>, now: Timestamp) {
        if self.is_off() {
            return self.interrupt(&request, None);
        }
        let retry_at = self.channel_state.retry_at.filter(|retry_at| *retry_at > now);
        let waits = retry_at
            .or_else(|| (!self.has_time(now)).then_some(self.began_at))
            .or_else(|| self.host_limit(now));
        if waits.is_some() {
            return self.interrupt(&request, waits);
        }
        let (period, sent_at) = (self.period(), self.progress().sent_at);
        let (mut alerts, mut about) = (Vec::new(), Vec::new());
        for delivery in request.iter().filter_map(|issue| self.snapshot.alerts.get(issue)) {
            let Some(standing) = &delivery.standing else { continue };
            alerts.push(standing.sent(period, now));
            let is_news = sent_at.is_none_or(|sent_at| standing.changed_at > sent_at);
            if is_news && delivery.deleted.is_none() {
                about.push((delivery.issue, standing.event()));
            }
        }
        if !alerts.is_empty() {
            let (message, of) = (OutgoingMessage::Snapshot { alerts }, Sending::Snapshot(request));
            self.send(Delivery { message, reason: self.reason(), about, of });
        }
    }

    /// What follows from an attempt. After the receiver has refused several alerts, each is sent alone.
    pub(super) fn sent_snapshot(
        &mut self,
        request: Vec<IssueId>,
        outcome: SendOutcome,
        now: Timestamp,
    ) {
        let what = match request[..] {
            [issue] => self.summary(issue),
            _ => format!("{} alerts", request.len()),
        };
        match (outcome, &request[..]) {
            (SendOutcome::Refused { why }, [issue]) => {
                let attempt = FailedAttempt { at: now, what, why };
                self.refuse(*issue, attempt);
            }
            (SendOutcome::Refused { .. }, _) => {
                self.delivered.failed += 1;
                self.snapshot.is_alone = true;
                let singles = request.iter().rev().map(|issue| vec![*issue]);
                singles.for_each(|single| self.snapshot.requests.push_front(single));
            }
            (outcome, _) => {
                let asks = matches!(&outcome, SendOutcome::Retry { after: Some(_), .. });
                match self.note(&what, outcome, now) {
                    Attempt::Notified => self.count_openings(&request, now),
                    Attempt::Again(at) => {
                        // While it does not answer, its alerts end.
                        let soon = now.saturating_add(self.period()).unwrap_or(at);
                        let at = if asks { at } else { at.min(soon) };
                        self.channel_state.retry_at = Some(at);
                        self.interrupt(&request, Some(at));
                    }
                    Attempt::Disabled => self.interrupt(&request, None),
                }
            }
        }
    }

    /// Counts how long it took to send the alerts that a whole snapshot of one request has for the first time.
    fn count_openings(&mut self, request: &[IssueId], now: Timestamp) {
        if self.snapshot.is_partial || self.snapshot.is_alone || !self.snapshot.requests.is_empty()
        {
            return;
        }
        let sent_at = self.progress().sent_at;
        let alerts = request.iter().filter_map(|issue| self.snapshot.alerts.get(issue));
        let prompt = alerts.filter(|delivery| !delivery.is_held);
        let standing = prompt.filter_map(|delivery| delivery.standing.as_deref());
        let is_new = |standing: &&StandingAlert| {
            standing.is_active() && sent_at.is_none_or(|sent_at| standing.changed_at > sent_at)
        };
        let opened: Vec<_> = standing.filter(is_new).map(|of| of.alert.starts_at).collect();
        opened.into_iter().for_each(|opened_at| self.count_latency(Some(opened_at), now));
    }

    /// Leaves an alert out of the next snapshots.
    fn refuse(&mut self, issue: IssueId, attempt: FailedAttempt) {
        self.delivered.failed += 1;
        self.delivered.given_up += 1;
        let why = attempt.why.clone();
        if self.channel_state.refused_alone(attempt) {
            self.steps.push_back(DeliveryStep::NotifyOwner { why });
        }
        if let Some(delivery) = self.snapshot.alerts.get_mut(&issue) {
            delivery.rev += 1;
            delivery.standing.iter_mut().for_each(|standing| standing.is_refused = true);
            let next = delivery.clone();
            self.write(Write::PutState(next));
        }
    }

    /// What the alert of an issue says.
    fn summary(&self, issue: IssueId) -> String {
        let standing = self.snapshot.alerts.get(&issue).and_then(|one| one.standing.as_ref());
        let summary = standing.and_then(|standing| standing.alert.annotations.get("summary"));
        summary.cloned().unwrap_or_default()
    }

    /// Stops before a request. If it has the alert of one issue, it is continued from there, so that a long row of them
    /// comes to its end.
    pub(super) fn interrupt(&mut self, request: &[IssueId], until: Option<Timestamp>) {
        self.snapshot.requests.clear();
        self.snapshot.stage = Stage::Over;
        let alone_from = request.first().copied().filter(|_| self.snapshot.is_alone);
        self.save_timer(until, SnapshotProgress { alone_from, ..self.progress() });
        self.look_at(until);
    }

    /// Looks again at the issues that are over and whose ends were repeated for a whole period, without their alerts.
    fn forget_ended(&mut self) {
        self.snapshot.stage = Stage::Settle;
        if self.snapshot.is_partial {
            return;
        }
        let (period, now) = (self.period(), self.began_at);
        let is_expired = |delivery: &DeliveryState| {
            delivery.standing.as_ref().is_some_and(|standing| standing.is_expired(period, now))
        };
        let expired = self.snapshot.alerts.extract_if(.., |_, delivery| is_expired(delivery));
        let expired: Vec<_> = expired.map(|(_, delivery)| delivery.without_alert()).collect();
        if !expired.is_empty() {
            self.steps.push_back(DeliveryStep::LoadIssues(expired));
        }
    }

    /// Says when the next snapshot is due: soon if some alerts were not in this one.
    fn settle(&mut self) {
        let now = self.began_at;
        self.snapshot.stage = Stage::Over;
        if self.snapshot.alerts.is_empty() {
            return self.drop_timer();
        }
        let (wait, sent_at) = match self.snapshot.is_partial {
            true => (self.period() / 5, self.progress().sent_at),
            false => (self.period(), Some(now)),
        };
        let due = now.saturating_add(wait).ok();
        self.save_timer(due, SnapshotProgress { sent_at, alone_from: None });
        self.look_at(due);
    }

    /// How far the snapshots have come.
    fn progress(&self) -> SnapshotProgress {
        match self.snapshot.timer.as_ref().map(|timer| &timer.content) {
            Some(Content::Repeat { progress }) => *progress,
            _ => SnapshotProgress::default(),
        }
    }

    /// Saves when the next snapshot is due.
    fn save_timer(&mut self, due: Option<Timestamp>, progress: SnapshotProgress) {
        let timer = match self.snapshot.timer.take() {
            Some(timer) => {
                Queued { due, content: Content::Repeat { progress }, rev: timer.rev + 1, ..timer }
            }
            None => Queued { due, ..Queued::repeat(progress, self.began_at) },
        };
        self.write(Write::PutQueued(timer.clone()));
        self.snapshot.timer = Some(timer);
    }

    fn drop_timer(&mut self) {
        let timer = self.snapshot.timer.take();
        timer.into_iter().for_each(|timer| self.drop_queued(timer));
    }

    fn period(&self) -> SignedDuration {
        self.context.period().unwrap_or_default()
    }
}
