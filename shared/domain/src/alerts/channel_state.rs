//! How a channel has behaved lately, and which process sends to it.

use jiff::fmt::serde::timestamp::millisecond;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::AlertKind;
use super::channel::{Channel, Disabled, PublicTarget};
use super::latency::Latencies;
use super::retry::{Failing, Retry, is_too_far, retry};
use super::storm::Window;
use crate::checks::limits::LONGEST_DELAY;
use crate::clock::is_ahead;
use crate::id::ChannelId;

/// How a channel has behaved lately.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ChannelState {
    /// Increases with every write.
    pub rev: u64,
    /// Until when a process sends to it; no other process does meanwhile.
    #[serde(with = "millisecond::optional", skip_serializing_if = "Option::is_none")]
    pub leased_until: Option<Timestamp>,
    /// When a message in the queue will look at the channel again.
    #[serde(with = "millisecond::optional", skip_serializing_if = "Option::is_none")]
    pub wakes_at: Option<Timestamp>,
    /// Openings sent lately.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub openings: Option<Window>,
    /// Outages sent lately that ended before anybody was notified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missed: Option<Window>,
    /// Resolutions sent lately.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolutions: Option<Window>,
    /// Reminders sent lately.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reminders: Option<Window>,
    /// Messages to people that failed in a row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failing: Option<Failing>,
    /// Whether the team was told that the channel is failing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_reported: bool,
    /// The earliest time at which anything is sent to people again.
    #[serde(with = "millisecond::optional", skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Timestamp>,
    /// Why all email waits until `retry_at`, if that is the reason why nothing is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<String>,
    /// Whether a person has asked to send what waits, and nothing has been sent since.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_requested: bool,
    /// Messages in a row that the receiver refused because of their content.
    pub refusals: u32,
    /// Why nothing is sent any more, if the receiver no longer wants alerts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disabled: Option<Disabled>,
    /// When the last message arrived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivered_at: Option<Timestamp>,
    /// How long it took to notify it of openings.
    #[serde(skip_serializing_if = "Latencies::is_empty")]
    pub latencies: Latencies,
    /// The outcome of the last test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_test: Option<TestOutcome>,
    /// The latest failed attempts, newest last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<FailedAttempt>,
}

/// The outcome of a test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestOutcome {
    /// The id of the test's message.
    pub id: String,
    /// When.
    pub at: Timestamp,
    /// Why it did not arrive; `None` if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// The state of a channel for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ChannelState"))]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// It receives alerts.
    On,
    /// It receives alerts, but the last one failed.
    Failing,
    /// Its reader has not agreed yet.
    Unconfirmed,
    /// It receives nothing.
    Disabled,
}

impl Standing {
    /// The state of a channel that has behaved like this lately.
    pub fn of(channel: &Channel, state: &ChannelState) -> Self {
        if channel.disabled.is_some() || state.disabled.is_some() {
            Self::Disabled
        } else if channel.since.is_none() {
            Self::Unconfirmed
        } else if state.is_failing() {
            Self::Failing
        } else {
            Self::On
        }
    }

    /// The name on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::Failing => "failing",
            Self::Unconfirmed => "unconfirmed",
            Self::Disabled => "disabled",
        }
    }
}

/// An attempt that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedAttempt {
    /// When.
    pub at: Timestamp,
    /// What was sent.
    pub what: String,
    /// Why it did not arrive.
    pub why: String,
}

/// How long a process may send to a channel before others assume that it has died.
pub const LEASE: SignedDuration = SignedDuration::from_secs(120);
/// Timeout of the Lambda function that sends. While one channel hangs, the function still has time to start with
/// others.
pub const SENDING_TIMEOUT: SignedDuration = SignedDuration::from_secs(2 * LEASE.as_secs());
/// How early a message may arrive by its receiver's clock.
const EARLY_MAX: SignedDuration = SignedDuration::from_secs(1);
/// How many failed attempts are kept.
const LOG_MAX: usize = 20;
/// How many refused messages in a row disable a channel.
const REFUSALS_MAX: u32 = 3;
/// How many characters are kept of the reason for a failure.
const WHY_MAX: usize = 300;

impl ChannelState {
    /// Whether a process sends to the channel.
    pub(crate) fn is_leased(&self, now: Timestamp) -> bool {
        // A lease that ends later than a lease taken now is from before the clock was set back.
        let latest = now.saturating_add(LEASE).unwrap_or(now);
        self.leased_until.is_some_and(|until| now < until && !is_ahead(until, latest))
    }

    /// The state in which everything that failed is tried again, and the receiver gets another chance; `None` while a
    /// process sends. The failures remain readable.
    pub fn enabled(&self, now: Timestamp) -> Option<Self> {
        (!self.is_leased(now)).then(|| Self {
            rev: self.rev + 1,
            leased_until: None,
            failing: None,
            is_reported: false,
            retry_at: None,
            held: None,
            is_requested: true,
            refusals: 0,
            disabled: None,
            ..self.clone()
        })
    }

    /// The state of a channel that leads elsewhere from now on. Its new receiver has refused nothing and received nothing.
    /// `None` while a process sends.
    pub fn moved(&self, now: Timestamp) -> Option<Self> {
        let enabled = self.enabled(now)?;
        let latencies = Latencies::default();
        Some(Self { delivered_at: None, latencies, last_test: None, log: Vec::new(), ..enabled })
    }

    /// The state once email can be sent again; `None` if the channel does not wait for that, or a process sends to it.
    pub fn no_longer_held(&self, now: Timestamp) -> Option<Self> {
        (self.held.is_some() && !self.is_leased(now)).then(|| Self {
            rev: self.rev + 1,
            leased_until: None,
            retry_at: None,
            held: None,
            ..self.clone()
        })
    }

    /// Whether the last attempt failed, or nothing is sent because all email waits.
    pub fn is_failing(&self) -> bool {
        let failed = self.log.last().map(|attempt| attempt.at);
        failed > self.delivered_at || self.held.is_some()
    }

    /// When the last notification or test arrived. The email that asks to confirm an address is neither.
    pub fn notified_at(&self, channel: &Channel) -> Option<Timestamp> {
        let began = channel.began()?;
        self.delivered_at.filter(|at| *at >= began)
    }

    /// The state while this process sends; `None` if another process does.
    pub fn leased(&self, now: Timestamp) -> Option<Self> {
        if self.is_leased(now) {
            return None;
        }
        let until = now.saturating_add(LEASE).unwrap_or(now);
        Some(Self { leased_until: Some(until), rev: self.rev + 1, ..self.clone() })
    }

    /// Releases the channel. Returns the delay of the message that should look at it for what is due `next`; `None` if
    /// a message in the queue does that, or if `next` is so far off that redelivery finds it. If every message led to
    /// another one, the messages of a storm would keep returning until the channel accepts one.
    pub fn end(&mut self, next: Option<Timestamp>, now: Timestamp) -> Option<SignedDuration> {
        self.leased_until = None;
        self.rev += 1;
        let next = next?.max(now);
        let wait = next.duration_since(now);
        let is_under_way =
            self.wakes_at.is_some_and(|at| at.duration_since(now) > EARLY_MAX && at <= next);
        if is_under_way || wait > LONGEST_DELAY {
            return None;
        }
        self.wakes_at = Some(next);
        Some(wait)
    }

    /// The state without a lease that was taken before `start`, and without a message that was in a queue then; `None`
    /// if there is neither.
    pub fn released(&self, start: Timestamp) -> Option<Self> {
        let taken_at = self.leased_until.and_then(|until| until.saturating_sub(LEASE).ok());
        let is_under_way = self.wakes_at.is_some_and(|at| at >= start);
        taken_at.map_or(is_under_way, |at| at < start).then(|| Self {
            leased_until: None,
            wakes_at: None,
            rev: self.rev + 1,
            ..self.clone()
        })
    }

    /// The state after the clock was set back to `now`, in which nothing waits for a time too far ahead; `None` if
    /// nothing does.
    pub fn without_future(&self, now: Timestamp) -> Option<Self> {
        let leased_until = self.leased_until.filter(|_| self.is_leased(now));
        let wakes_at = self.wakes_at.filter(|at| !is_ahead(*at, now));
        let retry_at = self.retry_at.filter(|at| !is_too_far(*at, self.failing, now));
        let next = Self { leased_until, wakes_at, retry_at, ..self.clone() };
        (next != *self).then(|| Self { rev: self.rev + 1, ..next })
    }

    /// The window for a kind of news.
    pub(crate) const fn window_mut(&mut self, kind: AlertKind) -> &mut Option<Window> {
        match kind {
            AlertKind::Missed => &mut self.missed,
            AlertKind::Resolved => &mut self.resolutions,
            AlertKind::Reminder => &mut self.reminders,
            _ => &mut self.openings,
        }
    }

    /// Records a test; `failed` is why it did not arrive.
    pub fn tested(&mut self, id: &str, failed: Option<String>, now: Timestamp) {
        let failed = failed.map(|why| why.chars().take(WHY_MAX).collect());
        self.last_test = Some(TestOutcome { id: id.to_owned(), at: now, failed });
    }

    /// Records that something arrived.
    pub fn delivered(&mut self, now: Timestamp) {
        self.held = None;
        self.failing = None;
        self.is_reported = false;
        self.refusals = 0;
        self.retry_at = None;
        self.delivered_at = Some(now);
    }

    /// Records that a message to people did not arrive, but may later.
    pub fn failed(
        &mut self,
        (target, channel): (&PublicTarget, ChannelId),
        attempt: FailedAttempt,
        asked: Option<SignedDuration>,
    ) -> Retry {
        let now = attempt.at;
        self.note(attempt);
        let retry = retry(target, channel, self.failing, asked, now);
        self.failing = Some(retry.failing);
        self.retry_at = Some(retry.at);
        self.held = None;
        retry
    }

    /// Records that a message to people did not arrive, for a reason that says nothing about the channel.
    pub fn held(&mut self, attempt: FailedAttempt, was_tried: bool, until: Timestamp) {
        self.held = Some(attempt.why.chars().take(WHY_MAX).collect());
        self.retry_at = Some(until);
        if was_tried {
            self.note(attempt);
        }
    }

    /// Records that the receiver refused a message because of its content. Returns whether that disables the channel.
    pub fn refused(&mut self, attempt: FailedAttempt) -> bool {
        self.refusals = self.refusals.saturating_add(1);
        let disables = self.refusals >= REFUSALS_MAX;
        if disables {
            self.disable(attempt);
        } else {
            self.note(attempt);
        }
        disables
    }

    /// Records that the receiver refused one alert of a snapshot, which says nothing about the others. Returns whether it
    /// has refused so many in a row that the team should hear of it.
    pub fn refused_alone(&mut self, attempt: FailedAttempt) -> bool {
        self.refusals = self.refusals.saturating_add(1);
        self.note(attempt);
        self.refusals == REFUSALS_MAX
    }

    /// Disables the channel, for the reason that an attempt failed.
    pub fn disable(&mut self, attempt: FailedAttempt) {
        self.disabled = Some(Disabled { at: attempt.at, reason: attempt.why.clone() });
        self.note(attempt);
    }

    /// Keeps a failed attempt, to be shown.
    pub fn note(&mut self, mut attempt: FailedAttempt) {
        attempt.why = attempt.why.chars().take(WHY_MAX).collect();
        self.log.push(attempt);
        let past = self.log.len().saturating_sub(LOG_MAX);
        self.log.drain(..past);
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::alerts::channel::slack::Slack;
    use crate::alerts::channel::{SecretUrl, Target};

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_795_000_000 + second).expect("a timestamp")
    }

    #[test]
    fn a_channel_that_is_enabled_again_begins_anew_and_shows_what_failed() {
        let target =
            Target::Slack(Slack { url: SecretUrl::new("https://hooks.slack.com/x") }).public();
        let attempt = |second| FailedAttempt {
            at: at(second),
            what: "test".to_owned(),
            why: "HTTP 500".to_owned(),
        };
        let mut state = ChannelState::default();
        state.failed((&target, ChannelId(Uuid::nil())), attempt(0), None);
        state.refused(attempt(1));
        state.disable(attempt(2));
        let enabled = state.enabled(at(3)).expect("nobody sends");
        let (log, is_requested) = (state.log.clone(), true);
        let expected = ChannelState { rev: 1, log, is_requested, ..ChannelState::default() };
        assert_eq!(enabled, expected);
        assert_eq!(enabled.log.len(), 3);
        let leased = state.leased(at(3)).expect("nobody sends");
        assert_eq!(leased.enabled(at(3)), None, "whoever sends saves the state at the end");
        assert!(leased.enabled(at(3) + LEASE).is_some(), "unless they died");
    }

    #[test]
    fn only_one_wake_up_message_is_queued_for_a_channel() {
        let mut state = ChannelState::default();
        let mut end = |next, now| state.end(Some(at(next)), at(now)).map(|wait| wait.as_secs());
        for (next, now, expected) in [
            (60, 0, Some(60)),
            // Further messages of a storm, each of which looks at the channel.
            (60, 1, None),
            (60, 58, None),
            // Something is due earlier.
            (30, 2, Some(28)),
            (60, 3, None),
            // The message arrives, a little early by this clock.
            (60, 29, Some(31)),
            (60, 30, None),
            // The last message was lost, and what was due is late.
            (60, 100, Some(0)),
            (60, 100, Some(0)),
            // Redelivery finds it.
            (1_001, 100, None),
            (1_000, 100, Some(900)),
        ] {
            assert_eq!(end(next, now), expected, "due at {next}, ended at {now}");
        }
        assert_eq!(state.end(None, at(100)), None);
        assert_eq!(state.rev, 12);
    }

    #[test]
    fn a_lease_taken_by_a_fast_clock_delays_nothing() {
        for (ahead, is_leased) in [(0, true), (30, true), (3_600, false), (365 * 86_400, false)] {
            let leased = ChannelState::default().leased(at(ahead)).expect("nobody sends");
            assert_eq!(leased.is_leased(at(0)), is_leased, "{ahead}");
        }
    }

    #[test]
    fn only_a_lease_from_before_a_start_is_ended_by_it() {
        let leased = ChannelState::default().leased(at(0)).expect("nobody sends");
        let released = ChannelState { leased_until: None, rev: 2, ..leased.clone() };
        assert_eq!(leased.released(at(1)), Some(released));
        assert_eq!(leased.released(at(0)), None);
        assert_eq!(ChannelState::default().released(at(1)), None);
        let mut waiting = ChannelState::default();
        waiting.end(Some(at(60)), at(0));
        let released = ChannelState { rev: 2, ..ChannelState::default() };
        assert_eq!(waiting.released(at(30)), Some(released), "its message has died as well");
        assert_eq!(waiting.released(at(61)), None, "which would have come");
    }
}
