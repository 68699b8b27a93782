//! What a channel missed while it was off.
//!
//! The first transition of an issue that a channel misses is recorded in its delivery state, in the transaction that
//! removes the change from the outbox. Later transitions follow from the issue's timeline after the channel is enabled.

use jiff::fmt::serde::timestamp::millisecond;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::channel::EventKind;
use crate::issues::record::Issue;
use crate::issues::{TimelineEntry, TimelineKey};

/// The most transitions that a channel is sent after it is enabled. If it missed more, it only hears that it missed
/// some.
pub const MISSED_MAX: usize = 100;
/// How long ago the first of them may have been.
pub const MISSED_TIME: SignedDuration = SignedDuration::from_hours(7 * 24);

/// The first transition of an issue that a channel missed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missed {
    /// What happened.
    pub event: EventKind,
    /// When, according to the issue's timeline.
    #[serde(with = "millisecond::required")]
    pub at: Timestamp,
    /// The issue's `rev` at that time. Events that were queued before have a lower one.
    pub rev: u64,
    /// How many of the transitions since have been queued.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub queued: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// A transition that a channel missed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MissedTransition {
    /// What happened.
    pub event: EventKind,
    /// Its place in the issue's timeline.
    pub place: usize,
    /// Its number among the issue's transitions that the channel missed, starting at 1.
    pub number: usize,
}

impl Missed {
    /// The last opening of an issue.
    pub const fn opening(issue: &Issue) -> Self {
        let at = issue.lifecycle.opened_at();
        Self { event: EventKind::Opened, at, rev: issue.rev, queued: 0 }
    }

    /// The transitions of an issue from this one on that have not been queued, oldest first; `None` if its timeline
    /// does not go back that far.
    pub fn transitions(&self, issue: &Issue) -> Option<Vec<MissedTransition>> {
        let entries = issue.timeline.entries();
        let is_first = |entry: &TimelineEntry| {
            event_of(entry.key) == Some(self.event) && is_same(entry.timestamp, self.at)
        };
        let first = entries.iter().rposition(is_first)?;
        // A timeline that starts with a resolution has lost its opening.
        let opening = entries.iter().position(|entry| entry.key == TimelineKey::Opened)?;
        if opening > first {
            return None;
        }
        let transitions = entries.iter().enumerate().skip(first);
        let transitions =
            transitions.filter_map(|(place, entry)| Some((event_of(entry.key)?, place)));
        let numbered = (1..).zip(transitions).skip(self.queued);
        Some(
            numbered
                .map(|(number, (event, place))| MissedTransition { event, place, number })
                .collect(),
        )
    }

    /// Whether it is too old to be sent.
    fn is_too_old(&self, now: Timestamp) -> bool {
        now.duration_since(self.at) > MISSED_TIME
    }
}

/// Whether a channel missed more of these issues than it is sent.
pub(crate) fn is_too_much<'a>(
    missed: impl IntoIterator<Item = (&'a Missed, &'a Issue)>,
    now: Timestamp,
) -> bool {
    let mut count = 0;
    missed.into_iter().any(|(first, issue)| {
        let transitions = first.transitions(issue);
        count += transitions.as_ref().map_or(0, Vec::len);
        transitions.is_none() || first.is_too_old(now) || count > MISSED_MAX
    })
}

const fn event_of(key: TimelineKey) -> Option<EventKind> {
    match key {
        TimelineKey::Opened => Some(EventKind::Opened),
        TimelineKey::Acknowledged => None,
        TimelineKey::Resolved => Some(EventKind::Resolved),
    }
}

/// Stored instants have whole milliseconds.
fn is_same(one: Timestamp, other: Timestamp) -> bool {
    one.as_millisecond() == other.as_millisecond()
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::alerts::channel::webhook::Webhook;
    use crate::alerts::channel::{
        Channel, Filter, LinkKey, SecretUrl, SigningKey, SigningKeys, Target,
    };
    use crate::alerts::delivery::{DeliveryState, OutboxEntry};
    use crate::alerts::due::Notified;
    use crate::id::{ChannelId, SiteId, TeamId, UserId};
    use crate::issues::record::resolve;
    use crate::issues::{Fingerprint, Lifecycle, Timeline};

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_second(1_795_000_000 + 60 * minute).expect("a timestamp")
    }

    /// An issue that opened in each even minute, and was resolved in each odd one.
    fn issue(minutes: i64) -> Issue {
        let mut lifecycle = Lifecycle::open(at(0));
        let mut timeline = Timeline::default().then(lifecycle);
        for minute in 1..minutes {
            let next = match minute % 2 {
                0 => lifecycle.reopen(at(minute)),
                _ => lifecycle.resolve(at(minute), None),
            };
            lifecycle = next.expect("one after the other");
            timeline = timeline.then(lifecycle);
        }
        Issue {
            lifecycle,
            timeline,
            ..Issue::opened(SiteId(Uuid::from_u128(1)), Fingerprint::StatusDown, at(0))
        }
    }

    fn missed(event: EventKind, minute: i64) -> Missed {
        Missed { event, at: at(minute), rev: 1, queued: 0 }
    }

    #[test]
    fn transitions_follow_from_the_first_one_that_was_missed() {
        let (opened, resolved) = (EventKind::Opened, EventKind::Resolved);
        let transition = |event, place, number| MissedTransition { event, place, number };
        let first = missed(resolved, 1);
        let all = first.transitions(&issue(4)).expect("kept");
        let expected =
            [transition(resolved, 1, 1), transition(opened, 2, 2), transition(resolved, 3, 3)];
        assert_eq!(all, expected);
        let rest = Missed { queued: 2, ..first }.transitions(&issue(4)).expect("kept");
        assert_eq!(rest, expected[2..]);
        assert_eq!(missed(opened, 1).transitions(&issue(4)), None, "it was resolved then");
        // A timeline has a hundred entries, the first of which is a resolution here.
        assert_eq!(missed(resolved, 1).transitions(&issue(101)), None);
        assert_eq!(missed(opened, 2).transitions(&issue(101)).expect("kept").len(), 99);
    }

    #[test]
    fn a_hundred_transitions_of_seven_days_are_sent() {
        let week = 7 * 24 * 60;
        for (transitions, now, expected) in
            [(50, week, false), (50, week + 1, true), (51, 60, true)]
        {
            let (first, issue) = (missed(EventKind::Opened, 0), issue(transitions));
            let twice = [(&first, &issue), (&first, &issue)];
            assert_eq!(is_too_much(twice, at(now)), expected, "{transitions} by {now}");
        }
        let (first, issue) = (missed(EventKind::Resolved, 1), issue(101));
        assert!(is_too_much([(&first, &issue)], at(101)), "its timeline is too short");
        assert!(!is_too_much([], at(0)));
    }

    #[test]
    fn a_program_that_is_off_misses_a_resolution_if_it_knows_of_the_opening() {
        let team = TeamId(Uuid::from_u128(2));
        let resolved = resolve(issue(1), UserId(Uuid::from_u128(4)), at(6)).expect("it is open");
        let resolution = OutboxEntry::of(team, &resolved);
        let url = SecretUrl::new("https://hooks.example.com/x");
        let keys = SigningKeys::new(SigningKey::from_random([7; SigningKey::BYTES]));
        let (id, key) = (ChannelId(Uuid::from_u128(1)), LinkKey::from_random([7; LinkKey::BYTES]));
        let program = Target::Webhook(Webhook { url, keys });
        let program = Channel::new(id, team, "Ops", program, Filter::default(), key, at(-1));
        let missed = |notified: Option<Option<Notified>>| {
            let new = DeliveryState::new(resolution.issue.id, at(0), at(0));
            let delivery = notified.map(|notified| DeliveryState { notified, ..new });
            program.missed_while_off(delivery, &resolution, true, at(7))?.delivery.missed
        };
        let notified = Notified { opened_at: at(0), reminded_until: at(0) };
        let expected = Missed { event: EventKind::Resolved, at: at(6), rev: 2, queued: 0 };
        assert_eq!(missed(Some(Some(notified))), Some(expected));
        assert_eq!(missed(Some(None)), None, "the channel was not about the site");
        assert_eq!(missed(None), None, "it was not there when the issue opened");
    }
}
