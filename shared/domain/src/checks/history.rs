//! Counted history: how many checks each hour of each day has. The total of a list is a sum over days, and any page is
//! found without reading the pages before it.

pub mod block;
mod figures;
mod hours;
mod page;
mod recent;

use std::collections::BTreeMap;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan};
use serde::{Deserialize, Serialize};

use crate::checks::tool::{CheckStatus, RunReason};
use crate::id::Trigger;
use crate::issues::Problem;

pub use figures::{COUNTED_DAYS, CheckCount};
pub use hours::{HourResponses, Hours, ResponseHours};
pub use page::{HistoryFilter, Located, RowWindow, locate};
pub use recent::{DayUptime, Downtime, RecentDays, recent_dates};

/// The UTC day of an instant.
pub fn day_of(instant: Timestamp) -> Date {
    TimeZone::UTC.to_datetime(instant).date()
}

/// The first instant of a UTC day.
pub fn day_start(date: Date) -> Timestamp {
    hour_start(date, 0)
}

/// The hours of a UTC day.
pub const HOURS: usize = 24;

/// The hour of the UTC day of an instant.
pub(crate) fn hour_of(instant: Timestamp) -> usize {
    usize::try_from(TimeZone::UTC.to_datetime(instant).hour()).unwrap_or(0)
}

fn hour_start(date: Date, hour: usize) -> Timestamp {
    let hour = i8::try_from(hour).unwrap_or(23);
    TimeZone::UTC.to_timestamp(date.at(hour, 0, 0, 0)).unwrap_or(Timestamp::MAX)
}

fn seconds(duration: SignedDuration) -> u32 {
    u32::try_from(duration.as_secs()).unwrap_or(u32::MAX)
}

/// How long an outage was on a day, in seconds: at least one if it overlaps the day.
pub(crate) fn outage_on(date: Date, outage: Problem) -> u32 {
    let (start, end) = (day_start(date), day_start(date.saturating_add(1.day())));
    match outage.overlaps(start, end) {
        true => seconds(outage.within(start, end, end)).max(1),
        false => 0,
    }
}

/// How a check is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kind {
    /// What caused it.
    pub trigger: Trigger,
    /// Its state.
    pub status: CheckStatus,
}

impl Kind {
    /// Every possible kind: automatic checks are never pending and never skipped.
    pub fn all() -> impl Iterator<Item = Self> {
        Trigger::ALL.into_iter().flat_map(|trigger| {
            CheckStatus::ALL
                .into_iter()
                .filter(move |status| {
                    !trigger.is_automatic()
                        || matches!(status, CheckStatus::Completed | CheckStatus::Failed)
                })
                .map(move |status| Self { trigger, status })
        })
    }

    /// Two letters for keys and counters: the trigger, then the state.
    pub const fn code(self) -> &'static str {
        use CheckStatus::{Completed, Failed, Pending, Skipped};
        use RunReason::{ConfirmationRetry, IncidentFollowUp, Scheduled};
        match (self.trigger, self.status) {
            (Trigger::Automatic(Scheduled), Pending) => "sp",
            (Trigger::Automatic(Scheduled), Completed) => "sc",
            (Trigger::Automatic(Scheduled), Failed) => "sf",
            (Trigger::Automatic(Scheduled), Skipped) => "ss",
            (Trigger::Automatic(ConfirmationRetry), Pending) => "rp",
            (Trigger::Automatic(ConfirmationRetry), Completed) => "rc",
            (Trigger::Automatic(ConfirmationRetry), Failed) => "rf",
            (Trigger::Automatic(ConfirmationRetry), Skipped) => "rs",
            (Trigger::Automatic(IncidentFollowUp), Pending) => "fp",
            (Trigger::Automatic(IncidentFollowUp), Completed) => "fc",
            (Trigger::Automatic(IncidentFollowUp), Failed) => "ff",
            (Trigger::Automatic(IncidentFollowUp), Skipped) => "fs",
            (Trigger::OnDemand, Pending) => "dp",
            (Trigger::OnDemand, Completed) => "dc",
            (Trigger::OnDemand, Failed) => "df",
            (Trigger::OnDemand, Skipped) => "ds",
        }
    }

    fn parse(code: &str) -> Option<Self> {
        Self::all().find(|kind| kind.code() == code)
    }
}

/// The counts of a day by kind, without kinds that did not occur.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counters(BTreeMap<Kind, Hours>);

impl Counters {
    /// Counts a check created at `at`.
    pub fn add(&mut self, kind: Kind, at: Timestamp) {
        self.0.entry(kind).or_default().add(at, 1);
    }

    /// Removes a check.
    pub fn remove(&mut self, kind: Kind, at: Timestamp) {
        let Some(hours) = self.0.get_mut(&kind) else {
            return;
        };
        hours.subtract(at, 1);
        if hours.is_empty() {
            self.0.remove(&kind);
        }
    }

    /// Checks of a kind in the whole day.
    pub fn count(&self, kind: Kind) -> u64 {
        self.0.get(&kind).map_or(0, Hours::total)
    }

    fn admitted(&self, filter: &HistoryFilter) -> impl Iterator<Item = (Kind, &Hours)> {
        let kinds = self.0.iter().map(|(kind, hours)| (*kind, hours));
        kinds.filter(|(kind, _)| filter.admits(*kind))
    }
}

impl Serialize for Counters {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(kind, hours)| (kind.code(), hours)))
    }
}

impl<'de> Deserialize<'de> for Counters {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let stored = BTreeMap::<String, Hours>::deserialize(deserializer)?;
        let kinds = stored.into_iter().map(|(code, hours)| {
            let kind = Kind::parse(&code)
                .ok_or_else(|| serde::de::Error::custom(format!("no kind of check: {code}")))?;
            Ok((kind, hours))
        });
        Ok(Self(kinds.collect::<Result<_, D::Error>>()?))
    }
}

/// A sum with the number of its values, for an average.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Sum {
    /// The sum.
    #[serde(rename = "s")]
    pub sum: f64,
    /// How many values it holds.
    #[serde(rename = "n")]
    pub count: u32,
}

impl Sum {
    /// Adds a value.
    pub fn add(&mut self, value: f64) {
        self.sum += value;
        self.count = self.count.saturating_add(1);
    }

    /// Both sums together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { sum: self.sum + other.sum, count: self.count.saturating_add(other.count) }
    }

    fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// What the reports need from a day's automatic, completed checks.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct ReportSums {
    /// Status checks that found the site up.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub up: u32,
    /// Status checks in maintenance windows, which are counted above, too.
    #[serde(rename = "mw", default, skip_serializing_if = "InMaintenance::is_empty")]
    pub in_maintenance: InMaintenance,
    /// Status checks while the site had expectations.
    #[serde(rename = "ex", default, skip_serializing_if = "is_zero")]
    pub expected: u32,
    /// Those of them that found all expectations met.
    #[serde(rename = "me", default, skip_serializing_if = "is_zero")]
    pub met: u32,
    /// Checks of a heartbeat that say neither that it is up nor that it is down: what a job has logged, and runs that take
    /// too long.
    #[serde(rename = "uj", default, skip_serializing_if = "is_zero")]
    pub unjudged: u32,
    /// The slowest status response, in milliseconds; the elapsed time if no answer came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowest_ms: Option<f64>,
    /// Performance scores.
    #[serde(default, skip_serializing_if = "Sum::is_empty")]
    pub score: Sum,
    /// Response times of performance checks, in milliseconds.
    #[serde(default, skip_serializing_if = "Sum::is_empty")]
    pub response_ms: Sum,
    /// Speed Index, in seconds.
    #[serde(default, skip_serializing_if = "Sum::is_empty")]
    pub speed_s: Sum,
}

/// How many of a day's status checks were in maintenance windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct InMaintenance {
    /// All of them.
    #[serde(rename = "n")]
    pub checks: u32,
    /// Those that found the site up.
    #[serde(rename = "u", default, skip_serializing_if = "is_zero")]
    pub up: u32,
}

impl InMaintenance {
    fn is_empty(&self) -> bool {
        self.checks == 0
    }

    fn add(&mut self, up: bool) {
        self.checks = self.checks.saturating_add(1);
        self.up = self.up.saturating_add(u32::from(up));
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// What one completed automatic check adds to the day's report sums.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sample {
    /// The result of a status check.
    Status {
        /// Whether the site was up.
        up: bool,
        /// Whether all expectations were met; `None` if there are none.
        met: Option<bool>,
        /// Response time in milliseconds.
        response_ms: f64,
    },
    /// The result of a performance check.
    Performance {
        /// The score, 0 to 100, if there is one.
        score: Option<u32>,
        /// Response time of the direct GET, in milliseconds.
        response_ms: f64,
        /// Speed Index in seconds, if it was measured.
        speed_index_s: Option<f64>,
    },
}

impl Sample {
    /// Response time in milliseconds.
    pub const fn response_ms(self) -> f64 {
        match self {
            Self::Status { response_ms, .. } | Self::Performance { response_ms, .. } => response_ms,
        }
    }
}

impl ReportSums {
    fn add(&mut self, sample: Sample) {
        match sample {
            Sample::Status { up, met, response_ms } => {
                self.up = self.up.saturating_add(u32::from(up));
                self.expected = self.expected.saturating_add(u32::from(met.is_some()));
                self.met = self.met.saturating_add(u32::from(met == Some(true)));
                self.slowest_ms =
                    Some(self.slowest_ms.map_or(response_ms, |ms| ms.max(response_ms)));
            }
            Sample::Performance { score, response_ms, speed_index_s } => {
                self.response_ms.add(response_ms);
                if let Some(score) = score {
                    self.score.add(f64::from(score));
                }
                if let Some(speed_index_s) = speed_index_s {
                    self.speed_s.add(speed_index_s);
                }
            }
        }
    }
}

/// One tool's counted day.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Day {
    /// The UTC day.
    #[serde(rename = "d")]
    pub date: Date,
    /// The first day on which it is no longer shown. The retention at its first write decides it.
    #[serde(rename = "u")]
    pub until: Date,
    /// How many checks there are.
    #[serde(rename = "c", default)]
    pub counters: Counters,
    /// What the reports need.
    #[serde(rename = "r", default)]
    pub sums: ReportSums,
    /// What hourly plots need.
    #[serde(rename = "ms", default, skip_serializing_if = "ResponseHours::is_empty")]
    pub responses: ResponseHours,
    /// How long the site was down, in seconds: at least one if an outage overlaps the day. On the open day, an outage
    /// counts once it is over.
    #[serde(rename = "dn", default, skip_serializing_if = "is_zero")]
    pub down_s: u32,
    /// Increases with each write once the day is closed.
    #[serde(rename = "v", default)]
    pub rev: u64,
}

/// The kinds of checks that reports count.
fn completed_automatic() -> impl Iterator<Item = Kind> {
    RunReason::ALL
        .into_iter()
        .map(|reason| Kind { trigger: Trigger::Automatic(reason), status: CheckStatus::Completed })
}

/// Rows expire this many days after their day's `until`, so that no counted row is missing.
const ROW_GRACE_DAYS: i64 = 2;
/// Day items are kept this long on any plan, so that their history is there after an upgrade.
const DAY_ITEM_DAYS: i64 = 400;

impl Day {
    /// An empty day that is shown for `retention_days`.
    pub fn new(date: Date, retention_days: u32) -> Self {
        let until = date.saturating_add(i64::from(retention_days).days());
        Self {
            date,
            until,
            counters: Counters::default(),
            sums: ReportSums::default(),
            responses: ResponseHours::default(),
            down_s: 0,
            rev: 0,
        }
    }

    /// Adds what a completed automatic check, created at `at`, measured.
    pub fn add_sample(&mut self, sample: Sample, at: Timestamp) {
        self.sums.add(sample);
        self.responses.add(sample.response_ms(), at);
    }

    /// Counts what a status check in a maintenance window found, in addition to [`Day::add_sample`].
    pub fn add_maintenance_sample(&mut self, sample: Sample) {
        if let Sample::Status { up, .. } = sample {
            self.sums.in_maintenance.add(up);
        }
    }

    /// Counts what a problem that is over takes of the day.
    pub fn add_outage(&mut self, outage: Problem) {
        self.down_s = self.down_s.saturating_add(outage_on(self.date, outage));
    }

    /// When the day's rows expire.
    pub fn rows_expire_at(&self) -> Timestamp {
        day_start(self.until.saturating_add(ROW_GRACE_DAYS.days()))
    }

    /// When the day item expires.
    pub fn item_expires_at(&self) -> Timestamp {
        day_start(self.date.saturating_add(DAY_ITEM_DAYS.days()))
    }

    /// Completed automatic checks, on which uptime is based.
    pub fn completed_automatic(&self) -> u64 {
        completed_automatic().map(|kind| self.counters.count(kind)).sum()
    }

    /// The mean response time of the whole day, in milliseconds.
    pub fn mean_response_ms(&self) -> Option<u64> {
        let add = |(sum, count), hour: HourResponses| (sum + hour.sum_ms, count + hour.count);
        let (sum, count) = self.response_hours().fold((0_u64, 0_u64), add);
        sum.checked_div(count)
    }

    /// The response times of each hour that has any, in order. A day belongs to status or to performance checks, which
    /// have one each.
    pub fn response_hours(&self) -> impl Iterator<Item = HourResponses> {
        let counted: Vec<&Hours> =
            completed_automatic().filter_map(|kind| self.counters.0.get(&kind)).collect();
        (0..24).filter_map(move |hour| {
            let count = counted.iter().map(|hours| u64::from(hours.of(hour))).sum();
            (count > 0).then(|| self.responses.of(hour_start(self.date, hour), hour, count))
        })
    }
}

/// How far back a team's history goes. Older checks count as gone, even if their rows still exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// The current UTC day.
    pub today: Date,
    /// Days that its plan shows, including today.
    pub days: u32,
}

impl Retention {
    /// Whether a counted day is shown.
    pub fn shows_day(self, day: &Day) -> bool {
        self.shows(day.date, day.until)
    }

    /// Whether a check's row is shown: as long as its day, whose `until` follows from the row's expiry.
    pub fn shows_row(self, created_at: Timestamp, expires_at: Timestamp) -> bool {
        let until = day_of(expires_at).saturating_sub(ROW_GRACE_DAYS.days());
        self.shows(day_of(created_at), until)
    }

    /// Whether the team's plan goes back to a day, regardless of the `until` that was fixed when it was written.
    pub fn reaches(self, date: Date) -> bool {
        self.today < date.saturating_add(i64::from(self.days).days())
    }

    fn shows(self, date: Date, until: Date) -> bool {
        self.today < until && self.reaches(date)
    }
}

#[cfg(test)]
mod tests;
