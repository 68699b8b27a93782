//! A team's failing sites: those whose newest status check failed without an active issue.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use vedette_domain::checks::tool_state::FailingChange;
use vedette_domain::id::{SiteId, TeamId};
use vedette_domain::sites::site::Site;

use crate::item::{Stored, item, key_of, stored};
use crate::table::{Condition, Range, Sort, Store};
use crate::transaction::Transaction;
use crate::{IndexRow, StoreError, keys};

stored!(attributes: FailingSite);

/// Says that a site is failing.
#[derive(Debug, Serialize, Deserialize)]
struct FailingSite {
    site: SiteId,
    /// The slot of the first failed check.
    since: Timestamp,
}

/// What is wrong with the sites of a team.
#[derive(Debug, Default)]
pub struct Trouble {
    /// Its active issues.
    pub issues: Vec<IndexRow>,
    /// Its failing sites, and the slots of their first failed checks.
    pub failing: BTreeMap<SiteId, Timestamp>,
}

impl Store {
    /// What is wrong with a team's sites, perhaps as of a moment ago. It takes one query, so that a site that goes from
    /// failing to an issue cannot be missed between two queries.
    pub async fn trouble(&self, team: TeamId) -> Result<Trouble, StoreError> {
        let pk = keys::issue_index_partition(team);
        let (from, to) = keys::trouble_range();
        let range = Range { relaxed: true, ..Range::new(&pk, Sort::Between(from, to)) };
        let mut trouble = Trouble::default();
        for found in self.query(range).await? {
            if keys::is_failing(&key_of(&found)?) {
                let FailingSite { site, since } = Stored::read(found)?;
                trouble.failing.insert(site, since);
            } else {
                trouble.issues.push(Stored::read(found)?);
            }
        }
        Ok(trouble)
    }
}

/// Adds a site to the list of failing sites, or removes it. The same transaction writes the state of its status tool
/// under its `rev`, so this needs no condition.
pub(crate) fn write_failing<'a>(
    transaction: Transaction<'a>,
    site: &Site,
    change: Option<FailingChange>,
) -> Result<Transaction<'a>, StoreError> {
    let key = keys::failing(site.team, site.id);
    Ok(match change {
        None => transaction,
        Some(FailingChange::Began(since)) => {
            transaction.put(item(&key, &FailingSite { site: site.id, since })?, Condition::Always)
        }
        Some(FailingChange::Ended) => transaction.delete(&key, Condition::Always),
    })
}
