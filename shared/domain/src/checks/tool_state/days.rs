//! The days in which a tool's checks are counted: the open day, and the closed days before it.

use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp, ToSpan as _};

use super::{ClosedBlock, DayWrite, ToolState};
use crate::checks::history::{
    COUNTED_DAYS, CheckCount, Day, DayUptime, Downtime, HOURS, RecentDays, Retention, day_of,
    hour_of, outage_on,
};
use crate::checks::tool::Tool;
use crate::id::CheckId;
use crate::issues::tracker::Phase;
use crate::issues::{Fingerprint, Problem};

/// The result of counting a check.
pub(super) struct Counted {
    /// The day item to write, if any.
    pub(super) day: Option<DayWrite>,
    /// The block that ended with its day, if any.
    pub(super) closed_block: Option<ClosedBlock>,
    /// When the check expires.
    pub(super) expires_at: Timestamp,
}

impl ToolState {
    /// The closed day of a check that was created at this instant. Its item must be read before the check can be
    /// counted.
    pub fn closed_day(&self, created_at: Timestamp) -> Option<Date> {
        let date = day_of(created_at);
        self.day.as_ref().is_some_and(|open| date < open.date).then_some(date)
    }

    /// Applies a change to the day of a check: the open day, a later day that becomes the open one, or a closed day. A
    /// block ends with its day.
    pub(super) fn count(
        &mut self,
        closed: Option<&Day>,
        check: CheckId,
        retention_days: u32,
        change: impl FnOnce(&mut Day),
    ) -> Counted {
        let created_at = check.created_at();
        let date = day_of(created_at);
        let tool = check.tool();
        if self.closed_day(created_at).is_some() {
            let mut day = closed.cloned().unwrap_or_else(|| Day::new(date, retention_days));
            change(&mut day);
            day.rev += 1;
            self.remember(tool, &day);
            let expires_at = day.rows_expire_at();
            return Counted { day: Some(DayWrite::Amend(day)), closed_block: None, expires_at };
        }
        let mut turned = self.day.take_if(|open| open.date < date);
        let mut closed_block = None;
        if let Some(day) = &mut turned {
            if let Some(outage) = self.outage() {
                day.add_outage(outage);
            }
            self.remember(tool, day);
            closed_block = self.close_block(day, created_at);
        }
        let open = self.day.get_or_insert_with(|| Day::new(date, retention_days));
        change(open);
        let expires_at = open.rows_expire_at();
        let day = turned.map(|mut day| {
            day.rev = 1;
            DayWrite::Close(day)
        });
        Counted { day, closed_block, expires_at }
    }

    fn remember(&mut self, tool: Tool, closed: &Day) {
        if tool == Tool::Status {
            self.recent = Some(RecentDays::with(self.recent.take(), closed));
        }
    }

    /// The active outage, as far as it was observed.
    pub(super) fn outage(&self) -> Option<Problem> {
        let (began_at, since) = match self.trackers.get(&Fingerprint::StatusDown)?.tracker.phase {
            Phase::Down { failures, .. } => (failures.first, None),
            Phase::Recovering { failures, since, .. } => (failures.first, Some(since)),
            Phase::Pending | Phase::Up { .. } | Phase::Failing { .. } => return None,
        };
        let outage = Problem { opened_at: began_at, began_at, ended_at: self.monitoring_ended_at };
        Some(outage.or_ended(since))
    }

    /// Counts an outage that is over on the open day. The closed days counted it when they were closed.
    pub(super) fn count_outage(&mut self, outage: Problem) {
        if let Some(open) = &mut self.day {
            open.add_outage(outage);
        }
    }

    /// Counts an outage that has just opened on the days before the open one, on which its first checks failed.
    pub(super) fn count_opening(&mut self, began_at: Timestamp) {
        let Some(today) = self.day.as_ref().map(|open| open.date) else { return };
        let outage = Problem { opened_at: began_at, began_at, ended_at: None };
        let days = day_of(began_at).series(1.day()).take_while(|date| *date < today);
        for date in days.take(RecentDays::MAX) {
            let downtime = Downtime::of(outage_on(date, outage));
            self.recent = self.recent.take().map(|recent| recent.with_outage(date, downtime));
        }
    }

    /// A day according to its outages and status checks.
    pub fn uptime_on(&self, date: Date, now: Timestamp) -> DayUptime {
        match &self.day {
            Some(open) if open.date == date => {
                let mut day = open.clone();
                if let Some(outage) = self.outage() {
                    day.add_outage(outage.or_ended(Some(now)));
                }
                day.uptime()
            }
            _ => self.recent.as_ref().map_or(DayUptime::Unknown, |recent| recent.on(date)),
        }
    }

    /// How many status checks there were in the last days, at most [`COUNTED_DAYS`], including today, as far back as the
    /// team's history goes. `None` if an earlier version did not count some of them here.
    pub fn recent_checks(&self, days: usize, retention: Retention) -> Option<CheckCount> {
        let dates = (0..days.min(COUNTED_DAYS) as i64)
            .map(|ago| retention.today.saturating_sub(ago.days()));
        let shown = dates.filter(|date| retention.reaches(*date));
        shown
            .map(|date| self.checks_on(date))
            .try_fold(CheckCount::default(), |sum, day| Some(sum.plus(day?)))
    }

    fn checks_on(&self, date: Date) -> Option<CheckCount> {
        match (&self.day, &self.recent) {
            (Some(open), _) if open.date == date => Some(open.check_count()),
            (_, Some(recent)) => recent.count_on(date),
            (_, None) => Some(CheckCount::default()),
        }
    }

    /// The mean response time of status checks in each of the last 24 hours, in milliseconds. The first is the hour of
    /// yesterday after the current one; the last is the current hour.
    pub fn hour_means(&self, now: Timestamp) -> [Option<u32>; HOURS] {
        let mut means = [None; HOURS];
        for (place, mean) in means.iter_mut().enumerate() {
            let ago = SignedDuration::from_hours((HOURS - 1 - place) as i64);
            let at = now.saturating_sub(ago).unwrap_or(now);
            let date = day_of(at);
            let of_day = match (&self.day, &self.recent) {
                (Some(open), _) if open.date == date => open.hour_means(),
                (_, Some(recent)) => recent.hour_means_on(date),
                (_, None) => continue,
            };
            *mean = of_day[hour_of(at)];
        }
        means
    }
}
