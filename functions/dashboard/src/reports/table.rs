//! The content of a report: a row for each day, and the incidents.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use jiff::Timestamp;
use vedette_domain::checks::history::{Day, day_of};
use vedette_domain::checks::percentage::Percentage;
use vedette_domain::checks::report::{
    Incident, IncidentDay, Span, Uptime, UptimeDay, incident_days, incidents, known_since, uptime,
};
use vedette_domain::issues::record::Issue;

/// A report.
pub(super) struct Table<'a> {
    pub(super) span: Span,
    pub(super) now: Timestamp,
    pub(super) uptime: Uptime,
    pub(super) days: Vec<Row>,
    pub(super) incidents: Vec<Incident<'a>>,
    /// Since when all incidents are known.
    pub(super) known_since: Option<Timestamp>,
}

/// A day of a report.
pub(super) struct Row {
    pub(super) uptime: UptimeDay,
    /// The mean response time, in milliseconds.
    pub(super) mean_ms: Option<u64>,
    /// `None` if they are no longer known.
    pub(super) incidents: Option<IncidentDay>,
}

impl<'a> Table<'a> {
    pub(super) fn new(span: Span, counted: &[Day], issues: &'a [Issue], now: Timestamp) -> Self {
        let (uptime, incidents) = (uptime(span, counted), incidents(span, issues));
        let since = known_since(issues);
        let means: BTreeMap<_, _> =
            counted.iter().map(|day| (day.date, day.mean_response_ms())).collect();
        let by_day = incident_days(span, &incidents, now);
        let days = uptime.days.iter().zip(by_day).map(|(uptime, incidents)| Row {
            uptime: *uptime,
            mean_ms: means.get(&uptime.date).copied().flatten(),
            incidents: since.is_none_or(|since| day_of(since) < uptime.date).then_some(incidents),
        });
        Self { span, now, days: days.collect(), uptime, incidents, known_since: since }
    }

    /// The rows contain no text from users, so nothing needs quotes. Unknown values are empty. The last columns are left
    /// out if no check was in a maintenance window.
    pub(super) fn csv(&self) -> String {
        let mut csv = String::from(
            "date,checks,up_checks,uptime_percentage,mean_response_time_ms,\
             slowest_response_time_ms,incidents,down_minutes",
        );
        let has_maintenance = self.uptime.outside_maintenance.is_some();
        if has_maintenance {
            csv.push_str(",checks_outside_maintenance,up_checks_outside_maintenance");
        }
        csv.push_str("\r\n");
        for Row { uptime, mean_ms, incidents } in &self.days {
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
                or_empty(incidents.map(|day| day.opened)),
                or_empty(incidents.map(|day| day.down.as_mins())),
            );
            if has_maintenance {
                let outside = outside_maintenance.as_ref();
                let total = outside.map_or(*total_checks, |outside| outside.total_checks);
                let up = outside.map_or(*up_checks, |outside| outside.up_checks);
                let _ = write!(csv, ",{total},{up}");
            }
            csv.push_str("\r\n");
        }
        csv
    }
}

fn or_empty(value: Option<impl ToString>) -> String {
    value.as_ref().map(ToString::to_string).unwrap_or_default()
}
