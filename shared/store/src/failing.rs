//! A team's failing sites, whose newest status check failed without an active issue; and its sites that can't be
//! checked, with what their owners must hear.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use vedette_domain::alerts::delivery::Queued;
use vedette_domain::checks::tool_state::{ListChange, NOTIFIED_AFTER, ToolState};
use vedette_domain::id::{Partition, SiteId, TeamId};
use vedette_domain::issues::{IssueStatus, Severity};
use vedette_domain::monitor::MonitorRef;

use crate::item::{Item, Stored, item, key_of, outstanding, stored, string};
use crate::table::{Condition, Range, Sort, Store};
use crate::transaction::Transaction;
use crate::{Audit, ChannelRef, IndexRow, StoreError, keys};

stored!(attributes: ListedSite);

/// A site in one of the lists. As outstanding work, it says that its owners must hear of it.
#[derive(Debug, Serialize, Deserialize)]
struct ListedSite {
    site: SiteId,
    /// The slot of the first check that failed, or that could not run.
    since: Timestamp,
}

/// What is wrong with the sites of a team.
#[derive(Debug, Default)]
pub struct Trouble {
    /// Its active issues.
    pub issues: Vec<IndexRow>,
    /// Its failing sites, and the slots of their first failed checks.
    pub failing: BTreeMap<SiteId, Timestamp>,
    /// Its sites that can't be checked, and the slots of their first checks that could not run.
    pub unchecked: BTreeMap<SiteId, Timestamp>,
}

impl Trouble {
    /// Adds an item of the issue index.
    fn add(&mut self, found: Item) -> Result<(), StoreError> {
        let key = key_of(&found)?;
        let list = if keys::is_failing(&key) {
            &mut self.failing
        } else if keys::is_unchecked(&key) {
            &mut self.unchecked
        } else {
            self.issues.push(Stored::read(found)?);
            return Ok(());
        };
        let ListedSite { site, since } = Stored::read(found)?;
        list.insert(site, since);
        Ok(())
    }

    /// What all pages of the team say about it.
    pub fn attention(&self) -> Attention {
        let is_failing = !self.failing.is_empty();
        let unchecked = self.unchecked.len();
        let mut attention = Attention { is_failing, unchecked, ..Attention::default() };
        self.issues.iter().for_each(|issue| attention.count_issue(issue));
        attention
    }
}

/// What all pages of a team say about the state of its sites.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Attention {
    /// Whether a critical issue is active.
    pub is_critical: bool,
    /// Whether a site is failing. Not known if more critical issues than are counted are open.
    pub is_failing: bool,
    /// The critical issues that nobody has acknowledged, of which more than [`Attention::COUNTED`] may be left out.
    pub unacknowledged: usize,
    /// The sites that cannot be checked. Not known either in that case.
    pub unchecked: usize,
}

impl Attention {
    /// The most issues that are counted.
    pub const COUNTED: usize = 99;
    /// The rows that are read at once, so that a mass outage does not slow every page down.
    const ROWS: usize = 500;

    /// Adds an item of the issue index.
    fn count(&mut self, found: Item) -> Result<(), StoreError> {
        let key = key_of(&found)?;
        if keys::is_unchecked(&key) {
            self.unchecked += 1;
        } else if keys::is_failing(&key) {
            self.is_failing = true;
        } else {
            self.count_issue(&Stored::read(found)?);
        }
        Ok(())
    }

    fn count_issue(&mut self, issue: &IndexRow) {
        if issue.severity() == Severity::Critical {
            self.is_critical = true;
            self.unacknowledged += usize::from(issue.status == IssueStatus::Open);
        }
    }
}

impl Store {
    /// What the pages of a team say about the state of its sites, perhaps as of a moment ago. It is usually one query
    /// that finds little. More rows are read only until enough issues are counted.
    pub async fn attention(&self, team: TeamId) -> Result<Attention, StoreError> {
        let pk = keys::issue_index_partition(team);
        let (from, to) = keys::trouble_range();
        let range = Range { relaxed: true, ..Range::new(&pk, Sort::Between(from, to)) };
        let mut attention = Attention::default();
        let mut start = None;
        loop {
            let (page, last) = self.query_page(&range, Some(Attention::ROWS), start).await?;
            for found in page {
                attention.count(found)?;
                if attention.unacknowledged > Attention::COUNTED {
                    return Ok(attention);
                }
            }
            start = last;
            if start.is_none() {
                return Ok(attention);
            }
        }
    }

    /// What is wrong with a team's sites, perhaps as of a moment ago. It takes one query, so that a site that goes from
    /// failing to an issue cannot be missed between two queries.
    pub async fn trouble(&self, team: TeamId) -> Result<Trouble, StoreError> {
        let pk = keys::issue_index_partition(team);
        let (from, to) = keys::trouble_range();
        let range = Range { relaxed: true, ..Range::new(&pk, Sort::Between(from, to)) };
        let mut trouble = Trouble::default();
        for found in self.query(range).await? {
            trouble.add(found)?;
        }
        Ok(trouble)
    }

    /// Queues what a channel says about a site that can't be checked since a slot, if there is a channel, and forgets
    /// that the owners must hear of it.
    ///
    /// # Errors
    ///
    /// A conflict when they have heard of it, or need not any more.
    pub async fn notify_unchecked(
        &self,
        site: Partition,
        since: Timestamp,
        notice: Option<(ChannelRef, &Queued)>,
    ) -> Result<(), StoreError> {
        let same = Condition::When("since = :since", vec![(":since", string(since.to_string()))]);
        let mut transaction = self.transaction().delete(&keys::unchecked_notice(site), same);
        if let Some((channel, queued)) = notice {
            transaction = transaction.put(channel.queued_item(queued)?, Condition::Absent);
        }
        transaction.commit(Audit::None).await
    }
}

/// Adds a site to the list of failing sites, or removes it. The same transaction writes the state of its status tool
/// under its `rev`, so this needs no condition.
pub(crate) fn write_failing<'a>(
    transaction: Transaction<'a>,
    place: MonitorRef,
    change: Option<ListChange>,
) -> Result<Transaction<'a>, StoreError> {
    let MonitorRef { id, team } = place;
    let key = keys::failing(team, id);
    Ok(match change {
        None => transaction,
        Some(ListChange::Began(since)) => {
            transaction.put(item(&key, &ListedSite { site: id, since })?, Condition::Always)
        }
        Some(ListChange::Ended) => transaction.delete(&key, Condition::Always),
    })
}

/// Adds a site to the list of those that can't be checked, and notes that its owners must hear of it; or removes both.
/// Like [`write_failing`], this needs no condition.
pub(crate) fn write_unchecked<'a>(
    transaction: Transaction<'a>,
    place: MonitorRef,
    change: Option<ListChange>,
) -> Result<Transaction<'a>, StoreError> {
    let MonitorRef { id, team } = place;
    let partition = id.partition();
    let (key, notice) = (keys::unchecked(team, id), keys::unchecked_notice(partition));
    Ok(match change {
        None => transaction,
        Some(ListChange::Began(since)) => {
            let listed = ListedSite { site: id, since };
            let due = since.saturating_add(NOTIFIED_AFTER).unwrap_or(since);
            let work = outstanding(item(&notice, &listed)?, keys::site_shard(partition), Some(due));
            let transaction = transaction.put(item(&key, &listed)?, Condition::Always);
            transaction.put(work, Condition::Always)
        }
        Some(ListChange::Ended) => {
            transaction.delete(&key, Condition::Always).delete(&notice, Condition::Always)
        }
    })
}

/// Removes a deleted site from the lists, according to the state of one of its tools.
pub(crate) fn unlist<'a>(
    transaction: Transaction<'a>,
    place: MonitorRef,
    state: &ToolState,
) -> Result<Transaction<'a>, StoreError> {
    let failing = state.failing_since.map(|_| ListChange::Ended);
    let unchecked = state.unchecked().map(|_| ListChange::Ended);
    write_unchecked(write_failing(transaction, place, failing)?, place, unchecked)
}

#[cfg(test)]
mod tests {
    use vedette_domain::id::IssueId;
    use vedette_domain::issues::Fingerprint::{self, SslExpiring, StatusDown};
    use vedette_domain::issues::IssueStatus::{Acknowledged, Open};

    use super::*;

    #[test]
    fn open_critical_issues_are_counted() {
        let site = SiteId::parse("0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01").expect("a site id");
        let team = TeamId(site.0);
        let issue = |fingerprint: Fingerprint, chosen_severity, status| {
            let (id, opened_at) =
                (IssueId::new(site, fingerprint, Timestamp::UNIX_EPOCH), Timestamp::UNIX_EPOCH);
            let row = IndexRow {
                id,
                monitor: site,
                fingerprint,
                chosen_severity,
                status,
                opened_at,
                resolved_at: None,
            };
            item(&keys::issue_index(team, id, status), &row).expect("an item")
        };
        let failing = ListedSite { site, since: Timestamp::UNIX_EPOCH };
        let [failing, unchecked] = [keys::failing(team, site), keys::unchecked(team, site)]
            .map(|key| item(&key, &failing).expect("an item"));
        let mut attention = Attention::default();
        let mut trouble = Trouble::default();
        for (found, expected) in [
            (issue(SslExpiring, None, Open), (false, false, 0, 0)),
            (issue(StatusDown, Some(Severity::Warning), Open), (false, false, 0, 0)),
            (unchecked, (false, false, 0, 1)),
            (failing, (false, true, 0, 1)),
            (issue(StatusDown, None, Acknowledged), (true, true, 0, 1)),
            (issue(StatusDown, None, Open), (true, true, 1, 1)),
            (issue(SslExpiring, Some(Severity::Critical), Open), (true, true, 2, 1)),
        ] {
            trouble.add(found.clone()).expect("an item of the index");
            attention.count(found).expect("an item of the index");
            assert_eq!(trouble.attention(), attention);
            let Attention { is_critical, is_failing, unacknowledged, unchecked } = attention;
            assert_eq!((is_critical, is_failing, unacknowledged, unchecked), expected);
        }
    }
}
