//! When a message that failed is sent again.

use jiff::fmt::serde::timestamp::millisecond;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::channel::PublicTarget;
use crate::clock::is_ahead;
use crate::id::ChannelId;

/// Waits after each failure of a channel for people or snapshots, in seconds. It then gets the state at that time, so the
/// last wait repeats as long as there is something to say.
const PEOPLE: [i64; 7] = [5, 30, 120, 300, 900, 3_600, 10_800];

/// Waits after each failure of a webhook, in seconds: 76 hours in total, as [Standard
/// Webhooks](https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md) recommends.
const WEBHOOK: [i64; 9] = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];

/// The longest wait that a receiver can ask for, so that it cannot silence itself for good by mistake.
const LONGEST_ASKED: SignedDuration = SignedDuration::from_hours(24);

/// A shorter wait that a receiver asks for is ignored in favor of the schedule, so that it cannot make us send the same
/// message again and again.
const SHORTEST_ASKED: SignedDuration = SignedDuration::from_secs(30);

/// Failures in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failing {
    /// The first of them.
    #[serde(with = "millisecond::required")]
    since: Timestamp,
    /// The position in the schedule. It stays the same if the receiver says when to try again; otherwise, Vedette would
    /// soon give up on a receiver that is only busy.
    step: u32,
}

impl Failing {
    /// When the first of them was.
    pub const fn since(&self) -> Timestamp {
        self.since
    }
}

/// Whether a retry is further ahead than any could be, because the clock was set back. `failing` are the failures that
/// it follows.
pub(crate) fn is_too_far(retry_at: Timestamp, failing: Option<Failing>, now: Timestamp) -> bool {
    // The jitter makes the longest wait up to a fifth longer.
    const LONGEST: SignedDuration = SignedDuration::from_secs(86_400 * 6 / 5);
    failing.is_some_and(|failing| is_ahead(failing.since, now))
        || is_ahead(retry_at, now.saturating_add(LONGEST).unwrap_or(now))
}

/// What happens after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// When to try again.
    pub at: Timestamp,
    /// The failures so far.
    pub failing: Failing,
    /// Whether they have lasted longer than the whole schedule. The team is told.
    pub is_exhausted: bool,
}

/// When to try again after a failure: never before the time that the receiver asks for (`Retry-After`). If it asks for
/// at least half a minute, that is the wait. Otherwise the schedule decides, up to a fifth shorter or longer, so that
/// messages that failed together are not retried together.
pub fn retry(
    target: &PublicTarget,
    channel: ChannelId,
    before: Option<Failing>,
    asked: Option<SignedDuration>,
    now: Timestamp,
) -> Retry {
    let waits: &[i64] = if target.gets_events() { &WEBHOOK } else { &PEOPLE };
    let Failing { since, step } = before.unwrap_or(Failing { since: now, step: 0 });
    let place = usize::try_from(step).unwrap_or(usize::MAX).min(waits.len() - 1);
    let (wait, step) = match asked {
        Some(asked) if asked >= SHORTEST_ASKED => (asked.min(LONGEST_ASKED), step),
        asked => {
            let wait = SignedDuration::from_millis(waits[place] * jitter(channel, step));
            (wait.max(asked.unwrap_or_default()), step.saturating_add(1))
        }
    };
    let whole = SignedDuration::from_secs(waits.iter().sum());
    Retry {
        at: now.saturating_add(wait).unwrap_or(now),
        failing: Failing { since, step },
        is_exhausted: now.duration_since(since) >= whole,
    }
}

/// A random-looking number of milliseconds in place of a second: 800 to 1,200.
fn jitter(channel: ChannelId, step: u32) -> i64 {
    let digest =
        Sha256::new().chain_update(channel.as_uuid()).chain_update(step.to_be_bytes()).finalize();
    800 + i64::from(u16::from_be_bytes([digest[0], digest[1]])) % 401
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::alerts::channel::slack::Slack;
    use crate::alerts::channel::webhook::Webhook;
    use crate::alerts::channel::{SecretUrl, SigningKey, SigningKeys, Target};

    fn webhook() -> PublicTarget {
        let current = SigningKey::from_random([1; SigningKey::BYTES]);
        let keys = SigningKeys { current, previous: None };
        Target::Webhook(Webhook { url: SecretUrl::new("https://example.com"), keys }).public()
    }

    fn chat() -> PublicTarget {
        Target::Slack(Slack { url: SecretUrl::new("https://example.com") }).public()
    }

    /// The waits until a receiver that always fails is given up, in seconds.
    fn waits(target: &PublicTarget, asked: Option<i64>) -> Vec<f64> {
        let (channel, mut now) = (ChannelId(Uuid::from_u128(7)), Timestamp::UNIX_EPOCH);
        let (mut failing, mut waits) = (None, Vec::new());
        loop {
            let asked = asked.map(SignedDuration::from_secs);
            let next = retry(target, channel, failing, asked, now);
            if next.is_exhausted || waits.len() == 1_000 {
                return waits;
            }
            waits.push(next.at.duration_since(now).as_secs_f64());
            (now, failing) = (next.at, Some(next.failing));
        }
    }

    #[test]
    fn waits_follow_the_schedule_give_or_take_a_fifth() {
        for (target, schedule) in [(chat(), &PEOPLE[..]), (webhook(), &WEBHOOK[..])] {
            let waits = waits(&target, None);
            assert!(waits.len().abs_diff(schedule.len()) <= 1, "{waits:?}");
            for (wait, planned) in waits.iter().zip(schedule) {
                let planned = *planned as f64;
                assert!((0.8 * planned..=1.2 * planned).contains(wait), "{wait} {planned}");
            }
        }
    }

    #[test]
    fn a_receiver_with_retry_after_is_given_up_by_time_and_not_by_number() {
        assert_eq!(waits(&webhook(), Some(60)).len(), 1_000, "of 4,560 in 76 hours");
        assert_eq!(waits(&chat(), Some(3_600)), [3_600.0; 5]);
        assert_eq!(waits(&webhook(), Some(9_000_000))[0], 86_400.0, "not for good");
    }

    #[test]
    fn a_receiver_without_retry_after_gets_a_backoff() {
        for target in [chat(), webhook()] {
            let (kind, unasked) = (target.kind(), waits(&target, None));
            assert_eq!(waits(&target, Some(0)), unasked, "{kind}");
            let asked = waits(&target, Some(20));
            assert_eq!(asked[0], 20.0, "{kind}: not before it asks");
            assert_eq!(asked[1..5], unasked[1..5], "{kind}");
        }
    }
}
