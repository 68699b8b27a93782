//! Reports as the API shows them, day by day.

use jiff::Timestamp;
use serde::Serialize;
use vedette_domain::checks::history::day_start;
use vedette_domain::checks::percentage::Percentage;
use vedette_domain::checks::report::{
    OutsideMaintenance, Performance, PerformanceDay, Uptime, UptimeDay,
};

use super::wire_time;

/// The uptime of a site.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "UptimeReport"))]
pub struct UptimeResource {
    /// Each day, oldest first and today last.
    days: Vec<UptimeDayResource>,
    /// The percentage over all checks of these days; null if there were no checks.
    total_uptime_percentage: Option<f64>,
    /// An addition to the specification: the percentage of checks that found all expectations met, of those that
    /// expected something. Absent if none did.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "f64", default))]
    total_met_percentage: Option<f64>,
    /// The average of the days' response times, in milliseconds; null if there were no checks.
    average_response_time: Option<u64>,
    /// The same figures for checks outside maintenance windows; absent if no check of these days was in one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "OutsideMaintenanceResource"))]
    outside_maintenance: Option<OutsideMaintenanceResource>,
}

/// Status checks outside maintenance windows.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "UptimeOutsideMaintenance")
)]
struct OutsideMaintenanceResource {
    /// The percentage of them that found the site up; null if there were none.
    uptime_percentage: Option<f64>,
    /// All of them.
    total_checks: u64,
    /// Those that found the site up.
    up_checks: u64,
}

impl From<OutsideMaintenance> for OutsideMaintenanceResource {
    fn from(outside: OutsideMaintenance) -> Self {
        let OutsideMaintenance { uptime_percentage, total_checks, up_checks } = outside;
        Self {
            uptime_percentage: uptime_percentage.map(Percentage::value),
            total_checks,
            up_checks,
        }
    }
}

/// A day of an uptime report.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "UptimeDay"))]
struct UptimeDayResource {
    /// The start of the UTC day.
    #[serde(serialize_with = "wire_time")]
    date: Timestamp,
    /// The percentage of checks that found the site up; null if there were no checks.
    uptime_percentage: Option<f64>,
    /// The slowest response, in milliseconds; null if there were no checks.
    response_time: Option<u64>,
    /// Automatic, completed status checks.
    total_checks: u64,
    /// The checks that found the site up.
    up_checks: u64,
    /// The same figures for checks outside maintenance windows; absent if no check of the day was in one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "OutsideMaintenanceResource"))]
    outside_maintenance: Option<OutsideMaintenanceResource>,
    /// An addition to the specification: the percentage of checks that found all expectations met, of those that
    /// expected something. Absent if none did.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "f64", default))]
    met_percentage: Option<f64>,
}

impl From<Uptime> for UptimeResource {
    fn from(report: Uptime) -> Self {
        Self {
            days: report.days.into_iter().map(UptimeDayResource::from).collect(),
            total_uptime_percentage: report.total_uptime_percentage.map(Percentage::value),
            total_met_percentage: report.total_met_percentage.map(Percentage::value),
            average_response_time: report.average_response_time,
            outside_maintenance: report.outside_maintenance.map(Into::into),
        }
    }
}

impl From<UptimeDay> for UptimeDayResource {
    fn from(day: UptimeDay) -> Self {
        Self {
            date: day_start(day.date),
            uptime_percentage: day.uptime_percentage.map(Percentage::value),
            response_time: day.response_time,
            total_checks: day.total_checks,
            up_checks: day.up_checks,
            outside_maintenance: day.outside_maintenance.map(Into::into),
            met_percentage: day.met_percentage().map(Percentage::value),
        }
    }
}

/// The performance of a site in lab audits.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "PerformanceReport")
)]
pub struct PerformanceResource {
    /// Each day, oldest first and today last.
    days: Vec<PerformanceDayResource>,
    /// The average score of all checks that have one.
    average_performance_score: Option<f64>,
    /// The average response time of all checks, in milliseconds.
    average_response_time: Option<u64>,
    /// The average Speed Index of all checks that have one, in seconds.
    average_speed: Option<f64>,
    /// Automatic, completed performance checks.
    total_checks: u64,
}

/// A day of a performance report.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "PerformanceDay"))]
struct PerformanceDayResource {
    /// The start of the UTC day.
    #[serde(serialize_with = "wire_time")]
    date: Timestamp,
    /// The average score.
    performance_score: Option<f64>,
    /// The average response time, in milliseconds.
    response_time: Option<u64>,
    /// The average Speed Index, in seconds.
    speed: Option<f64>,
    /// Automatic, completed performance checks.
    total_checks: u64,
}

impl From<Performance> for PerformanceResource {
    fn from(report: Performance) -> Self {
        Self {
            days: report.days.into_iter().map(PerformanceDayResource::from).collect(),
            average_performance_score: report.average_performance_score,
            average_response_time: report.average_response_time,
            average_speed: report.average_speed,
            total_checks: report.total_checks,
        }
    }
}

impl From<PerformanceDay> for PerformanceDayResource {
    fn from(day: PerformanceDay) -> Self {
        Self {
            date: day_start(day.date),
            performance_score: day.performance_score,
            response_time: day.response_time,
            speed: day.speed,
            total_checks: day.total_checks,
        }
    }
}
