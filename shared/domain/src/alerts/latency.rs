//! How fast people are notified of an outage.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;

/// The longest times of the buckets, in seconds. The last bucket has no limit.
const BOUNDS: [u32; BUCKETS - 1] = [1, 2, 5, 10, 20, 30, 60, 120, 300, 900, 3_600];
/// How many buckets there are.
const BUCKETS: usize = 12;
/// For how many days they are kept.
pub const DAYS: u16 = 30;
/// Seconds in a day.
const DAY: i64 = 24 * 60 * 60;

/// How long it took to notify a channel of openings: a histogram for each of the last [`DAYS`] days (UTC), oldest
/// first. A time runs from when the check that opened an issue was due to the answer of the receiver. Openings that
/// something held back on purpose, such as quiet time, are left out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(try_from = "ByteBuf")]
pub struct Latencies(Vec<Day>);

/// The histogram of a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Day {
    /// Its number since the epoch.
    number: u16,
    /// How many openings are in each bucket.
    counts: [u16; BUCKETS],
}

/// The time within which a share of the openings arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantile {
    /// This many seconds, the limit of a bucket.
    Within(u32),
    /// More than this many seconds.
    Beyond(u32),
}

impl Quantile {
    /// In seconds; infinite if it is beyond the last limit.
    pub fn seconds(self) -> f64 {
        match self {
            Self::Within(seconds) => seconds.into(),
            Self::Beyond(_) => f64::INFINITY,
        }
    }
}

impl Latencies {
    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Counts an opening of which a channel was notified `now`.
    pub fn record(&mut self, opened_at: Timestamp, now: Timestamp) {
        let today = day(now);
        // If the clock was set back, later days have not come yet.
        self.0.retain(|day| day.number <= today && today - day.number < DAYS);
        if self.0.last().is_none_or(|day| day.number != today) {
            self.0.push(Day { number: today, counts: [0; BUCKETS] });
        }
        let took = now.duration_since(opened_at);
        let fits = |bound: &u32| took <= SignedDuration::from_secs(i64::from(*bound));
        let bucket = BOUNDS.iter().position(fits).unwrap_or(BUCKETS - 1);
        if let Some(count) = self.0.last_mut().and_then(|day| day.counts.get_mut(bucket)) {
            *count = count.saturating_add(1);
        }
    }

    /// How many openings were counted in the last [`DAYS`] days.
    pub fn count(&self, now: Timestamp) -> u64 {
        self.sums(now).iter().sum()
    }

    /// The time within which this many percent of the openings in the last [`DAYS`] days arrived; `None` if there were
    /// none.
    pub fn quantile(&self, percent: u64, now: Timestamp) -> Option<Quantile> {
        let sums = self.sums(now);
        let rank = (sums.iter().sum::<u64>() * percent).div_ceil(100);
        let mut before = 0;
        let bucket = sums.iter().position(|count| {
            before += count;
            rank > 0 && before >= rank
        })?;
        let longest = BOUNDS[BOUNDS.len() - 1];
        Some(BOUNDS.get(bucket).map_or(Quantile::Beyond(longest), |bound| Quantile::Within(*bound)))
    }

    fn sums(&self, now: Timestamp) -> [u64; BUCKETS] {
        let today = day(now);
        let mut sums = [0; BUCKETS];
        for day in self.0.iter().filter(|day| today.saturating_sub(day.number) < DAYS) {
            for (sum, count) in sums.iter_mut().zip(day.counts) {
                *sum += u64::from(count);
            }
        }
        sums
    }
}

fn day(at: Timestamp) -> u16 {
    u16::try_from(at.as_second().div_euclid(DAY)).unwrap_or_default()
}

/// A day is two bytes for its number, two with a bit for each bucket that is not empty, and two for the count of each of
/// these: at most 28 bytes, and usually 8.
impl Serialize for Latencies {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut bytes = Vec::new();
        for Day { number, counts } in &self.0 {
            let used =
                counts.iter().rev().fold(0_u16, |used, count| used << 1 | u16::from(*count > 0));
            let counts = counts.iter().filter(|count| **count > 0);
            let words = [number, &used].into_iter().chain(counts);
            bytes.extend(words.flat_map(|word| word.to_be_bytes()));
        }
        serializer.serialize_bytes(&bytes)
    }
}

impl TryFrom<ByteBuf> for Latencies {
    type Error = &'static str;

    fn try_from(bytes: ByteBuf) -> Result<Self, Self::Error> {
        let (words, []) = bytes.as_chunks::<2>() else { return Err("half a word") };
        let mut words = words.iter().map(|word| u16::from_be_bytes(*word));
        let mut days = Vec::new();
        while let Some(number) = words.next() {
            let used = words.next().ok_or("a day without counts")?;
            let mut counts = [0; BUCKETS];
            for (bucket, count) in counts.iter_mut().enumerate() {
                if used >> bucket & 1 == 1 {
                    *count = words.next().ok_or("a bucket without its count")?;
                }
            }
            days.push(Day { number, counts });
        }
        Ok(Self(days))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_795_000_000 + second).expect("a timestamp")
    }

    fn stored(latencies: &Latencies) -> Vec<u8> {
        let json = serde_json::to_value(latencies).expect("JSON");
        serde_json::from_value(json).expect("bytes")
    }

    #[test]
    fn quantiles_are_limits_of_buckets() {
        let mut latencies = Latencies::default();
        assert_eq!((latencies.count(at(0)), latencies.quantile(50, at(0))), (0, None));
        for took in [1, 2, 2, 3] {
            latencies.record(at(0), at(took));
        }
        let quantiles = |latencies: &Latencies| {
            [50, 75, 99].map(|percent| latencies.quantile(percent, at(9)).expect("openings"))
        };
        use Quantile::{Beyond, Within};
        assert_eq!(quantiles(&latencies), [Within(2), Within(2), Within(5)]);
        latencies.record(at(0), at(0));
        latencies.record(at(5), at(0));
        assert_eq!(quantiles(&latencies), [Within(1), Within(2), Within(5)], "clocks differ");
        latencies.record(at(-3_601), at(0));
        assert_eq!(quantiles(&latencies), [Within(2), Within(5), Beyond(3_600)]);
        assert_eq!(latencies.count(at(0)), 7);
    }

    #[test]
    fn a_day_is_forgotten_after_thirty_days() {
        let mut latencies = Latencies::default();
        let days = |number: i64| number * DAY;
        latencies.record(at(0), at(1));
        latencies.record(at(days(29)), at(days(29)));
        assert_eq!(latencies.count(at(days(29))), 2);
        assert_eq!(latencies.count(at(days(30))), 1, "without a new one");
        latencies.record(at(days(30)), at(days(30)));
        assert_eq!((latencies.0.len(), latencies.count(at(days(30)))), (2, 2));
        latencies.record(at(0), at(2));
        assert_eq!((latencies.0.len(), latencies.count(at(2))), (1, 1), "the clock was set back");
    }

    #[test]
    fn the_stored_form_is_small_and_read_strictly() {
        let mut latencies = Latencies::default();
        latencies.record(at(0), at(3));
        latencies.record(at(0), at(3));
        assert_eq!(stored(&latencies), [0x51, 0x27, 0, 0b100, 0, 2]);
        for wrong in [&[0x51][..], &[0x51, 0x27], &[0x51, 0x27, 0, 1]] {
            assert!(Latencies::try_from(ByteBuf::from(wrong)).is_err(), "{wrong:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_stored_is_read(openings in prop::collection::vec((0..10_000_i64, 0..100 * DAY), 0..50)) {
            let mut latencies = Latencies::default();
            for (took, now) in openings {
                latencies.record(at(now - took), at(now));
            }
            let bytes = stored(&latencies);
            prop_assert!(bytes.len() <= usize::from(DAYS) * 28);
            prop_assert_eq!(Latencies::try_from(ByteBuf::from(bytes)), Ok(latencies));
        }
    }
}
