//! An hour of the week.

use std::fmt;

use jiff::civil::{Time, Weekday};
use jiff::fmt::strtime::BrokenDownTime;
use jiff::{SignedDuration, Timestamp, ToSpan as _};
use serde::{Deserialize, Serialize};

use crate::input::{TextKind, TextRule};
use crate::time_zone::NamedZone;

/// An hour of the week, in the time zone of a team: `Mon 09:00`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct WeekHour {
    weekday: Weekday,
    hour: i8,
}

impl WeekHour {
    /// The rule for what people enter.
    pub const RULE: TextRule<Self> = TextRule {
        min: 0,
        max: 16,
        kind: TextKind::Other,
        parse: |text| {
            Self::parse(text)
                .ok_or_else(|| "must be a day and a full hour, such as Mon 09:00".to_owned())
        },
    };

    /// Parses `Mon 09:00`, in any case; `None` if it is no full hour.
    pub fn parse(text: &str) -> Option<Self> {
        let read = BrokenDownTime::parse("%a %H:%M", text.trim()).ok()?;
        let is_full = read.minute() == Some(0);
        Some(Self { weekday: read.weekday()?, hour: read.hour()? }).filter(|_| is_full)
    }

    /// The next instant after `now` at which it begins in a zone; `None` only at the end of time.
    pub fn next(self, zone: &NamedZone, now: Timestamp) -> Option<Timestamp> {
        let today = zone.local(now).date();
        let days = i64::from(today.weekday().until(self.weekday));
        let time = Time::new(self.hour, 0, 0, 0).ok()?;
        // The clocks may skip the hour, or show it twice.
        let mut found = [days, days + 7].into_iter().filter_map(|days| {
            zone.instant_of(today.checked_add(days.days()).ok()?.to_datetime(time))
        });
        found.find(|at| *at > now)
    }
}

/// How late a weekly test may be. After a longer stop of the service, it would come at an hour that nobody chose.
pub(in crate::alerts) const LATE_MAX: SignedDuration = SignedDuration::from_hours(1);

impl fmt::Display for WeekHour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let day = match self.weekday {
            Weekday::Monday => "Mon",
            Weekday::Tuesday => "Tue",
            Weekday::Wednesday => "Wed",
            Weekday::Thursday => "Thu",
            Weekday::Friday => "Fri",
            Weekday::Saturday => "Sat",
            Weekday::Sunday => "Sun",
        };
        write!(f, "{day} {:02}:00", self.hour)
    }
}

impl From<WeekHour> for String {
    fn from(hour: WeekHour) -> Self {
        hour.to_string()
    }
}

impl TryFrom<String> for WeekHour {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or("not an hour of the week")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().expect("a timestamp")
    }

    #[test]
    fn an_hour_of_the_week_is_a_day_and_a_full_hour() {
        for (text, shown) in
            [("Mon 09:00", "Mon 09:00"), (" sun 23:00\n", "Sun 23:00"), ("FRI 7:00", "Fri 07:00")]
        {
            assert_eq!(WeekHour::parse(text).expect("an hour").to_string(), shown);
        }
        for wrong in ["", "Mon", "09:00", "Mon 09:30", "Mon 24:00", "Mon 09:00:00", "Someday 9:00"]
        {
            assert_eq!(WeekHour::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_next_one_follows_the_clocks_of_the_zone() {
        let hour = |text| WeekHour::parse(text).expect("an hour");
        for (text, zone, now, next) in [
            ("Mon 09:00", "UTC", "2026-11-30T08:59:59Z", "2026-11-30T09:00:00Z"),
            ("Mon 09:00", "UTC", "2026-11-30T09:00:00Z", "2026-12-07T09:00:00Z"),
            ("Sun 23:00", "UTC", "2026-11-30T09:00:00Z", "2026-12-06T23:00:00Z"),
            // Monday has begun there.
            ("Mon 00:00", "Pacific/Kiritimati", "2026-11-29T09:59:00Z", "2026-11-29T10:00:00Z"),
            // Summer time begins at 2:00, which the clocks skip, and ends at 3:00, after which 2:00 comes again.
            ("Sun 02:00", "Europe/Berlin", "2027-03-28T00:00:00Z", "2027-03-28T01:00:00Z"),
            ("Sun 02:00", "Europe/Berlin", "2027-10-31T00:30:00Z", "2027-11-07T01:00:00Z"),
        ] {
            let zone = NamedZone::parse(zone).expect("a zone");
            assert_eq!(hour(text).next(&zone, at(now)), Some(at(next)), "{text} after {now}");
        }
    }
}
