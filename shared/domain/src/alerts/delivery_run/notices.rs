//! Messages about the channels themselves: tests, confirmations, and the news that a channel missed something, or that
//! another channel does not work. They are sent even in quiet time.

use std::time::Duration;

use jiff::Timestamp;

use crate::alerts::channel::LATE_MAX;
use crate::alerts::delivery::{Content, Queued};
use crate::alerts::send_outcome::{SendOutcome, SendReason};

use super::DeliveryRun;
use super::attempt::Attempt;
use super::step::{Delivery, Sending};

/// Why a test was not sent to a channel that is off.
const OFF: &str = "the channel was disabled in the meantime";
/// Why a test was not sent if the reader of the address has unsubscribed meanwhile.
const UNCONFIRMED: &str = "its recipient has not confirmed the address";
/// How long a confirmation waits while the service has no address for its link.
const NO_BASE: Duration = Duration::from_mins(15);

impl DeliveryRun<'_> {
    /// Decides about a message whose turn it is.
    pub(super) fn decide_notice(&mut self, notice: Queued, now: Timestamp) {
        let is_due = notice.due.is_none_or(|due| due <= now);
        if notice.is_weekly_test() && is_due && self.skips(&notice, now) {
            return self.schedule_test(notice, now);
        }
        let is_test = matches!(notice.content, Content::Test { .. }) && !notice.is_weekly_test();
        if is_test && (self.is_off() || self.is_unconfirmed()) {
            return self.drop_test(notice, now);
        }
        if notice.due.is_none_or(|due| due > now) || self.is_off() {
            return self.look_at(notice.due);
        }
        if self.is_unconfirmed() && !notice.content.needs_no_confirmation() {
            return self.save_queued(Queued { due: None, ..notice });
        }
        if let Some(until) = self.host_limit(now) {
            return self.save_queued(Queued { due: Some(until), ..notice });
        }
        let Some(message) = self.context.queued(&notice, now) else {
            let why = "the service's own address is not configured".to_owned();
            let held = SendOutcome::Held { after: NO_BASE, was_tried: false, why };
            return self.sent_notice(notice, held, now);
        };
        let reason = if is_test { SendReason::Requested } else { self.reason() };
        let (about, of) = (Vec::new(), Sending::Notice(notice));
        self.send(Delivery { message, reason, about, of });
    }

    /// What follows from an attempt.
    pub(super) fn sent_notice(&mut self, notice: Queued, outcome: SendOutcome, now: Timestamp) {
        let failed = outcome.why().map(str::to_owned);
        let attempt = self.note(notice.content.name(), outcome, now);
        if let Content::Test { id } = &notice.content {
            self.channel_state.tested(id, failed, now);
            // A test that somebody asked for is sent only once: nobody wants it hours later.
            if !notice.is_weekly_test() {
                return self.drop_queued(notice);
            }
            if !matches!(attempt, Attempt::Again(_)) {
                return self.schedule_test(notice, now);
            }
        }
        match attempt {
            Attempt::Notified => self.drop_queued(notice),
            Attempt::Again(at) => {
                let failing = self.channel_state.failing;
                self.save_queued(Queued { due: Some(at), failing, ..notice });
            }
            Attempt::Disabled => self.save_queued(Queued { due: None, ..notice }),
        }
    }

    /// Whether a weekly test is not sent: the channel gets none any more. One that has not failed before is not sent
    /// either if the channel is off, or if the service was stopped at the hour of the test.
    fn skips(&self, test: &Queued, now: Timestamp) -> bool {
        let is_wanted = self.context.channel.filter.weekly_test.is_some();
        let is_late = test.due.is_none_or(|due| now.duration_since(due) > LATE_MAX);
        let is_on = !self.is_off() && !self.is_unconfirmed();
        !is_wanted || test.is_scheduled() && (is_late || !is_on)
    }

    /// Puts a weekly test off until the next hour that the owner has chosen.
    pub(super) fn schedule_test(&mut self, test: Queued, now: Timestamp) {
        let zone = &self.context.team.zone;
        match Queued::weekly_test(self.context.channel, zone, now) {
            Some(next) => self.save_queued(Queued { rev: test.rev, ..next }),
            None => self.drop_queued(test),
        }
    }

    /// Removes a test that cannot be sent, and records why.
    pub(super) fn drop_test(&mut self, test: Queued, now: Timestamp) {
        if let Content::Test { id } = &test.content {
            let why = if self.is_off() { OFF } else { UNCONFIRMED };
            self.channel_state.tested(id, Some(why.to_owned()), now);
        }
        self.drop_queued(test);
    }

    /// Why a message is sent. The first one after a person's request stands for all that wait.
    pub(super) const fn reason(&self) -> SendReason {
        match self.channel_state.is_requested {
            true => SendReason::Requested,
            false => SendReason::Due,
        }
    }
}
