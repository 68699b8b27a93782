//! The periods of reports: weeks and calendar months, in the time zone of the team.

use std::fmt;
use std::str::FromStr;

use jiff::civil::{Date, ISOWeekDate, Weekday, date};
use jiff::{Timestamp, ToSpan as _};
use serde::{Deserialize, Serialize};

use crate::time_span::TimeSpan;
use crate::time_zone::NamedZone;

/// The hour of the first day after a period, on clocks of the team's zone, from which its report is made. By then, all
/// checks of the period have ended.
const MADE_AT_HOUR: i8 = 6;

/// A regular expression that all periods match.
pub const PERIOD_PATTERN: &str = "^[0-9]{4}-(0[1-9]|1[0-2]|W[0-5][0-9])$";

/// A week from Monday to Sunday, or a calendar month.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum ReportPeriod {
    /// A week of ISO 8601, by its Monday.
    Week(Date),
    /// A month, by its first day.
    Month(Date),
}

impl ReportPeriod {
    /// The week and the month before those that contain a day.
    pub fn before_day(day: Date) -> [Self; 2] {
        let monday = day.saturating_sub(i64::from(day.weekday().to_monday_zero_offset()).days());
        [Self::Week(monday).before(), Self::Month(day.first_of_month()).before()]
    }

    /// Its first day.
    pub const fn first_day(self) -> Date {
        match self {
            Self::Week(day) | Self::Month(day) => day,
        }
    }

    /// The first day after it.
    pub fn end_day(self) -> Date {
        match self {
            Self::Week(monday) => monday.saturating_add(7.days()),
            Self::Month(first) => first.saturating_add(1.month()),
        }
    }

    /// Its days, in order.
    pub fn days(self) -> impl Iterator<Item = Date> {
        let end = self.end_day();
        self.first_day().series(1.day()).take_while(move |day| *day < end)
    }

    /// The period of the same kind before it.
    #[must_use]
    pub fn before(self) -> Self {
        match self {
            Self::Week(monday) => Self::Week(monday.saturating_sub(7.days())),
            Self::Month(first) => Self::Month(first.saturating_sub(1.month())),
        }
    }

    /// The period of the same kind after it.
    #[must_use]
    pub fn after(self) -> Self {
        match self {
            Self::Week(_) => Self::Week(self.end_day()),
            Self::Month(_) => Self::Month(self.end_day()),
        }
    }

    /// From the first instant of its first day to that of the first day after it. A day may have 23 or 25 hours.
    pub fn span(self, zone: &NamedZone) -> TimeSpan {
        TimeSpan::new(zone.day_start(self.first_day()), zone.day_start(self.end_day()))
    }

    /// Each of its days, from its first instant to that of the next day.
    pub fn day_spans(self, zone: &NamedZone) -> Vec<TimeSpan> {
        let of = |day: Date| {
            TimeSpan::new(zone.day_start(day), zone.day_start(day.saturating_add(1.day())))
        };
        self.days().map(of).collect()
    }

    /// When its report is made.
    pub fn made_at(self, zone: &NamedZone) -> Timestamp {
        let at = self.end_day().at(MADE_AT_HOUR, 0, 0, 0);
        zone.instant_of(at).unwrap_or(Timestamp::MAX)
    }

    /// For a sentence such as "99.99 % uptime in October 2026": `October 2026`, `week 48 of 2026`.
    pub fn name(self) -> String {
        match self {
            Self::Week(monday) => {
                let week = monday.iso_week_date();
                format!("week {} of {}", week.week(), week.year())
            }
            Self::Month(first) => first.strftime("%B %Y").to_string(),
        }
    }

    /// The first and the last day, for people: `23 to 29 November 2026`, `1 to 31 October 2026`.
    pub fn days_named(self) -> String {
        let (first, last) = (self.first_day(), self.end_day().saturating_sub(1.day()));
        let from = match (first.year() == last.year(), first.month() == last.month()) {
            (true, true) => "%-d",
            (true, false) => "%-d %B",
            (false, _) => "%-d %B %Y",
        };
        format!("{} to {}", first.strftime(from), last.strftime("%-d %B %Y"))
    }
}

/// In URLs: `2026-W48`, `2026-11`.
impl fmt::Display for ReportPeriod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Week(monday) => {
                let week = monday.iso_week_date();
                write!(f, "{:04}-W{:02}", week.year(), week.week())
            }
            Self::Month(first) => write!(f, "{}", first.strftime("%Y-%m")),
        }
    }
}

/// A text that is not a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a month such as 2026-11, or a week such as 2026-W48")]
pub struct NotAPeriod;

impl FromStr for ReportPeriod {
    type Err = NotAPeriod;

    fn from_str(text: &str) -> Result<Self, NotAPeriod> {
        let (year, rest) = text.split_once('-').ok_or(NotAPeriod)?;
        let year: i16 = year.parse().map_err(|_| NotAPeriod)?;
        let period = match rest.strip_prefix('W') {
            Some(week) => {
                let week = week.parse().map_err(|_| NotAPeriod)?;
                let monday = ISOWeekDate::new(year, week, Weekday::Monday);
                Self::Week(monday.map_err(|_| NotAPeriod)?.date())
            }
            None => {
                let month: i8 = rest.parse().map_err(|_| NotAPeriod)?;
                let months = (1..=12).contains(&month) && (1..=9_998).contains(&year);
                Self::Month(months.then(|| date(year, month, 1)).ok_or(NotAPeriod)?)
            }
        };
        // There is one way to write each period.
        if period.to_string() == text { Ok(period) } else { Err(NotAPeriod) }
    }
}

impl TryFrom<String> for ReportPeriod {
    type Error = NotAPeriod;

    fn try_from(text: String) -> Result<Self, NotAPeriod> {
        text.parse()
    }
}

impl From<ReportPeriod> for String {
    fn from(period: ReportPeriod) -> Self {
        period.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zone(name: &str) -> NamedZone {
        NamedZone::parse(name).expect("a zone")
    }

    #[test]
    fn a_period_has_one_way_to_be_written() {
        for text in ["2026-11", "2026-W48", "2026-W53", "2024-02", "2020-W53", "2027-W01"] {
            assert_eq!(
                text.parse::<ReportPeriod>().map(|period| period.to_string()),
                Ok(text.to_owned())
            );
        }
        for text in [
            "",
            "2026",
            "2026-13",
            "2026-00",
            "2026-1",
            "2026-W54",
            "2027-W53",
            "2026-W1",
            "2026-w01",
            "26-11",
            "+2026-11",
            "2026-11-01",
            "99999-01",
            "2026-W-1",
        ] {
            assert_eq!(text.parse::<ReportPeriod>(), Err(NotAPeriod), "{text}");
        }
    }

    #[test]
    fn periods_begin_and_end_at_midnight_in_the_zone() {
        for (period, name, from, to, made, hours) in [
            // Clocks went back in October: one day had 25 hours.
            (
                "2026-10",
                "Europe/Berlin",
                "2026-09-30T22:00:00Z",
                "2026-10-31T23:00:00Z",
                "2026-11-01T05:00:00Z",
                745,
            ),
            // And forward in March: 23 hours.
            (
                "2026-03",
                "Europe/Berlin",
                "2026-02-28T23:00:00Z",
                "2026-03-31T22:00:00Z",
                "2026-04-01T04:00:00Z",
                743,
            ),
            (
                "2026-W13",
                "Europe/Berlin",
                "2026-03-22T23:00:00Z",
                "2026-03-29T22:00:00Z",
                "2026-03-30T04:00:00Z",
                167,
            ),
            // A leap year.
            (
                "2024-02",
                "UTC",
                "2024-02-01T00:00:00Z",
                "2024-03-01T00:00:00Z",
                "2024-03-01T06:00:00Z",
                696,
            ),
            (
                "2026-11",
                "Pacific/Pago_Pago",
                "2026-11-01T11:00:00Z",
                "2026-12-01T11:00:00Z",
                "2026-12-01T17:00:00Z",
                720,
            ),
            // Kiritimati is 14 hours ahead, Lord Howe moves its clocks by half an hour.
            (
                "2026-11",
                "Pacific/Kiritimati",
                "2026-10-31T10:00:00Z",
                "2026-11-30T10:00:00Z",
                "2026-11-30T16:00:00Z",
                720,
            ),
            (
                "2026-W40",
                "Australia/Lord_Howe",
                "2026-09-27T13:30:00Z",
                "2026-10-04T13:00:00Z",
                "2026-10-04T19:00:00Z",
                167,
            ),
            // Clocks in Beirut skip midnight: the day begins at 1:00.
            (
                "2026-W13",
                "Asia/Beirut",
                "2026-03-22T22:00:00Z",
                "2026-03-29T21:00:00Z",
                "2026-03-30T03:00:00Z",
                167,
            ),
        ] {
            let (period, zone): (ReportPeriod, _) = (period.parse().expect("a period"), zone(name));
            let span = period.span(&zone);
            assert_eq!(
                (span.from.to_string(), span.to.to_string()),
                (from.to_owned(), to.to_owned()),
                "{period} {name}"
            );
            assert_eq!(period.made_at(&zone).to_string(), made, "{period} {name}");
            assert_eq!(span.lasts().as_hours(), hours, "{period} {name}");
            let days = period.day_spans(&zone);
            assert_eq!(crate::time_span::union(days.clone()), [span], "{period} {name}");
            assert_eq!(days.len(), period.days().count());
        }
    }

    #[test]
    fn the_periods_before_a_day_are_over() {
        for (day, week, month) in [
            (date(2026, 11, 30), "2026-W48", "2026-10"),
            (date(2026, 12, 1), "2026-W48", "2026-11"),
            (date(2027, 1, 1), "2026-W52", "2026-12"),
            (date(2027, 1, 4), "2026-W53", "2026-12"),
        ] {
            assert_eq!(ReportPeriod::before_day(day).map(|of| of.to_string()), [week, month]);
        }
    }

    #[test]
    fn periods_are_named_for_people() {
        for (period, name, days) in [
            ("2026-10", "October 2026", "1 to 31 October 2026"),
            ("2026-W48", "week 48 of 2026", "23 to 29 November 2026"),
            ("2026-W49", "week 49 of 2026", "30 November to 6 December 2026"),
            ("2026-W53", "week 53 of 2026", "28 December 2026 to 3 January 2027"),
        ] {
            let period: ReportPeriod = period.parse().expect("a period");
            assert_eq!((period.name().as_str(), period.days_named().as_str()), (name, days));
        }
    }
}
