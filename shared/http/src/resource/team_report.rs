//! The report of a team as the API shows it.

use std::collections::BTreeMap;

use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp, ToSpan as _};
use serde::Serialize;
use vedette_domain::accounts::account::User;
use vedette_domain::checks::percentage::Percentage;
use vedette_domain::id::{IssueId, MonitorId, UserId};
use vedette_domain::issues::outage::Cause;
use vedette_domain::reports::{
    Ending, HeartbeatLine, LinksLine, ObjectiveLine, OutageLine, ResponseLine, ScoreLine, SiteLine,
    TeamReport, Totals,
};

use super::{UserResource, wire_time, wire_time_or_null};

/// The report about all sites of a team, or about those of a group, for a week or a month. Its figures do not change
/// after it was made.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "TeamReport"))]
pub struct TeamReportResource<'a> {
    /// The month, such as `2026-11`, or the week of ISO 8601, such as `2026-W48`.
    period: String,
    /// The first day.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    from: Date,
    /// The last day.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    to: Date,
    /// The time zone of its days.
    time_zone: &'a str,
    /// When it was made.
    #[serde(serialize_with = "wire_time")]
    made_at: Timestamp,
    /// The group that it is about; null for the whole team.
    group: Option<&'a str>,
    /// What it says in one sentence.
    headline: String,
    /// The sentence after the headline; null without outages.
    summary: Option<String>,
    /// How many sites it is about.
    sites: usize,
    /// Its main figures.
    totals: TotalsResource,
    /// The main figures of the period before; null if there is no report about it, or if nothing was checked then.
    before: Option<TotalsResource>,
    /// Each day.
    days: Vec<DayResource>,
    /// Objectives of groups and sites, over the period, at most six, those of groups first, each with the most used
    /// budget first.
    objectives: Vec<ObjectiveLineResource<'a>>,
    /// The sites with the longest downtime, at most three.
    worst_sites: Vec<SiteLineResource<'a>>,
    /// The fastest sites without downtime, at most three.
    best_sites: Vec<SiteLineResource<'a>>,
    /// The longest outages, at most ten, in the order in which they began.
    outages: Vec<OutageLineResource<'a>>,
    /// The sites whose response times have changed most, at most six.
    response_times: Vec<ResponseLineResource<'a>>,
    /// Certificates that end within 45 days, at most six.
    certificates: Vec<EndingResource<'a>>,
    /// Domains whose registrations end within 45 days, at most six.
    domains: Vec<EndingResource<'a>>,
    /// Sites with new or fixed broken links, at most six.
    broken_links: Vec<LinksLineResource<'a>>,
    /// The sites whose mean Lighthouse scores have changed most, at most six.
    performance_scores: Vec<ScoreLineResource<'a>>,
    /// The heartbeats with the most failed and missed runs, at most six. The report of a group has none.
    heartbeats: Vec<HeartbeatLineResource<'a>>,
    /// Channels to which alerts could not be delivered.
    undelivered_alerts: Vec<UndeliveredResource<'a>>,
    /// How the figures are counted, and what is missing, in sentences.
    method: Vec<String>,
}

/// The main figures of a period.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "TeamReportTotals"))]
struct TotalsResource {
    /// The percentage of checks outside maintenance windows that found a site up, rounded down; null without checks.
    uptime_percentage: Option<f64>,
    /// Automatic, completed status checks outside maintenance windows.
    total_checks: u64,
    /// Those of them that found a site up.
    up_checks: u64,
    /// The same kind of checks in maintenance windows.
    checks_in_maintenance: u64,
    /// Checks that could not run.
    checks_not_run: u64,
    /// Checks that were due while Vedette did not run.
    checks_missed: u64,
    /// All checks that were due.
    checks_due: u64,
    /// Outages that overlap the period.
    outages: u32,
    /// How long they lasted in the period, together, in seconds.
    downtime_seconds: u64,
    /// The median of the sites' median response times, in milliseconds; null if there is none.
    median_response_time: Option<u32>,
    /// The mean time from the beginning of an outage until somebody acknowledged it, in seconds; null if nobody did.
    mean_seconds_to_acknowledge: Option<u64>,
    /// How many outages somebody acknowledged.
    acknowledged_outages: u32,
}

/// A day.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "TeamReportDay"))]
struct DayResource {
    /// The day in the time zone of the report.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    date: Date,
    /// Outages that overlap it.
    outages: u32,
    /// How long they lasted on it, together, in seconds.
    downtime_seconds: u64,
}

/// An objective over the period of the report.
#[derive(Debug, Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "TeamReportObjective")
)]
struct ObjectiveLineResource<'a> {
    /// The name of the group or the site.
    name: &'a str,
    /// How many sites the group had; null for the objective of a site.
    sites: Option<u32>,
    /// The objective, in percent.
    percentage: f64,
    /// The downtime that it allows, in seconds, rounded down.
    allowed_seconds: i64,
    /// The downtime that counts, in seconds, rounded up.
    used_seconds: i64,
    /// What is left of the budget, in seconds; negative if the objective was missed.
    left_seconds: i64,
}

/// A site with its uptime.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "TeamReportSite"))]
struct SiteLineResource<'a> {
    /// The site.
    uuid: MonitorId,
    /// Its name.
    name: &'a str,
    /// The percentage of its checks outside maintenance windows that found it up, rounded down.
    uptime_percentage: Option<f64>,
    /// How long it was down, in seconds.
    downtime_seconds: u64,
    /// The median of its hourly mean response times, in milliseconds; null if there is none.
    median_response_time: Option<u32>,
}

/// An outage, as it was when the report was made.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "TeamReportOutage"))]
struct OutageLineResource<'a> {
    /// The issue that opened.
    issue_uuid: IssueId,
    /// The site.
    site_uuid: MonitorId,
    /// Its name.
    site_name: &'a str,
    /// The time of the first failed check.
    #[serde(serialize_with = "wire_time")]
    started_at: Timestamp,
    /// When it ended; null if it went on.
    #[serde(serialize_with = "wire_time_or_null")]
    ended_at: Option<Timestamp>,
    /// How long it lasted in the period, in seconds.
    downtime_seconds: u64,
    /// The kind of failure.
    cause: Cause,
    /// What the check that opened it found.
    detail: &'a str,
    /// Who acknowledged it; null if nobody did, or a reader of a channel.
    acknowledged_by: Option<UserResource>,
    /// When it was acknowledged.
    #[serde(serialize_with = "wire_time_or_null")]
    acknowledged_at: Option<Timestamp>,
}

/// A site whose response time has changed.
#[derive(Debug, Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "TeamReportResponseTime")
)]
struct ResponseLineResource<'a> {
    /// The site.
    uuid: MonitorId,
    /// Its name.
    name: &'a str,
    /// Its median response time, in milliseconds.
    median_response_time: u32,
    /// That of the period before, in milliseconds.
    before: u32,
}

/// A certificate or a domain that ends soon.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "TeamReportEnding"))]
struct EndingResource<'a> {
    /// The host or the domain.
    name: &'a str,
    /// When it ends.
    #[serde(serialize_with = "wire_time")]
    ends_at: Timestamp,
}

/// A site whose broken links have changed since the report before.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "TeamReportLinks"))]
struct LinksLineResource<'a> {
    /// The site.
    uuid: MonitorId,
    /// Its name.
    name: &'a str,
    /// Links that have broken.
    new: usize,
    /// Links that are no longer broken.
    fixed: usize,
    /// All links that are broken.
    broken: usize,
}

/// A site whose mean Lighthouse score has changed.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "TeamReportScore"))]
struct ScoreLineResource<'a> {
    /// The site.
    uuid: MonitorId,
    /// Its name.
    name: &'a str,
    /// The mean score.
    score: f64,
    /// That of the period before.
    before: f64,
}

/// A heartbeat.
#[derive(Debug, Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "TeamReportHeartbeat")
)]
struct HeartbeatLineResource<'a> {
    /// The heartbeat.
    uuid: MonitorId,
    /// Its name.
    name: &'a str,
    /// Runs that ended or were missed.
    runs: u64,
    /// Those of them that failed or were missed.
    failed_runs: u64,
}

/// A channel to which alerts could not be delivered.
#[derive(Debug, Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "TeamReportUndelivered")
)]
struct UndeliveredResource<'a> {
    /// Its name at that time.
    channel: &'a str,
    /// How many alerts.
    alerts: u32,
}

/// Whole seconds, rounded up.
fn seconds(lasted: SignedDuration) -> u64 {
    u64::try_from((lasted.as_millis().max(0) + 999) / 1_000).unwrap_or(u64::MAX)
}

impl From<&Totals> for TotalsResource {
    fn from(totals: &Totals) -> Self {
        let counts = totals.counts;
        Self {
            uptime_percentage: totals.uptime().map(Percentage::value),
            total_checks: counts.checks,
            up_checks: counts.up,
            checks_in_maintenance: counts.in_maintenance,
            checks_not_run: counts.failed,
            checks_missed: counts.missed,
            checks_due: counts.due(),
            outages: totals.outages,
            downtime_seconds: seconds(totals.down),
            median_response_time: totals.median_ms,
            mean_seconds_to_acknowledge: totals.to_acknowledge.map(seconds),
            acknowledged_outages: totals.acknowledged,
        }
    }
}

impl<'a> From<&'a SiteLine> for SiteLineResource<'a> {
    fn from(line: &'a SiteLine) -> Self {
        Self {
            uuid: line.id,
            name: &line.name,
            uptime_percentage: line.uptime.map(Percentage::value),
            downtime_seconds: seconds(line.down),
            median_response_time: line.median_ms,
        }
    }
}

impl<'a> TeamReportResource<'a> {
    /// A report with the people who acknowledged its outages.
    pub fn new(report: &'a TeamReport, users: &BTreeMap<UserId, User>) -> Self {
        let header = &report.header;
        let ending = |ending: &'a Ending| EndingResource { name: &ending.name, ends_at: ending.at };
        let score = |hundredths: u16| f64::from(hundredths) / 100.0;
        Self {
            period: header.period.to_string(),
            from: header.period.first_day(),
            to: header.period.end_day().saturating_sub(1.day()),
            time_zone: header.zone.name(),
            made_at: header.made_at,
            group: report.group.as_deref(),
            headline: report.headline(),
            summary: report.summary(),
            sites: report.sites,
            totals: TotalsResource::from(&report.totals),
            before: report.before.as_ref().map(TotalsResource::from),
            days: report
                .days
                .iter()
                .map(|day| DayResource {
                    date: day.date,
                    outages: day.figures.outages,
                    downtime_seconds: seconds(SignedDuration::from_millis(day.figures.down_ms)),
                })
                .collect(),
            objectives: report
                .objectives
                .iter()
                .map(|ObjectiveLine { name, sites, result }| ObjectiveLineResource {
                    name,
                    sites: *sites,
                    percentage: result.objective.percentage.into(),
                    allowed_seconds: result.budget.allowed_seconds,
                    used_seconds: result.budget.used_seconds,
                    left_seconds: result.budget.left(),
                })
                .collect(),
            worst_sites: report.worst.iter().map(SiteLineResource::from).collect(),
            best_sites: report.best.iter().map(SiteLineResource::from).collect(),
            outages: report
                .outages
                .iter()
                .map(|OutageLine { name, outage, down }| OutageLineResource {
                    issue_uuid: outage.issue,
                    site_uuid: outage.site,
                    site_name: name,
                    started_at: outage.began_at,
                    ended_at: outage.ended_at,
                    downtime_seconds: seconds(*down),
                    cause: outage.cause,
                    detail: &outage.detail,
                    acknowledged_by: outage
                        .acknowledged
                        .and_then(|taken| users.get(&taken.by.member()?))
                        .map(UserResource::from),
                    acknowledged_at: outage.acknowledged.map(|taken| taken.at),
                })
                .collect(),
            response_times: report
                .responses
                .iter()
                .map(|ResponseLine { id, name, now_ms, before_ms }| ResponseLineResource {
                    uuid: *id,
                    name,
                    median_response_time: *now_ms,
                    before: *before_ms,
                })
                .collect(),
            certificates: report.certificates.iter().map(ending).collect(),
            domains: report.domains.iter().map(ending).collect(),
            broken_links: report
                .links
                .iter()
                .map(|LinksLine { id, name, new, fixed, broken }| LinksLineResource {
                    uuid: *id,
                    name,
                    new: *new,
                    fixed: *fixed,
                    broken: *broken,
                })
                .collect(),
            performance_scores: report
                .scores
                .iter()
                .map(|ScoreLine { id, name, now, before }| ScoreLineResource {
                    uuid: *id,
                    name,
                    score: score(*now),
                    before: score(*before),
                })
                .collect(),
            heartbeats: report
                .heartbeats
                .iter()
                .map(|HeartbeatLine { id, name, runs, succeeded }| HeartbeatLineResource {
                    uuid: *id,
                    name,
                    runs: *runs,
                    failed_runs: runs - succeeded,
                })
                .collect(),
            undelivered_alerts: report
                .undelivered
                .iter()
                .map(|(channel, alerts)| UndeliveredResource { channel, alerts: *alerts })
                .collect(),
            method: report.method(),
        }
    }
}
