//! A team's index of its issues.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use vedette_domain::id::{IssueId, MonitorId, TeamId};
use vedette_domain::issues::record::Issue;
use vedette_domain::issues::{Fingerprint, IssueStatus, Severity};

use crate::item::{Stored, stored};
use crate::table::{Range, Sort, Store};
use crate::{StoreError, keys};

stored!(attributes: IndexRow);

/// What a team's index says about an issue: enough to filter and sort without loading it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct IndexRow {
    /// The issue.
    pub id: IssueId,
    /// The site or heartbeat.
    #[serde(rename = "site")]
    pub monitor: MonitorId,
    /// What is wrong; determines the tool.
    pub fingerprint: Fingerprint,
    /// The severity, if it is not that of the fingerprint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen_severity: Option<Severity>,
    /// Its state.
    pub status: IssueStatus,
    /// When the issue last opened.
    pub opened_at: Timestamp,
    /// When the issue was resolved, if it is resolved; rows of older versions do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved_at: Option<Timestamp>,
}

impl IndexRow {
    /// How severe the issue is.
    pub fn severity(&self) -> Severity {
        self.chosen_severity.unwrap_or(self.fingerprint.severity())
    }

    /// When the last event of the issue happened.
    pub fn last_event(&self) -> Timestamp {
        self.resolved_at.unwrap_or(self.opened_at)
    }
}

pub(crate) fn index_row(monitor: MonitorId, issue: &Issue) -> IndexRow {
    IndexRow {
        id: issue.id,
        monitor,
        fingerprint: issue.id.fingerprint(),
        chosen_severity: issue.chosen_severity,
        status: issue.status(),
        opened_at: issue.lifecycle.opened_at(),
        resolved_at: issue.lifecycle.resolved_at(),
    }
}

impl Store {
    /// Lists a team's active issues, or its resolved ones, with an eventually consistent read.
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
