//! Counted history: how many checks each hour of each day holds, so that a list's total is a sum
//! over days and any of its pages is found without reading the pages before it.

mod page;

use std::collections::BTreeMap;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use serde::{Deserialize, Serialize};

use crate::bytes;
use crate::id::Trigger;
use crate::tool::{CheckStatus, RunReason};

pub use page::{Filter, Located, Window, locate};

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

/// Checks in each hour of a day; stored as the bits that the largest count takes, and then each
/// count in so many bits, without the empty hours at the end. A year of these is read for a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Hours([u32; 24]);

impl Hours {
    fn total(&self) -> u64 {
        self.0.iter().copied().map(u64::from).sum()
    }

    /// Hours with checks, and how many.
    fn occupied(&self) -> impl Iterator<Item = (usize, u32)> {
        self.0.iter().copied().enumerate().filter(|(_, count)| *count > 0)
    }
}

impl Serialize for Hours {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let used = self.0.iter().rposition(|&count| count > 0).map_or(0, |last| last + 1);
        let width = self.0.iter().map(|count| u32::BITS - count.leading_zeros()).max();
        let width = width.unwrap_or_default() as usize;
        let mut bytes = vec![0; 1 + (used * width).div_ceil(8)];
        bytes[0] = width as u8;
        for (hour, count) in self.occupied() {
            for bit in (0..width).filter(|bit| count >> bit & 1 == 1) {
                let place = hour * width + bit;
                bytes[1 + place / 8] |= 1 << (place % 8);
            }
        }
        serializer.serialize_bytes(&bytes)
    }
}

impl<'de> Deserialize<'de> for Hours {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expecting = "a width, and at most 24 integers of so many bits";
        bytes::deserialize(deserializer, expecting, |bytes| {
            let (&width, packed) = bytes.split_first().ok_or("no width")?;
            let width = usize::from(width);
            if width > u32::BITS as usize || packed.len() > (24 * width).div_ceil(8) {
                return Err("more than 24 hours of 32 bits");
            }
            let mut hours = [0_u32; 24];
            for (hour, slot) in hours.iter_mut().enumerate() {
                for bit in 0..width {
                    let place = hour * width + bit;
                    let byte = packed.get(place / 8).copied().unwrap_or_default();
                    *slot |= u32::from(byte >> (place % 8) & 1) << bit;
                }
            }
            Ok(Self(hours))
        })
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

    fn admitted(&self, filter: &Filter) -> impl Iterator<Item = (Kind, &Hours)> {
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
    /// Of a performance check.
    Performance {
        /// The score, 0 to 100, where there is one.
        score: Option<u32>,
        /// Response time of the direct GET, in milliseconds.
        response_ms: f64,
        /// Speed Index in seconds, where it was measured.
        speed_index_s: Option<f64>,
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

#[cfg(test)]
mod tests;
