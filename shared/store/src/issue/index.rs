//! A team's index of its issues.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use vedette_domain::id::{IssueId, SiteId, TeamId};
use vedette_domain::issues::record::Issue;
use vedette_domain::issues::{Fingerprint, IssueStatus};
use vedette_domain::sites::site::Site;

use crate::item::{Stored, stored};
use crate::table::{Range, Sort, Store};
use crate::{StoreError, keys};

stored!(attributes: IndexRow);

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
    /// When it was resolved since, if it is; rows of older versions do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved_at: Option<Timestamp>,
}

impl IndexRow {
    /// When something happened to the issue that is an event, the last time.
    pub fn last_event(&self) -> Timestamp {
        self.resolved_at.unwrap_or(self.opened_at)
    }
}

pub(crate) fn index_row(site: &Site, issue: &Issue) -> IndexRow {
    IndexRow {
        id: issue.id,
        site: site.id,
        fingerprint: issue.id.fingerprint(),
        status: issue.status(),
        opened_at: issue.lifecycle.opened_at(),
        resolved_at: issue.lifecycle.resolved_at(),
    }
}

impl Store {
    /// A team's active issues, or its resolved ones, perhaps as they were a moment ago.
    pub async fn issue_index(
        &self,
        team: TeamId,
        is_active: bool,
    ) -> Result<Vec<IndexRow>, StoreError> {
        let pk = keys::issue_index_partition(team);
        let sort = Sort::Prefix(keys::issue_index_prefix(is_active).to_owned());
        let index = Range { relaxed: true, ..Range::new(&pk, sort) };
        self.query(index).await?.into_iter().map(Stored::read).collect()
    }
}
