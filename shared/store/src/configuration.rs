//! The lease of whoever applies a document to a team.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use vedette_domain::id::TeamId;

use crate::item::{item, number, stored, string};
use crate::table::{Condition, Store};
use crate::{Audit, StoreError, keys, unless_conflict};

stored!(attributes: Lease);

/// Nobody else applies a document to the team until it ends.
#[derive(Debug, Serialize, Deserialize)]
struct Lease {
    /// What distinguishes the apply from others.
    holder: String,
    /// When it ends by itself, in seconds.
    ends: i64,
}

impl Store {
    /// Begins or extends the lease of an apply. Returns whether it has it: not if another apply still has one.
    pub async fn lease_configuration(
        &self,
        team: TeamId,
        holder: &str,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let lease = Lease { holder: holder.to_owned(), ends: until.as_second() };
        let free = Condition::When(
            "attribute_not_exists(pk) OR holder = :holder OR ends < :now",
            vec![(":holder", string(holder)), (":now", number(now.as_second()))],
        );
        unless_conflict(self.put(item(&keys::configuration_lease(team), &lease)?, free).await)
    }

    /// Ends the lease of an apply, if it still has it.
    pub async fn release_configuration(
        &self,
        team: TeamId,
        holder: &str,
    ) -> Result<(), StoreError> {
        let own = Condition::When("holder = :holder", vec![(":holder", string(holder))]);
        let key = keys::configuration_lease(team);
        let released = self.transaction().delete(&key, own).commit(Audit::None).await;
        unless_conflict(released).map(drop)
    }
}
