//! The progress of a delivery run: what it knows about the channel, and the actions that follow.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::accounts::account::User;
use crate::alerts::channel_state::{ChannelState, FailedAttempt};
use crate::alerts::delivery::{Content, DeliveryState, Queued};
use crate::alerts::send_outcome::SendOutcome;
use crate::checks::limits::LONGEST_DELAY;
use crate::id::UserId;

use super::action::{Action, put_off, save_queued};
use super::context::DeliveryContext;
use super::step::DeliveryStep;

/// How long before its lease ends a run starts nothing new: sending takes at most 30 seconds.
const LEASE_MARGIN: SignedDuration = SignedDuration::from_secs(35);

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

/// The progress of a run.
#[derive(Debug)]
pub(super) struct Progress<'a> {
    pub(super) context: DeliveryContext<'a>,
    pub(super) channel_state: ChannelState,
    pub(super) delivered: Delivered,
    /// The earliest time at which something is due.
    pub(super) next_due: Option<Timestamp>,
    /// Until when the channel's host is at its limit.
    pub(super) host_limited_until: Option<Timestamp>,
    /// When the run started with the issues.
    pub(super) began_at: Timestamp,
    /// The users who decided about the issues that people are notified of.
    pub(super) users: BTreeMap<UserId, User>,
    /// The events of a program.
    pub(super) events: Vec<Queued>,
    /// When the issues whose events failed in this run are tried again.
    pub(super) retries: Vec<Timestamp>,
    /// Whether the channel, which was failing, has accepted a message in this run.
    pub(super) has_recovered: bool,
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

impl Progress<'_> {
    /// Whether the channel is off.
    pub(super) const fn is_off(&self) -> bool {
        self.channel_state.disabled.is_some() || self.context.channel.disabled.is_some()
    }

    /// Whether the channel's reader has not confirmed it yet.
    pub(super) const fn is_unconfirmed(&self) -> bool {
        self.context.channel.since.is_none()
    }

    /// Whether there is time to send something more before another process may.
    pub(super) fn has_time(&self, now: Timestamp) -> bool {
        let until = self.channel_state.leased_until.unwrap_or(Timestamp::MIN);
        until.duration_since(now) > LEASE_MARGIN
    }

    /// Until when nothing is sent to the channel's host, if it is at its limit.
    pub(super) fn host_limit(&mut self, now: Timestamp) -> Option<Timestamp> {
        self.host_limited_until = self.host_limited_until.filter(|until| *until > now);
        self.host_limited_until
    }

    /// Remembers that something is due at this time.
    pub(super) fn look_at(&mut self, due: Option<Timestamp>) {
        self.next_due = self.next_due.into_iter().chain(due).min();
    }

    /// The issues to look at now: those that are due, and those of which the channel missed something while it was off.
    /// Remembers when the others are due.
    pub(super) fn take_due(&mut self, deliveries: Vec<DeliveryState>) -> Vec<DeliveryState> {
        let now = self.began_at;
        let is_due = |delivery: &DeliveryState| match delivery.due {
            Some(due) => due <= now,
            None => delivery.missed.is_some(),
        };
        let (due, later): (Vec<_>, Vec<_>) = deliveries.into_iter().partition(is_due);
        later.iter().for_each(|delivery| self.look_at(delivery.due));
        due
    }

    /// Leaves everything as it is until the channel is enabled again.
    pub(super) fn park(
        &self,
        deliveries: Vec<DeliveryState>,
        queued: Vec<Queued>,
        now: Timestamp,
    ) -> Vec<Action> {
        // Messages that wait for a person to enable the channel do not count as given up.
        let is_given_up = self.channel_state.disabled.is_some();
        let mut plan = Vec::new();
        for delivery in deliveries {
            if let Some(due) = delivery.due {
                plan.push(put_off(delivery, None));
                if is_given_up && due <= now {
                    plan.push(Action::GiveUp);
                }
            }
        }
        for queued in queued {
            if matches!(queued.content, Content::Test { .. }) {
                plan.push(Action::DropTest(queued));
            } else if queued.due.is_some() {
                let is_alert = matches!(queued.content, Content::Event { .. });
                plan.push(save_queued(Queued { due: None, ..queued }));
                if is_given_up && is_alert {
                    plan.push(Action::GiveUp);
                }
            }
        }
        plan
    }

    /// Records that a message arrived.
    pub(super) fn delivered(&mut self, at: Timestamp) {
        self.delivered.sent += 1;
        self.has_recovered |= self.channel_state.is_failing();
        self.channel_state.delivered(at);
    }

    /// What an attempt to notify people means for the channel. Adds the actions that follow to the plan.
    pub(super) fn note(
        &mut self,
        what: &str,
        outcome: SendOutcome,
        now: Timestamp,
        plan: &mut Vec<Action>,
    ) -> Attempt {
        let attempt =
            |why: &str| FailedAttempt { at: now, what: what.to_owned(), why: why.to_owned() };
        let is_failure = outcome != SendOutcome::Delivered && outcome.was_tried();
        self.delivered.failed += u64::from(is_failure);
        let state = &mut self.channel_state;
        let (attempt, why_to_owner) = match outcome {
            SendOutcome::Delivered => {
                self.delivered(now);
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
        plan.extend(
            why_to_owner.map(|why| Action::DeliveryStep(DeliveryStep::NotifyOwner { why })),
        );
        attempt
    }
}
