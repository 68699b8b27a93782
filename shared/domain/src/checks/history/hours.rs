//! What is stored for each hour of a day, packed.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;

use super::hour_of;

/// A number for each hour of a day. Stored as the bit width of the largest number, followed by each number in that
/// width, without trailing zeros. A list may read a year of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(try_from = "ByteBuf")]
pub struct Hours([u32; 24]);

impl Hours {
    pub(super) fn add(&mut self, at: Timestamp, value: u32) {
        let number = &mut self.0[hour_of(at)];
        *number = number.saturating_add(value);
    }

    pub(super) fn subtract(&mut self, at: Timestamp, value: u32) {
        let number = &mut self.0[hour_of(at)];
        *number = number.saturating_sub(value);
    }

    fn raise(&mut self, at: Timestamp, value: u32) {
        let number = &mut self.0[hour_of(at)];
        *number = value.max(*number);
    }

    pub(super) fn of(&self, hour: usize) -> u32 {
        self.0.get(hour).copied().unwrap_or_default()
    }

    pub(super) fn total(&self) -> u64 {
        self.0.iter().copied().map(u64::from).sum()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0 == [0; 24]
    }

    /// Hours whose number is not zero, with that number.
    pub(super) fn occupied(&self) -> impl Iterator<Item = (usize, u32)> {
        self.0.iter().copied().enumerate().filter(|(_, number)| *number > 0)
    }
}

impl Serialize for Hours {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let used = self.0.iter().rposition(|&number| number > 0).map_or(0, |last| last + 1);
        let width = self.0.iter().map(|number| u32::BITS - number.leading_zeros()).max();
        let width = width.unwrap_or_default() as usize;
        let mut bytes = vec![0; 1 + (used * width).div_ceil(8)];
        bytes[0] = width as u8;
        for (hour, number) in self.occupied() {
            for bit in (0..width).filter(|bit| number >> bit & 1 == 1) {
                let place = hour * width + bit;
                bytes[1 + place / 8] |= 1 << (place % 8);
            }
        }
        serializer.serialize_bytes(&bytes)
    }
}

impl TryFrom<ByteBuf> for Hours {
    type Error = &'static str;

    fn try_from(bytes: ByteBuf) -> Result<Self, Self::Error> {
        let (&width, packed) = bytes.split_first().ok_or("no width")?;
        let width = usize::from(width);
        if width > u32::BITS as usize || packed.len() > (24 * width).div_ceil(8) {
            return Err("more than 24 hours of 32 bits");
        }
        let mut hours = [0_u32; 24];
        for (hour, slot) in hours.iter_mut().enumerate() {
            for bit in 0..width {
                let place = hour * width + bit;
                let byte = packed.get(place / 8).copied().unwrap_or_default();
                *slot |= u32::from(byte >> (place % 8) & 1) << bit;
            }
        }
        Ok(Self(hours))
    }
}

/// The response times of a day by hour, in whole milliseconds; the day's counters say how many there are. They are
/// integers, so that the order in which checks are counted makes no difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ResponseHours {
    #[serde(rename = "s")]
    sums: Hours,
    #[serde(rename = "x")]
    slowest: Hours,
}

impl ResponseHours {
    pub(super) fn add(&mut self, response_ms: f64, at: Timestamp) {
        // The cast saturates; no response takes that long.
        let ms = response_ms.round() as u32;
        self.sums.add(at, ms);
        self.slowest.raise(at, ms);
    }

    pub(super) fn of(&self, start: Timestamp, hour: usize, count: u64) -> HourResponses {
        HourResponses {
            start,
            count,
            sum_ms: self.sums.of(hour).into(),
            slowest_ms: self.slowest.of(hour).into(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The response times of an hour, over its automatic, completed checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HourResponses {
    /// The hour's first instant.
    pub start: Timestamp,
    /// How many there are.
    pub count: u64,
    /// Their sum, each in whole milliseconds.
    pub sum_ms: u64,
    /// The slowest, in whole milliseconds.
    pub slowest_ms: u64,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::de::value::{BytesDeserializer, Error};

    use super::*;

    fn read(bytes: &[u8]) -> Result<Hours, Error> {
        Hours::deserialize(BytesDeserializer::new(bytes))
    }

    #[test]
    fn hours_are_packed_and_refused_where_they_are_too_long() {
        let mut hours = Hours::default();
        (hours.0[0], hours.0[5]) = (3, 1);
        assert_eq!(serde_json::to_value(hours).expect("json"), serde_json::json!([2, 0b11, 0b100]));
        assert_eq!(read(&[2, 0b11, 0b100]), Ok(hours));
        assert_eq!(read(&[0]), Ok(Hours::default()));
        for wrong in [&[][..], &[33], &[1, 0, 0, 0, 0], &[0, 1]] {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_response_counts_in_whole_milliseconds_and_never_wraps() {
        let noon: Timestamp = "2026-11-20T12:30:00Z".parse().expect("a timestamp");
        let mut responses = ResponseHours::default();
        for ms in [0.4, 0.5, 1.49, f64::NAN] {
            responses.add(ms, noon);
        }
        let hour = responses.of(noon, 12, 4);
        assert_eq!((hour.count, hour.sum_ms, hour.slowest_ms), (4, 2, 1));
        responses.add(f64::INFINITY, noon);
        responses.add(7.0, noon);
        let hour = responses.of(noon, 12, 6);
        assert_eq!((hour.sum_ms, hour.slowest_ms), (u32::MAX.into(), u32::MAX.into()));
    }

    proptest! {
        #[test]
        fn hours_survive_storage(
            numbers in proptest::array::uniform24(0_u32..),
            bits in 0..=32_u32,
            used in 0..=24_usize,
        ) {
            let mut hours = Hours(numbers.map(|number| number.checked_shr(32 - bits).unwrap_or(0)));
            hours.0[used..].fill(0);
            let item = serde_json::to_value(hours).expect("json");
            let bytes: Vec<u8> = serde_json::from_value(item).expect("bytes");
            prop_assert_eq!(read(&bytes).expect("hours"), hours);
        }
    }
}
