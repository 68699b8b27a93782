//! Issues, their timelines and a team's index of them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use vedette_domain::id::{IssueId, Partition, SiteId, TeamId};
use vedette_domain::issue::record::{Issue, TimelineEntry};
use vedette_domain::issue::{Fingerprint, IssueStatus};
use vedette_domain::site::Site;

use crate::StoreError;
use crate::keys;
use crate::table::{Range, Sort, Store, key_of, value};

/// An issue with its timeline.
#[derive(Debug, Clone)]
pub struct StoredIssue {
    /// The issue.
    pub issue: Issue,
    /// Oldest first; the newest [`TIMELINE_SHOWN`].
    pub timeline: Vec<TimelineEntry>,
}

/// Entries of a timeline that are shown.
const TIMELINE_SHOWN: usize = 100;

/// What a team's index says of an issue: enough to filter and sort without loading it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct IndexRow {
    /// The issue.
    pub id: IssueId,
    /// The site.
    pub site: SiteId,
    /// What is wrong; says tool and severity.
    pub fingerprint: Fingerprint,
    /// Its state.
    pub status: IssueStatus,
    /// When it opened, the last time.
    pub opened_at: Timestamp,
}

pub(crate) fn index_row(site: &Site, issue: &Issue, fingerprint: Fingerprint) -> IndexRow {
    IndexRow {
        id: issue.id,
        site: site.id,
        fingerprint,
        status: issue.status(),
        opened_at: issue.lifecycle.opened_at(),
    }
}

impl Store {
    /// The issue of a fingerprint, with its timeline: one query.
    ///
    /// # Errors
    ///
    /// When DynamoDB does not answer.
    pub async fn issue(
        &self,
        partition: Partition,
        fingerprint: Fingerprint,
    ) -> Result<Option<StoredIssue>, StoreError> {
        let pk = keys::site_partition(partition);
        let sort = Sort::Prefix(keys::issue_sort(fingerprint));
        let mut issue = None;
        let mut timeline = Vec::new();
        for item in self.query(Range::new(&pk, sort)).await? {
            if key_of(&item)?.sk == keys::issue_sort(fingerprint) {
                issue = Some(value(item)?);
            } else {
                timeline.push(value(item)?);
            }
        }
        let newest = timeline.split_off(timeline.len().saturating_sub(TIMELINE_SHOWN));
        Ok(issue.map(|issue| StoredIssue { issue, timeline: newest }))
    }

    /// All issues of a site.
    ///
    /// # Errors
    ///
    /// When DynamoDB does not answer.
    pub async fn issues_of_site(
        &self,
        partition: Partition,
    ) -> Result<Vec<StoredIssue>, StoreError> {
        let found = Fingerprint::ALL.map(|fingerprint| self.issue(partition, fingerprint));
        let found = futures::future::try_join_all(found).await?;
        Ok(found.into_iter().flatten().collect())
    }

    /// A team's active issues, or its resolved ones.
    ///
    /// # Errors
    ///
    /// When DynamoDB does not answer.
    pub async fn issue_index(
        &self,
        team: TeamId,
        is_active: bool,
    ) -> Result<Vec<IndexRow>, StoreError> {
        let pk = keys::issue_index_partition(team);
        let sort = Sort::Prefix(keys::issue_index_prefix(is_active).to_owned());
        self.query(Range::new(&pk, sort)).await?.into_iter().map(value).collect()
    }
}
