//! Deleting an on-demand check, and what remains.

use super::{DayWrite, Newest, ToolState};
use crate::checks::check::Check;
use crate::checks::history::{Day, Kind};
use crate::checks::pointer::Latest;
use crate::checks::tool::CheckStatus;
use crate::id::{CheckId, Trigger};

/// How the deletion of an on-demand check changes its tool.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckDeletion {
    /// The state to write; `rev` is one above the `rev` that was read.
    pub state: ToolState,
    /// The check whose row is deleted.
    pub check: CheckId,
    /// The state under which the check was counted. Its row must still have it.
    pub status: CheckStatus,
    /// The closed day to write, if it counted the check.
    pub day: Option<DayWrite>,
    /// How the newest check changes.
    pub newest: NewestChange,
}

/// How the directory's entry for a tool's newest check changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewestChange {
    /// It stays the same.
    Same,
    /// This check becomes the newest.
    Now(Newest),
    /// The tool has no checks left.
    Gone,
}

impl ToolState {
    /// Deletes an on-demand check, pending or ended. Its run is no longer wanted, and it is no longer counted and no
    /// longer the newest. The creation time of the last one stays, because the cadence includes deleted checks.
    ///
    /// `closed` is the item of [`ToolState::closed_day`], if there is one; `older` is the on-demand check before this
    /// one.
    pub fn delete_check(
        &self,
        closed: Option<&Day>,
        check: &Check,
        older: Option<Latest>,
    ) -> CheckDeletion {
        let created_at = check.id.created_at();
        let kind = Kind { trigger: Trigger::OnDemand, status: check.status };
        let mut next = self.clone();
        next.rev += 1;
        next.pending = self.pending.filter(|pending| *pending != check.id);
        if self.on_demand.is_some_and(|newest| newest.id() == check.id) {
            next.on_demand = older;
        }
        let day = if self.closed_day(created_at).is_some() {
            closed.cloned().map(|mut day| {
                day.counters.remove(kind, created_at);
                day.rev += 1;
                DayWrite::Amend(day)
            })
        } else {
            if let Some(open) = &mut next.day {
                open.counters.remove(kind, created_at);
            }
            None
        };
        let newest = match next.newest() {
            after if after == self.newest() => NewestChange::Same,
            Some(newest) => NewestChange::Now(newest),
            None => NewestChange::Gone,
        };
        CheckDeletion { state: next, check: check.id, status: check.status, day, newest }
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;
    use jiff::{SignedDuration, Timestamp};

    use super::*;
    use crate::checks::tool::{RunReason, Tool};
    use crate::id::SiteId;

    fn site() -> SiteId {
        SiteId::parse("0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01").expect("a site id")
    }

    fn at(text: &str) -> Timestamp {
        text.parse().expect("a timestamp")
    }

    fn count(day: &Day, status: CheckStatus) -> u64 {
        day.counters.count(Kind { trigger: Trigger::OnDemand, status })
    }

    /// A tool with one on-demand check, ordered at a time.
    fn ordered(state: &ToolState, time: &str) -> (ToolState, Check) {
        let id = CheckId::on_demand(site(), Tool::Status, at(time), 0);
        let change = state.enqueue(None, id, at(time), 30);
        (change.state, change.check)
    }

    #[test]
    fn a_pending_check_leaves_nothing_but_the_time_of_its_order() {
        let (state, check) = ordered(&ToolState::new(), "2026-11-20T09:54:00Z");
        let deletion = state.delete_check(None, &check, None);
        let day = deletion.state.day.as_ref().expect("an open day");
        assert_eq!(count(day, CheckStatus::Pending), 0);
        let expected = ToolState {
            rev: state.rev + 1,
            last_on_demand: Some(at("2026-11-20T09:54:00Z")),
            day: Some(Day::new(day.date, 30)),
            ..ToolState::new()
        };
        assert_eq!(deletion.state, expected);
        assert_eq!((deletion.day, deletion.newest), (None, NewestChange::Gone));
        assert_eq!((deletion.check, deletion.status), (check.id, CheckStatus::Pending));
    }

    #[test]
    fn an_older_check_leaves_the_newest_and_what_is_pending_alone() {
        let (state, first) = ordered(&ToolState::new(), "2026-11-20T09:54:00Z");
        let (state, second) = ordered(&state, "2026-11-20T09:55:00Z");
        let deletion = state.delete_check(None, &first, None);
        assert_eq!(deletion.state.pending, Some(second.id));
        assert_eq!(deletion.state.on_demand, state.on_demand);
        assert_eq!(deletion.newest, NewestChange::Same);
        let day = deletion.state.day.expect("an open day");
        assert_eq!(count(&day, CheckStatus::Pending), 1);
    }

    #[test]
    fn the_next_older_check_becomes_the_newest_unless_an_automatic_one_is_newer() {
        let (state, check) = ordered(&ToolState::new(), "2026-11-20T09:54:00Z");
        let latest = |time: &str, status| {
            Latest::row(CheckId::on_demand(site(), Tool::Status, at(time), 0), status)
        };
        let automatic = |time: &str, status| {
            let slot = at(time);
            let id = CheckId::automatic(site(), Tool::Status, RunReason::Scheduled, slot);
            Latest::row(id, status)
        };
        let now =
            |status| NewestChange::Now(Newest { status, date: date(2026, 11, 20), days: Some(30) });
        let old = latest("2026-11-20T09:40:00Z", CheckStatus::Skipped);
        let before = automatic("2026-11-20T09:50:00Z", CheckStatus::Completed);
        let long_before = automatic("2026-11-20T09:30:00Z", CheckStatus::Completed);
        let after = automatic("2026-11-20T09:55:00Z", CheckStatus::Failed);
        for (automatic, older, expected) in [
            (None, None, NewestChange::Gone),
            (None, Some(old), now(CheckStatus::Skipped)),
            (Some(before), None, now(CheckStatus::Completed)),
            (Some(before), Some(old), now(CheckStatus::Completed)),
            (Some(long_before), Some(old), now(CheckStatus::Skipped)),
            (Some(after), Some(old), NewestChange::Same),
        ] {
            let state = ToolState { automatic, ..state.clone() };
            let deletion = state.delete_check(None, &check, older);
            assert_eq!(deletion.newest, expected, "{automatic:?} {older:?}");
            assert_eq!(deletion.state.on_demand, older);
            assert_eq!(deletion.state.automatic, automatic);
        }
        // Another check, in the same state.
        let same = latest("2026-11-20T09:40:00Z", CheckStatus::Pending);
        assert_eq!(state.delete_check(None, &check, Some(same)).newest, NewestChange::Same);
    }

    #[test]
    fn of_a_check_before_the_open_day_the_directory_knows_no_end() {
        let (state, check) = ordered(&ToolState::new(), "2026-11-20T09:54:00Z");
        let id = CheckId::on_demand(site(), Tool::Status, at("2026-11-12T09:54:00Z"), 0);
        let older = Latest::row(id, CheckStatus::Failed);
        let deletion = state.delete_check(None, &check, Some(older));
        let newest = Newest { status: CheckStatus::Failed, date: date(2026, 11, 12), days: None };
        assert_eq!(deletion.newest, NewestChange::Now(newest));
    }

    #[test]
    fn a_check_of_a_closed_day_is_taken_out_of_that_day() {
        let (state, check) = ordered(&ToolState::new(), "2026-11-20T23:59:00Z");
        let closed = state.day.clone().expect("an open day");
        let open = Day::new(closed.date.saturating_add(jiff::ToSpan::day(1)), 30);
        let state = ToolState { day: Some(open.clone()), ..state };
        let closed = Day { rev: 4, ..closed };
        let deletion = state.delete_check(Some(&closed), &check, None);
        let Some(DayWrite::Amend(day)) = deletion.day else { panic!("{deletion:?}") };
        assert_eq!((day.rev, count(&day, CheckStatus::Pending)), (5, 0));
        assert_eq!(deletion.state.day, Some(open));
        // If the day has no item any more, there is nothing to count.
        assert_eq!(state.delete_check(None, &check, None).day, None);
    }

    #[test]
    fn the_run_of_a_deleted_check_is_not_wanted_and_the_tool_is_free_again() {
        let (state, check) = ordered(&ToolState::new(), "2026-11-20T09:54:00Z");
        let state = state.delete_check(None, &check, None).state;
        let later = at("2026-11-20T09:54:00Z") + SignedDuration::from_secs(1);
        assert_eq!(state.wants(check.id, later), Err(super::super::Discard::NotPending));
        assert_eq!(state.pending, None);
    }
}
