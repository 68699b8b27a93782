//! When a heartbeat's next ping is expected: at a fixed distance from the last one, or at the times of a cron job.
//!
//! Expressions mean what they mean to Healthchecks (Python's `cronsim`) and to Debian's cron, so that jobs can be moved
//! to Vedette unchanged. This includes what happens when the clocks change: see [`JobSchedule::next_after`].

use std::fmt;
use std::iter::successors;

use jiff::civil::{Date, DateTime, Time, Weekday};
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::checks::schedule::TimeScale;
use crate::input::{TextKind, TextRule};
use crate::time_zone::NamedZone;

/// The longest cron expression, in characters.
pub const EXPRESSION_MAX: usize = 100;

/// How many days are searched for the next one of an expression. The rarest day is 29 February on one day of the week.
/// Around a year such as 2100, which is no leap year, it comes after 40 years.
const DAYS_SEARCHED: usize = 41 * 366;
/// Within 28 years, every date falls on every day of the week. If an expression has no day in the 28 years after
/// [`FIRST_DAY`], it has none at all.
const DAYS_OF_ALL_CALENDARS: usize = 28 * 366;
/// See [`DAYS_OF_ALL_CALENDARS`]. No year without its leap day comes in the 28 years after it.
const FIRST_DAY: Date = jiff::civil::date(2000, 1, 1);

/// More times of day, days of the week or days of the month than this are not listed in words.
const LISTED_MAX: usize = 4;

/// When a ping is expected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum JobSchedule {
    /// At most so long after the last ping.
    Every {
        /// How long, in monitoring minutes.
        #[serde(rename = "every")]
        minutes: u32,
    },
    /// At the times of a cron job.
    Cron {
        /// The times.
        #[serde(rename = "cron")]
        expression: CronExpression,
        /// The time zone of the machine that runs the job.
        zone: NamedZone,
    },
}

impl JobSchedule {
    /// The first expected time after an instant; `None` if it is later than any [`Timestamp`].
    ///
    /// When the clocks change, cron jobs run as with Debian's cron. If both the minute and the hour are fixed, a job
    /// whose time the clocks skip runs at the first instant after the gap, and a job whose time they show twice runs
    /// the first time only. If one of them is a wildcard, such as `*` or `*/15`, a job follows the clocks: it does not
    /// run at times that they skip, and runs twice at times that they show twice.
    pub fn next_after(&self, after: Timestamp, time_scale: TimeScale) -> Option<Timestamp> {
        match self {
            // The next time must be later, even if something else has stored a zero.
            Self::Every { minutes } => {
                after.checked_add(time_scale.minutes((*minutes).max(1))).ok()
            }
            Self::Cron { expression, zone } => expression.next_after(after, zone),
        }
    }

    /// The expected times after an instant, if each ping comes when it is expected.
    pub fn times_after(
        &self,
        after: Timestamp,
        time_scale: TimeScale,
    ) -> impl Iterator<Item = Timestamp> {
        let next = move |after: &Timestamp| self.next_after(*after, time_scale);
        successors(next(&after), next)
    }

    /// The schedule for people: `every 5 minutes`, or `every Monday at 09:00, Europe/Berlin`.
    pub fn words(&self) -> String {
        match self {
            Self::Every { minutes } => every(*minutes),
            Self::Cron { expression, zone } => match expression.words() {
                Words::Anywhere(words) => words,
                Words::Local(words) => format!("{words}, {zone}"),
            },
        }
    }
}

/// The times of a cron job: five fields, or a nickname such as `@daily`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct CronExpression {
    text: String,
    // Sets of numbers: the n-th bit is the number n.
    minutes: u64,
    hours: u64,
    months: u64,
    days: Days,
    weekdays: Weekdays,
    /// Whether a day must have both a day of the month and a day of the week. Otherwise, one of them is enough.
    needs_both_days: bool,
    /// Whether neither the minute nor the hour is a wildcard.
    is_fixed: bool,
}

/// Days of the month.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Days {
    each: u64,
    last: bool,
    /// The last one that is neither a Saturday nor a Sunday.
    last_workday: bool,
}

/// Days of the week, as sets whose bit 0 is Sunday.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Weekdays {
    each: u64,
    /// The first to the fifth of a month.
    nth: [u64; 5],
    last: u64,
}

/// Why a text is not an expression that Vedette supports. The messages continue "The … field".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CronError {
    /// It is longer than [`EXPRESSION_MAX`].
    #[error("must not be longer than {EXPRESSION_MAX} characters")]
    TooLong,
    /// It has several lines.
    #[error("must be one line")]
    Lines,
    /// It has another number of fields.
    #[error(
        "must have five fields, separated by spaces: minute, hour, day of month, month and day of \
         week"
    )]
    Fields,
    /// It has six or seven fields.
    #[error("must have five fields, without seconds and years")]
    SecondsOrYears,
    /// It starts with a time zone.
    #[error("must not contain a time zone, which has a field of its own")]
    Zone,
    /// It is `@reboot`.
    #[error("must not be @reboot, because nobody knows when that is")]
    Reboot,
    /// It starts with `@`, but is no nickname.
    #[error(
        "must have five fields, or be @hourly, @daily, @midnight, @weekly, @monthly, @yearly or \
         @annually"
    )]
    Nickname,
    /// A question mark, as Quartz has it.
    #[error("must have * instead of ?")]
    QuestionMark,
    /// A plus sign, as Croner has it.
    #[error("must not have +, which cron does not know")]
    Plus,
    /// A random time, as cronie has it.
    #[error("must not have ~, because nobody knows a random time before")]
    Random,
    /// The workday that is nearest to a date.
    #[error("must not have W, except in LW for the last workday of the month")]
    NearestWorkday,
    /// The last of a day of the week, written in another way.
    #[error("must have the last Friday of a month, for example, as 5L")]
    LastWeekday,
    /// A number after `#` that no day of the week has in a month.
    #[error("must have a number from 1 to 5 after #, such as MON#1")]
    NthWeekday,
    /// A part of a field is not a number or name within its bounds.
    #[error("must have {0}")]
    Value(&'static str),
    /// A range that ends before it starts.
    #[error(
        "must not have a range that ends before it starts; SUN is 0, or 7 at the end of a week"
    )]
    Range,
    /// A step that is not a positive number.
    #[error("must have a number from 1 after /, such as */5")]
    Step,
    /// A date that no year has.
    #[error("must have a date that exists; the job would never run")]
    Never,
}

/// One of the five fields.
struct Field {
    min: u32,
    max: u32,
    /// The names of the numbers from `min` on.
    names: &'static [&'static str],
    /// Its values, for people.
    values: &'static str,
}

const MINUTE: Field = Field { min: 0, max: 59, names: &[], values: "minutes from 0 to 59" };
const HOUR: Field = Field { min: 0, max: 23, names: &[], values: "hours from 0 to 23" };
const DAY: Field =
    Field { min: 1, max: 31, names: &[], values: "days of the month from 1 to 31, L or LW" };
const MONTH: Field = Field {
    min: 1,
    max: 12,
    names: &["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"],
    values: "months from 1 to 12, or from JAN to DEC",
};
/// Both 0 and 7 are Sunday.
const WEEKDAY: Field = Field {
    min: 0,
    max: 7,
    names: &["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"],
    values: "days of the week from 0 to 7, or from SUN to SAT",
};

const ALL_DAYS: u64 = 0xffff_fffe;
const ALL_MONTHS: u64 = 0b1_1111_1111_1110;
const ALL_WEEKDAYS: u64 = 0b111_1111;
const MONDAY_TO_FRIDAY: u64 = 0b011_1110;

impl CronExpression {
    /// The rule for expressions that people enter.
    pub const RULE: TextRule<Self> = TextRule {
        min: 0,
        max: usize::MAX,
        kind: TextKind::Other,
        parse: |text| Self::parse(text).map_err(|error| error.to_string()),
    };

    /// Parses an expression. It is kept as it is, apart from superfluous spaces.
    ///
    /// # Errors
    ///
    /// Why it is not an expression that Vedette supports.
    pub fn parse(text: &str) -> Result<Self, CronError> {
        let text = text.trim();
        if text.chars().nth(EXPRESSION_MAX).is_some() {
            return Err(CronError::TooLong);
        }
        if text.contains(['\n', '\r']) {
            return Err(CronError::Lines);
        }
        let text = text.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
        let upper = text.to_ascii_uppercase();
        let fields = if upper.starts_with('@') { fields_of(&upper)? } else { &upper };
        if fields.starts_with("CRON_TZ=") || fields.starts_with("TZ=") {
            return Err(CronError::Zone);
        }
        let fields: Vec<_> = fields.split(' ').collect();
        let [minute, hour, day, month, weekday] = fields[..] else {
            let has_more = matches!(fields.len(), 6 | 7);
            return Err(if has_more { CronError::SecondsOrYears } else { CronError::Fields });
        };
        for (sign, error) in
            [('?', CronError::QuestionMark), ('+', CronError::Plus), ('~', CronError::Random)]
        {
            if upper.contains(sign) {
                return Err(error);
            }
        }
        let is_wild = |field: &str| field.starts_with('*');
        let expression = Self {
            minutes: MINUTE.parse(minute)?,
            hours: HOUR.parse(hour)?,
            months: MONTH.parse(month)?,
            days: Days::parse(day)?,
            weekdays: Weekdays::parse(weekday)?,
            needs_both_days: is_wild(day) || is_wild(weekday),
            is_fixed: !is_wild(minute) && !is_wild(hour),
            text,
        };
        let runs = days_from(Some(FIRST_DAY))
            .take(DAYS_OF_ALL_CALENDARS)
            .any(|date| expression.has_day(date));
        if runs { Ok(expression) } else { Err(CronError::Never) }
    }

    /// The expression, as it was entered.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    fn next_after(&self, after: Timestamp, zone: &NamedZone) -> Option<Timestamp> {
        let local = zone.local(after);
        let rules = local.time_zone();
        let next = self.first(local.datetime(), after, rules)?;
        if self.is_fixed {
            return Some(next);
        }
        // If the clocks go back before that, they first show times before `local` again.
        let Some(change) = rules.following(after).next().filter(|it| it.timestamp() <= next) else {
            return Some(next);
        };
        let second = SignedDuration::from_secs(1);
        let before = change.timestamp().checked_sub(second).ok()?;
        let shown = change.offset().to_datetime(change.timestamp()).checked_sub(second).ok()?;
        self.first(shown, before, rules)
    }

    /// The first run that is both later than `local` on the clocks and later than `after`.
    fn first(&self, local: DateTime, after: Timestamp, rules: &TimeZone) -> Option<Timestamp> {
        let times = successors(self.next_time(local), |time| self.next_time(*time));
        times.flat_map(|time| self.instants(time, rules)).flatten().find(|instant| *instant > after)
    }

    /// When the job runs for a time on the clocks: not at all, once or twice.
    fn instants(&self, time: DateTime, rules: &TimeZone) -> [Option<Timestamp>; 2] {
        match rules.to_ambiguous_timestamp(time).offset() {
            AmbiguousOffset::Unambiguous { offset } => [offset.to_timestamp(time).ok(), None],
            AmbiguousOffset::Fold { before, after } => {
                let second = if self.is_fixed { None } else { after.to_timestamp(time).ok() };
                [before.to_timestamp(time).ok(), second]
            }
            AmbiguousOffset::Gap { after, .. } if self.is_fixed => {
                // Counted back from the time after the gap, a time in the gap lies before it.
                let earlier = after.to_timestamp(time).ok();
                let change = earlier.and_then(|earlier| rules.following(earlier).next());
                [change.map(|change| change.timestamp()), None]
            }
            AmbiguousOffset::Gap { .. } => [None, None],
        }
    }

    /// The first time on the clocks that is later than another.
    fn next_time(&self, after: DateTime) -> Option<DateTime> {
        let today = after.date();
        if self.has_day(today) {
            let minute = 60 * i16::from(after.hour()) + i16::from(after.minute());
            if let Some(time) = self.time_from(minute + 1) {
                return Some(today.to_datetime(time));
            }
        }
        let mut days = days_from(today.tomorrow().ok()).take(DAYS_SEARCHED);
        Some(days.find(|date| self.has_day(*date))?.to_datetime(self.time_from(0)?))
    }

    /// The first time of day from a minute of the day on.
    fn time_from(&self, minute: i16) -> Option<Time> {
        let minute = (minute..24 * 60)
            .find(|minute| has(self.hours, minute / 60) && has(self.minutes, minute % 60))?;
        let [hour, minute] = [minute / 60, minute % 60].map(i8::try_from);
        Time::new(hour.ok()?, minute.ok()?, 0, 0).ok()
    }

    fn has_day(&self, date: Date) -> bool {
        if !has(self.months, date.month().into()) {
            return false;
        }
        let is_day = self.days.contains(date);
        let is_weekday = self.weekdays.contains(date);
        if self.needs_both_days { is_day && is_weekday } else { is_day || is_weekday }
    }

    fn words(&self) -> Words {
        self.usual_words().unwrap_or_else(|| Words::Local(format!("at `{}`", self.text)))
    }

    /// The words for common expressions.
    fn usual_words(&self) -> Option<Words> {
        let days = self.days_in_words()?;
        if days == "every day" && self.hours.count_ones() == 24 {
            let minutes = numbers(self.minutes);
            if let [minute] = minutes[..] {
                return Some(Words::Local(format!("every hour at minute {minute}")));
            }
            // Not `*/7`, for example, whose last minutes of an hour are closer together.
            let step = minutes.get(1).filter(|step| 60 % **step == 0)?;
            let is_even = (0..60).step_by(usize::try_from(*step).ok()?).eq(minutes.iter().copied());
            return is_even.then(|| Words::Anywhere(every(*step)));
        }
        let times: Vec<_> = numbers(self.hours)
            .into_iter()
            .flat_map(|hour| numbers(self.minutes).into_iter().map(move |minute| (hour, minute)))
            .map(|(hour, minute)| format!("{hour:02}:{minute:02}"))
            .take(LISTED_MAX + 1)
            .collect();
        let times = listed(&times)?;
        Some(Words::Local(format!("{days} at {times}")))
    }

    fn days_in_words(&self) -> Option<String> {
        let Weekdays { each, nth, last } = self.weekdays;
        let has_all_days = self.days.each == ALL_DAYS;
        let has_all_weekdays = each == ALL_WEEKDAYS;
        let (by_day, by_weekday) = if self.needs_both_days {
            (!has_all_days, !has_all_weekdays)
        } else {
            // One of them is enough, so if one has all days, the other does not matter.
            let is_limited = !has_all_days && !has_all_weekdays;
            (is_limited, is_limited)
        };
        let months = numbers(self.months);
        match (by_day, by_weekday) {
            (false, false) if self.months == ALL_MONTHS => Some("every day".to_owned()),
            (false, true) if self.months == ALL_MONTHS && nth == [0; 5] && last == 0 => {
                if each == MONDAY_TO_FRIDAY {
                    return Some("every day from Monday to Friday".to_owned());
                }
                // Like most people, begin with Monday.
                let names: Vec<_> = successors(Some(Weekday::Monday), |day| Some(day.next()))
                    .take(7)
                    .filter(|day| has(each, day.to_sunday_zero_offset().into()))
                    .map(|day| format!("{day:?}"))
                    .collect();
                Some(format!("every {}", listed(&names)?))
            }
            (true, false) if self.months == ALL_MONTHS => {
                let last = (self.days.last, "the last day");
                let last_workday = (self.days.last_workday, "the last workday");
                let days: Vec<_> = numbers(self.days.each)
                    .into_iter()
                    .map(|day| format!("the {day}{}", ordinal(day)))
                    .chain([last, last_workday].into_iter().filter(|it| it.0).map(|it| it.1.into()))
                    .collect();
                Some(format!("every month on {}", listed(&days)?))
            }
            (true, false) if !self.days.last && !self.days.last_workday => {
                let [month] = months[..] else { return None };
                let [day] = numbers(self.days.each)[..] else { return None };
                let date = Date::new(2000, i8::try_from(month).ok()?, 1).ok()?;
                Some(format!("every year on {day} {}", date.strftime("%B")))
            }
            _ => None,
        }
    }
}

impl fmt::Display for CronExpression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<CronExpression> for String {
    fn from(expression: CronExpression) -> Self {
        expression.text
    }
}

impl TryFrom<String> for CronExpression {
    type Error = CronError;

    fn try_from(text: String) -> Result<Self, CronError> {
        Self::parse(&text)
    }
}

impl Field {
    /// The numbers of a list. Both 5 and 3-5 are lists, too.
    fn parse(&self, text: &str) -> Result<u64, CronError> {
        text.split(',').try_fold(0, |all, item| Ok(all | self.parse_item(item)?))
    }

    fn parse_item(&self, text: &str) -> Result<u64, CronError> {
        let (numbers, step) = stepped(text)?;
        let (from, to) = match numbers.split_once('-') {
            _ if numbers == "*" => (self.min, self.max),
            Some((from, to)) => (self.parse_number(from)?, self.parse_number(to)?),
            None => {
                let from = self.parse_number(numbers)?;
                // 5/10 means 5-59/10, as in Healthchecks.
                (from, if step.is_some() { self.max } else { from })
            }
        };
        if to < from {
            return Err(CronError::Range);
        }
        let step = usize::try_from(step.unwrap_or(1)).unwrap_or(usize::MAX);
        Ok((from..=to).step_by(step).fold(0, |all, number| all | 1 << number))
    }

    fn parse_number(&self, text: &str) -> Result<u32, CronError> {
        let named = (self.min..).zip(self.names).find(|(_, name)| **name == text);
        named
            .map(|(number, _)| number)
            .or_else(|| digits(text).filter(|number| (self.min..=self.max).contains(number)))
            .ok_or(CronError::Value(self.values))
    }
}

impl Days {
    fn parse(text: &str) -> Result<Self, CronError> {
        let mut days = Self::default();
        for item in text.split(',') {
            // A step after these means nothing, but Healthchecks accepts it.
            match stepped(item)?.0 {
                "L" => days.last = true,
                "LW" => days.last_workday = true,
                other if other.contains('W') => return Err(CronError::NearestWorkday),
                _ => days.each |= DAY.parse_item(item)?,
            }
        }
        Ok(days)
    }

    fn contains(self, date: Date) -> bool {
        has(self.each, date.day().into())
            || (self.last && date.day() == date.days_in_month())
            || (self.last_workday && date.day() == last_workday(date))
    }
}

impl Weekdays {
    fn parse(text: &str) -> Result<Self, CronError> {
        let mut weekdays = Self::default();
        for item in text.split(',') {
            if item.contains('L') {
                let number = item.strip_suffix('L').filter(|text| digits(text).is_some());
                let number = number.ok_or(CronError::LastWeekday)?;
                weekdays.last |= sunday_as_0(1 << WEEKDAY.parse_number(number)?);
            } else if let Some((weekday, nth)) = item.split_once('#') {
                let nth = digits(nth).and_then(|nth| usize::try_from(nth).ok()?.checked_sub(1));
                let nth = nth.and_then(|nth| weekdays.nth.get_mut(nth));
                let nth = nth.ok_or(CronError::NthWeekday)?;
                *nth |= sunday_as_0(1 << WEEKDAY.parse_number(weekday)?);
            } else {
                weekdays.each |= sunday_as_0(WEEKDAY.parse_item(item)?);
            }
        }
        Ok(weekdays)
    }

    fn contains(self, date: Date) -> bool {
        let nth = usize::try_from((date.day() - 1) / 7).ok().and_then(|nth| self.nth.get(nth));
        let is_last = date.day() + 7 > date.days_in_month();
        let all = self.each | nth.unwrap_or(&0) | if is_last { self.last } else { 0 };
        has(all, date.weekday().to_sunday_zero_offset().into())
    }
}

/// The fields that a nickname stands for.
fn fields_of(nickname: &str) -> Result<&'static str, CronError> {
    Ok(match nickname {
        "@HOURLY" => "0 * * * *",
        "@DAILY" | "@MIDNIGHT" => "0 0 * * *",
        "@WEEKLY" => "0 0 * * 0",
        "@MONTHLY" => "0 0 1 * *",
        "@YEARLY" | "@ANNUALLY" => "0 0 1 1 *",
        "@REBOOT" => return Err(CronError::Reboot),
        _ => return Err(CronError::Nickname),
    })
}

/// An item of a list and its step, if it has one.
fn stepped(item: &str) -> Result<(&str, Option<u32>), CronError> {
    let Some((numbers, step)) = item.split_once('/') else { return Ok((item, None)) };
    let step = digits(step).filter(|step| *step > 0).ok_or(CronError::Step)?;
    Ok((numbers, Some(step)))
}

/// A number that consists of digits and nothing else. One that is too large is [`u32::MAX`].
fn digits(text: &str) -> Option<u32> {
    let is_number = !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    is_number.then(|| text.parse().unwrap_or(u32::MAX))
}

fn has(set: u64, number: i16) -> bool {
    set >> number & 1 == 1
}

/// The numbers of a set.
fn numbers(set: u64) -> Vec<u32> {
    (0..u64::BITS).filter(|number| set >> number & 1 == 1).collect()
}

/// Days of the week without 7, which is Sunday, too.
fn sunday_as_0(weekdays: u64) -> u64 {
    (weekdays | weekdays >> 7) & ALL_WEEKDAYS
}

fn days_from(first: Option<Date>) -> impl Iterator<Item = Date> {
    successors(first, |date| date.tomorrow().ok())
}

/// The last day of a date's month that is neither a Saturday nor a Sunday.
fn last_workday(date: Date) -> i8 {
    let last = date.last_of_month();
    match last.weekday() {
        Weekday::Saturday => last.day() - 1,
        Weekday::Sunday => last.day() - 2,
        _ => last.day(),
    }
}

/// What a schedule is called.
enum Words {
    /// It is the same in every time zone.
    Anywhere(String),
    /// It needs the time zone.
    Local(String),
}

/// A distance in its largest unit: `every day`, `every 90 minutes`.
fn every(minutes: u32) -> String {
    let (number, unit) = match minutes {
        _ if minutes.is_multiple_of(1_440) => (minutes / 1_440, "day"),
        _ if minutes.is_multiple_of(60) => (minutes / 60, "hour"),
        _ => (minutes, "minute"),
    };
    match number {
        1 => format!("every {unit}"),
        _ => format!("every {number} {unit}s"),
    }
}

/// `a, b and c`; `None` if there are too many, or none.
fn listed(items: &[String]) -> Option<String> {
    match items {
        _ if items.len() > LISTED_MAX => None,
        [] => None,
        [one] => Some(one.clone()),
        [first @ .., last] => Some(format!("{} and {last}", first.join(", "))),
    }
}

fn ordinal(number: u32) -> &'static str {
    match (number % 10, number) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().expect("a timestamp")
    }

    fn zone(name: &str) -> NamedZone {
        NamedZone::parse(name).expect("a zone")
    }

    fn cron(expression: &str, zone_name: &str) -> JobSchedule {
        let expression = CronExpression::parse(expression).expect(expression);
        JobSchedule::Cron { expression, zone: zone(zone_name) }
    }

    /// Runs from one time on the clocks to another, as the clocks and their offset from UTC show them.
    fn runs(expression: &str, zone_name: &str, from: &str, to: &str) -> Vec<String> {
        let (schedule, zone) = (cron(expression, zone_name), zone(zone_name));
        let [from, to] = [from, to].map(|time| zone.instant_of(time.parse().expect("a time")));
        let to = to.expect("an instant");
        schedule
            .times_after(from.expect("an instant"), TimeScale::default())
            .take_while(|run| *run < to)
            .map(|run| zone.local(run).strftime("%H:%M%:z").to_string())
            .collect()
    }

    #[test]
    fn it_is_stored_in_a_stable_form() {
        for (schedule, stored) in [
            (JobSchedule::Every { minutes: 1_440 }, json!({"every": 1_440})),
            (
                cron(" 30  2\t* * * ", "Europe/Berlin"),
                json!({"cron": "30 2 * * *", "zone": "Europe/Berlin"}),
            ),
            (cron("@daily", "UTC"), json!({"cron": "@daily", "zone": "UTC"})),
        ] {
            assert_eq!(serde_json::to_value(&schedule).expect("json"), stored);
            assert_eq!(serde_json::from_value::<JobSchedule>(stored).expect("readable"), schedule);
        }
        let text = serde_json::to_string(&cron("0 9 * * MON", "UTC")).expect("json");
        assert_eq!(text, r#"{"cron":"0 9 * * MON","zone":"UTC"}"#);
        for wrong in [
            json!({"cron": "0 0 30 2 *", "zone": "UTC"}),
            json!({"every": -1}),
            json!({"zone": "UTC"}),
        ] {
            assert!(serde_json::from_value::<JobSchedule>(wrong).is_err());
        }
    }

    #[test]
    fn expressions_of_healthchecks_and_nicknames_are_accepted() {
        // Each with another expression that means the same, and runs at the same times.
        for (expression, same) in [
            ("* * * * *", "*/1 0-23 1-31 1-12 0-7"),
            ("*/15 * * * *", "0,15,30,45 * * * *"),
            ("5/15 * * * *", "5,20,35,50 * * * *"),
            ("0-30/10,45 3 * * *", "0,10,20,30,45 3 * * *"),
            ("5-5/10 3 * * *", "5 3 * * *"),
            ("*/100 3 * * *", "*/99999999999999999999 3 * * *"),
            ("007 03 * * *", "7 3 * * *"),
            ("0 0 * jan,Mar-May sun", "0 0 * 1,3,4,5 7"),
            ("0 0 * * 5-7", "0 0 * * 0,5,6"),
            ("0 0 * * 5/2", "0 0 * * 5,7"),
            ("0 0 * * 5L", "0 0 * * 5L,5L"),
            ("0 0 * * 7L", "0 0 * * 0L"),
            ("0 0 * * MON#1,3#5", "0 0 * * wed#5,1#1"),
            ("0 0 L * *", "0 0 L/2 * *"),
            ("0 0 lw,15 * *", "0 0 15,LW * *"),
            ("*,5 3 * * *", "* 3 * * *"),
            // One that starts with a star limits the days of the other; two others add up.
            ("0 0 1-7,8-31 * MON", "0 0 * * *"),
            ("0 0 1-7 * */6", "0 0 1,2,3,4,5,6,7 * */6"),
            ("0 0 29 2 */7", "0 0 29 FEB */7"),
            ("@hourly", "0 * * * *"),
            ("@daily", "0 0 * * *"),
            ("@Midnight", "0 0 * * *"),
            ("@weekly", "0 0 * * 0"),
            ("@monthly", "0 0 1 * *"),
            ("@yearly", "0 0 1 1 *"),
            (" @annually ", "0 0 1 1 *"),
        ] {
            let [schedule, same] = [expression, same].map(|text| cron(text, "UTC"));
            let mut from = at("2026-11-20T10:00:00Z");
            for _ in 0..100 {
                let next = schedule.next_after(from, TimeScale::default()).expect("a time");
                assert_eq!(Some(next), same.next_after(from, TimeScale::default()), "{expression}");
                from = next;
            }
        }
    }

    #[test]
    fn other_texts_are_refused() {
        use CronError as E;
        let long = "1,".repeat(48);
        for (text, error) in [
            (format!("{long}10 * * * *").as_str(), E::TooLong),
            (&"é".repeat(101), E::TooLong),
            ("0 0 * *\n*", E::Lines),
            ("", E::Fields),
            ("0", E::Fields),
            ("0 0 * *", E::Fields),
            ("1 2 3 4 5 6 7 8", E::Fields),
            ("0 0\u{a0}* * *", E::Fields),
            ("0 30 2 * * *", E::SecondsOrYears),
            ("0 30 2 * * * 2027", E::SecondsOrYears),
            ("CRON_TZ=Europe/Berlin 30 2 * * *", E::Zone),
            ("TZ=UTC 30 2 * * *", E::Zone),
            ("@reboot", E::Reboot),
            ("@noon", E::Nickname),
            ("@daily 0 0 * *", E::Nickname),
            ("@", E::Nickname),
            ("0 0 ? * MON", E::QuestionMark),
            ("0 0 1 * +MON", E::Plus),
            ("0~30 0 * * *", E::Random),
            ("0 0 15W * *", E::NearestWorkday),
            ("0 0 W * *", E::NearestWorkday),
            ("0 0 * * 5#L", E::LastWeekday),
            ("0 0 * * L", E::LastWeekday),
            ("0 0 * * FRIL", E::LastWeekday),
            ("0 0 * * 1-5L", E::LastWeekday),
            ("0 0 * * L5", E::LastWeekday),
            ("0 0 * * 8L", E::Value(WEEKDAY.values)),
            ("0 0 * * MON#0", E::NthWeekday),
            ("0 0 * * MON#6", E::NthWeekday),
            ("0 0 * * MON#", E::NthWeekday),
            ("0 0 * * MON#1/2", E::NthWeekday),
            ("0 0 * * MON-FRI#1", E::Value(WEEKDAY.values)),
            ("60 0 * * *", E::Value(MINUTE.values)),
            ("1,,2 0 * * *", E::Value(MINUTE.values)),
            (", 0 * * *", E::Value(MINUTE.values)),
            ("-5 0 * * *", E::Value(MINUTE.values)),
            ("1-2-3 0 * * *", E::Value(MINUTE.values)),
            ("/5 0 * * *", E::Value(MINUTE.values)),
            ("٣ 0 * * *", E::Value(MINUTE.values)),
            ("** 0 * * *", E::Value(MINUTE.values)),
            ("0 24 * * *", E::Value(HOUR.values)),
            ("0 MON * * *", E::Value(HOUR.values)),
            ("0 L * * *", E::Value(HOUR.values)),
            ("0 0 0 * *", E::Value(DAY.values)),
            ("0 0 32 * *", E::Value(DAY.values)),
            ("0 0 L-3 * *", E::Value(DAY.values)),
            ("0 0 * 13 *", E::Value(MONTH.values)),
            ("0 0 * JANUARY *", E::Value(MONTH.values)),
            ("0 0 * 1JAN *", E::Value(MONTH.values)),
            ("0 0 * * 8", E::Value(WEEKDAY.values)),
            ("0 0 * * 1MON", E::Value(WEEKDAY.values)),
            ("30-10 0 * * *", E::Range),
            ("0 0 * * FRI-SUN", E::Range),
            ("*/0 0 * * *", E::Step),
            ("*/ 0 * * *", E::Step),
            ("*/5/5 0 * * *", E::Step),
            ("0 0 LW/x * *", E::Step),
            ("0 0 30 2 *", E::Never),
            ("0 0 31 4,6,9,11 *", E::Never),
            ("0 0 */40 * MON#2", E::Never),
        ] {
            assert_eq!(CronExpression::parse(text), Err(error), "{text}");
        }
        let error = CronExpression::parse("0 0 32 * *").expect_err("no such day");
        assert_eq!(error.to_string(), "must have days of the month from 1 to 31, L or LW");
    }

    #[test]
    fn the_longest_expression_is_accepted() {
        let text = format!("{}10 * * * *", "1,".repeat(45));
        assert_eq!(text.len(), EXPRESSION_MAX);
        assert!(CronExpression::parse(&format!("  {text} ")).is_ok());
    }

    #[test]
    fn days_of_the_month_and_of_the_week_are_combined_as_by_debian() {
        for (expression, dates) in [
            // Two lists: one of both is enough.
            ("0 0 13 * FRI", ["2026-11-06", "2026-11-13", "2026-11-20", "2026-11-27"]),
            // One of them starts with a star: both are needed.
            ("0 0 */2 * FRI", ["2026-11-13", "2026-11-27", "2026-12-11", "2026-12-25"]),
            ("0 0 13 * */5", ["2026-11-13", "2026-12-13", "2027-06-13", "2027-08-13"]),
            ("0 0 L * *", ["2026-11-30", "2026-12-31", "2027-01-31", "2027-02-28"]),
            ("0 0 LW * *", ["2026-11-30", "2026-12-31", "2027-01-29", "2027-02-26"]),
            ("0 0 * * 5L", ["2026-11-27", "2026-12-25", "2027-01-29", "2027-02-26"]),
            ("0 0 * * MON#1", ["2026-11-02", "2026-12-07", "2027-01-04", "2027-02-01"]),
            ("0 0 * * MON#5", ["2026-11-30", "2027-03-29", "2027-05-31", "2027-08-30"]),
            ("0 0 29 2 *", ["2028-02-29", "2032-02-29", "2036-02-29", "2040-02-29"]),
            ("0 0 29 2 */7", ["2032-02-29", "2060-02-29", "2088-02-29", "2128-02-29"]),
        ] {
            let schedule = cron(expression, "UTC");
            let runs = schedule.times_after(at("2026-10-31T12:00:00Z"), TimeScale::default());
            let dates_of = runs.take(4).map(|run| run.strftime("%Y-%m-%d").to_string());
            let found: Vec<_> = dates_of.collect();
            assert_eq!(found, dates, "{expression}");
        }
    }

    #[test]
    fn jobs_run_as_by_debian_when_clocks_change() {
        let berlin = "Europe/Berlin";
        let (gap, overlap) =
            (("2027-03-28T00:00", "2027-03-28T04:00"), ("2027-10-31T00:00", "2027-10-31T04:00"));
        for (expression, zone, (from, to), expected) in [
            ("30 2 * * *", berlin, gap, "03:00+02:00"),
            ("30 2 * * *", berlin, overlap, "02:30+02:00"),
            ("*/30 2 * * *", berlin, gap, ""),
            ("*/30 2 * * *", berlin, overlap, "02:00+02:00 02:30+02:00 02:00+01:00 02:30+01:00"),
            ("15 2,3 * * *", berlin, gap, "03:00+02:00 03:15+02:00"),
            ("15 2,3 * * *", berlin, overlap, "02:15+02:00 03:15+01:00"),
            // Several times in the gap, or one at its end, are one run.
            ("0,15,30 2,3 * * *", berlin, gap, "03:00+02:00 03:15+02:00 03:30+02:00"),
            ("30 * * * *", berlin, gap, "00:30+01:00 01:30+01:00 03:30+02:00"),
            (
                "30 * * * *",
                berlin,
                overlap,
                "00:30+02:00 01:30+02:00 02:30+02:00 02:30+01:00 03:30+01:00",
            ),
            ("30 */2 * * *", berlin, gap, "00:30+01:00"),
            ("0 0 * * *", berlin, ("2027-03-27T12:00", "2027-03-28T12:00"), "00:00+01:00"),
            // A change of half an hour.
            (
                "15 2 * * *",
                "Australia/Lord_Howe",
                ("2026-10-04T00:00", "2026-10-04T12:00"),
                "02:30+11:00",
            ),
            (
                "*/15 3 * * *",
                "Australia/Lord_Howe",
                ("2026-10-04T00:00", "2026-10-04T03:20"),
                "03:00+11:00 03:15+11:00",
            ),
            (
                "45 1 * * *",
                "Australia/Lord_Howe",
                ("2026-04-05T00:00", "2026-04-05T12:00"),
                "01:45+11:00",
            ),
            (
                "*/30 1 * * *",
                "Australia/Lord_Howe",
                ("2026-04-05T00:00", "2026-04-05T12:00"),
                "01:00+11:00 01:30+11:00 01:30+10:30",
            ),
            // A gap that ends at midnight, so that the run is on another day.
            (
                "30 23 29 3 *",
                "America/Scoresbysund",
                ("2025-03-29T12:00", "2025-03-31T12:00"),
                "00:00-01:00",
            ),
            (
                "0 0 * * SUN",
                "America/Santiago",
                ("2026-09-05T12:00", "2026-09-06T12:00"),
                "01:00-03:00",
            ),
            // A whole day that did not exist.
            (
                "0 12 30 12 *",
                "Pacific/Apia",
                ("2011-12-29T00:00", "2012-01-02T00:00"),
                "00:00+14:00",
            ),
            ("0 * 30 12 *", "Pacific/Apia", ("2011-12-29T00:00", "2012-01-02T00:00"), ""),
        ] {
            assert_eq!(
                runs(expression, zone, from, to).join(" "),
                expected,
                "{expression}, {zone}, {from}"
            );
        }
    }

    #[test]
    fn a_next_time_is_later_from_every_instant_of_an_overlap() {
        for (expression, after, next) in [
            // In the second pass, this job is over.
            ("30 2 * * *", "2027-10-31T01:10:00Z", "2027-11-01T01:30:00Z"),
            ("30 2 * * *", "2027-10-31T00:30:00Z", "2027-11-01T01:30:00Z"),
            ("30 2 * * *", "2027-10-31T00:29:59.9Z", "2027-10-31T00:30:00Z"),
            ("*/30 2 * * *", "2027-10-31T00:30:00Z", "2027-10-31T01:00:00Z"),
            ("*/30 2 * * *", "2027-10-31T00:59:59.9Z", "2027-10-31T01:00:00Z"),
            ("*/30 2 * * *", "2027-10-31T01:00:00Z", "2027-10-31T01:30:00Z"),
            ("*/30 2 * * *", "2027-10-31T01:30:00Z", "2027-11-01T01:00:00Z"),
            ("30 2 * * *", "2027-03-28T01:00:00Z", "2027-03-29T00:30:00Z"),
            ("30 2 * * *", "2027-03-28T00:59:59.9Z", "2027-03-28T01:00:00Z"),
        ] {
            let schedule = cron(expression, "Europe/Berlin");
            assert_eq!(
                schedule.next_after(at(after), TimeScale::default()),
                Some(at(next)),
                "{expression}, {after}"
            );
        }
    }

    #[test]
    fn a_fixed_distance_counts_from_any_instant() {
        let schedule = |minutes| JobSchedule::Every { minutes };
        let (after, real) = (at("2026-11-20T10:00:00.5Z"), TimeScale::default());
        assert_eq!(schedule(2).next_after(after, real), Some(at("2026-11-20T10:02:00.5Z")));
        assert_eq!(schedule(0).next_after(after, real), Some(at("2026-11-20T10:01:00.5Z")));
        assert_eq!(schedule(u32::MAX).next_after(Timestamp::MAX, real), None);
        let times: Vec<_> = schedule(90).times_after(after, real).take(2).collect();
        assert_eq!(times, [at("2026-11-20T11:30:00.5Z"), at("2026-11-20T13:00:00.5Z")]);
        let fast = TimeScale::new(std::time::Duration::from_secs(1)).expect("a time scale");
        assert_eq!(schedule(2).next_after(after, fast), Some(at("2026-11-20T10:00:02.5Z")));
    }

    #[test]
    fn there_is_no_time_after_the_last_timestamp() {
        for expression in ["* * * * *", "30 2 * * *", "0 0 29 2 *"] {
            for zone in ["UTC", "Europe/Berlin", "Pacific/Kiritimati", "Pacific/Pago_Pago"] {
                let schedule = cron(expression, zone);
                assert_eq!(
                    schedule.next_after(Timestamp::MAX, TimeScale::default()),
                    None,
                    "{expression}, {zone}"
                );
                assert!(
                    schedule.next_after(Timestamp::MIN, TimeScale::default()).is_some(),
                    "{expression}, {zone}"
                );
            }
        }
    }

    #[test]
    fn people_read_common_schedules_in_words() {
        for (minutes, words) in [
            (1, "every minute"),
            (5, "every 5 minutes"),
            (90, "every 90 minutes"),
            (60, "every hour"),
            (1_440, "every day"),
            (10_080, "every 7 days"),
        ] {
            assert_eq!(JobSchedule::Every { minutes }.words(), words);
        }
        for (expression, words) in [
            ("* * * * *", "every minute"),
            ("*/5 * * * *", "every 5 minutes"),
            ("0,30 * * * *", "every 30 minutes"),
            ("@hourly", "every hour at minute 0, Europe/Berlin"),
            ("30 2 * * *", "every day at 02:30, Europe/Berlin"),
            ("0 */6 * * *", "every day at 00:00, 06:00, 12:00 and 18:00, Europe/Berlin"),
            ("0 9 * * MON", "every Monday at 09:00, Europe/Berlin"),
            ("0 9 * * 7,sat", "every Saturday and Sunday at 09:00, Europe/Berlin"),
            ("0 9 * * 1-5", "every day from Monday to Friday at 09:00, Europe/Berlin"),
            ("0 9 1-31 * MON", "every day at 09:00, Europe/Berlin"),
            (
                "0 9 1,22,L * *",
                "every month on the 1st, the 22nd and the last day at 09:00, Europe/Berlin",
            ),
            ("0 9 LW * *", "every month on the last workday at 09:00, Europe/Berlin"),
            ("@yearly", "every year on 1 January at 00:00, Europe/Berlin"),
            ("0 9 1 * MON", "at `0 9 1 * MON`, Europe/Berlin"),
            ("0 9 * * MON#1", "at `0 9 * * MON#1`, Europe/Berlin"),
            ("0 9 * * MON,TUE#1", "at `0 9 * * MON,TUE#1`, Europe/Berlin"),
            ("*/7 * * * *", "at `*/7 * * * *`, Europe/Berlin"),
            ("*/5 9-17 * * *", "at `*/5 9-17 * * *`, Europe/Berlin"),
            ("0 9 * 1-6 MON", "at `0 9 * 1-6 MON`, Europe/Berlin"),
            ("0 9 L 2 *", "at `0 9 L 2 *`, Europe/Berlin"),
        ] {
            assert_eq!(cron(expression, "Europe/Berlin").words(), words, "{expression}");
        }
    }

    fn fields() -> impl Strategy<Value = CronExpression> {
        let number = |min: u32, max: u32| {
            prop_oneof![
                3 => Just("*".to_owned()),
                2 => (min..=max).prop_map(|number| number.to_string()),
                1 => (1..=max + 5).prop_map(|step| format!("*/{step}")),
                1 => (min..=max, min..=max, 1_u32..9).prop_map(|(a, b, step)| {
                    format!("{}-{}/{step}", a.min(b), a.max(b))
                }),
                1 => (min..=max, min..=max).prop_map(|(a, b)| format!("{a},{b}")),
            ]
        };
        let day =
            prop_oneof![4 => number(1, 31), 1 => Just("L".to_owned()), 1 => Just("LW".to_owned())];
        let weekday = prop_oneof![
            4 => number(0, 7),
            1 => (0..8).prop_map(|day| format!("{day}L")),
            1 => (0..8, 1..6).prop_map(|(day, nth)| format!("{day}#{nth}")),
        ];
        (number(0, 59), number(0, 23), day, number(1, 12), weekday)
            .prop_map(|(minute, hour, day, month, weekday)| {
                format!("{minute} {hour} {day} {month} {weekday}")
            })
            .prop_filter_map("it never runs", |text| match CronExpression::parse(&text) {
                Ok(expression) => Some(expression),
                Err(error) => {
                    assert_eq!(error, CronError::Never, "{text}");
                    None
                }
            })
    }

    fn zones() -> impl Strategy<Value = NamedZone> {
        prop::sample::select(vec![
            "UTC",
            "Europe/Berlin",
            "Australia/Lord_Howe",
            "America/St_Johns",
            "Asia/Kolkata",
            "Africa/Casablanca",
            "America/Santiago",
            "America/Nuuk",
        ])
        .prop_map(zone)
    }

    /// Instants around changes of the clocks, or anywhere.
    fn instants() -> impl Strategy<Value = (NamedZone, Timestamp)> {
        let instant = (1_577_836_800_i64..1_893_456_000, any::<bool>(), -10_000_i64..10_000);
        (zones(), instant).prop_map(|(zone, (second, near_change, offset))| {
            let instant = Timestamp::from_second(second).expect("an instant");
            let local = zone.local(instant);
            let change = local.time_zone().following(instant).next();
            let near = change.filter(|_| near_change).and_then(|change| {
                change.timestamp().checked_add(SignedDuration::from_secs(offset)).ok()
            });
            (zone, near.unwrap_or(instant))
        })
    }

    proptest! {
        /// The next time is later, the same from every instant before it, and one that the expression names.
        #[test]
        fn next_times_increase(expression in fields(), (zone, mut after) in instants()) {
            let schedule = JobSchedule::Cron { expression: expression.clone(), zone: zone.clone() };
            for _ in 0..5 {
                let next = schedule.next_after(after, TimeScale::default()).expect("a time");
                prop_assert!(next > after);
                let moment = SignedDuration::from_nanos(1);
                let just_before = next.checked_sub(moment).expect("an instant");
                prop_assert_eq!(schedule.next_after(just_before, TimeScale::default()), Some(next));
                let half = next.duration_since(after) / 2;
                let between = after.checked_add(half).expect("an instant");
                prop_assert_eq!(schedule.next_after(between, TimeScale::default()), Some(next));
                let local = zone.local(next);
                prop_assert_eq!(local.second(), 0);
                let minute = local.datetime();
                let is_named = names(&expression, minute);
                // Only fixed jobs run at another time: when the clocks have just skipped theirs.
                let later = next + SignedDuration::from_secs(1);
                let change = local.time_zone().preceding(later).next();
                let is_end_of_gap = change.is_some_and(|change| change.timestamp() == next);
                prop_assert!(is_named || (expression.is_fixed && is_end_of_gap));
                after = next;
            }
        }

        /// Between two runs, the clocks never show a time that the expression names, unless for the second time.
        #[test]
        fn no_time_is_missed(expression in fields(), (zone, after) in instants()) {
            let schedule = JobSchedule::Cron { expression: expression.clone(), zone: zone.clone() };
            let next = schedule.next_after(after, TimeScale::default()).expect("a time");
            let first = after.as_second().div_euclid(60) + 1;
            let rules = zone.local(after).time_zone().clone();
            for minute in (first..next.as_second() / 60).take(3 * 24 * 60) {
                let instant = Timestamp::from_second(minute * 60).expect("an instant");
                let local = zone.local(instant).datetime();
                let ambiguous = rules.to_ambiguous_timestamp(local);
                let is_second = ambiguous.compatible().expect("an instant") < instant;
                prop_assert!(!names(&expression, local) || (expression.is_fixed && is_second));
            }
        }

        /// No text makes the parser panic, and a text that is accepted is accepted again.
        #[test]
        fn any_text_is_read(text in "[-*/,0-9LW#?@ a-fA-F~+]{0,40}|\\PC{0,110}") {
            if let Ok(expression) = CronExpression::parse(&text) {
                prop_assert_eq!(CronExpression::parse(expression.as_str()), Ok(expression));
            }
        }
    }

    fn names(expression: &CronExpression, time: DateTime) -> bool {
        expression.has_day(time.date())
            && has(expression.hours, time.hour().into())
            && has(expression.minutes, time.minute().into())
    }
}
