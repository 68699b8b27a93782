//! A team's outages, in its index of issues.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use vedette_domain::checks::history::{Day, day_of};
use vedette_domain::checks::tool_state::ToolState;
use vedette_domain::id::{IssueId, Partition, TeamId};
use vedette_domain::issues::Fingerprint;
use vedette_domain::issues::outage::OutageRecord;
use vedette_domain::issues::record::IssueChange;
use vedette_domain::monitor::MonitorRef;

use crate::item::{Stored, expiring, item, key_of, readable, stored};
use crate::keys::{self, Key};
use crate::table::{Condition, Range, Sort, Store};
use crate::transaction::Transaction;
use crate::{IndexRow, StoreError, TeamWithSettings};

stored!(attributes: OutageRecord);

/// An outage may have begun so long before the time that is asked for, and is found anyway if it is over.
const LONGEST_OUTAGE: SignedDuration = SignedDuration::from_hours(92 * 24);

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

    /// The outages of a team that overlap the time between two instants, the newest first, also those that go on. Whether
    /// there may be more is returned, too: at most `most` are read.
    pub async fn outages_within(
        &self,
        team: &TeamWithSettings,
        (from, to): (Timestamp, Timestamp),
        most: usize,
        now: Timestamp,
    ) -> Result<(Vec<OutageRecord>, bool), StoreError> {
        let earliest = from.saturating_sub(LONGEST_OUTAGE).unwrap_or(Timestamp::MIN);
        let (trouble, stored) = futures::try_join!(
            self.trouble(team.id()),
            self.outages(team.id(), (earliest, to), most),
        )?;
        let is_cut =
            stored.len() == most && stored.last().is_some_and(|oldest| oldest.opened_at >= from);
        let open = self.issues_with_monitors(open(trouble.issues, most)).await?;
        let open = open.values().filter_map(|of| {
            let outage = OutageRecord::of(&of.issue, of.monitor.id())?;
            Some(outage.or_ended(of.monitoring_ended_at()))
        });
        // What an issue says is newer than its stored record, which does not have the acknowledgement yet.
        let all: BTreeMap<(Reverse<Timestamp>, IssueId), OutageRecord> = stored
            .into_iter()
            .chain(open)
            .map(|outage| ((Reverse(outage.opened_at), outage.issue), outage))
            .collect();
        let retention = team.retention(now);
        let mut all: Vec<_> = all.into_values().collect();
        all.retain(|outage| {
            retention.reaches(day_of(outage.ended_at.unwrap_or(now)))
                && outage.problem().overlaps(from, to)
        });
        Ok((all, is_cut))
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

/// The issues of the outages that are going on, at most `most`, the newest ones.
fn open(mut active: Vec<IndexRow>, most: usize) -> impl Iterator<Item = IssueId> {
    active.retain(|row| row.fingerprint == Fingerprint::StatusDown);
    active.sort_by_key(|row| Reverse((row.opened_at, row.id)));
    active.into_iter().take(most).map(|row| row.id)
}
