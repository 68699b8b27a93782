//! What happened to an issue, as far as it is kept. The timeline is part of the issue's record, in a packed form, so
//! that both are one small item.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;
use uuid::Uuid;

use super::{Lifecycle, Responder};
use crate::id::{ChannelId, UserId};

/// How many entries a timeline keeps, the newest ones.
pub(crate) const TIMELINE_MAX: usize = 100;

/// An entry of a timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimelineEntry {
    /// What happened.
    pub key: TimelineKey,
    /// When it happened, to the millisecond.
    pub timestamp: Timestamp,
    /// Who did it; `None` if a check did.
    pub by: Option<Responder>,
}

/// What can happen to an issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum TimelineKey {
    /// It opened, or opened again.
    Opened,
    /// Somebody acknowledged it.
    Acknowledged,
    /// It was resolved.
    Resolved,
}

/// Moments in an issue's life, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(try_from = "ByteBuf")]
pub struct Timeline(Vec<TimelineEntry>);

impl From<Lifecycle> for TimelineEntry {
    /// The entry for the state that an issue has reached.
    fn from(lifecycle: Lifecycle) -> Self {
        let (key, timestamp, by) = match lifecycle {
            Lifecycle::Open { opened_at } => (TimelineKey::Opened, opened_at, None),
            Lifecycle::Acknowledged { at, by, .. } => (TimelineKey::Acknowledged, at, Some(by)),
            Lifecycle::Resolved { at, by, .. } => {
                (TimelineKey::Resolved, at, by.map(Responder::Member))
            }
        };
        Self { key, timestamp, by }
    }
}

impl Timeline {
    /// A timeline of these entries, oldest first.
    pub(super) fn of(entries: &[TimelineEntry]) -> Self {
        Self(entries.to_vec())
    }

    /// The entries, oldest first.
    pub fn entries(&self) -> &[TimelineEntry] {
        &self.0
    }

    /// When the issue was active, as far as the entries tell. Oldest first.
    pub fn outages(&self) -> Vec<Outage> {
        let mut outages: Vec<Outage> = Vec::new();
        for entry in &self.0 {
            match (entry.key, outages.last_mut()) {
                (TimelineKey::Opened, _) => {
                    let opened_at = entry.timestamp;
                    outages.push(Outage { opened_at, ended_at: None, is_acknowledged: false });
                }
                (TimelineKey::Resolved, Some(Outage { ended_at: end @ None, .. })) => {
                    *end = Some(entry.timestamp);
                }
                (TimelineKey::Acknowledged, Some(outage)) => outage.is_acknowledged = true,
                (TimelineKey::Acknowledged | TimelineKey::Resolved, _) => {}
            }
        }
        outages
    }

    /// The timeline with an entry for the state that the issue has reached. A full timeline drops its oldest entry.
    #[must_use]
    pub fn then(&self, lifecycle: Lifecycle) -> Self {
        let past = self.0.len().saturating_sub(TIMELINE_MAX - 1);
        let kept = self.0.iter().skip(past).copied();
        Self(kept.chain([lifecycle.into()]).collect())
    }
}

/// A time during which an issue was active, as channels are notified of it. How long the problem lasted is a
/// [`Problem`](super::Problem).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outage {
    /// When it began.
    pub opened_at: Timestamp,
    /// When it ended, if it has.
    pub ended_at: Option<Timestamp>,
    /// Whether somebody acknowledged it.
    pub is_acknowledged: bool,
}

impl Outage {
    /// How long it lasted, or has lasted until `now`.
    pub fn lasted(self, now: Timestamp) -> SignedDuration {
        self.ended_at.unwrap_or(now).duration_since(self.opened_at)
    }
}

/// An instant as it is stored.
pub(super) fn packed_instant(instant: Timestamp) -> [u8; MILLIS] {
    let [_, _, millis @ ..] = instant.as_millisecond().max(0).to_be_bytes();
    millis
}

/// The instant at the beginning of some bytes, and the other bytes.
pub(super) fn split_instant(bytes: &[u8]) -> Option<(Timestamp, &[u8])> {
    let (instant, rest) = bytes.split_first_chunk::<MILLIS>()?;
    let millis = instant.iter().fold(0, |millis, byte| millis << 8 | i64::from(*byte));
    Some((Timestamp::from_millisecond(millis).ok()?, rest))
}

/// Flag in the first byte of a stored entry, next to the key: the id of a user follows.
const HAS_USER: u8 = 0x80;
/// The same for the id of a channel.
const HAS_CHANNEL: u8 = 0x40;
/// Bytes of a stored instant: milliseconds since the epoch, as in ids.
const MILLIS: usize = 6;

/// An entry is a byte for the key, [`MILLIS`] bytes for the instant, and the 16
/// bytes of an id if a person did it.
impl Serialize for Timeline {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut bytes = Vec::new();
        for entry in &self.0 {
            let (flag, id) = match entry.by {
                None => (0, None),
                Some(Responder::Member(user)) => (HAS_USER, Some(user.0)),
                Some(Responder::Reader { channel }) => (HAS_CHANNEL, Some(channel.0)),
            };
            bytes.push(entry.key as u8 | flag);
            bytes.extend(packed_instant(entry.timestamp));
            bytes.extend(id.iter().flat_map(|id| id.into_bytes()));
        }
        serializer.serialize_bytes(&bytes)
    }
}

impl TryFrom<ByteBuf> for Timeline {
    type Error = &'static str;

    fn try_from(bytes: ByteBuf) -> Result<Self, Self::Error> {
        let (mut entries, mut bytes) = (Vec::new(), bytes.as_slice());
        while !bytes.is_empty() {
            let (entry, rest) = read(bytes).ok_or("half an entry, or an unknown key")?;
            entries.push(entry);
            bytes = rest;
        }
        Ok(Self(entries))
    }
}

fn read(bytes: &[u8]) -> Option<(TimelineEntry, &[u8])> {
    let (&first, bytes) = bytes.split_first()?;
    let key = [TimelineKey::Opened, TimelineKey::Acknowledged, TimelineKey::Resolved]
        .into_iter()
        .find(|key| *key as u8 == first & !(HAS_USER | HAS_CHANNEL))?;
    let (timestamp, mut bytes) = split_instant(bytes)?;
    let mut by = None;
    if first & (HAS_USER | HAS_CHANNEL) != 0 {
        let (id, rest) = bytes.split_first_chunk()?;
        let id = Uuid::from_bytes(*id);
        let is_member = first & HAS_USER != 0;
        by = Some(match is_member {
            true => Responder::Member(UserId(id)),
            false => Responder::Reader { channel: ChannelId(id) },
        });
        bytes = rest;
    }
    Some((TimelineEntry { key, timestamp, by }, bytes))
}

#[cfg(test)]
mod tests {
    use serde::de::value::{BytesDeserializer, Error};
    use serde_json::json;

    use super::*;

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_second(1_795_168_440 + minute * 60).expect("a timestamp")
    }

    fn user() -> UserId {
        UserId(Uuid::from_u128(7))
    }

    fn stored(timeline: &Timeline) -> Vec<u8> {
        let json = serde_json::to_value(timeline).expect("json");
        serde_json::from_value(json).expect("bytes")
    }

    fn read_back(bytes: &[u8]) -> Result<Timeline, Error> {
        Timeline::deserialize(BytesDeserializer::new(bytes))
    }

    #[test]
    fn each_transition_of_an_issue_is_an_entry() {
        let open = Lifecycle::open(at(0));
        let taken = open.acknowledge(at(1), user()).expect("open");
        let over = taken.resolve(at(2), None).expect("active");
        let by_hand = taken.resolve(at(3), Some(user())).expect("active");
        let timeline = [open, taken, over, over.reopen(at(4)).expect("resolved"), by_hand]
            .into_iter()
            .fold(Timeline::default(), |timeline, lifecycle| timeline.then(lifecycle));
        let entry = |key, minute, user: Option<UserId>| TimelineEntry {
            key,
            timestamp: at(minute),
            by: user.map(Responder::Member),
        };
        let expected = [
            entry(TimelineKey::Opened, 0, None),
            entry(TimelineKey::Acknowledged, 1, Some(user())),
            entry(TimelineKey::Resolved, 2, None),
            entry(TimelineKey::Opened, 4, None),
            entry(TimelineKey::Resolved, 3, Some(user())),
        ];
        assert_eq!(timeline.entries(), expected);
        assert_eq!(stored(&timeline).len(), 3 * 7 + 2 * 23);
        assert_eq!(read_back(&stored(&timeline)), Ok(timeline));
        assert_eq!(read_back(&[]), Ok(Timeline::default()));
    }

    #[test]
    fn the_newest_hundred_are_kept() {
        let mut timeline = Timeline::default();
        for minute in 0..250 {
            timeline = timeline.then(Lifecycle::open(at(minute)));
        }
        let kept: Vec<Timestamp> = timeline.entries().iter().map(|entry| entry.timestamp).collect();
        assert_eq!(kept, (150..250).map(at).collect::<Vec<_>>());
    }

    #[test]
    fn invalid_timelines_are_refused() {
        let whole = stored(&Timeline::default().then(Lifecycle::open(at(0))));
        let mut of_user = whole.clone();
        of_user[0] |= HAS_USER;
        let mut unknown = whole.clone();
        unknown[0] = 3;
        for wrong in [&whole[..6], &of_user, &unknown] {
            assert!(read_back(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn keys_are_those_of_the_wire() {
        for (key, wire) in [
            (TimelineKey::Opened, "opened"),
            (TimelineKey::Acknowledged, "acknowledged"),
            (TimelineKey::Resolved, "resolved"),
        ] {
            assert_eq!(serde_json::to_value(key).expect("json"), json!(wire));
        }
    }
}
