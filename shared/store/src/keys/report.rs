//! Keys of reports.

use vedette_domain::id::TeamId;
use vedette_domain::reports::ReportPeriod;

use super::{Key, Prefix, SELF};

pub(crate) fn report_partition(team: TeamId) -> String {
    Prefix::Report.key(team)
}

/// When the next report of a team is made.
pub(crate) fn report_schedule(team: TeamId) -> Key {
    Key::new(report_partition(team), SELF)
}

/// The part of a team's reports with what they say of themselves.
pub(crate) const REPORT: &str = "H#";

/// A report. It is written after all of its parts.
pub(crate) fn report(team: TeamId, period: ReportPeriod) -> Key {
    Key::new(report_partition(team), format!("{REPORT}{period}"))
}

/// Prefix of the parts of a report.
pub(crate) fn report_part_prefix(period: ReportPeriod) -> String {
    format!("P#{period}#")
}

/// A part of a report, with the figures of some monitors.
pub(crate) fn report_part(team: TeamId, period: ReportPeriod, number: u32) -> Key {
    let sort = format!("{}{number:06}", report_part_prefix(period));
    Key::new(report_partition(team), sort)
}
