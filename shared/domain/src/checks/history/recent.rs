//! A site's last days, small enough for a list of many sites.

use jiff::civil::Date;
use jiff::{SignedDuration, ToSpan as _, Unit};
use serde::{Deserialize, Serialize};

use super::figures::{CheckCount, Counts, HourMeans};
use super::{Day, HOURS, seconds};

/// How long a site was down on a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Downtime {
    /// Less than 30 minutes.
    Minutes,
    /// Less than 2 hours.
    Hour,
    /// Less than 8 hours.
    Hours,
    /// Longer.
    Long,
}

impl Downtime {
    /// All of them, the shortest first.
    pub const ALL: [Self; 4] = [Self::Minutes, Self::Hour, Self::Hours, Self::Long];

    /// That of a duration.
    pub fn of_duration(duration: SignedDuration) -> Self {
        Self::of(seconds(duration))
    }

    /// That of this many seconds.
    pub const fn of(seconds: u32) -> Self {
        match seconds {
            ..1_800 => Self::Minutes,
            1_800..7_200 => Self::Hour,
            7_200..28_800 => Self::Hours,
            28_800.. => Self::Long,
        }
    }
}

/// A day according to its outages and status checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DayUptime {
    /// An outage overlaps it.
    Down(Downtime),
    /// Checks failed without an outage.
    Partly,
    /// Checks failed in maintenance windows, and nowhere else.
    Maintenance,
    /// Every check found the site up.
    Up,
    /// There were no checks.
    Unknown,
}

/// The letter that versions before outages were counted by day stored for a day on which every check failed, and for
/// one on which some did.
const ALL_FAILED: char = 'd';
const SOME_FAILED: char = 'p';

impl DayUptime {
    pub(crate) const fn letter(self) -> char {
        match self {
            Self::Down(Downtime::Minutes) => '1',
            Self::Down(Downtime::Hour) => '2',
            Self::Down(Downtime::Hours) => '3',
            Self::Down(Downtime::Long) => '4',
            Self::Partly => 'f',
            Self::Maintenance => 'm',
            Self::Up => 'u',
            Self::Unknown => '-',
        }
    }

    pub(crate) const fn read(letter: char) -> Self {
        match letter {
            '1' => Self::Down(Downtime::Minutes),
            '2' => Self::Down(Downtime::Hour),
            '3' => Self::Down(Downtime::Hours),
            '4' | ALL_FAILED => Self::Down(Downtime::Long),
            'f' | SOME_FAILED => Self::Partly,
            'm' => Self::Maintenance,
            'u' => Self::Up,
            _ => Self::Unknown,
        }
    }

    /// A day that an earlier version stored: a failed check counts for its part of the day, and two of them for an
    /// outage. If the checks were not counted, the letter alone decides.
    fn of_earlier_version(letter: char, count: Option<CheckCount>) -> Self {
        const DAY_S: u64 = 24 * 3_600;
        match count {
            Some(CheckCount { checks, failed }) if failed > 1 => {
                let down_s = DAY_S * u64::from(failed) / u64::from(checks.max(failed));
                Self::Down(Downtime::of(u32::try_from(down_s).unwrap_or(u32::MAX)))
            }
            Some(_) => Self::Partly,
            None => Self::read(letter),
        }
    }
}

impl Day {
    /// The day according to its outages, as far as they are over, and its status checks.
    pub fn uptime(&self) -> DayUptime {
        let CheckCount { checks, failed } = self.check_count();
        let in_maintenance = self.sums.in_maintenance;
        match (checks, failed) {
            _ if self.down_s > 0 => DayUptime::Down(Downtime::of(self.down_s)),
            (0, _) => DayUptime::Unknown,
            (_, 0) => DayUptime::Up,
            _ if failed <= in_maintenance.checks.saturating_sub(in_maintenance.up) => {
                DayUptime::Maintenance
            }
            _ => DayUptime::Partly,
        }
    }
}

/// The last closed days with checks: a letter for each day, the counts of the newest of them, and the response times of
/// the last one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecentDays {
    /// The last of them.
    #[serde(rename = "d")]
    last: Date,
    #[serde(rename = "u")]
    letters: String,
    #[serde(rename = "c", default, skip_serializing_if = "Counts::is_empty")]
    counts: Counts,
    /// The response times of the last day.
    #[serde(rename = "h", default, skip_serializing_if = "HourMeans::is_empty")]
    hours: HourMeans,
}

impl RecentDays {
    /// The most days that are stored and shown.
    pub const MAX: usize = 90;

    /// The days with one more: a later day, or one of them that has changed. A day before all of them remains
    /// forgotten.
    #[must_use]
    pub fn with(before: Option<Self>, day: &Day) -> Self {
        let (uptime, count) = (day.uptime(), day.check_count());
        let Some(mut days) = before else {
            return Self {
                last: day.date,
                letters: uptime.letter().into(),
                counts: Counts::default().with(0, count),
                hours: HourMeans::of(day),
            };
        };
        let mut letters: Vec<char> = days.letters.chars().collect();
        if day.date > days.last {
            let gap = days_between(days.last, day.date).saturating_sub(1).min(Self::MAX);
            letters.extend(std::iter::repeat_n(DayUptime::Unknown.letter(), gap));
            letters.push(uptime.letter());
            letters.drain(..letters.len().saturating_sub(Self::MAX));
            days.last = day.date;
            days.counts = days.counts.with(gap, count);
            days.hours = HourMeans::of(day);
        } else {
            let back = days_between(day.date, days.last);
            days.counts.amend(back, count);
            if back == 0 {
                days.hours = HourMeans::of(day);
            }
            let place = letters.len().checked_sub(back + 1);
            if let Some(letter) = place.and_then(|place| letters.get_mut(place)) {
                *letter = uptime.letter();
            }
        }
        days.letters = letters.into_iter().collect();
        days
    }

    /// The uptime of a day.
    pub fn on(&self, date: Date) -> DayUptime {
        let back = if date > self.last { None } else { Some(days_between(date, self.last)) };
        let letter = back.and_then(|back| self.letters.chars().rev().nth(back));
        match (letter, back) {
            (Some(letter @ (ALL_FAILED | SOME_FAILED)), Some(back)) => {
                DayUptime::of_earlier_version(letter, self.counts.back(back))
            }
            (letter, _) => letter.map_or(DayUptime::Unknown, DayUptime::read),
        }
    }

    /// The days after an outage turned out to have begun on one of them.
    #[must_use]
    pub(crate) fn with_outage(mut self, date: Date, downtime: Downtime) -> Self {
        let known = match self.on(date) {
            DayUptime::Down(known) => known.max(downtime),
            _ => downtime,
        };
        let back = if date > self.last { None } else { Some(days_between(date, self.last)) };
        let letters = self.letters.chars().rev().enumerate().map(|(place, letter)| {
            if Some(place) == back { DayUptime::Down(known).letter() } else { letter }
        });
        let mut letters: Vec<char> = letters.collect();
        letters.reverse();
        self.letters = letters.into_iter().collect();
        self
    }

    /// How many checks a day had; `None` if that is not known although there were some. An earlier version did not
    /// count them here.
    pub(crate) fn count_on(&self, date: Date) -> Option<CheckCount> {
        let back = if date > self.last { None } else { Some(days_between(date, self.last)) };
        let counted = back.and_then(|back| self.counts.back(back));
        counted.or_else(|| (self.on(date) == DayUptime::Unknown).then(CheckCount::default))
    }

    /// The mean response time of each hour of a day, in milliseconds, if it is the last day.
    pub(crate) fn hour_means_on(&self, date: Date) -> [Option<u32>; HOURS] {
        if date == self.last { self.hours.all() } else { [None; HOURS] }
    }
}

fn days_between(from: Date, to: Date) -> usize {
    let days = from.until((Unit::Day, to)).map_or(i32::MAX, |span| span.get_days());
    usize::try_from(days).unwrap_or(0)
}

/// The dates of the last days up to `today`, oldest first.
pub fn recent_dates(today: Date) -> impl Iterator<Item = Date> {
    let past = (0..RecentDays::MAX as i64).rev();
    past.map(move |ago| today.saturating_sub(ago.days()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::history::{Kind, Trigger};
    use crate::checks::tool::{CheckStatus, RunReason};

    fn date(day: i64) -> Date {
        Date::constant(2026, 8, 1).saturating_add(day.days())
    }

    fn day(at: i64, up: u32, checks: u32) -> Day {
        let mut day = Day::new(date(at), 30);
        let trigger = Trigger::Automatic(RunReason::Scheduled);
        let kind = Kind { trigger, status: CheckStatus::Completed };
        for _ in 0..checks {
            day.counters.add(kind, crate::checks::history::day_start(day.date));
        }
        day.sums.up = up;
        day
    }

    fn shown(days: &RecentDays, dates: impl Iterator<Item = i64>) -> String {
        dates.map(|at| days.on(date(at)).letter()).collect()
    }

    #[test]
    fn days_follow_one_another_and_what_lies_between_is_unknown() {
        let days = [day(3, 9, 9), day(4, 8, 9), day(7, 0, 9), day(8, 0, 0)];
        let days = days.iter().fold(None, |days, day| Some(RecentDays::with(days, day)));
        let days = days.expect("days");
        assert_eq!(shown(&days, 1..11), "--uf--f---");
        let amended = RecentDays::with(Some(days.clone()), &day(7, 1, 9));
        assert_eq!(shown(&amended, 1..11), "--uf--f---");
        assert_eq!(RecentDays::with(Some(days.clone()), &day(1, 9, 9)), days, "before all of them");
        let json = serde_json::to_value(&amended).expect("JSON");
        let expected = serde_json::json!({
            "d": "2026-08-09", "u": "uf--f-", "c": [18, 19, 1, 0, 1, 1, 19, 8, 0],
        });
        assert_eq!(json, expected);
        assert_eq!(serde_json::from_value::<RecentDays>(json).expect("read"), amended);
    }

    #[test]
    fn checks_are_counted_where_they_were_kept() {
        let days = [day(3, 9, 9), day(4, 8, 9), day(7, 0, 9), day(8, 0, 0)];
        let days = days.iter().fold(None, |days, day| Some(RecentDays::with(days, day)));
        let days = days.expect("days");
        let counted = |days: &RecentDays, at| {
            days.count_on(date(at)).map(|count| (count.failed, count.checks))
        };
        assert_eq!(
            [2, 3, 4, 5, 7, 8, 9].map(|at| counted(&days, at)),
            [(0, 0), (0, 9), (1, 9), (0, 0), (9, 9), (0, 0), (0, 0)].map(Some)
        );
        let old = RecentDays { counts: Counts::default(), ..days };
        assert_eq!([3, 4, 5].map(|at| counted(&old, at)), [None, None, Some((0, 0))]);
        let next = RecentDays::with(Some(old), &day(9, 7, 9));
        assert_eq!([4, 9].map(|at| counted(&next, at)), [None, Some((2, 9))]);
    }

    #[test]
    fn a_day_that_an_outage_overlaps_is_down_and_says_for_how_long() {
        for (down_s, failed, in_maintenance, letter) in [
            (0, 0, 0, 'u'),
            (1, 0, 0, '1'),
            (1_799, 3, 0, '1'),
            (1_800, 3, 0, '2'),
            (7_200, 3, 0, '3'),
            (28_800, 3, 0, '4'),
            (0, 9, 0, 'f'),
            (0, 3, 2, 'f'),
            (0, 3, 3, 'm'),
        ] {
            let mut day = Day { down_s, ..day(3, 9 - failed, 9) };
            day.sums.in_maintenance.checks = in_maintenance;
            assert_eq!(day.uptime().letter(), letter, "{down_s} {failed} {in_maintenance}");
            assert_eq!(DayUptime::read(letter), day.uptime());
        }
        assert_eq!(day(3, 0, 0).uptime(), DayUptime::Unknown);
        let days = [day(3, 9, 9), day(4, 8, 9), Day { down_s: 9_000, ..day(5, 8, 9) }];
        let days = days.iter().fold(None, |days, day| Some(RecentDays::with(days, day)));
        let days = days.expect("days");
        let later = |at| days.clone().with_outage(date(at), Downtime::Hour);
        assert_eq!(shown(&later(4), 2..7), "-u23-");
        assert_eq!(shown(&later(5), 2..7), "-uf3-", "it was worse already");
        assert_eq!([later(2), later(6)], [days.clone(), days.clone()], "no such day");
    }

    #[test]
    fn days_of_earlier_versions_are_as_bad_as_their_failed_checks() {
        let days = [day(3, 9, 9), day(4, 0, 9), day(5, 8, 9), day(6, 287, 288), day(7, 276, 288)];
        let days = days.iter().fold(None, |days, day| Some(RecentDays::with(days, day)));
        let counted = RecentDays { letters: "udppp".to_owned(), ..days.expect("days") };
        assert_eq!(shown(&counted, 3..8), "u4ff2");
        let unknown = RecentDays { counts: Counts::default(), ..counted };
        assert_eq!(shown(&unknown, 3..8), "u4fff");
    }

    #[test]
    fn no_more_days_are_kept_than_are_shown() {
        let days = (0..200).fold(None, |days, at| Some(RecentDays::with(days, &day(at, 9, 9))));
        let days = days.expect("days");
        assert_eq!(days.letters, "u".repeat(90));
        assert_eq!(shown(&days, 108..112), "--uu");
        let later = RecentDays::with(Some(days), &day(100_000, 9, 9));
        assert_eq!(later.letters, "-".repeat(89) + "u");
        assert_eq!(
            recent_dates(date(99)).collect::<Vec<_>>(),
            (10..100).map(date).collect::<Vec<_>>()
        );
    }
}
