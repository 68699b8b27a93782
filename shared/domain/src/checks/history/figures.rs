//! The figures of a site's last days in lists, packed, because they are part of the item that every check writes.

use serde::{Deserialize, Serialize, Serializer};
use serde_bytes::ByteBuf;

use super::{Day, HOURS};
use crate::checks::percentage::Percentage;

/// How many status checks there were, and how many of them found the site down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CheckCount {
    /// All of them.
    pub checks: u32,
    /// Those that found the site down.
    pub failed: u32,
}

impl CheckCount {
    /// The sum of both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            checks: self.checks.saturating_add(other.checks),
            failed: self.failed.saturating_add(other.failed),
        }
    }

    /// How many of them found the site up; `None` without checks.
    pub fn uptime(self) -> Option<Percentage> {
        let up = self.checks.saturating_sub(self.failed);
        Percentage::of(up.into(), self.checks.into())
    }
}

impl Day {
    /// How many status checks, or judged runs of a job, the day had.
    pub(crate) fn check_count(&self) -> CheckCount {
        let checks = u32::try_from(self.completed_automatic()).unwrap_or(u32::MAX);
        let checks = checks.saturating_sub(self.sums.unjudged);
        CheckCount { checks, failed: checks.saturating_sub(self.sums.up) }
    }
}

/// The days over which lists count uptime, including the open day.
pub const COUNTED_DAYS: usize = 30;

/// The counts of consecutive days; the last day comes last.
///
/// Stored as variable-length numbers with seven bits in each byte, lowest first. A day is twice its number of checks,
/// plus one if some failed; then the number of failed checks follows. The number 1 alone is followed by how many more
/// days are the same as the one before.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(try_from = "ByteBuf")]
pub(super) struct Counts(Vec<CheckCount>);

impl Counts {
    /// The most days that are kept, in addition to the open day.
    const MAX: usize = COUNTED_DAYS - 1;

    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// These counts and that of a later day, after days without checks.
    pub(super) fn with(mut self, gap: usize, count: CheckCount) -> Self {
        self.0.extend(std::iter::repeat_n(CheckCount::default(), gap.min(Self::MAX)));
        self.0.push(count);
        self.0.drain(..self.0.len().saturating_sub(Self::MAX));
        self
    }

    /// Replaces the count of a day, given by how many days it is before the last one.
    pub(super) fn amend(&mut self, back: usize, count: CheckCount) {
        if let Some(kept) = self.0.iter_mut().rev().nth(back) {
            *kept = count;
        }
    }

    /// The count of a day, given by how many days it is before the last one.
    pub(super) fn back(&self, back: usize) -> Option<CheckCount> {
        self.0.iter().rev().nth(back).copied()
    }
}

/// A day without checks has no failed ones, so this value is free.
const REPEATED: u32 = 1;

impl Serialize for Counts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut bytes = Vec::new();
        for run in self.0.chunk_by(|one, next| one == next) {
            let CheckCount { checks, failed } = run[0];
            // No day has more checks than it has seconds.
            put(&mut bytes, checks.min(u32::MAX / 2) * 2 + u32::from(failed > 0));
            if failed > 0 {
                put(&mut bytes, failed);
            }
            if run.len() > 1 {
                put(&mut bytes, REPEATED);
                put(&mut bytes, run.len() as u32 - 1);
            }
        }
        serializer.serialize_bytes(&bytes)
    }
}

impl TryFrom<ByteBuf> for Counts {
    type Error = &'static str;

    fn try_from(bytes: ByteBuf) -> Result<Self, Self::Error> {
        let mut numbers = Numbers(&bytes);
        let mut counts: Vec<CheckCount> = Vec::new();
        while let Some(number) = numbers.next()? {
            if number == REPEATED {
                let again = numbers.next()?.ok_or("no number of days")? as usize;
                let last = *counts.last().ok_or("no day before")?;
                if again > Self::MAX {
                    return Err("more days than are kept");
                }
                counts.extend(std::iter::repeat_n(last, again));
            } else {
                let failed =
                    if number % 2 == 1 { numbers.next()?.ok_or("no failures")? } else { 0 };
                counts.push(CheckCount { checks: number / 2, failed });
            }
            if counts.len() > Self::MAX {
                return Err("more days than are kept");
            }
        }
        Ok(Self(counts))
    }
}

fn put(bytes: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Reads numbers that [`put`] wrote.
struct Numbers<'a>(&'a [u8]);

impl Numbers<'_> {
    fn next(&mut self) -> Result<Option<u32>, &'static str> {
        let mut number = 0;
        for place in 0..5 {
            let Some((byte, rest)) = self.0.split_first() else {
                return if place == 0 { Ok(None) } else { Err("an unfinished number") };
            };
            self.0 = rest;
            number |= u32::from(byte & 0x7f) << (7 * place);
            if byte & 0x80 == 0 {
                return Ok(Some(number));
            }
        }
        Err("too large a number")
    }
}

/// The mean response time of each hour of a day, in one byte each. On this scale, 16 steps double the time, so it is
/// off by at most 2.2 %. Zero means that there was no check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(try_from = "ByteBuf")]
pub(super) struct HourMeans([u8; HOURS]);

/// Steps that double a time.
const STEPS: f64 = 16.0;

impl HourMeans {
    pub(super) fn of(day: &Day) -> Self {
        Self(day.hour_means().map(|ms| {
            ms.map_or(0, |ms| {
                let step = (f64::from(ms).max(1.0).log2() * STEPS).round() as u8;
                step.saturating_add(1)
            })
        }))
    }

    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn all(self) -> [Option<u32>; HOURS] {
        self.0.map(|step| {
            let step = step.checked_sub(1)?;
            Some((f64::from(step) / STEPS).exp2().round() as u32)
        })
    }
}

impl Day {
    /// The mean response time of each hour that has one, in milliseconds.
    pub(crate) fn hour_means(&self) -> [Option<u32>; HOURS] {
        let mut means = [None; HOURS];
        for hour in self.response_hours() {
            let mean = hour.sum_ms.checked_div(hour.count).and_then(|ms| u32::try_from(ms).ok());
            means[super::hour_of(hour.start)] = mean;
        }
        means
    }
}

impl Serialize for HourMeans {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let used = self.0.iter().rposition(|&step| step > 0).map_or(0, |last| last + 1);
        serializer.serialize_bytes(&self.0[..used])
    }
}

impl TryFrom<ByteBuf> for HourMeans {
    type Error = &'static str;

    fn try_from(bytes: ByteBuf) -> Result<Self, Self::Error> {
        let mut means = Self::default();
        means.0.get_mut(..bytes.len()).ok_or("more than 24 hours")?.copy_from_slice(&bytes);
        Ok(means)
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;
    use proptest::prelude::*;

    use super::*;
    use crate::checks::history::{Kind, Sample};
    use crate::checks::tool::{CheckStatus, RunReason};
    use crate::id::Trigger;

    fn stored(counts: &Counts) -> Vec<u8> {
        let json = serde_json::to_value(counts).expect("JSON");
        serde_json::from_value(json).expect("bytes")
    }

    #[test]
    fn a_month_without_failures_takes_a_few_bytes() {
        let quiet = CheckCount { checks: 1_440, failed: 0 };
        let month = (0..40).fold(Counts::default(), |counts, _| counts.with(0, quiet));
        assert_eq!(stored(&month), [0xc0, 0x16, 1, 28]);
        assert_eq!(month.back(28), Some(quiet));
        assert_eq!(month.back(29), None);
    }

    #[test]
    fn bytes_that_are_no_counts_are_refused() {
        for wrong in [&[1, 3][..], &[1], &[8, 1, 29], &[0x80], &[9], &[0xff; 6]] {
            assert!(Counts::try_from(ByteBuf::from(wrong)).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn uptime_is_told_of_checks_alone() {
        assert_eq!(CheckCount::default().uptime(), None);
        let count = CheckCount { checks: 3, failed: 1 }.plus(CheckCount { checks: 1, failed: 0 });
        assert_eq!(count.uptime(), Percentage::of(3, 4));
    }

    #[test]
    fn hours_are_kept_within_some_percent() {
        let mut day = Day::new(date(2026, 11, 20), 30);
        let kind = Kind {
            trigger: Trigger::Automatic(RunReason::Scheduled),
            status: CheckStatus::Completed,
        };
        let times = [1.0, 64.0, 182.0, 30_000.0];
        for (hour, ms) in times.into_iter().enumerate() {
            let at = super::super::hour_start(day.date, 2 * hour);
            day.counters.add(kind, at);
            day.add_sample(Sample::Status { up: true, met: None, response_ms: ms }, at);
        }
        let means = HourMeans::of(&day);
        let json = serde_json::to_value(means).expect("JSON");
        assert_eq!(json, serde_json::json!([1, 0, 97, 0, 121, 0, 239]));
        let read: Vec<u8> = serde_json::from_value(json).expect("bytes");
        assert_eq!(read.len(), 7);
        let all = means.all();
        assert_eq!(
            [0, 1, 2, 4, 6, 7].map(|hour| all[hour]),
            [Some(1), None, Some(64), Some(181), Some(30_048), None]
        );
        assert_eq!(HourMeans::of(&Day::new(date(2026, 11, 20), 30)).all(), [None; HOURS]);
    }

    proptest! {
        #[test]
        fn counts_survive_storage(
            days in proptest::collection::vec((0_u32..90_000, 0_u32..4, 1_usize..4), 0..15),
        ) {
            let counts = days.into_iter().fold(Counts::default(), |counts, (checks, failed, again)| {
                let count = CheckCount { checks, failed: failed.min(checks) };
                (0..again).fold(counts, |counts, _| counts.with(0, count))
            });
            let read = Counts::try_from(ByteBuf::from(stored(&counts)));
            prop_assert_eq!(read, Ok(counts));
        }
    }
}
