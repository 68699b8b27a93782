//! A minute of the day, written `HH:MM`.

use jiff::SignedDuration;
use jiff::civil::Time;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::input::{TextKind, TextRule};

/// A minute of the day from `00:00` to `23:59`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimeOfDay {
    minute: u16,
}

/// The pattern of a [`TimeOfDay`].
pub const TIME_OF_DAY: &str = "^([01][0-9]|2[0-3]):[0-5][0-9]$";

impl TimeOfDay {
    /// The rule for times that people enter.
    pub(super) const RULE: TextRule<Self> = TextRule {
        min: 0,
        max: usize::MAX,
        kind: TextKind::Pattern(TIME_OF_DAY),
        parse: |text| {
            let why = "must be a time written HH:MM, from 00:00 to 23:59";
            Self::parse(text).ok_or_else(|| why.to_owned())
        },
    };

    /// The full hour; hours after 23 continue in the next day.
    pub(super) const fn from_hour(hour: u16) -> Self {
        Self { minute: hour % 24 * 60 }
    }

    /// Parses exactly `HH:MM` in 24-hour format: `07:00` is valid; `7:00`, `24:00` and `07:00:00` are not.
    pub fn parse(value: &str) -> Option<Self> {
        let &[h1, h2, b':', m1, m2] = value.as_bytes() else {
            return None;
        };
        let digit = |byte: u8| byte.is_ascii_digit().then(|| u16::from(byte - b'0'));
        let hour = digit(h1)? * 10 + digit(h2)?;
        let minute = digit(m1)? * 10 + digit(m2)?;
        (hour < 24 && minute < 60).then_some(Self { minute: hour * 60 + minute })
    }

    /// The time on a clock.
    pub fn civil(self) -> Time {
        let minute = i64::from(self.minute);
        Time::midnight().wrapping_add(SignedDuration::from_mins(minute))
    }

    /// Minutes since midnight, 0 to 1439.
    pub const fn minute_of_day(self) -> u16 {
        self.minute
    }
}

impl std::fmt::Display for TimeOfDay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:02}:{:02}", self.minute / 60, self.minute % 60)
    }
}

impl Serialize for TimeOfDay {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TimeOfDay {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| D::Error::custom("a time of day is written HH:MM"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_strict_24_hour_times_parse() {
        for (text, minute) in
            [("00:00", 0), ("07:00", 420), ("09:05", 545), ("22:00", 1320), ("23:59", 1439)]
        {
            let time = TimeOfDay::parse(text).expect(text);
            assert_eq!(time.minute_of_day(), minute);
            assert_eq!(time.to_string(), text);
        }
        for text in [
            "",
            "9:00",
            "24:00",
            "23:60",
            "0900",
            "09:0",
            "09:00:00",
            "09-00",
            " 09:00",
            "-1:00",
            "+9:00",
            "ab:cd",
            "٠٩:٠٠",
            "9:000",
        ] {
            assert_eq!(TimeOfDay::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn stored_as_text() {
        let time = TimeOfDay::parse("22:00").expect("a time");
        assert_eq!(serde_json::to_value(time).expect("serialize"), "22:00");
        assert_eq!(serde_json::from_value::<TimeOfDay>("22:00".into()).expect("deserialize"), time);
        assert!(serde_json::from_value::<TimeOfDay>("9:00".into()).is_err());
    }
}
