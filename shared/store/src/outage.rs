//! A team's outages, in its index of issues.

use jiff::Timestamp;
use vedette_domain::checks::history::Day;
use vedette_domain::checks::tool_state::ToolState;
use vedette_domain::id::{Partition, TeamId};
use vedette_domain::issues::outage::OutageRecord;
use vedette_domain::issues::record::IssueChange;
use vedette_domain::monitor::MonitorRef;

use crate::StoreError;
use crate::item::{Stored, expiring, item, key_of, readable, stored};
use crate::keys::{self, Key};
use crate::table::{Condition, Range, Sort, Store};
use crate::transaction::Transaction;

stored!(attributes: OutageRecord);

/// Writes the outage that a change of an issue begins or ends, in the transaction of the change, whose conditions ensure
/// that each outage is written once. It expires with the checks of its tool's open day.
pub(crate) fn write_outage<'a>(
    transaction: Transaction<'a>,
    place: MonitorRef,
    change: &IssueChange,
    state: Option<&ToolState>,
) -> Result<Transaction<'a>, StoreError> {
    let Some(outage) = change.outage(place.id) else { return Ok(transaction) };
    let stored = item(&keys::outage(place.team, outage.opened_at, place.id.partition()), &outage)?;
    let day = state.and_then(|state| state.day.as_ref());
    let stored = match day.map(Day::rows_expire_at) {
        Some(at) => expiring(stored, at),
        None => stored,
    };
    Ok(transaction.put(stored, Condition::Always))
}

impl Store {
    /// The newest outages of a team that opened between two instants, newest first, at most `count`, as of a moment ago.
    pub async fn outages(
        &self,
        team: TeamId,
        (from, to): (Timestamp, Timestamp),
        count: usize,
    ) -> Result<Vec<OutageRecord>, StoreError> {
        let pk = keys::issue_index_partition(team);
        let (from, to) = keys::outage_range(from, to);
        let range = Range {
            newest_first: true,
            limit: Some(count),
            relaxed: true,
            ..Range::new(&pk, Sort::Between(from, to))
        };
        let found = self.query(range).await?;
        Ok(found.into_iter().filter_map(|item| readable(item, Stored::read)).collect())
    }

    /// Deletes the outages of a deleted site.
    pub(crate) async fn purge_outages(
        &self,
        team: TeamId,
        site: Partition,
    ) -> Result<(), StoreError> {
        let pk = keys::issue_index_partition(team);
        let all = Range {
            keys_only: true,
            relaxed: true,
            ..Range::new(&pk, Sort::Prefix(keys::OUTAGE.to_owned()))
        };
        let found = self.query(all).await?;
        let keys: Vec<Key> = found.iter().map(key_of).collect::<Result<_, _>>()?;
        let of_site = keys::outage_site(site);
        let gone: Vec<Key> = keys.into_iter().filter(|key| key.sk.ends_with(&of_site)).collect();
        self.batch_delete(&gone).await
    }
}
