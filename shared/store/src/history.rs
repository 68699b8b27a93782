//! Check rows, counted days, pages of a history.

use std::collections::BTreeMap;

use futures::future::try_join_all;
use jiff::civil::Date;
use jiff::{Timestamp, ToSpan};
use vedette_domain::checks::check::Check;
use vedette_domain::checks::history::{Day, HistoryFilter, Kind, Retention, RowWindow, day_of};
use vedette_domain::checks::pointer::{CheckPointer, Latest};
use vedette_domain::checks::tool::{CheckStatus, Tool};
use vedette_domain::checks::tool_state::{CheckSource, ToolState, keeps_packed, may_be_packed};
use vedette_domain::id::{CheckId, Partition, Trigger};

use crate::StoreError;
use crate::block::open_check;
use crate::item::{Item, Stored, expiry, stored};
use crate::keys;
use crate::row;
use crate::table::{Range, Sort, Store};

stored!(attributes: Day);

/// The states in which automatic checks end.
const AUTOMATIC: [CheckStatus; 2] = [CheckStatus::Completed, CheckStatus::Failed];

/// A check with its whole result.
#[derive(Debug, Clone)]
pub struct StoredCheck {
    /// The check.
    pub check: Check,
    /// Whether the whole result has an item of its own.
    pub has_body: bool,
    /// When its row expires.
    pub expires_at: Timestamp,
}

impl Store {
    /// A check by its id alone.
    pub async fn check(&self, id: CheckId) -> Result<Option<StoredCheck>, StoreError> {
        if may_be_packed(id) {
            return self.row_or_packed(id).await;
        }
        let in_states = |states: &[CheckStatus]| {
            self.batch_get(states.iter().map(|status| keys::check(id, *status)).collect::<Vec<_>>())
        };
        // An on-demand check moves out of the stream of pending checks once. Looking there first makes sure that it is
        // found.
        let mut found = match id.is_automatic() {
            true => in_states(&AUTOMATIC).await?,
            false => in_states(&[CheckStatus::Completed]).await?,
        };
        if found.is_empty() && !id.is_automatic() {
            found = in_states(&[CheckStatus::Failed, CheckStatus::Skipped]).await?;
        }
        match found.into_values().next() {
            Some(row) => self.stored_check(id, row).await,
            None => Ok(None),
        }
    }

    /// A check that is in the open block, in a closed block or in a row.
    async fn row_or_packed(&self, id: CheckId) -> Result<Option<StoredCheck>, StoreError> {
        let tool = keys::tool(id.partition(), id.tool());
        let rows = AUTOMATIC.map(|status| keys::check(id, status));
        let (mut found, closed) = futures::try_join!(
            self.batch_get(rows.into_iter().chain([tool.clone()])),
            self.check_in_closed_block(id),
        )?;
        let state: Option<ToolState> = found.remove(&tool).map(Stored::read).transpose()?;
        if let Some(row) = found.into_values().next() {
            return self.stored_check(id, row).await;
        }
        let open = state.as_ref().and_then(|state| open_check(state, id));
        let packed = match (open.or(closed), state) {
            (Some(packed), _) => Some(packed),
            // The block may have been closed after the closed blocks were read, but before the state was.
            (None, Some(_)) => self.check_in_closed_block(id).await?,
            (None, None) => None,
        };
        let stored = |(check, expires_at)| StoredCheck { check, has_body: false, expires_at };
        Ok(packed.map(stored))
    }

    /// The check of a row, with its whole result.
    async fn stored_check(
        &self,
        id: CheckId,
        row: Item,
    ) -> Result<Option<StoredCheck>, StoreError> {
        let expires_at = expiry(&row)?;
        let (mut check, has_body) = row::read(row)?;
        if check.id != id {
            return Ok(None);
        }
        // If it was deleted in between, show it as its row had it.
        if has_body && let Some(body) = self.get(&keys::body(id, check.status)).await? {
            check.result = Some(row::read_body(body)?);
        }
        Ok(Some(StoredCheck { check, has_body, expires_at }))
    }

    /// The checks of some sources, in their list form. Checks that no longer exist, or are older than the given
    /// retention, are left out.
    pub async fn checks(
        &self,
        sources: impl IntoIterator<Item = (CheckSource, Retention)>,
    ) -> Result<BTreeMap<CheckId, Check>, StoreError> {
        self.checks_with_bodies(sources, &[]).await
    }

    /// Like [`Store::checks`], but with whole results for the `whole` tools.
    pub async fn checks_with_bodies(
        &self,
        sources: impl IntoIterator<Item = (CheckSource, Retention)>,
        whole: &[Tool],
    ) -> Result<BTreeMap<CheckId, Check>, StoreError> {
        let (mut kept, mut changing, mut bodies) = (Vec::new(), Vec::new(), Vec::new());
        let (mut packed, mut read) = (Vec::new(), Vec::new());
        let mut retentions = BTreeMap::new();
        for (source, retention) in sources {
            let (CheckPointer { id, block }, status) = match source {
                CheckSource::State { check, expires_at } => {
                    retentions.insert(check.id, retention);
                    read.push((check, expires_at));
                    continue;
                }
                CheckSource::Table(Latest { check, status }) => (check, status),
            };
            if !retention.reaches(day_of(id.created_at())) {
                continue;
            }
            retentions.insert(id, retention);
            if let Some(first) = block {
                packed.push((id, first));
                continue;
            }
            // The row of an automatic check never changes, so an eventually consistent read is enough.
            let keys = if id.is_automatic() { &mut kept } else { &mut changing };
            // By now it may have ended and moved.
            let states: &[_] = match status {
                CheckStatus::Pending => &CheckStatus::ALL,
                _ => &[status],
            };
            keys.extend(states.iter().map(|status| keys::check(id, *status)));
            if whole.contains(&id.tool()) {
                bodies.push(keys::body(id, CheckStatus::Completed));
            }
        }
        let blocks =
            packed.iter().map(|(id, first)| keys::block(id.partition(), id.tool(), *first));
        kept.extend(blocks.clone());
        let (mut kept, changing, mut bodies) = futures::try_join!(
            self.batch_get_relaxed(kept),
            self.batch_get(changing),
            self.batch_get(bodies),
        )?;
        let blocks = blocks.filter_map(|key| kept.remove_entry(&key)).collect();
        read.extend(self.checks_in_blocks(&packed, blocks).await?);
        for item in kept.into_values().chain(changing.into_values()) {
            let expires_at = expiry(&item)?;
            let (mut check, has_body) = row::read(item)?;
            if whole.contains(&check.id.tool()) {
                let body = bodies.remove(&keys::body(check.id, check.status));
                if let Some(body) = body.filter(|_| has_body) {
                    check.result = Some(row::read_body(body)?);
                }
            } else {
                check = row::listed(check);
            }
            read.push((check, expires_at));
        }
        let shown = read.into_iter().filter(|(check, expires_at)| {
            let retention = retentions.get(&check.id);
            retention.is_some_and(|it| it.shows_row(check.id.created_at(), *expires_at))
        });
        Ok(shown.map(|(check, _)| (check.id, check)).collect())
    }

    /// The newest on-demand check of the same tool before this one.
    pub async fn on_demand_before(&self, check: CheckId) -> Result<Option<Latest>, StoreError> {
        let pk = keys::site_partition(check.partition());
        let states = [CheckStatus::Completed, CheckStatus::Failed, CheckStatus::Skipped];
        let newest = states.into_iter().map(|status| {
            let stream = keys::stream(check.tool(), Kind { trigger: Trigger::OnDemand, status });
            let place = |at, unique| format!("{stream}{}", keys::stream_place(at, unique));
            let end = place(check.created_at(), check.unique());
            let sort = Sort::Between(place(Timestamp::UNIX_EPOCH, 0), end);
            // The range includes both ends, so the check itself may be the newest.
            self.query(Range { newest_first: true, limit: Some(2), ..Range::new(&pk, sort) })
        });
        let mut before = None;
        for item in try_join_all(newest).await?.into_iter().flatten() {
            let Check { id, status, .. } = row::read_listed(item)?;
            if id != check {
                let latest = Some(Latest::row(id, status));
                before = before.into_iter().chain(latest).max_by_key(Latest::id);
            }
        }
        Ok(before)
    }

    /// The closed day that counts a check of a tool; `None` if the check belongs to the open day.
    pub async fn closed_day(
        &self,
        state: &ToolState,
        check: CheckId,
    ) -> Result<Option<Day>, StoreError> {
        let Some(date) = state.closed_day(check.created_at()) else { return Ok(None) };
        let key = keys::day(check.partition(), check.tool(), date);
        self.get(&key).await?.map(Stored::read).transpose()
    }

    /// The closed days of tools in a span, both ends included. Read them after the tools' states, so that a day that
    /// closes in between is seen at least once.
    pub async fn days(
        &self,
        partition: Partition,
        tools: &[Tool],
        from: Date,
        to: Date,
    ) -> Result<Vec<(Tool, Day)>, StoreError> {
        if from > to {
            return Ok(Vec::new());
        }
        let pk = keys::site_partition(partition);
        let spans = tools.iter().map(|&tool| {
            let sort = Sort::Between(keys::day_sort(tool, from), keys::day_sort(tool, to));
            let query = self.query(Range::new(&pk, sort));
            async move {
                let days = query.await?.into_iter().map(|item| Ok((tool, Stored::read(item)?)));
                days.collect::<Result<Vec<_>, StoreError>>()
            }
        });
        Ok(try_join_all(spans).await?.into_iter().flatten().collect())
    }

    /// The checks on a page of a window in their list form, newest first. The caller finds the window with the states
    /// of the site's tools.
    pub async fn page(
        &self,
        partition: Partition,
        tools: &BTreeMap<Tool, ToolState>,
        filter: &HistoryFilter,
        window: &RowWindow,
    ) -> Result<Vec<Check>, StoreError> {
        let pk = keys::site_partition(partition);
        let end = window.before.saturating_sub(1.millisecond()).unwrap_or(window.before);
        // Read from the end of the window that is closer to the page.
        let newest_first = window.newer <= window.older;
        let passed = window.newer.min(window.older);
        let needed = passed.saturating_add(window.count);
        // A stream may contain several states, and only some of them may be on the page. Among its many completed
        // checks there is at most one that is pending.
        let limits = window.streams.iter().map(|&(tool, kind)| {
            let limit = match filter.status {
                Some(CheckStatus::Pending) => None,
                Some(_) if keys::is_shared(kind) => Some(needed.saturating_add(1)),
                _ => Some(needed),
            };
            (keys::stream(tool, kind), limit)
        });
        let streams: BTreeMap<String, Option<usize>> = limits.collect();
        let reads = streams.into_iter().map(|(stream, limit)| {
            let place = |at, unique| format!("{stream}{}", keys::stream_place(at, unique));
            let sort = Sort::Between(place(window.from, 0), place(end, u8::MAX));
            self.query(Range { newest_first, limit, ..Range::new(&pk, sort) })
        });
        let packed = window.streams.iter().filter(|(tool, kind)| keeps_packed(*tool, *kind));
        let packed = packed.filter_map(|(tool, _)| {
            Some(self.packed_checks(partition, *tool, tools.get(tool)?, window))
        });
        let (rows, packed) = futures::try_join!(try_join_all(reads), try_join_all(packed))?;
        let mut checks: Vec<Check> = packed.into_iter().flatten().collect();
        for item in rows.into_iter().flatten() {
            let check = row::read_listed(item)?;
            if filter.status.is_none_or(|status| status == check.status) {
                checks.push(check);
            }
        }
        checks.sort_unstable_by_key(|check| check.id);
        // A check appears twice if its block was closed after the states were read.
        checks.dedup_by_key(|check| check.id);
        if newest_first {
            checks.reverse();
        }
        let mut page: Vec<Check> = checks.into_iter().skip(passed).take(window.count).collect();
        if !newest_first {
            page.reverse();
        }
        Ok(page)
    }
}
