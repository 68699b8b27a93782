//! Check rows, counted days, pages of a history.

use std::collections::BTreeMap;

use futures::future::try_join_all;
use jiff::civil::Date;
use jiff::{Timestamp, ToSpan};
use vedette_domain::check::Check;
use vedette_domain::history::{Day, Filter, Kind, Retention, Window};
use vedette_domain::id::{CheckId, Partition, Trigger};
use vedette_domain::tool::{CheckStatus, Tool};
use vedette_domain::tool_state::Latest;

use crate::StoreError;
use crate::keys::{self, Key};
use crate::row;
use crate::table::{Range, Sort, Store, expiry, value};

/// A check with its whole result.
#[derive(Debug, Clone)]
pub struct StoredCheck {
    /// The check.
    pub check: Check,
    /// Whether the whole result has an item of its own.
    pub has_body: bool,
    /// When its row may be forgotten.
    pub expires_at: Timestamp,
}

impl Store {
    /// A check by its id alone: an on-demand check has one row, an automatic one is in the stream of
    /// the state that it ended in.
    ///
    /// # Errors
    ///
    /// When DynamoDB does not answer.
    pub async fn check(&self, id: CheckId) -> Result<Option<StoredCheck>, StoreError> {
        let states = [CheckStatus::Completed, CheckStatus::Failed];
        let keys = states.into_iter().filter_map(|status| keys::check(id, status));
        let found = self.batch_get(keys).await?;
        let Some(item) = found.into_values().next() else { return Ok(None) };
        let expires_at = expiry(&item)?;
        let (mut check, has_body) = row::read(item)?;
        if check.id != id {
            return Ok(None);
        }
        if has_body && let Some(body) = keys::body(id, check.status) {
            // Deleted in between, it is shown as it was when its row was read.
            if let Some(body) = self.get(&body).await? {
                check.result = Some(row::read_body(body)?);
            }
        }
        Ok(Some(StoredCheck { check, has_body, expires_at }))
    }

    /// The checks that pointers name, in their list form; those that are gone, or past the retention beside them, are
    /// left out.
    ///
    /// # Errors
    ///
    /// When DynamoDB does not answer.
    pub async fn checks(
        &self,
        pointers: impl IntoIterator<Item = (Latest, Retention)>,
    ) -> Result<BTreeMap<CheckId, Check>, StoreError> {
        let wanted: BTreeMap<Key, Retention> = pointers
            .into_iter()
            .filter_map(|(latest, retention)| {
                Some((keys::check(latest.id, latest.status)?, retention))
            })
            .collect();
        let mut checks = BTreeMap::new();
        for (key, item) in self.batch_get(wanted.keys().cloned()).await? {
            let expires_at = expiry(&item)?;
            let check = row::read_listed(item)?;
            let retention = wanted.get(&key);
            if retention.is_some_and(|it| it.shows_row(check.id.created_at(), expires_at)) {
                checks.insert(check.id, check);
            }
        }
        Ok(checks)
    }

    /// The newest on-demand check of the same tool before this one.
    ///
    /// # Errors
    ///
    /// When DynamoDB does not answer.
    pub async fn on_demand_before(&self, check: CheckId) -> Result<Option<Latest>, StoreError> {
        let Some(tool) = check.tool() else { return Ok(None) };
        // On-demand checks share a stream, whatever their state.
        let kind = Kind { trigger: Trigger::OnDemand, status: CheckStatus::Pending };
        let stream = keys::stream(tool, kind);
        let place = |at, unique| format!("{stream}{}", keys::stream_place(at, unique));
        let end = place(check.created_at(), check.unique());
        let sort = Sort::Between(place(Timestamp::UNIX_EPOCH, 0), end);
        let pk = keys::site_partition(check.partition());
        // Both ends are included, so the check itself is the newest.
        let range = Range { newest_first: true, limit: Some(2), ..Range::new(&pk, sort) };
        for item in self.query(range).await? {
            let Check { id, status, .. } = row::read_listed(item)?;
            if id != check {
                return Ok(Some(Latest { id, status }));
            }
        }
        Ok(None)
    }

    /// A closed day of a tool.
    ///
    /// # Errors
    ///
    /// When DynamoDB does not answer.
    pub async fn day(
        &self,
        partition: Partition,
        tool: Tool,
        date: Date,
    ) -> Result<Option<Day>, StoreError> {
        self.get(&keys::day(partition, tool, date)).await?.map(value).transpose()
    }

    /// The closed days of tools in a span, both ends included. Read after the tools' states, so
    /// that a day that closes in between is seen at least once.
    ///
    /// # Errors
    ///
    /// When DynamoDB does not answer.
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
                let days = query.await?.into_iter().map(|item| Ok((tool, value(item)?)));
                days.collect::<Result<Vec<_>, StoreError>>()
            }
        });
        Ok(try_join_all(spans).await?.into_iter().flatten().collect())
    }

    /// The checks of a window in their list form, newest first, at most `limit` after those to pass over.
    ///
    /// # Errors
    ///
    /// When DynamoDB does not answer.
    pub async fn page(
        &self,
        partition: Partition,
        filter: &Filter,
        window: &Window,
        limit: usize,
    ) -> Result<Vec<Check>, StoreError> {
        let pk = keys::site_partition(partition);
        let end = |before: Timestamp| before.saturating_sub(1.millisecond()).unwrap_or(before);
        let needed = window.skip.saturating_add(limit);
        let read = |stream: String, from, end, limit| {
            let place = |at, unique| format!("{stream}{}", keys::stream_place(at, unique));
            let sort = Sort::Between(place(from, 0), place(end, u8::MAX));
            self.query(Range { newest_first: true, limit, ..Range::new(&pk, sort) })
        };
        let automatic = window.streams.iter().map(|&(tool, kind)| {
            read(keys::stream(tool, kind), window.from, end(window.before), Some(needed))
        });
        // The states of on-demand checks share a stream, so not all that is read may count.
        let of_span = filter.status.is_none().then_some(needed);
        let on_demand = window.on_demand.iter().map(|span| {
            let kind = Kind { trigger: Trigger::OnDemand, status: CheckStatus::Pending };
            read(keys::stream(span.tool, kind), span.from, end(span.before), of_span)
        });
        let reads = automatic.chain(on_demand);
        let mut checks = Vec::new();
        for item in try_join_all(reads).await?.into_iter().flatten() {
            let check = row::read_listed(item)?;
            if filter.status.is_none_or(|status| status == check.status) {
                checks.push(check);
            }
        }
        checks.sort_unstable_by_key(|check| std::cmp::Reverse(check.id));
        Ok(checks.into_iter().skip(window.skip).take(limit).collect())
    }
}
