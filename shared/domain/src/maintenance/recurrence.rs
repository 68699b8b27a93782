//! When a window recurs: a subset of the recurrence rules of RFC 5545, §3.3.10.

use std::collections::BTreeSet;
use std::fmt;

use jiff::civil::{Date, Weekday};
use jiff::fmt::strtime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::input::{TextKind, TextRule};

/// The longest text that is parsed, in bytes. A rule with every day of the month has half as many.
pub(super) const RECURRENCE_MAX: usize = 500;
/// The longest interval, in days, weeks or months.
pub const INTERVAL_MAX: u32 = 1_000;

/// How many days of a daily rule, or months of a monthly one, are looked at for the next occurrence. The rarest dates
/// that people choose, such as Monday the 31st, or 29 February in a rule for every twelfth month, come sooner.
const DAYS_SEARCHED: i64 = 1_500;
/// See [`DAYS_SEARCHED`].
const MONTHS_SEARCHED: i64 = 100;

/// When a window recurs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Recurrence {
    frequency: Frequency,
    interval: u32,
    days: BTreeSet<ByDay>,
    month_days: BTreeSet<i8>,
    until: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Frequency {
    Daily,
    Weekly,
    Monthly,
}

/// A weekday: each of them, or the n-th of a month, counted from its end if negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct ByDay {
    /// 0 is Monday.
    weekday: u8,
    /// 0 is each of them.
    nth: i8,
}

/// Why a text is not a rule that Vedette supports. The messages continue "The … field".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RecurrenceError {
    /// It is longer than [`RECURRENCE_MAX`].
    #[error("must not be longer than {RECURRENCE_MAX} characters")]
    TooLong,
    /// It does not consist of `NAME=VALUE`, separated by semicolons.
    #[error("must be an RFC 5545 recurrence rule, such as FREQ=WEEKLY;BYDAY=SU")]
    Syntax,
    /// It has a part that is not supported.
    #[error("must only have FREQ, INTERVAL, BYDAY, BYMONTHDAY and UNTIL")]
    Part,
    /// A part occurs twice.
    #[error("must not have {0} twice")]
    Twice(&'static str),
    /// There is no frequency, or another one.
    #[error("must have FREQ=DAILY, FREQ=WEEKLY or FREQ=MONTHLY")]
    Frequency,
    /// The interval is not a number within its bounds.
    #[error("must have an INTERVAL from 1 to {INTERVAL_MAX}")]
    Interval,
    /// A day is not a weekday.
    #[error("must have weekdays in BYDAY, such as MO,FR, or in a monthly rule 2TU or -1FR")]
    Day,
    /// A number before a weekday, in a rule that is not monthly.
    #[error("must not have numbers in BYDAY unless it is monthly")]
    NumberedDay,
    /// A number before a weekday, together with days of the month.
    #[error("must not have BYMONTHDAY together with numbers in BYDAY")]
    NumberedDayOfMonth,
    /// A day of the month that no month has.
    #[error("must have days from 1 to 31, or from -31 to -1, in BYMONTHDAY")]
    MonthDay,
    /// Days of the month in a weekly rule.
    #[error("must not have BYMONTHDAY if it is weekly")]
    WeeklyMonthDay,
    /// The end is not an instant in UTC.
    #[error("must have UNTIL in UTC, such as 20271231T235959Z")]
    Until,
}

impl Recurrence {
    /// The rule for what people enter.
    pub const RULE: TextRule<Self> = TextRule {
        min: 0,
        max: RECURRENCE_MAX,
        kind: TextKind::Other,
        parse: |text| Self::parse(text).map_err(|error| error.to_string()),
    };

    /// Parses a rule, in any case, without `RRULE:` before it.
    ///
    /// # Errors
    ///
    /// Why it is not a rule that Vedette supports.
    pub fn parse(text: &str) -> Result<Self, RecurrenceError> {
        if text.len() > RECURRENCE_MAX {
            return Err(RecurrenceError::TooLong);
        }
        let text = text.to_ascii_uppercase();
        let [mut frequency, mut interval, mut days, mut month_days, mut until] = [None; 5];
        for part in text.split(';') {
            let (name, value) = part.split_once('=').ok_or(RecurrenceError::Syntax)?;
            let (name, slot) = match name {
                "FREQ" => ("FREQ", &mut frequency),
                "INTERVAL" => ("INTERVAL", &mut interval),
                "BYDAY" => ("BYDAY", &mut days),
                "BYMONTHDAY" => ("BYMONTHDAY", &mut month_days),
                "UNTIL" => ("UNTIL", &mut until),
                _ => return Err(RecurrenceError::Part),
            };
            if slot.replace(value).is_some() {
                return Err(RecurrenceError::Twice(name));
            }
        }
        let rule = Self {
            frequency: match frequency {
                Some("DAILY") => Frequency::Daily,
                Some("WEEKLY") => Frequency::Weekly,
                Some("MONTHLY") => Frequency::Monthly,
                _ => return Err(RecurrenceError::Frequency),
            },
            interval: match interval {
                None => 1,
                Some(text) => digits(text, 4)
                    .filter(|interval| (1..=INTERVAL_MAX).contains(interval))
                    .ok_or(RecurrenceError::Interval)?,
            },
            days: list(days, ByDay::parse).ok_or(RecurrenceError::Day)?,
            month_days: list(month_days, |day| signed(day).filter(|day| day.abs() <= 31))
                .ok_or(RecurrenceError::MonthDay)?,
            until: until.map(|text| instant(text).ok_or(RecurrenceError::Until)).transpose()?,
        };
        let is_numbered = rule.days.iter().any(|day| day.nth != 0);
        match rule.frequency {
            Frequency::Weekly if !rule.month_days.is_empty() => {
                Err(RecurrenceError::WeeklyMonthDay)
            }
            Frequency::Daily | Frequency::Weekly if is_numbered => {
                Err(RecurrenceError::NumberedDay)
            }
            _ if is_numbered && !rule.month_days.is_empty() => {
                Err(RecurrenceError::NumberedDayOfMonth)
            }
            _ => Ok(rule),
        }
    }

    /// The last instant at which an instance may start.
    pub(super) const fn until(&self) -> Option<Timestamp> {
        self.until
    }

    /// The rule if no instance starts after an instant.
    pub(super) fn ending(self, at: Timestamp) -> Self {
        Self { until: Some(self.until.map_or(at, |until| until.min(at))), ..self }
    }

    /// Whether a window that first starts on `start` also starts on `date`, before the rule ends.
    pub(super) fn occurs_on(&self, start: Date, date: Date) -> bool {
        date >= start && self.is_in_period(start, date) && self.admits(start, date)
    }

    /// Whether the interval includes the day, week or month of a date.
    fn is_in_period(&self, start: Date, date: Date) -> bool {
        let periods = match self.frequency {
            Frequency::Daily => days_between(start, date),
            Frequency::Weekly => weeks_between(start, date),
            Frequency::Monthly => month_of(date) - month_of(start),
        };
        periods % i64::from(self.interval) == 0
    }

    /// Whether a date within a period is one of those that the rule names.
    fn admits(&self, start: Date, date: Date) -> bool {
        let (day, last) = (date.day(), date.days_in_month());
        let is_month_day =
            || self.month_days.contains(&day) || self.month_days.contains(&(day - last - 1));
        let is_day = || {
            let weekday = weekday_of(date);
            let nth = [0, (day - 1) / 7 + 1, -((last - day) / 7 + 1)];
            nth.into_iter().any(|nth| self.days.contains(&ByDay { weekday, nth }))
        };
        match (self.days.is_empty(), self.month_days.is_empty()) {
            (true, true) => match self.frequency {
                Frequency::Daily => true,
                Frequency::Weekly => date.weekday() == start.weekday(),
                Frequency::Monthly => day == start.day(),
            },
            (false, true) => is_day(),
            (true, false) => is_month_day(),
            (false, false) => is_day() && is_month_day(),
        }
    }

    /// The first date from `from` on which a window that first starts on `start` starts, before the rule ends. `None`
    /// if there is none among the next [`DAYS_SEARCHED`] days or [`MONTHS_SEARCHED`] months of the rule.
    pub(super) fn next_date(&self, start: Date, from: Date) -> Option<Date> {
        let from = from.max(start);
        let interval = i64::from(self.interval);
        match self.frequency {
            Frequency::Daily => {
                let first = (days_between(start, from) + interval - 1) / interval;
                (first..first + DAYS_SEARCHED)
                    .map_while(|period| days_after(start, period * interval))
                    .find(|date| self.admits(start, *date))
            }
            Frequency::Weekly => {
                let monday = days_after(start, -i64::from(weekday_of(start)))?;
                let first = weeks_between(start, from) / interval;
                // Every week of the rule has a day, and the first may be over.
                let weeks = [first, first + 1].map(|period| 7 * interval * period);
                let days = weeks.into_iter().flat_map(|week| week..week + 7);
                days.map_while(|day| days_after(monday, day))
                    .find(|date| *date >= from && self.admits(start, *date))
            }
            Frequency::Monthly => {
                let first = (month_of(from) - month_of(start)) / interval;
                (first..first + MONTHS_SEARCHED)
                    .map_while(|period| first_of(month_of(start) + period * interval))
                    .flat_map(|month| {
                        (1..=month.days_in_month()).filter_map(move |day| in_month(month, day))
                    })
                    .find(|date| *date >= from && self.admits(start, *date))
            }
        }
    }

    /// The rule for people, of a window that first starts on `start`: `every 2 weeks on Monday and Friday`.
    pub fn in_words(&self, start: Date) -> String {
        let (unit, units) = match self.frequency {
            Frequency::Daily => ("day", "days"),
            Frequency::Weekly => ("week", "weeks"),
            Frequency::Monthly => ("month", "months"),
        };
        let mut words = match self.interval {
            1 => format!("every {unit}"),
            interval => format!("every {interval} {units}"),
        };
        let mut days: Vec<String> = self.days.iter().map(|day| day.in_words()).collect();
        if self.days.is_empty() && self.frequency == Frequency::Weekly {
            days.push(WEEKDAYS[usize::from(weekday_of(start))].1.to_owned());
        }
        let mut month_days: Vec<String> =
            self.month_days.iter().map(|day| month_day(*day)).collect();
        if days.is_empty() && month_days.is_empty() && self.frequency == Frequency::Monthly {
            month_days.push(month_day(start.day()));
        }
        if !days.is_empty() {
            words = format!("{words} on {}", joined(&days));
        }
        if !month_days.is_empty() {
            let and = if days.is_empty() { "on" } else { "if it is" };
            words = format!("{words} {and} {}", joined(&month_days));
        }
        words
    }
}

impl fmt::Display for Recurrence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let frequency = match self.frequency {
            Frequency::Daily => "DAILY",
            Frequency::Weekly => "WEEKLY",
            Frequency::Monthly => "MONTHLY",
        };
        write!(f, "FREQ={frequency}")?;
        if self.interval > 1 {
            write!(f, ";INTERVAL={}", self.interval)?;
        }
        let listed = |items: Vec<String>| items.join(",");
        if !self.days.is_empty() {
            write!(f, ";BYDAY={}", listed(self.days.iter().map(ToString::to_string).collect()))?;
        }
        if !self.month_days.is_empty() {
            let days = self.month_days.iter().map(ToString::to_string).collect();
            write!(f, ";BYMONTHDAY={}", listed(days))?;
        }
        if let Some(until) = self.until {
            write!(f, ";UNTIL={}", until.strftime(INSTANT))?;
        }
        Ok(())
    }
}

impl From<Recurrence> for String {
    fn from(rule: Recurrence) -> Self {
        rule.to_string()
    }
}

impl TryFrom<String> for Recurrence {
    type Error = RecurrenceError;

    fn try_from(text: String) -> Result<Self, RecurrenceError> {
        Self::parse(&text)
    }
}

const WEEKDAYS: [(&str, &str); 7] = [
    ("MO", "Monday"),
    ("TU", "Tuesday"),
    ("WE", "Wednesday"),
    ("TH", "Thursday"),
    ("FR", "Friday"),
    ("SA", "Saturday"),
    ("SU", "Sunday"),
];

impl ByDay {
    fn parse(text: &str) -> Option<Self> {
        let (nth, name) = text.split_at_checked(text.len().checked_sub(2)?)?;
        let weekday = WEEKDAYS.iter().position(|(weekday, _)| *weekday == name)? as u8;
        let nth = match nth {
            "" => 0,
            // A month has a weekday five times at most.
            nth => signed(nth).filter(|nth| nth.abs() <= 5)?,
        };
        Some(Self { weekday, nth })
    }

    fn in_words(self) -> String {
        let weekday = WEEKDAYS[usize::from(self.weekday)].1;
        match self.nth {
            0 => weekday.to_owned(),
            -1 => format!("the last {weekday}"),
            nth @ ..=-2 => format!("the {}-to-last {weekday}", ordinal(nth.abs())),
            nth => format!("the {} {weekday}", ordinal(nth)),
        }
    }
}

impl fmt::Display for ByDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.nth != 0 {
            write!(f, "{}", self.nth)?;
        }
        f.write_str(WEEKDAYS[usize::from(self.weekday)].0)
    }
}

fn month_day(day: i8) -> String {
    match day {
        -1 => "the last day".to_owned(),
        ..=-2 => format!("the {}-to-last day", ordinal(day.abs())),
        _ => format!("the {}", ordinal(day)),
    }
}

fn ordinal(number: i8) -> String {
    let suffix = match (number % 10, number) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{suffix}")
}

fn joined(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// The values of a list; none if there is no list.
fn list<T: Ord>(text: Option<&str>, read: impl Fn(&str) -> Option<T>) -> Option<BTreeSet<T>> {
    text.map_or_else(|| Some(BTreeSet::new()), |text| text.split(',').map(read).collect())
}

/// A number of at most `most` digits and nothing else.
fn digits(text: &str, most: usize) -> Option<u32> {
    let is_number = (1..=most).contains(&text.len()) && text.bytes().all(|it| it.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

/// A number of one or two digits, perhaps with a sign; not zero.
fn signed(text: &str) -> Option<i8> {
    let (sign, text) = match text.strip_prefix('-') {
        Some(text) => (-1, text),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let number = i8::try_from(digits(text, 2)?).ok()?;
    (number != 0).then_some(sign * number)
}

const INSTANT: &str = "%Y%m%dT%H%M%SZ";

fn instant(text: &str) -> Option<Timestamp> {
    let bytes = text.as_bytes();
    let is_well_formed = bytes.len() == 16
        && bytes.iter().enumerate().all(|(place, byte)| match place {
            8 => *byte == b'T',
            15 => *byte == b'Z',
            _ => byte.is_ascii_digit(),
        });
    let civil =
        strtime::parse(INSTANT, text).ok().filter(|_| is_well_formed)?.to_datetime().ok()?;
    TimeZone::UTC.to_timestamp(civil).ok()
}

/// 0 is Monday.
fn weekday_of(date: Date) -> u8 {
    date.weekday().since(Weekday::Monday).unsigned_abs()
}

fn days_between(from: Date, to: Date) -> i64 {
    from.duration_until(to).as_hours() / 24
}

fn weeks_between(from: Date, to: Date) -> i64 {
    let in_week = i64::from(weekday_of(from)) - i64::from(weekday_of(to));
    (days_between(from, to) + in_week) / 7
}

fn days_after(date: Date, days: i64) -> Option<Date> {
    date.checked_add(SignedDuration::from_hours(days.checked_mul(24)?)).ok()
}

/// The number of a month since the year 0.
fn month_of(date: Date) -> i64 {
    i64::from(date.year()) * 12 + i64::from(date.month()) - 1
}

/// The first day of the month with a number.
fn first_of(month: i64) -> Option<Date> {
    let (year, month) = (month.div_euclid(12), month.rem_euclid(12));
    Date::new(i16::try_from(year).ok()?, month as i8 + 1, 1).ok()
}

fn in_month(month: Date, day: i8) -> Option<Date> {
    Date::new(month.year(), month.month(), day).ok()
}
