//! Reports about all sites of a team for a week or a month.
//!
//! When a period is over, its [`MonitorFigures`] are counted once and stored, so a [`TeamReport`] does not change later, and
//! is compared with the period before even if the history no longer has that.

mod content;
mod figures;
mod list;
mod period;

pub use content::{
    DayLine, ENDS_SOON, Ending, HeartbeatLine, LINES_MAX, LinksLine, OUTAGES_MAX, ObjectiveLine,
    OutageLine, ResponseLine, ScoreLine, SiteLine, TeamReport, Totals, rounded_up,
};
pub use figures::{
    CheckCounts, CheckedMonitor, CountedParts, DayFigures, GroupObjective, MonitorFigures,
    OUTAGES_KEPT, ObjectiveResult, PeriodFigures, ReportHeader,
};
pub use list::{RECIPIENTS_MAX, REPORTS_TO_MEMBER, ReportKind, ReportList};
pub use period::{NotAPeriod, PERIOD_PATTERN, ReportPeriod};

#[cfg(test)]
mod tests;
