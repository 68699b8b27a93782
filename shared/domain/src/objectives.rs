//! Objectives: how much of a period a site or a group of sites should be up, and what that leaves for downtime.
//!
//! Downtime is the time of outages. Budgets are in whole seconds: what is allowed is rounded down, and what is used is
//! rounded up.

mod downtime;
mod input;
#[cfg(test)]
mod tests;

use std::fmt;

use jiff::{SignedDuration, Timestamp, ToSpan as _};
use serde::{Deserialize, Serialize};

use crate::checks::history::Day;
use crate::time::duration;
use crate::time_span::{TimeSpan, total, union};
use crate::time_zone::NamedZone;

pub use downtime::SiteDowntime;
pub use input::{ObjectiveInput, ObjectiveRule};

const DAY: SignedDuration = SignedDuration::from_hours(24);

/// How much of a period a site or a group should be up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Objective {
    /// In percent.
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    pub percentage: ObjectivePercentage,
    /// The period.
    pub period: ObjectivePeriod,
    /// Whether downtime in maintenance windows counts.
    pub counts_maintenance: bool,
}

/// A percentage in thousandths of a percent. It is JSON as a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "f64", from = "f64")]
pub struct ObjectivePercentage(u32);

impl ObjectivePercentage {
    /// 50 %.
    pub const MIN: Self = Self(50_000);
    /// 99.999 %.
    pub const MAX: Self = Self(99_999);
    const WHOLE: u32 = 100_000;

    /// A number of percent with at most three decimals; `None` if it is less than [`Self::MIN`] or more than
    /// [`Self::MAX`].
    pub fn of(percent: f64) -> Option<Self> {
        let read = Self::from(percent);
        let is_exact = (f64::from(read) - percent).abs() < 1e-9;
        (is_exact && (Self::MIN..=Self::MAX).contains(&read)).then_some(read)
    }
}

impl From<f64> for ObjectivePercentage {
    fn from(percent: f64) -> Self {
        Self((percent * 1_000.0).round() as u32)
    }
}

impl From<ObjectivePercentage> for f64 {
    fn from(percentage: ObjectivePercentage) -> Self {
        Self::from(percentage.0) / 1_000.0
    }
}

/// As in `99.95`.
impl fmt::Display for ObjectivePercentage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", f64::from(*self))
    }
}

/// The period of an objective.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ObjectivePeriod {
    /// A calendar month in the time zone of the team.
    #[serde(rename = "month")]
    Month,
    /// The last 7 days.
    #[serde(rename = "7_days")]
    Days7,
    /// The last 28 days.
    #[serde(rename = "28_days")]
    Days28,
    /// The last 30 days.
    #[serde(rename = "30_days")]
    Days30,
    /// The last 90 days.
    #[serde(rename = "90_days")]
    Days90,
}

impl ObjectivePeriod {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Month, Self::Days7, Self::Days28, Self::Days30, Self::Days90];
    /// The days of the shortest month.
    const SHORTEST_MONTH: i32 = 28;

    /// How many days of 24 hours it has; `None` for a calendar month.
    const fn days(self) -> Option<i32> {
        match self {
            Self::Month => None,
            Self::Days7 => Some(7),
            Self::Days28 => Some(28),
            Self::Days30 => Some(30),
            Self::Days90 => Some(90),
        }
    }

    /// In words: `30 days`.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Month => "a calendar month",
            Self::Days7 => "7 days",
            Self::Days28 => "28 days",
            Self::Days30 => "30 days",
            Self::Days90 => "90 days",
        }
    }
}

/// The value in the API.
impl fmt::Display for ObjectivePeriod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Month => "month",
            Self::Days7 => "7_days",
            Self::Days28 => "28_days",
            Self::Days30 => "30_days",
            Self::Days90 => "90_days",
        })
    }
}

impl Objective {
    /// The period that contains an instant: the whole calendar month, or the days that end at the instant.
    pub fn window(self, at: Timestamp, zone: &NamedZone) -> TimeSpan {
        if let Some(days) = self.period.days() {
            return TimeSpan::new(at.saturating_sub(DAY * days).unwrap_or(at), at);
        }
        let today = zone.local(at).date();
        let first = today.first_of_month();
        TimeSpan::new(zone.day_start(first), zone.day_start(first.saturating_add(1.month())))
    }

    /// The same for sites that exist `since` then. A calendar month remains whole; other periods begin with the sites.
    pub fn window_since(self, at: Timestamp, zone: &NamedZone, since: Timestamp) -> TimeSpan {
        let whole = self.window(at, zone);
        match self.period {
            ObjectivePeriod::Month => whole,
            _ => TimeSpan::new(whole.from.max(since.min(at)), whole.to),
        }
    }

    /// The seconds of downtime that are allowed in so much time.
    pub fn allowed_seconds(self, length: SignedDuration) -> i64 {
        let rest = i64::from(ObjectivePercentage::WHOLE - self.percentage.0);
        length.as_secs() * rest / i64::from(ObjectivePercentage::WHOLE)
    }

    /// The budget of a window, of which so much downtime is used.
    pub fn budget(self, window: TimeSpan, down: SignedDuration) -> Budget {
        Budget {
            allowed_seconds: self.allowed_seconds(window.lasts()),
            used_seconds: rounded_up(down),
        }
    }

    /// The budget of a site for a window. If maintenance counts, it counts as far as checks failed in it: `days` are the
    /// site's days of status checks, which may be left out otherwise.
    pub fn site_budget(
        self,
        window: TimeSpan,
        downtime: &SiteDowntime,
        days: &[Day],
        cadence_minutes: u32,
    ) -> Budget {
        let failed = match self.counts_maintenance {
            true => downtime.failed_in_maintenance(window, days, cadence_minutes),
            false => SignedDuration::ZERO,
        };
        let down = total(&downtime.outside_maintenance(window)).saturating_add(failed);
        self.budget(window, down.min(window.lasts()))
    }

    /// The budget of a group for a window: it is down while any of its sites is down. If maintenance counts, it counts
    /// as far as outages were open in it.
    pub fn group_budget<'a>(
        self,
        window: TimeSpan,
        sites: impl IntoIterator<Item = &'a SiteDowntime>,
    ) -> Budget {
        let down = sites.into_iter().flat_map(|site| match self.counts_maintenance {
            true => site.outages(window),
            false => site.outside_maintenance(window),
        });
        self.budget(window, total(&union(down)))
    }

    /// Whether checks at this cadence can tell: the budget of a whole period is at least two checks long.
    pub fn can_resolve(self, cadence_minutes: u32) -> bool {
        let days = self.period.days().unwrap_or(ObjectivePeriod::SHORTEST_MONTH);
        self.allowed_seconds(DAY * days) >= 2 * 60 * i64::from(cadence_minutes)
    }

    /// Refuses an objective that checks at this cadence cannot tell.
    ///
    /// # Errors
    ///
    /// The refusal.
    pub fn check_cadence(self, cadence_minutes: u32) -> Result<(), Unresolvable> {
        match self.can_resolve(cadence_minutes) {
            true => Ok(()),
            false => Err(Unresolvable { objective: self, cadence_minutes }),
        }
    }
}

/// As in `99.9 % of 30 days`.
impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} % of {}", self.percentage, self.period.words())
    }
}

/// An objective that the checks cannot tell. It continues "The objective.percentage field".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be one that checks can tell: {}", self.reason())]
pub struct Unresolvable {
    objective: Objective,
    cadence_minutes: u32,
}

impl Unresolvable {
    /// A clause: `checks every 5 minutes cannot tell 99.99 % of 7 days`.
    pub fn reason(&self) -> String {
        let every = match self.cadence_minutes {
            1 => "minute".to_owned(),
            minutes => format!("{minutes} minutes"),
        };
        format!("checks every {every} cannot tell {}", self.objective)
    }
}

/// The downtime that an objective allows, and how much of it is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// What is allowed, in whole seconds, rounded down.
    pub allowed_seconds: i64,
    /// What is used, rounded up.
    pub used_seconds: i64,
}

impl Budget {
    /// What is left, in seconds; negative if more was used than is allowed.
    pub const fn left(self) -> i64 {
        self.allowed_seconds - self.used_seconds
    }

    /// Whether nothing is left.
    pub const fn is_used_up(self) -> bool {
        self.used_seconds > 0 && self.left() <= 0
    }

    /// What is left in minutes, as exactly as checks at this cadence can tell: a multiple of the cadence, rounded down.
    /// An untouched budget is known to the minute.
    pub fn left_minutes(self, cadence_minutes: u32) -> i64 {
        let step = if self.used_seconds == 0 { 1 } else { i64::from(cadence_minutes.max(1)) };
        self.left().div_euclid(60 * step) * step
    }

    /// What is left, in words, as exactly as checks at this cadence can tell: `38 min left`, `12 min over`.
    pub fn left_in_words(self, cadence_minutes: u32) -> String {
        match self.left_minutes(cadence_minutes) {
            0 if !self.is_used_up() => format!("less than {cadence_minutes} min left"),
            minutes @ 0.. => format!("{} left", in_minutes(minutes)),
            minutes => format!("{} over", in_minutes(-minutes)),
        }
    }

    /// What is allowed, in words, in whole minutes.
    pub fn allowed_in_words(self) -> String {
        in_minutes(self.allowed_seconds / 60)
    }

    /// How much is used in percent, rounded down: 100 or more only if nothing is left.
    pub fn used_percent(self) -> i64 {
        match self.allowed_seconds {
            0 => 100 * i64::from(self.used_seconds > 0),
            allowed => 100 * self.used_seconds / allowed,
        }
    }
}

fn in_minutes(minutes: i64) -> String {
    match minutes {
        0 => "0 min".to_owned(),
        minutes => duration(SignedDuration::from_mins(minutes)),
    }
}

/// In whole seconds.
fn rounded_up(duration: SignedDuration) -> i64 {
    duration.as_secs() + i64::from(duration.subsec_nanos() > 0)
}
