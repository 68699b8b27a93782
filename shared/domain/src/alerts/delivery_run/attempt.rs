//! What an attempt to notify people means for their channel.

use jiff::{SignedDuration, Timestamp};

use crate::alerts::channel_state::FailedAttempt;
use crate::alerts::send_outcome::SendOutcome;
use crate::checks::limits::LONGEST_DELAY;

use super::DeliveryRun;
use super::step::DeliveryStep;

/// What a run has delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Delivered {
    /// Messages that arrived.
    pub sent: u64,
    /// Attempts that failed.
    pub failed: u64,
    /// Alerts that the channel will not get: those that it refused, the one that disabled it, and those that remain
    /// when its answer disables it.
    pub given_up: u64,
}

/// What an attempt to notify people means for the rest of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attempt {
    /// The receiver has it or will never get it: it counts as notified.
    Notified,
    /// It is tried again at this time, and nothing else is sent before.
    Again(Timestamp),
    /// Nothing is sent to the channel any more.
    Disabled,
}

impl DeliveryRun<'_> {
    /// Records that a message arrived.
    pub(super) fn arrived(&mut self, at: Timestamp) {
        self.delivered.sent += 1;
        self.has_recovered |= self.channel_state.is_failing();
        self.channel_state.delivered(at);
    }

    /// Counts how long it took to notify the channel of an opening that nothing has held back.
    pub(super) fn count_latency(&mut self, opened_at: Option<Timestamp>, now: Timestamp) {
        if let Some(opened_at) = opened_at {
            self.channel_state.latencies.record(opened_at, now);
        }
    }

    /// What an attempt to notify people means for the channel. Has its owner notified if it is disabled or fails for
    /// too long.
    pub(super) fn note(&mut self, what: &str, outcome: SendOutcome, now: Timestamp) -> Attempt {
        let attempt =
            |why: &str| FailedAttempt { at: now, what: what.to_owned(), why: why.to_owned() };
        let is_failure = outcome.why().is_some() && outcome.was_tried();
        self.delivered.failed += u64::from(is_failure);
        let state = &mut self.channel_state;
        let (attempt, why_to_owner) = match outcome {
            SendOutcome::Delivered { .. } => {
                self.arrived(now);
                (Attempt::Notified, None)
            }
            SendOutcome::Retry { after, why } => {
                let asked = after.and_then(|after| SignedDuration::try_from(after).ok());
                let whom = (&self.context.channel.target, self.context.channel.id);
                let retry = state.failed(whom, attempt(&why), asked);
                let is_news = retry.is_exhausted && !state.is_reported;
                state.is_reported |= is_news;
                (Attempt::Again(retry.at), is_news.then_some(why))
            }
            SendOutcome::Held { after, was_tried, why } => {
                let wait = SignedDuration::try_from(after).unwrap_or(LONGEST_DELAY);
                let at = now.saturating_add(wait).unwrap_or(now);
                state.held(attempt(&why), was_tried, at);
                (Attempt::Again(at), None)
            }
            SendOutcome::Refused { why } => match state.refused(attempt(&why)) {
                true => (Attempt::Disabled, Some(why)),
                false => (Attempt::Notified, None),
            },
            SendOutcome::Gone { why } => {
                state.disable(attempt(&why));
                (Attempt::Disabled, Some(why))
            }
        };
        self.steps.extend(why_to_owner.map(|why| DeliveryStep::NotifyOwner { why }));
        attempt
    }
}
