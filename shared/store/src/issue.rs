//! Issues, their timelines and a team's index of them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use vedette_domain::id::{IssueId, Partition, SiteId, TeamId};
use vedette_domain::issue::record::{Issue, TimelineEntry};
use vedette_domain::issue::{Fingerprint, IssueStatus};
use vedette_domain::site::Site;

use crate::StoreError;
use crate::keys;
use crate::table::{Range, Sort, Store, value};

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
    /// The issue of a fingerprint, with its timeline: a get and a query at once. However long the
    /// timeline has grown, only what is shown is read.
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
        let sort = Sort::Prefix(keys::timeline_prefix(fingerprint));
        let newest =
            Range { newest_first: true, limit: Some(TIMELINE_SHOWN), ..Range::new(&pk, sort) };
        let key = keys::issue(partition, fingerprint);
        let (issue, entries) = futures::try_join!(self.get(&key), self.query(newest))?;
        let Some(issue) = issue else { return Ok(None) };
        let timeline: Result<Vec<_>, _> = entries.into_iter().rev().map(value).collect();
        Ok(Some(StoredIssue { issue: value(issue)?, timeline: timeline? }))
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
