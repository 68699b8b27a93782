//! Reports over counted days: uptime and performance.
//!
//! A report has an entry for each day of its span, oldest first and today last, even for days without checks.
//! Percentages of checks are rounded down ([`Percentage`]). Averages are rounded half up: response times to
//! milliseconds, and everything else to two decimals.

mod outages;

use std::collections::BTreeMap;

use jiff::ToSpan;
use jiff::civil::Date;

use crate::checks::history::{Day, ReportSums, Sum};
use crate::checks::percentage::Percentage;

pub use outages::{OutageDay, is_outage, known_since, outage_days, outages, problems};

/// The most days of a report.
pub const DAYS_MAX: u16 = 365;

/// The days of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The first day.
    pub from: Date,
    /// The last day.
    pub to: Date,
}

impl Span {
    /// A number of days that end with `today`.
    pub fn until(today: Date, days: u16) -> Self {
        let before = i64::from(days.saturating_sub(1));
        Self { from: today.saturating_sub(before.days()), to: today }
    }

    fn dates(self) -> impl Iterator<Item = Date> {
        self.from.series(1.day()).take_while(move |date| *date <= self.to)
    }
}

/// The uptime of a site.
#[derive(Debug, Clone, PartialEq)]
pub struct Uptime {
    /// Each day of the span.
    pub days: Vec<UptimeDay>,
    /// Over all checks of the span.
    pub total_uptime_percentage: Option<Percentage>,
    /// How many of the checks found all expectations met, over all checks of the span that expected something.
    pub total_met_percentage: Option<Percentage>,
    /// The average of the days' response times, in milliseconds.
    pub average_response_time: Option<u64>,
    /// Over the checks outside maintenance windows; `None` if no check of the span was in one.
    pub outside_maintenance: Option<OutsideMaintenance>,
}

/// The status checks outside maintenance windows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OutsideMaintenance {
    /// How many of them found the site up, as a percentage.
    pub uptime_percentage: Option<Percentage>,
    /// All of them.
    pub total_checks: u64,
    /// Those that found the site up.
    pub up_checks: u64,
}

impl OutsideMaintenance {
    fn of(total_checks: u64, up_checks: u64) -> Self {
        Self { uptime_percentage: Percentage::of(up_checks, total_checks), total_checks, up_checks }
    }
}

/// A day of [`Uptime`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UptimeDay {
    /// The UTC day.
    pub date: Date,
    /// How many of the checks found the site up.
    pub uptime_percentage: Option<Percentage>,
    /// The slowest response, in milliseconds.
    pub response_time: Option<u64>,
    /// Automatic, completed checks.
    pub total_checks: u64,
    /// The checks that found the site up.
    pub up_checks: u64,
    /// The same of checks outside maintenance windows; `None` if no check was in one.
    pub outside_maintenance: Option<OutsideMaintenance>,
    /// The checks that expected something.
    pub expecting_checks: u64,
    /// The checks that found all expectations met.
    pub met_checks: u64,
}

impl UptimeDay {
    /// How many of the checks that expected something found all expectations met.
    pub fn met_percentage(&self) -> Option<Percentage> {
        Percentage::of(self.met_checks, self.expecting_checks)
    }
}

/// The uptime report of a site, from the counted days of its status checks.
pub fn uptime<'a>(span: Span, counted: impl IntoIterator<Item = &'a Day>) -> Uptime {
    let counted = by_date(counted);
    let days: Vec<UptimeDay> = span
        .dates()
        .map(|date| {
            let day = counted.get(&date);
            let total_checks = day.map_or(0, |day| day.completed_automatic());
            let up_checks = day.map_or(0, |day| u64::from(day.sums.up));
            UptimeDay {
                date,
                uptime_percentage: Percentage::of(up_checks, total_checks),
                response_time: day.and_then(|day| day.sums.slowest_ms).map(to_whole),
                total_checks,
                up_checks,
                outside_maintenance: day
                    .map(|day| day.sums.in_maintenance)
                    .filter(|inside| inside.checks > 0)
                    .map(|inside| {
                        OutsideMaintenance::of(
                            total_checks.saturating_sub(inside.checks.into()),
                            up_checks.saturating_sub(inside.up.into()),
                        )
                    }),
                expecting_checks: day.map_or(0, |day| u64::from(day.sums.expected)),
                met_checks: day.map_or(0, |day| u64::from(day.sums.met)),
            }
        })
        .collect();
    let total = days.iter().map(|day| day.total_checks).sum();
    let up = days.iter().map(|day| day.up_checks).sum();
    let outside = days.iter().fold((0, 0), |(total, up), day| match day.outside_maintenance {
        Some(outside) => (total + outside.total_checks, up + outside.up_checks),
        None => (total + day.total_checks, up + day.up_checks),
    });
    let has_maintenance = days.iter().any(|day| day.outside_maintenance.is_some());
    let expecting = days.iter().map(|day| day.expecting_checks).sum();
    let met = days.iter().map(|day| day.met_checks).sum();
    let mut slowest = Sum::default();
    for ms in days.iter().filter_map(|day| day.response_time) {
        slowest.add(ms as f64);
    }
    Uptime {
        total_uptime_percentage: Percentage::of(up, total),
        total_met_percentage: Percentage::of(met, expecting),
        average_response_time: mean(slowest).map(to_whole),
        outside_maintenance: has_maintenance.then(|| OutsideMaintenance::of(outside.0, outside.1)),
        days,
    }
}

/// The lab performance of a site.
#[derive(Debug, Clone, PartialEq)]
pub struct Performance {
    /// Each day of the span.
    pub days: Vec<PerformanceDay>,
    /// Over all checks of the span that have a score.
    pub average_performance_score: Option<f64>,
    /// Over all checks of the span, in milliseconds.
    pub average_response_time: Option<u64>,
    /// Over all checks of the span that have a Speed Index, in seconds.
    pub average_speed: Option<f64>,
    /// Automatic, completed checks.
    pub total_checks: u64,
}

/// A day of [`Performance`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PerformanceDay {
    /// The UTC day.
    pub date: Date,
    /// The average score.
    pub performance_score: Option<f64>,
    /// The average response time, in milliseconds.
    pub response_time: Option<u64>,
    /// The average Speed Index, in seconds.
    pub speed: Option<f64>,
    /// Automatic, completed checks.
    pub total_checks: u64,
}

/// The performance report of a site, from the counted days of its performance checks.
pub fn performance<'a>(span: Span, counted: impl IntoIterator<Item = &'a Day>) -> Performance {
    let counted = by_date(counted);
    let mut all = ReportSums::default();
    let mut days = Vec::new();
    for date in span.dates() {
        let day = counted.get(&date);
        let sums = day.map(|day| day.sums).unwrap_or_default();
        all.score = all.score.plus(sums.score);
        all.response_ms = all.response_ms.plus(sums.response_ms);
        all.speed_s = all.speed_s.plus(sums.speed_s);
        days.push(PerformanceDay {
            date,
            performance_score: mean(sums.score).map(to_hundredths),
            response_time: mean(sums.response_ms).map(to_whole),
            speed: mean(sums.speed_s).map(to_hundredths),
            total_checks: day.map_or(0, |day| day.completed_automatic()),
        });
    }
    Performance {
        average_performance_score: mean(all.score).map(to_hundredths),
        average_response_time: mean(all.response_ms).map(to_whole),
        average_speed: mean(all.speed_s).map(to_hundredths),
        total_checks: days.iter().map(|day| day.total_checks).sum(),
        days,
    }
}

fn by_date<'a>(counted: impl IntoIterator<Item = &'a Day>) -> BTreeMap<Date, &'a Day> {
    counted.into_iter().map(|day| (day.date, day)).collect()
}

fn mean(sum: Sum) -> Option<f64> {
    (sum.count > 0).then(|| sum.sum / f64::from(sum.count))
}

fn to_whole(value: f64) -> u64 {
    // The cast saturates; no response takes that long.
    half_up(value) as u64
}

fn to_hundredths(value: f64) -> f64 {
    half_up(value * 100.0) / 100.0
}

/// The nearest whole number; of two equally near ones, the greater. All values are positive.
fn half_up(value: f64) -> f64 {
    // Binary fractions miss decimal ones slightly (100 * 1.005 is 100.49999999999999), so a value that is a half to
    // nine digits counts as a half.
    const NINE_DIGITS: f64 = 1e9;
    let nearly = (value * NINE_DIGITS).round() / NINE_DIGITS;
    nearly.round()
}

#[cfg(test)]
mod tests;
