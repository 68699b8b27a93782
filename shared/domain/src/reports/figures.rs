//! What a report counts of each site and heartbeat.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use jiff::civil::Date;
use jiff::fmt::serde::timestamp::millisecond;
use jiff::{SignedDuration, Timestamp, ToSpan as _};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::ReportPeriod;
use crate::checks::check::{Check, LinksResult};
use crate::checks::history::{Day, Kind, Sum, day_of, day_start};
use crate::checks::tool::{CheckStatus, RunReason};
use crate::id::{MonitorId, Trigger};
use crate::issues::outage::OutageRecord;
use crate::objectives::{Budget, Objective};
use crate::time_span::TimeSpan;
use crate::time_zone::NamedZone;

/// The outages that are kept of a site: the longest ones. All of them are counted.
pub const OUTAGES_KEPT: usize = 30;

/// What a report says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportHeader {
    /// The period.
    pub period: ReportPeriod,
    /// The time zone of its days.
    pub zone: NamedZone,
    /// When it was made.
    #[serde(with = "millisecond::required")]
    pub made_at: Timestamp,
    /// The names of the groups that the team had.
    pub groups: Vec<String>,
    /// The first UTC day that the history still had, if the period begins before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known_from: Option<Date>,
    /// The objectives of groups, over the period.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub objectives: Vec<GroupObjective>,
    /// Whether there were more outages than are read for a report.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_cut: bool,
}

/// The objective of a group, over the period of a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupObjective {
    /// The name of the group.
    pub group: String,
    /// How many sites it had.
    pub sites: u32,
    /// The objective and its budget.
    pub result: ObjectiveResult,
}

/// How an objective was met over the period of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectiveResult {
    /// The objective. Its own period does not matter here.
    #[serde(rename = "o")]
    pub objective: Objective,
    /// What it allowed in the period of the report, and what was used.
    #[serde(rename = "b")]
    pub budget: Budget,
    /// The interval of the checks, in minutes.
    #[serde(rename = "c")]
    pub cadence_minutes: u32,
}

impl ObjectiveResult {
    /// How an objective was met over a period, with this budget; `None` if checks cannot tell, because the budget is
    /// shorter than two of them.
    pub fn of(objective: Objective, budget: Budget, cadence_minutes: u32) -> Option<Self> {
        let can_tell = budget.allowed_seconds >= 2 * 60 * i64::from(cadence_minutes);
        can_tell.then_some(Self { objective, budget, cadence_minutes })
    }

    /// Whether the sites were down for longer than the objective allows.
    pub const fn is_missed(&self) -> bool {
        self.budget.left() < 0
    }
}

/// Everything that a report is made of.
#[derive(Debug, Clone, PartialEq)]
pub struct PeriodFigures {
    /// What it says of itself.
    pub header: ReportHeader,
    /// The sites and heartbeats that the team had when it was made.
    pub monitors: Vec<MonitorFigures>,
}

impl PeriodFigures {
    /// The sites of the team, or of one of its groups; `None` if it had no such group.
    pub fn sites(&self, group: Option<&str>) -> Option<Vec<&MonitorFigures>> {
        if group.is_some_and(|name| !self.header.groups.iter().any(|group| group == name)) {
            return None;
        }
        let is_in = |site: &&MonitorFigures| {
            site.host.is_some()
                && group.is_none_or(|name| site.groups.iter().any(|group| group == name))
        };
        Some(self.monitors.iter().filter(is_in).collect())
    }
}

/// What is counted of a site or heartbeat. Its parts are stored under short names, because a team may have thousands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MonitorFigures {
    /// The site or heartbeat.
    #[serde(rename = "i")]
    pub id: MonitorId,
    /// Its name.
    #[serde(rename = "n")]
    pub name: String,
    /// The host of the site; `None` for a heartbeat.
    #[serde(rename = "h", default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The names of the groups that it is in.
    #[serde(rename = "g", default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// Its status checks, or the runs of the job.
    #[serde(rename = "c")]
    pub counts: CheckCounts,
    /// The median of the hourly mean response times, in milliseconds.
    #[serde(rename = "m", default, skip_serializing_if = "Option::is_none")]
    pub median_ms: Option<u32>,
    /// The days with outages, by their place in the period.
    #[serde(rename = "d", default, skip_serializing_if = "BTreeMap::is_empty")]
    pub days: BTreeMap<u8, DayFigures>,
    /// How many outages overlap the period.
    #[serde(rename = "o", default)]
    pub outage_count: u32,
    /// How many of them somebody acknowledged.
    #[serde(rename = "a", default)]
    pub acknowledged: u32,
    /// How long after they began that was, together, in seconds.
    #[serde(rename = "t", default)]
    pub acknowledged_after_seconds: i64,
    /// The longest of them, oldest first, as they were when the report was made.
    #[serde(rename = "w", default, skip_serializing_if = "Vec::is_empty")]
    pub outages: Vec<OutageRecord>,
    /// When the certificate ends.
    #[serde(
        rename = "x",
        default,
        skip_serializing_if = "Option::is_none",
        with = "millisecond::optional"
    )]
    pub certificate_ends: Option<Timestamp>,
    /// The registered domain, and when its registration ends.
    #[serde(rename = "r", default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<(String, i64)>,
    /// Its objective, over the period.
    #[serde(rename = "j", default, skip_serializing_if = "Option::is_none")]
    pub objective: Option<ObjectiveResult>,
    /// The broken links that the newest check found, each as a digest; `None` if no check has looked.
    #[serde(rename = "b", default, skip_serializing_if = "Option::is_none")]
    pub broken_links: Option<Vec<u32>>,
    /// The mean Lighthouse score of the period, in hundredths.
    #[serde(rename = "l", default, skip_serializing_if = "Option::is_none")]
    pub score: Option<u16>,
    /// How many alerts could not be delivered, by the names of the channels.
    #[serde(rename = "u", default, skip_serializing_if = "BTreeMap::is_empty")]
    pub undelivered: BTreeMap<String, u32>,
}

/// How many checks there were.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CheckCounts {
    /// Automatic checks that said whether the site was up, outside maintenance windows.
    #[serde(rename = "c")]
    pub checks: u64,
    /// Those of them that found it up.
    #[serde(rename = "u")]
    pub up: u64,
    /// The same kind of checks in maintenance windows.
    #[serde(rename = "m")]
    pub in_maintenance: u64,
    /// Checks that could not run.
    #[serde(rename = "f")]
    pub failed: u64,
    /// Checks that were due while the service did not run.
    #[serde(rename = "s")]
    pub missed: u64,
}

impl CheckCounts {
    /// The sum of both.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            checks: self.checks + other.checks,
            up: self.up + other.up,
            in_maintenance: self.in_maintenance + other.in_maintenance,
            failed: self.failed + other.failed,
            missed: self.missed + other.missed,
        }
    }

    /// Checks that were made.
    pub const fn made(self) -> u64 {
        self.checks + self.in_maintenance
    }

    /// Checks that were due.
    pub const fn due(self) -> u64 {
        self.made() + self.failed + self.missed
    }

    /// Adds those of a whole day.
    fn add_day(&mut self, day: &Day) {
        let inside = day.sums.in_maintenance;
        let judged = day.completed_automatic().saturating_sub(day.sums.unjudged.into());
        self.checks += judged.saturating_sub(inside.checks.into());
        self.up += u64::from(day.sums.up.saturating_sub(inside.up));
        self.in_maintenance += u64::from(inside.checks);
        let failed = RunReason::ALL.map(|reason| automatic(reason, CheckStatus::Failed));
        self.failed += failed.into_iter().map(|kind| day.counters.count(kind)).sum::<u64>();
    }

    /// Adds a single check.
    fn add_check(&mut self, check: &Check) {
        match (check.status, check.found_up()) {
            (CheckStatus::Failed, _) => self.failed += 1,
            (CheckStatus::Completed, Some(_)) if check.in_maintenance => self.in_maintenance += 1,
            (CheckStatus::Completed, Some(up)) => {
                self.checks += 1;
                self.up += u64::from(up);
            }
            _ => {}
        }
    }
}

const fn automatic(reason: RunReason, status: CheckStatus) -> Kind {
    Kind { trigger: Trigger::Automatic(reason), status }
}

/// The outages of a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DayFigures {
    /// How many overlap it.
    #[serde(rename = "o")]
    pub outages: u32,
    /// How long they lasted on it, together, in milliseconds.
    #[serde(rename = "d")]
    pub down_ms: i64,
}

/// The parts of a span that are counted in different ways.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountedParts {
    /// The first and the last of the whole UTC days, whose counters are used.
    pub days: (Date, Date),
    /// What is left at both ends: their checks are counted one by one.
    pub edges: Vec<TimeSpan>,
}

impl CountedParts {
    /// The parts of a span of at least two days.
    pub fn of(span: TimeSpan) -> Self {
        let begins = day_of(span.from);
        let begins =
            if day_start(begins) < span.from { begins.saturating_add(1.day()) } else { begins };
        let ends = day_of(span.to);
        let edges =
            [TimeSpan::new(span.from, day_start(begins)), TimeSpan::new(day_start(ends), span.to)];
        Self {
            days: (begins, ends.saturating_sub(1.day())),
            edges: edges.into_iter().filter(|edge| !edge.is_empty()).collect(),
        }
    }

    /// Whether a day is one of the whole ones.
    fn has(&self, date: Date) -> bool {
        self.days.0 <= date && date <= self.days.1
    }
}

/// What was read of a site or heartbeat.
#[derive(Debug, Default)]
pub struct CheckedMonitor<'a> {
    /// The counted days of status checks or runs, whole or not.
    pub days: Vec<Day>,
    /// The checks at both ends of the period, which are in no whole UTC day.
    pub edges: Vec<Check>,
    /// The counted days of performance checks.
    pub performance: Vec<Day>,
    /// Its outages that overlap the period, oldest first.
    pub outages: Vec<OutageRecord>,
    /// What the newest check for broken links found.
    pub links: Option<&'a LinksResult>,
}

impl MonitorFigures {
    /// A monitor of which nothing is counted yet.
    pub fn of(id: MonitorId, name: &str) -> Self {
        Self {
            id,
            name: name.to_owned(),
            host: None,
            groups: Vec::new(),
            counts: CheckCounts::default(),
            median_ms: None,
            days: BTreeMap::new(),
            outage_count: 0,
            acknowledged: 0,
            acknowledged_after_seconds: 0,
            outages: Vec::new(),
            certificate_ends: None,
            domain: None,
            objective: None,
            broken_links: None,
            score: None,
            undelivered: BTreeMap::new(),
        }
    }

    /// Counts what was read of a monitor in a period, whose days have these spans. Outages that go on are cut at its end.
    #[must_use]
    pub fn counted(mut self, read: CheckedMonitor<'_>, days: &[TimeSpan]) -> Self {
        let (Some(first), Some(last)) = (days.first(), days.last()) else { return self };
        let span = TimeSpan::new(first.from, last.to);
        let parts = CountedParts::of(span);
        for day in read.days.iter().filter(|day| parts.has(day.date)) {
            self.counts.add_day(day);
        }
        for check in &read.edges {
            self.counts.add_check(check);
        }
        self.median_ms = median(&read.days, span);
        let whole = read.performance.iter().filter(|day| parts.has(day.date));
        let scores = whole.fold(Sum::default(), |all, day| all.plus(day.sums.score));
        self.score = (scores.count > 0)
            .then(|| (scores.sum / f64::from(scores.count) * 100.0).round() as u16);
        self.outage_count = u32::try_from(read.outages.len()).unwrap_or(u32::MAX);
        for after in read.outages.iter().filter_map(OutageRecord::acknowledged_after) {
            self.acknowledged += 1;
            self.acknowledged_after_seconds += after.as_secs();
        }
        for outage in read.outages.iter().map(OutageRecord::problem) {
            for (place, day) in
                days.iter().enumerate().filter(|(_, day)| outage.overlaps(day.from, day.to))
            {
                let figures = self.days.entry(place as u8).or_default();
                figures.outages += 1;
                figures.down_ms += outage.within(day.from, day.to, span.to).as_millis() as i64;
            }
        }
        self.outages = read.outages;
        let lasted = |of: &OutageRecord| of.problem().within(span.from, span.to, span.to);
        self.outages.sort_by_key(|of| (Reverse(lasted(of)), of.opened_at));
        self.outages.truncate(OUTAGES_KEPT);
        self.outages.sort_by_key(|of| of.opened_at);
        self.broken_links =
            read.links.map(|links| links.urls.iter().map(|link| digest(&link.url)).collect());
        self
    }

    /// How long it was down in the period.
    pub fn down(&self) -> SignedDuration {
        SignedDuration::from_millis(self.days.values().map(|day| day.down_ms).sum())
    }

    /// Whether anything was counted.
    pub fn is_checked(&self) -> bool {
        self.counts.made() > 0
    }
}

/// Four bytes of the digest of a link are enough to tell the few links of a site apart.
fn digest(url: &str) -> u32 {
    let digest = Sha256::digest(url);
    u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]])
}

/// The median of the mean response times of the hours that begin in a span, each as often as it has checks.
fn median(days: &[Day], span: TimeSpan) -> Option<u32> {
    let hours = days.iter().flat_map(Day::response_hours).filter(|hour| span.contains(hour.start));
    let mut means: Vec<(u64, u64)> =
        hours.filter_map(|hour| Some((hour.sum_ms.checked_div(hour.count)?, hour.count))).collect();
    means.sort_unstable();
    let half = means.iter().map(|(_, count)| count).sum::<u64>().div_ceil(2);
    let mut passed = 0;
    let median = means.into_iter().find(|(_, count)| {
        passed += count;
        passed >= half
    });
    median.and_then(|(ms, _)| u32::try_from(ms).ok())
}
