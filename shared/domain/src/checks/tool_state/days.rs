//! The days that a tool's checks are counted in: the open one, and those closed before it.

use jiff::Timestamp;
use jiff::civil::Date;

use super::{ClosedBlock, DayWrite, ToolState};
use crate::checks::history::{Day, DayUptime, RecentDays, day_of};
use crate::checks::tool::Tool;
use crate::id::CheckId;

/// What counting a check leads to.
pub(super) struct Counted {
    /// The day item to write, if any.
    pub(super) day: Option<DayWrite>,
    /// The block that ended with its day, if any.
    pub(super) closed_block: Option<ClosedBlock>,
    /// When the check may be forgotten.
    pub(super) expires_at: Timestamp,
}

impl ToolState {
    /// The closed day that a check created at this instant belongs to: its item must be read
    /// before the check can be counted.
    pub fn closed_day(&self, created_at: Timestamp) -> Option<Date> {
        let date = day_of(created_at);
        self.day.as_ref().is_some_and(|open| date < open.date).then_some(date)
    }

    /// Applies a change to the day of a check: the open one, a later one that becomes the open
    /// one, or a closed one. With its day, a block ends.
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
        let turned = self.day.take_if(|open| open.date < date);
        let mut closed_block = None;
        if let Some(day) = &turned {
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

    /// How a day was, as far as status checks tell.
    pub fn uptime_on(&self, date: Date) -> DayUptime {
        match &self.day {
            Some(open) if open.date == date => open.uptime(),
            _ => self.recent.as_ref().map_or(DayUptime::Unknown, |recent| recent.on(date)),
        }
    }
}
