//! Pages of a list of checks, found with the counters of its days.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use jiff::civil::Date;
use jiff::{Timestamp, ToSpan};

use super::{Day, Hours, Kind, hour_start};
use crate::checks::tool::{CheckStatus, RunReason, Tool};

/// Which checks a list shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HistoryFilter {
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

impl HistoryFilter {
    pub(super) fn admits_day(&self, tool: Tool, date: Date) -> bool {
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
    /// Where to read; `None` if the page is empty.
    pub window: Option<RowWindow>,
}

/// The hours that contain a page, and the page's position in them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowWindow {
    /// The start, inclusive.
    pub from: Timestamp,
    /// The end, exclusive.
    pub before: Timestamp,
    /// Checks of the window that are newer than the page.
    pub newer: usize,
    /// Checks of the page.
    pub count: usize,
    /// Checks of the window that are older than the page.
    pub older: usize,
    /// Kinds that occur in the window, by tool.
    pub streams: Vec<(Tool, Kind)>,
}

/// An hour of a day.
type Hour = (Date, usize);

/// Finds the checks numbered `offset .. offset + limit`, newest first, under a filter.
pub fn locate<'a>(
    days: impl IntoIterator<Item = (Tool, &'a Day)>,
    filter: &HistoryFilter,
    offset: u64,
    limit: u64,
) -> Located {
    let days: Vec<(Tool, &Day)> =
        days.into_iter().filter(|(tool, day)| filter.admits_day(*tool, day.date)).collect();
    let mut dates: BTreeMap<Date, u64> = BTreeMap::new();
    for (_, day) in &days {
        let count = day.counters.admitted(filter).map(|(_, hours)| hours.total()).sum::<u64>();
        *dates.entry(day.date).or_default() += count;
    }
    let total = dates.values().sum();
    let end = offset.saturating_add(limit).min(total);
    if offset >= end {
        return Located { total, window: None };
    }
    // Only the page's days are searched hour by hour: a year has many thousand hours.
    let mut passed = 0;
    let mut reached = 0;
    let mut shown = BTreeSet::new();
    for (date, count) in dates.into_iter().rev() {
        reached += count;
        if reached <= offset {
            passed = reached;
        } else {
            shown.insert(date);
        }
        if reached >= end {
            break;
        }
    }
    let shown: Vec<(Tool, &Day)> =
        days.iter().filter(|(_, day)| shown.contains(&day.date)).copied().collect();
    let mut hours: BTreeMap<Hour, u64> = BTreeMap::new();
    for (_, day) in &shown {
        for (_, counts) in day.counters.admitted(filter) {
            for (hour, count) in counts.occupied() {
                *hours.entry((day.date, hour)).or_default() += u64::from(count);
            }
        }
    }
    let mut newest = None;
    let mut oldest = None;
    for (&hour, &count) in hours.iter().rev() {
        if newest.is_none() && passed + count > offset {
            newest = Some((hour, offset - passed));
        }
        passed += count;
        if passed >= end {
            oldest = Some((hour, passed - end));
            break;
        }
    }
    let window = newest.zip(oldest).map(|((newest, newer), (oldest, older))| {
        let [newer, count, older] = [newer, end - offset, older]
            .map(|checks| usize::try_from(checks).unwrap_or(usize::MAX));
        RowWindow {
            from: hour_start(oldest.0, oldest.1),
            before: hour_start(newest.0, newest.1)
                .saturating_add(1.hour())
                .unwrap_or(Timestamp::MAX),
            newer,
            count,
            older,
            streams: streams(&shown, filter, oldest..=newest),
        }
    });
    Located { total, window }
}

fn streams(
    days: &[(Tool, &Day)],
    filter: &HistoryFilter,
    window: RangeInclusive<Hour>,
) -> Vec<(Tool, Kind)> {
    let occurring = days.iter().flat_map(|&(tool, day)| {
        let window = &window;
        let inside = move |hours: &Hours| {
            hours.occupied().any(|(hour, _)| window.contains(&(day.date, hour)))
        };
        let kinds = day.counters.admitted(filter);
        let kinds = kinds.filter(move |(_, hours)| inside(hours));
        kinds.map(move |(kind, _)| (tool, kind))
    });
    occurring.collect::<BTreeSet<_>>().into_iter().collect()
}
