//! The entry in a team's directory for a tool's newest check, with which a list of sites can be filtered: its state,
//! and on which days it is shown.

use jiff::ToSpan;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;

use super::ToolState;
use crate::checks::history::{Retention, day_of};
use crate::checks::tool::CheckStatus;

/// A tool's newest check in the directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "ByteBuf")]
pub struct Newest {
    /// Its state.
    pub status: CheckStatus,
    /// The UTC day that counts it.
    pub date: Date,
    /// How many days its day is shown, as fixed by the day's first write. `None` if the check became the newest through
    /// a deletion; then the plan's retention alone decides.
    pub days: Option<u16>,
}

impl Newest {
    /// Whether lists show the check.
    pub fn shows(self, retention: Retention) -> bool {
        let until = self.days.map(|days| self.date.saturating_add(i64::from(days).days()));
        retention.reaches(self.date) && until.is_none_or(|until| retention.today < until)
    }
}

impl ToolState {
    /// The directory's entry for the newest check. It is rewritten when it changes: with the state, and once a day.
    pub fn newest(&self) -> Option<Newest> {
        let latest = self.latest()?;
        let date = day_of(latest.id().created_at());
        let counted = self.day.as_ref().filter(|open| open.date == date);
        let days = counted.and_then(|day| u16::try_from((day.until - date).get_days()).ok());
        Some(Newest { status: latest.status, date, days })
    }
}

const EPOCH: Date = jiff::civil::date(1970, 1, 1);

/// Five bytes, because a list reads thousands of these: the state, the days since 1970, and how many days it is shown,
/// 0 if that is not known.
impl Serialize for Newest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let date = u16::try_from((self.date - EPOCH).get_days()).unwrap_or_default();
        let [[a, b], [c, d]] = [date, self.days.unwrap_or_default()].map(u16::to_be_bytes);
        serializer.serialize_bytes(&[self.status as u8, a, b, c, d])
    }
}

impl TryFrom<ByteBuf> for Newest {
    type Error = &'static str;

    fn try_from(bytes: ByteBuf) -> Result<Self, Self::Error> {
        let &[status, a, b, c, d] = bytes.as_slice() else { return Err("not five bytes") };
        let [date, days] = [[a, b], [c, d]].map(u16::from_be_bytes);
        Ok(Self {
            status: *CheckStatus::ALL.get(usize::from(status)).ok_or("no such state")?,
            date: EPOCH.saturating_add(i64::from(date).days()),
            days: (days > 0).then_some(days),
        })
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;
    use serde::de::value::{BytesDeserializer, Error};

    use super::*;

    const DAY: Date = date(2026, 11, 1);

    #[test]
    fn a_check_shows_until_its_days_or_the_plans_are_over() {
        let shows = |newest_days, today, plan_days| {
            let newest = Newest { status: CheckStatus::Failed, date: DAY, days: newest_days };
            newest.shows(Retention { today, days: plan_days })
        };
        assert!(shows(Some(30), date(2026, 11, 30), 30));
        assert!(!shows(Some(30), date(2026, 12, 1), 30));
        assert!(!shows(Some(30), date(2026, 12, 1), 90), "an upgrade does not lengthen it");
        assert!(!shows(Some(90), date(2026, 12, 1), 30), "a downgrade cuts at once");
        assert!(shows(None, date(2026, 12, 1), 90));
        assert!(!shows(None, date(2026, 12, 1), 30));
    }

    #[test]
    fn five_bytes_hold_it() {
        for status in CheckStatus::ALL {
            for days in [None, Some(30), Some(365)] {
                let newest = Newest { status, date: DAY, days };
                let stored = serde_json::to_value(newest).expect("json");
                let bytes: Vec<u8> = serde_json::from_value(stored).expect("bytes");
                assert_eq!(bytes.len(), 5);
                let read = Newest::deserialize(BytesDeserializer::<Error>::new(&bytes));
                assert_eq!(read, Ok(newest));
            }
        }
        for wrong in [&[1, 0, 0, 0][..], &[4, 0, 0, 0, 0], &[]] {
            assert!(Newest::deserialize(BytesDeserializer::<Error>::new(wrong)).is_err());
        }
    }
}
