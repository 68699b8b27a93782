//! How long problems lasted.
//!
//! A problem is one opening of an issue, as the checks saw it: it begins with the first of the failed checks that opened
//! the issue, and ends with the first of the good checks that resolved it. An *outage* is a problem of `status:down`.
//! Everything that shows or counts outages uses this definition.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize, Serializer};
use serde_bytes::ByteBuf;

use super::timeline::{packed_instant, split_instant};
use super::{TIMELINE_MAX, Timeline, TimelineEntry, TimelineKey};

/// One opening of an issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Problem {
    /// When the issue opened.
    pub opened_at: Timestamp,
    /// The first of the failed checks that opened it.
    pub began_at: Timestamp,
    /// The first of the good checks that resolved it, or when a person resolved it, or when monitoring ended.
    pub ended_at: Option<Timestamp>,
}

impl Problem {
    /// How long it lasted, or has lasted until `now`.
    pub fn lasted(self, now: Timestamp) -> SignedDuration {
        self.within(Timestamp::MIN, now, now)
    }

    /// How much of it lies between two instants.
    pub fn within(self, from: Timestamp, to: Timestamp, now: Timestamp) -> SignedDuration {
        let end = self.ended_at.unwrap_or(now).min(to);
        end.duration_since(self.began_at.max(from)).max(SignedDuration::ZERO)
    }

    /// Whether any of it lies between two instants.
    pub fn overlaps(self, from: Timestamp, to: Timestamp) -> bool {
        self.began_at < to && self.ended_at.is_none_or(|ended_at| ended_at >= from)
    }

    /// The problem if it ended when monitoring did, unless it was over before.
    #[must_use]
    pub fn or_ended(self, monitoring_ended_at: Option<Timestamp>) -> Self {
        Self { ended_at: self.ended_at.or(monitoring_ended_at), ..self }
    }
}

/// What checks saw of an issue.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SeenTimes {
    /// When checks first saw what each of the newest entries of the timeline says. Earlier versions drop this when
    /// they add an entry, so these are always the newest entries, in the order of the timeline.
    #[serde(rename = "t", default)]
    pub(super) times: Times,
    /// How many checks failed in the last opening, once it is over.
    #[serde(rename = "n", default, skip_serializing_if = "Option::is_none")]
    pub failed_checks: Option<u32>,
}

impl SeenTimes {
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// With a new entry of the timeline, which checks first saw at `at`.
    #[must_use]
    pub(super) fn then(&self, at: Timestamp) -> Self {
        let Times(times) = &self.times;
        let kept = times.iter().skip(times.len().saturating_sub(TIMELINE_MAX - 1)).copied();
        Self { times: Times(kept.chain([at]).collect()), failed_checks: None }
    }

    /// Without the newest entries.
    #[must_use]
    pub(super) fn without_last(&self, entries: usize) -> Self {
        let Times(times) = &self.times;
        let kept = times.len().saturating_sub(entries);
        Self { times: Times(times[..kept].to_vec()), failed_checks: None }
    }

    /// With another time for the newest entry.
    #[must_use]
    pub(crate) fn last_at(mut self, at: Timestamp) -> Self {
        if let Some(last) = self.times.0.last_mut() {
            *last = at;
        }
        self
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(try_from = "ByteBuf")]
pub(super) struct Times(Vec<Timestamp>);

impl Serialize for Times {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer
            .serialize_bytes(&self.0.iter().copied().flat_map(packed_instant).collect::<Vec<_>>())
    }
}

impl TryFrom<ByteBuf> for Times {
    type Error = &'static str;

    fn try_from(bytes: ByteBuf) -> Result<Self, Self::Error> {
        let (mut bytes, mut times) = (&bytes[..], Vec::new());
        while !bytes.is_empty() {
            let (time, rest) = split_instant(bytes).ok_or("half an instant")?;
            times.push(time);
            bytes = rest;
        }
        Ok(Self(times))
    }
}

/// Each opening that a timeline tells of, oldest first, with when checks saw its entries. `first_failed_at` is the first
/// failed check of the last opening: earlier versions stored it alone.
pub(super) fn problems(
    timeline: &Timeline,
    seen: &SeenTimes,
    first_failed_at: Timestamp,
) -> Vec<Problem> {
    let entries = timeline.entries();
    let Times(times) = &seen.times;
    let unknown = entries.len().saturating_sub(times.len());
    let seen = |place: usize, entry: &TimelineEntry| {
        let time = place.checked_sub(unknown).and_then(|place| times.get(place));
        time.copied().unwrap_or(entry.timestamp).min(entry.timestamp)
    };
    let mut problems: Vec<Problem> = Vec::new();
    for (place, entry) in entries.iter().enumerate() {
        match (entry.key, problems.last_mut()) {
            (TimelineKey::Opened, _) => problems.push(Problem {
                opened_at: entry.timestamp,
                began_at: seen(place, entry),
                ended_at: None,
            }),
            (TimelineKey::Resolved, Some(Problem { began_at, ended_at: end @ None, .. })) => {
                *end = Some(seen(place, entry).max(*began_at));
            }
            (TimelineKey::Acknowledged | TimelineKey::Resolved, _) => {}
        }
    }
    if let Some(last) = problems.last_mut() {
        last.began_at = last.began_at.min(first_failed_at);
    }
    problems
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use uuid::Uuid;

    use super::*;
    use crate::id::SiteId;
    use crate::issues::record::Issue;
    use crate::issues::{Fingerprint, Lifecycle};

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_795_000_000 + second).expect("a timestamp")
    }

    /// An issue that opened and was resolved in turn, each time with the instant at which checks first saw it.
    fn issue(changes: &[(i64, i64)]) -> Issue {
        let mut lifecycle = Lifecycle::open(at(changes[0].0));
        let (mut timeline, mut seen) = (Timeline::default(), SeenTimes::default());
        for (place, &(second, first)) in changes.iter().enumerate() {
            lifecycle = match place {
                0 => lifecycle,
                _ if place % 2 == 0 => lifecycle.reopen(at(second)).expect("resolved"),
                _ => lifecycle.resolve(at(second), None).expect("active"),
            };
            timeline = timeline.then(lifecycle);
            seen = seen.then(at(first));
        }
        let site = SiteId(Uuid::from_u128(1));
        Issue { lifecycle, timeline, seen, ..Issue::opened(site, Fingerprint::StatusDown, at(0)) }
    }

    fn spans(issue: &Issue) -> Vec<(i64, Option<i64>)> {
        let second = |at: Timestamp| at.as_second() - 1_795_000_000;
        let problems = issue.problems().into_iter();
        problems.map(|of| (second(of.began_at), of.ended_at.map(second))).collect()
    }

    #[test]
    fn a_problem_lasts_from_the_first_failed_check_to_the_first_good_one() {
        let issue = issue(&[(60, 0), (300, 240), (900, 840)]);
        assert_eq!(spans(&issue), [(0, Some(240)), (840, None)]);
        let last = issue.problem();
        assert_eq!((last.opened_at, last.lasted(at(1_000)).as_secs()), (at(900), 160));
        assert_eq!(last.or_ended(Some(at(950))).lasted(at(1_000)).as_secs(), 110);
        let first = issue.problems()[0].or_ended(Some(at(950)));
        assert_eq!(first.lasted(at(1_000)).as_secs(), 240, "it was over before");
        assert_eq!(first.within(at(100), at(200), at(1_000)).as_secs(), 100);
        assert_eq!(first.within(at(300), at(400), at(1_000)).as_secs(), 0);
    }

    #[test]
    fn what_earlier_versions_did_not_store_is_told_as_well_as_it_is_known() {
        let issue = issue(&[(60, 0), (300, 240), (900, 840)]);
        let context = json!({ "first_failed_at": crate::time::wire(at(840)) });
        let old = Issue { seen: SeenTimes::default(), context, ..issue.clone() };
        assert_eq!(spans(&old), [(60, Some(300)), (840, None)]);
        // An earlier version has opened the issue, and this one has resolved it.
        let over = old.lifecycle.resolve(at(1_000), None).expect("active");
        let both = Issue {
            lifecycle: over,
            timeline: old.timeline.then(over),
            seen: SeenTimes::default().then(at(960)),
            ..old
        };
        assert_eq!(spans(&both), [(60, Some(300)), (840, Some(960))]);
    }

    #[test]
    fn what_was_seen_is_stored_in_six_bytes_each_and_read_again() {
        let seen = (0..250).fold(SeenTimes::default(), |seen, second| seen.then(at(second)));
        let stored = serde_json::to_value(&seen).expect("json");
        assert_eq!(stored["t"].as_array().map(Vec::len), Some(TIMELINE_MAX * 6));
        assert_eq!(serde_json::from_value::<SeenTimes>(stored).expect("readable"), seen);
        assert_eq!(seen.times.0.first(), Some(&at(150)), "as many as the timeline keeps");
    }
}
