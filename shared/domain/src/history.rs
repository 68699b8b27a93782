//! Counted history: how many checks each hour of each day holds, so that a list's total is a sum
//! over days and any of its pages is found without reading the pages before it.

use std::collections::BTreeMap;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use serde::{Deserialize, Serialize};

use crate::id::Trigger;
use crate::tool::{CheckStatus, RunReason, Tool};

/// The UTC day of an instant.
pub fn day_of(instant: Timestamp) -> Date {
    TimeZone::UTC.to_datetime(instant).date()
}

/// The first instant of a UTC day.
pub fn day_start(date: Date) -> Timestamp {
    hour_start(date, 0)
}

fn hour_of(instant: Timestamp) -> usize {
    usize::try_from(TimeZone::UTC.to_datetime(instant).hour()).unwrap_or(0)
}

fn hour_start(date: Date, hour: usize) -> Timestamp {
    let hour = i8::try_from(hour).unwrap_or(23);
    TimeZone::UTC.to_timestamp(date.at(hour, 0, 0, 0)).unwrap_or(Timestamp::MAX)
}

/// What a check is counted under.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kind {
    /// What caused it.
    pub trigger: Trigger,
    /// Its state.
    pub status: CheckStatus,
}

impl Kind {
    /// Every kind there can be: automatic checks are never pending and never skipped.
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

    /// Two letters, the name in keys and counters: trigger, then state.
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

/// Checks in each hour of a day; stored as 24 variable-length integers, trailing zeros left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Hours([u32; 24]);

impl Hours {
    fn total(&self) -> u64 {
        self.0.iter().copied().map(u64::from).sum()
    }
}

impl Serialize for Hours {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let used = self.0.iter().rposition(|&count| count > 0).map_or(0, |last| last + 1);
        let mut bytes = Vec::with_capacity(used);
        for &count in &self.0[..used] {
            // LEB128: seven bits a byte, the high bit set on all but the last.
            let mut rest = count;
            while rest >= 0x80 {
                bytes.push((rest & 0x7f) as u8 | 0x80);
                rest >>= 7;
            }
            bytes.push(rest as u8);
        }
        serializer.serialize_bytes(&bytes)
    }
}

impl<'de> Deserialize<'de> for Hours {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl serde::de::Visitor<'_> for Bytes {
            type Value = Hours;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("at most 24 variable-length integers")
            }

            fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<Hours, E> {
                let mut hours = [0_u32; 24];
                let mut hour = 0;
                let mut shift = 0;
                for &byte in bytes {
                    let slot =
                        hours.get_mut(hour).ok_or_else(|| E::custom("more than 24 hours"))?;
                    let part = u32::from(byte & 0x7f);
                    *slot |=
                        part.checked_shl(shift).ok_or_else(|| E::custom("a count too large"))?;
                    if byte & 0x80 == 0 {
                        (hour, shift) = (hour + 1, 0);
                    } else {
                        shift += 7;
                    }
                }
                Ok(Hours(hours))
            }
        }
        deserializer.deserialize_bytes(Bytes)
    }
}

/// The counts of a day by kind. Only kinds that occurred are there.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counters(BTreeMap<Kind, Hours>);

impl Counters {
    /// Counts a check created at `at`.
    pub fn add(&mut self, kind: Kind, at: Timestamp) {
        let count = &mut self.0.entry(kind).or_default().0[hour_of(at)];
        *count = count.saturating_add(1);
    }

    /// Takes a check out again.
    pub fn remove(&mut self, kind: Kind, at: Timestamp) {
        let Some(hours) = self.0.get_mut(&kind) else {
            return;
        };
        let count = &mut hours.0[hour_of(at)];
        *count = count.saturating_sub(1);
        if hours.total() == 0 {
            self.0.remove(&kind);
        }
    }

    /// Checks of a kind in the whole day.
    pub fn count(&self, kind: Kind) -> u64 {
        self.0.get(&kind).map_or(0, Hours::total)
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

/// A sum with the number of its summands, for an average later.
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

/// What the reports need of a day: over its automatic, completed checks.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct ReportSums {
    /// Status checks that found the site up.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub up: u32,
    /// The slowest status response, in milliseconds; elapsed time where no answer came.
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

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// What one completed automatic check adds to the day's report sums.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sample {
    /// Of a status check.
    Status {
        /// Whether the site was up.
        up: bool,
        /// Response time in milliseconds.
        response_ms: f64,
    },
}

impl ReportSums {
    /// Adds a check's sample.
    pub fn add(&mut self, sample: Sample) {
        match sample {
            Sample::Status { up, response_ms } => {
                self.up = self.up.saturating_add(u32::from(up));
                self.slowest_ms =
                    Some(self.slowest_ms.map_or(response_ms, |ms| ms.max(response_ms)));
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
    /// The first day on which it no longer shows, fixed by the retention at its first write.
    #[serde(rename = "u")]
    pub until: Date,
    /// How many checks there are.
    #[serde(rename = "c", default)]
    pub counters: Counters,
    /// What the reports need.
    #[serde(rename = "r", default)]
    pub sums: ReportSums,
    /// Rises with each write once the day is closed.
    #[serde(rename = "v", default)]
    pub rev: u64,
}

/// Rows outlive their day's `until` by this many days, so that no counted row is missing.
const ROW_GRACE_DAYS: i64 = 2;
/// Day items are kept this long, whatever the plan, so that an upgrade finds them.
const DAY_ITEM_DAYS: i64 = 400;

impl Day {
    /// An empty day that shows for `retention_days`.
    pub fn new(date: Date, retention_days: u32) -> Self {
        let until = date.saturating_add(i64::from(retention_days).days());
        Self { date, until, counters: Counters::default(), sums: ReportSums::default(), rev: 0 }
    }

    /// When the table may forget the day's rows.
    pub fn rows_expire_at(&self) -> Timestamp {
        day_start(self.until.saturating_add(ROW_GRACE_DAYS.days()))
    }

    /// When the table may forget the day item.
    pub fn item_expires_at(&self) -> Timestamp {
        day_start(self.date.saturating_add(DAY_ITEM_DAYS.days()))
    }

    /// Completed checks of any reason; the base of uptime.
    pub fn completed_automatic(&self) -> u64 {
        RunReason::ALL
            .into_iter()
            .map(|reason| Kind {
                trigger: Trigger::Automatic(reason),
                status: CheckStatus::Completed,
            })
            .map(|kind| self.counters.count(kind))
            .sum()
    }
}

/// How far a team may look back: past it, checks are gone, even where their rows are still there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// The UTC day from which the team looks.
    pub today: Date,
    /// Days that its plan shows, today included.
    pub days: u32,
}

impl Retention {
    /// Whether a counted day shows.
    pub fn shows_day(self, day: &Day) -> bool {
        self.shows(day.date, day.until)
    }

    /// Whether a check's row shows: as its day does, whose `until` the row's expiry tells.
    pub fn shows_row(self, created_at: Timestamp, expires_at: Timestamp) -> bool {
        let until = day_of(expires_at).saturating_sub(ROW_GRACE_DAYS.days());
        self.shows(day_of(created_at), until)
    }

    fn shows(self, date: Date, until: Date) -> bool {
        self.today < until.min(date.saturating_add(i64::from(self.days).days()))
    }
}

/// Which checks a list shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Filter {
    /// Only this tool.
    pub tool: Option<Tool>,
    /// Only this state.
    pub status: Option<CheckStatus>,
    /// Only automatic ones, or only on-demand ones.
    pub automatic: Option<bool>,
    /// Only this reason.
    pub reason: Option<RunReason>,
    /// Only those created on this day or later.
    pub from: Option<Date>,
    /// Only those created on this day or earlier.
    pub to: Option<Date>,
}

impl Filter {
    fn admits_day(&self, tool: Tool, date: Date) -> bool {
        self.tool.is_none_or(|wanted| wanted == tool)
            && self.from.is_none_or(|from| from <= date)
            && self.to.is_none_or(|to| date <= to)
    }

    /// Whether the list shows checks of the kind.
    pub fn admits(&self, kind: Kind) -> bool {
        self.status.is_none_or(|status| status == kind.status)
            && self.automatic.is_none_or(|automatic| automatic == kind.trigger.is_automatic())
            && self.reason.is_none_or(|reason| kind.trigger.reason() == Some(reason))
    }
}

/// Where a page of a list is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    /// How many checks the whole list has.
    pub total: u64,
    /// Where to read; `None` where the page is empty.
    pub window: Option<Window>,
}

/// The hours that hold a page, newest first, and what to pass over in them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// Inclusive.
    pub from: Timestamp,
    /// Exclusive.
    pub before: Timestamp,
    /// Newest checks of the window that belong to the page before.
    pub skip: usize,
    /// Kinds that occur in the window, by tool.
    pub streams: Vec<(Tool, Kind)>,
}

/// Finds the checks numbered `offset .. offset + limit`, newest first, under a filter.
pub fn locate<'a>(
    days: impl IntoIterator<Item = (Tool, &'a Day)>,
    filter: &Filter,
    offset: u64,
    limit: u64,
) -> Located {
    let mut hours: BTreeMap<(Date, usize), u64> = BTreeMap::new();
    let mut cells = Vec::new();
    for (tool, day) in days {
        if !filter.admits_day(tool, day.date) {
            continue;
        }
        for (&kind, counts) in day.counters.0.iter().filter(|(kind, _)| filter.admits(**kind)) {
            for (hour, &count) in counts.0.iter().enumerate().filter(|(_, count)| **count > 0) {
                *hours.entry((day.date, hour)).or_default() += u64::from(count);
                cells.push(((day.date, hour), (tool, kind)));
            }
        }
    }
    let total = hours.values().sum();
    let end = offset.saturating_add(limit).min(total);
    if offset >= end {
        return Located { total, window: None };
    }
    let mut passed = 0;
    let mut newest = None;
    let mut oldest = None;
    for (&hour, &count) in hours.iter().rev() {
        if newest.is_none() && passed + count > offset {
            newest = Some((hour, offset - passed));
        }
        passed += count;
        if passed >= end {
            oldest = Some(hour);
            break;
        }
    }
    let window = newest.zip(oldest).map(|((newest, skip), oldest)| {
        let mut streams: Vec<_> = cells
            .into_iter()
            .filter(|(hour, _)| (oldest..=newest).contains(hour))
            .map(|(_, stream)| stream)
            .collect();
        streams.sort_unstable();
        streams.dedup();
        Window {
            from: hour_start(oldest.0, oldest.1),
            before: hour_start(newest.0, newest.1)
                .saturating_add(1.hour())
                .unwrap_or(Timestamp::MAX),
            skip: usize::try_from(skip).unwrap_or(usize::MAX),
            streams,
        }
    });
    Located { total, window }
}

#[cfg(test)]
mod tests;
