//! Issues.

mod index;

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;
use vedette_domain::checks::report::is_outage;
use vedette_domain::checks::tool_state::ToolState;
use vedette_domain::id::{IssueId, Partition};
use vedette_domain::issues::record::Issue;
use vedette_domain::issues::{Fingerprint, Problem};
use vedette_domain::monitor::Monitor;

use crate::StoreError;
use crate::item::{Item, Stored, stored};
use crate::keys::{self, Key};
use crate::monitor::live_monitor;
use crate::table::{Range, Sort, Store};

pub use index::IndexRow;
pub(crate) use index::index_row;

stored!(attributes: Issue);

/// An issue with its site or heartbeat, and the state of its tool.
#[derive(Debug, Clone)]
pub struct IssueWithMonitor {
    /// The issue.
    pub issue: Issue,
    /// Its site or heartbeat.
    pub monitor: Monitor,
    /// The state of the tool that found the issue.
    pub state: ToolState,
}

impl IssueWithMonitor {
    /// Its last opening.
    pub fn problem(&self) -> Problem {
        let ended_at = self.monitoring_ended_at();
        self.issue.problem().or_ended(ended_at)
    }

    /// When monitoring ended during the current outage, if it is one and monitoring has.
    pub fn monitoring_ended_at(&self) -> Option<Timestamp> {
        self.state.monitoring_ended_at.filter(|_| is_outage(&self.issue))
    }
}

impl Store {
    /// The issue of a fingerprint.
    pub async fn issue(
        &self,
        partition: Partition,
        fingerprint: Fingerprint,
    ) -> Result<Option<Issue>, StoreError> {
        self.get(&keys::issue(partition, fingerprint)).await?.map(Stored::read).transpose()
    }

    /// All issues of a site.
    pub async fn issues_of_site(&self, partition: Partition) -> Result<Vec<Issue>, StoreError> {
        let pk = keys::site_partition(partition);
        let issues = Range::new(&pk, Sort::Prefix(keys::ISSUE.to_owned()));
        self.query(issues).await?.into_iter().map(Stored::read).collect()
    }

    /// Reads an issue by its id alone; `None` if the issue does not exist, or its site or heartbeat is gone.
    pub async fn issue_with_monitor(
        &self,
        id: IssueId,
    ) -> Result<Option<IssueWithMonitor>, StoreError> {
        let keys = keys_with_monitor(id);
        issue_of(id, &keys, &self.batch_get(keys.clone()).await?)
    }

    /// Reads issues for display, by id, with an eventually consistent read. Skips issues that do not exist and those
    /// whose site or heartbeat is gone.
    pub async fn issues_with_monitors(
        &self,
        ids: impl IntoIterator<Item = IssueId>,
    ) -> Result<BTreeMap<IssueId, IssueWithMonitor>, StoreError> {
        let wanted = wanted(ids);
        let keys = wanted.iter().flat_map(|(_, keys)| keys.clone());
        issues_of(&wanted, &self.batch_get_relaxed(keys).await?)
    }

    /// Like [`Store::issues_with_monitors`], but with a consistent read, for decisions.
    pub async fn current_issues(
        &self,
        ids: impl IntoIterator<Item = IssueId>,
    ) -> Result<BTreeMap<IssueId, IssueWithMonitor>, StoreError> {
        let wanted = wanted(ids);
        let keys = wanted.iter().flat_map(|(_, keys)| keys.clone());
        issues_of(&wanted, &self.batch_get(keys).await?)
    }
}

/// The keys of the issue, its site or heartbeat, and its tool.
fn keys_with_monitor(id: IssueId) -> [Key; 3] {
    let (partition, fingerprint) = (id.partition(), id.fingerprint());
    let tool = keys::tool(partition, fingerprint.tool());
    [keys::issue(partition, fingerprint), keys::site(partition), tool]
}

fn wanted(ids: impl IntoIterator<Item = IssueId>) -> Vec<(IssueId, [Key; 3])> {
    ids.into_iter().map(|id| (id, keys_with_monitor(id))).collect()
}

fn issues_of(
    wanted: &[(IssueId, [Key; 3])],
    found: &HashMap<Key, Item>,
) -> Result<BTreeMap<IssueId, IssueWithMonitor>, StoreError> {
    let read = wanted.iter().map(|(id, keys)| Ok((*id, issue_of(*id, keys, found)?)));
    let read: Vec<_> = read.collect::<Result<_, StoreError>>()?;
    Ok(read.into_iter().filter_map(|(id, found)| Some((id, found?))).collect())
}

fn issue_of(
    id: IssueId,
    keys: &[Key; 3],
    found: &HashMap<Key, Item>,
) -> Result<Option<IssueWithMonitor>, StoreError> {
    // Issues may share the other two.
    let [Some(issue), Some(monitor), Some(state)] =
        keys.each_ref().map(|key| found.get(key).cloned())
    else {
        return Ok(None);
    };
    let (issue, monitor): (Issue, _) = (Stored::read(issue)?, live_monitor(monitor)?);
    match monitor {
        Some(monitor) if issue.id == id => {
            Ok(Some(IssueWithMonitor { issue, monitor, state: Stored::read(state)? }))
        }
        _ => Ok(None),
    }
}
