//! The content of a report: a row for each day, and the outages.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp, ToSpan as _};
use vedette_domain::checks::history::{Day, day_of, day_start};
use vedette_domain::checks::percentage::Percentage;
use vedette_domain::checks::report::{
    OutageDay, Span, Uptime, UptimeDay, known_since, outage_days, outages, problems, uptime,
};
use vedette_domain::clock::Pause;
use vedette_domain::issues::Problem;
use vedette_domain::issues::record::Issue;

/// A report.
pub(super) struct Table<'a> {
    pub(super) span: Span,
    pub(super) now: Timestamp,
    pub(super) uptime: Uptime,
    pub(super) days: Vec<Row>,
    /// The openings of issues, of which some are outages.
    pub(super) problems: Vec<(&'a Issue, Problem)>,
    /// Since when all problems are known.
    pub(super) known_since: Option<Timestamp>,
}

/// A day of a report.
pub(super) struct Row {
    pub(super) uptime: UptimeDay,
    /// The mean response time, in milliseconds.
    pub(super) mean_ms: Option<u64>,
    /// `None` if they are no longer known.
    pub(super) outages: Option<OutageDay>,
    /// How long the service did not run, so nothing was checked: in whole minutes, rounded up, so that even a short
    /// time is not zero.
    pub(super) unchecked: SignedDuration,
}

impl<'a> Table<'a> {
    pub(super) fn new(
        span: Span,
        counted: &[Day],
        issues: &'a [Issue],
        monitoring_ended_at: Option<Timestamp>,
        (pauses, created_at): (&[Pause], Timestamp),
        now: Timestamp,
    ) -> Self {
        let uptime = uptime(span, counted);
        let problems = problems(span, issues, monitoring_ended_at);
        let since = known_since(issues);
        let means: BTreeMap<_, _> =
            counted.iter().map(|day| (day.date, day.mean_response_ms())).collect();
        let by_day = outage_days(span, &outages(&problems), now);
        let days = uptime.days.iter().zip(by_day).map(|(uptime, outages)| Row {
            uptime: *uptime,
            mean_ms: means.get(&uptime.date).copied().flatten(),
            outages: since.is_none_or(|since| day_of(since) < uptime.date).then_some(outages),
            unchecked: unchecked(pauses, uptime.date, created_at),
        });
        Self { span, now, days: days.collect(), uptime, problems, known_since: since }
    }

    /// How many of the problems are outages.
    pub(super) fn outages(&self) -> usize {
        outages(&self.problems).len()
    }

    /// How many issues opened on a day.
    fn opened_on(&self, date: Date) -> usize {
        self.problems.iter().filter(|(_, problem)| day_of(problem.opened_at) == date).count()
    }

    /// How long the service did not run, in all days.
    pub(super) fn unchecked(&self) -> SignedDuration {
        self.days.iter().fold(SignedDuration::ZERO, |sum, row| sum.saturating_add(row.unchecked))
    }

    /// The rows contain no text from users, so nothing needs quotes. Unknown values are empty. The last columns are left
    /// out if no check was in a maintenance window, or if the service always ran.
    pub(super) fn csv(&self) -> String {
        let mut csv = String::from(
            "date,checks,up_checks,uptime_percentage,mean_response_time_ms,\
             slowest_response_time_ms,incidents,down_minutes",
        );
        let has_maintenance = self.uptime.outside_maintenance.is_some();
        if has_maintenance {
            csv.push_str(",checks_outside_maintenance,up_checks_outside_maintenance");
        }
        let was_paused = !self.unchecked().is_zero();
        if was_paused {
            csv.push_str(",minutes_without_checks");
        }
        csv.push_str("\r\n");
        for Row { uptime, mean_ms, outages, unchecked } in &self.days {
            let UptimeDay {
                date,
                uptime_percentage,
                response_time,
                total_checks,
                up_checks,
                outside_maintenance,
                ..
            } = uptime;
            // Writing to a string cannot fail.
            let _ = write!(
                csv,
                "{date},{total_checks},{up_checks},{},{},{},{},{}",
                or_empty(uptime_percentage.map(Percentage::value)),
                or_empty(*mean_ms),
                or_empty(*response_time),
                or_empty(outages.map(|day| self.opened_on(day.date))),
                or_empty(outages.map(|day| day.down.as_mins())),
            );
            if has_maintenance {
                let outside = outside_maintenance.as_ref();
                let total = outside.map_or(*total_checks, |outside| outside.total_checks);
                let up = outside.map_or(*up_checks, |outside| outside.up_checks);
                let _ = write!(csv, ",{total},{up}");
            }
            if was_paused {
                let _ = write!(csv, ",{}", unchecked.as_mins());
            }
            csv.push_str("\r\n");
        }
        csv
    }
}

/// How long the service did not run on a UTC day since the site was created, in whole minutes.
fn unchecked(pauses: &[Pause], date: Date, created_at: Timestamp) -> SignedDuration {
    let (from, to) = (day_start(date).max(created_at), day_start(date.saturating_add(1.day())));
    let parts = pauses.iter().map(|pause| pause.within(from, to));
    let lasted = parts.fold(SignedDuration::ZERO, SignedDuration::saturating_add);
    SignedDuration::from_mins((lasted.as_secs() + 59) / 60)
}

fn or_empty(value: Option<impl ToString>) -> String {
    value.as_ref().map(ToString::to_string).unwrap_or_default()
}
