//! Heartbeats: the list of a team, and a heartbeat with its state.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use vedette_domain::accounts::team::Team;
use vedette_domain::alerts::delivery::OutboxEntry;
use vedette_domain::checks::limits::{ALERT_GRACE, RECONCILE_GRACE};
use vedette_domain::checks::tool::Tool;
use vedette_domain::checks::tool_state::ToolState;
use vedette_domain::heartbeats::heartbeat::Heartbeat;
use vedette_domain::heartbeats::team_key::TeamPingKey;
use vedette_domain::id::{HeartbeatId, Partition, StatusPageId, TeamId};
use vedette_domain::issues::record::Issue;

use crate::channel::put_outbox;
use crate::item::{Stored, item, number, outstanding, stored};
use crate::keys::{self, Key};
use crate::monitor::live_heartbeat;
use crate::site::{DeletedSite, put_state, tool_item};
use crate::status_page::want_all;
use crate::table::{Change, Condition, Range, Sort, Store};
use crate::transaction::Transaction;
use crate::{Audit, StoreError};

stored!(attributes: Heartbeat, Listed, StoredKey, TeamOfKey);

/// A heartbeat with the state of its tool.
#[derive(Debug, Clone)]
pub struct StoredHeartbeat {
    /// The heartbeat.
    pub heartbeat: Heartbeat,
    /// What is known of it.
    pub state: ToolState,
}

/// A heartbeat in a list, or what a slug stands for.
#[derive(Debug, Serialize, Deserialize)]
struct Listed {
    id: HeartbeatId,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredKey {
    ping_key: TeamPingKey,
}

#[derive(Debug, Serialize, Deserialize)]
struct TeamOfKey {
    team: TeamId,
}

/// Why a heartbeat was not saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeartbeatConflict {
    /// The plan allows no more, or the plan has changed since.
    TooMany,
    /// Another heartbeat of the team has the slug.
    SlugTaken,
    /// Another site or heartbeat is where its ping key says.
    KeyTaken,
}

/// The place of the team's count in the transaction of [`Store::create_heartbeat`].
const ROOM: usize = 0;
/// The place of the slug there, and in that of [`Store::update_heartbeat`].
const SLUG: usize = 1;
/// The place of the heartbeat there.
const PLACE: usize = 2;

/// What a conflict of [`Store::create_heartbeat`] or [`Store::update_heartbeat`] means; `None` if something has changed
/// since it was read.
pub fn heartbeat_conflict(error: &StoreError, is_new: bool) -> Option<HeartbeatConflict> {
    if error.has_failed(SLUG) {
        Some(HeartbeatConflict::SlugTaken)
    } else if is_new && error.has_failed(PLACE) {
        Some(HeartbeatConflict::KeyTaken)
    } else if is_new && error.has_failed(ROOM) {
        Some(HeartbeatConflict::TooMany)
    } else {
        None
    }
}

/// A change of a heartbeat.
#[derive(Debug)]
pub struct HeartbeatUpdate<'a> {
    /// The heartbeat as it was read.
    pub read: &'a StoredHeartbeat,
    /// The heartbeat to save.
    pub next: &'a Heartbeat,
    /// Its state, if it changes.
    pub state: Option<&'a ToolState>,
    /// What channels have to learn about its issues.
    pub outbox: &'a [OutboxEntry],
    /// The team's status pages, if they are published again.
    pub pages: &'a [StatusPageId],
}

/// The deletion of a heartbeat, as it was decided.
#[derive(Debug, Clone, Copy)]
pub struct HeartbeatDeletion<'a> {
    /// The heartbeat as it was read.
    pub stored: &'a StoredHeartbeat,
    /// Its issues.
    pub issues: &'a [Issue],
    /// What channels have to learn about them.
    pub outbox: &'a [OutboxEntry],
    /// The team's status pages, which are published again.
    pub pages: &'a [StatusPageId],
}

/// Takes the slug of a heartbeat. It is at [`SLUG`] in its transaction.
fn put_slug<'a>(
    transaction: Transaction<'a>,
    heartbeat: &Heartbeat,
) -> Result<Transaction<'a>, StoreError> {
    let row = item(&slug_key(heartbeat), &Listed { id: heartbeat.id })?;
    Ok(transaction.put(row, Condition::Absent))
}

/// The key of its slug. Many heartbeats may have an empty one: each has its id instead.
fn slug_key(heartbeat: &Heartbeat) -> Key {
    match heartbeat.slug.as_str() {
        "" => keys::slug(heartbeat.team, &format!("#{}", heartbeat.id)),
        slug => keys::slug(heartbeat.team, slug),
    }
}

impl Store {
    /// Adds a heartbeat to a team. `team` is the team as it was read, with an active plan.
    ///
    /// # Errors
    ///
    /// A conflict; [`heartbeat_conflict`] says what it means.
    pub async fn create_heartbeat(
        &self,
        team: &Team,
        heartbeat: &Heartbeat,
        audit: Audit<'_>,
    ) -> Result<(), StoreError> {
        let partition = heartbeat.id.partition();
        let limit = team.plan.limits().heartbeats.unwrap_or(u32::MAX);
        let count = Change {
            expression: "ADD heartbeats :one".into(),
            values: vec![(":one", number(1))],
            ..Change::default()
        };
        let seen = Condition::When(
            "cfg = :cfg AND (attribute_not_exists(heartbeats) OR heartbeats < :limit)",
            vec![(":cfg", number(team.cfg)), (":limit", number(limit))],
        );
        let state = ToolState::new();
        let transaction = self.transaction().update(&keys::team(heartbeat.team), count, seen);
        put_slug(transaction, heartbeat)?
            .put(item(&keys::site(partition), heartbeat)?, Condition::Absent)
            .put(
                tool_item(partition, Tool::Heartbeat, &state, heartbeat.created_at)?,
                Condition::Absent,
            )
            .put(
                item(&keys::heartbeat(heartbeat.team, heartbeat.id), &Listed { id: heartbeat.id })?,
                Condition::Absent,
            )
            .commit(audit)
            .await
    }

    /// A heartbeat; `None` if there is none.
    pub async fn heartbeat(
        &self,
        partition: Partition,
    ) -> Result<Option<StoredHeartbeat>, StoreError> {
        Ok(self.heartbeats_at([partition], true).await?.pop())
    }

    /// The same, perhaps as of a moment ago.
    pub async fn heartbeat_relaxed(
        &self,
        partition: Partition,
    ) -> Result<Option<StoredHeartbeat>, StoreError> {
        Ok(self.heartbeats_at([partition], false).await?.pop())
    }

    async fn heartbeats_at(
        &self,
        partitions: impl IntoIterator<Item = Partition>,
        is_consistent: bool,
    ) -> Result<Vec<StoredHeartbeat>, StoreError> {
        let places: Vec<_> = partitions
            .into_iter()
            .map(|partition| [keys::site(partition), keys::tool(partition, Tool::Heartbeat)])
            .collect();
        let mut found = self.batches(places.concat(), is_consistent).await?;
        let mut heartbeats = Vec::new();
        for [own, state] in &places {
            let (Some(own), Some(state)) = (found.remove(own), found.remove(state)) else {
                continue;
            };
            let Some(heartbeat) = live_heartbeat(own)? else { continue };
            heartbeats.push(StoredHeartbeat { heartbeat, state: Stored::read(state)? });
        }
        Ok(heartbeats)
    }

    /// Those of the heartbeats that belong to a team, in the order of their ids.
    pub async fn heartbeats_of_team(
        &self,
        team: TeamId,
        ids: &BTreeSet<HeartbeatId>,
    ) -> Result<Vec<StoredHeartbeat>, StoreError> {
        let mut found = self.heartbeats_at(ids.iter().map(|id| id.partition()), true).await?;
        found.retain(|stored| stored.heartbeat.team == team);
        Ok(found)
    }

    /// A team's heartbeats, in the order of their ids.
    pub async fn heartbeats(&self, team: TeamId) -> Result<Vec<StoredHeartbeat>, StoreError> {
        self.heartbeats_of(team, true).await
    }

    /// The same, perhaps as of a moment ago.
    pub async fn heartbeats_relaxed(
        &self,
        team: TeamId,
    ) -> Result<Vec<StoredHeartbeat>, StoreError> {
        self.heartbeats_of(team, false).await
    }

    async fn heartbeats_of(
        &self,
        team: TeamId,
        is_consistent: bool,
    ) -> Result<Vec<StoredHeartbeat>, StoreError> {
        let pk = keys::heartbeat_list(team);
        let sort = Sort::Prefix(keys::HEARTBEAT.to_owned());
        let listed = Range { relaxed: !is_consistent, ..Range::new(&pk, sort) };
        let listed = self.query(listed).await?;
        let ids: Vec<Listed> = listed.into_iter().map(Stored::read).collect::<Result<_, _>>()?;
        self.heartbeats_at(ids.iter().map(|listed| listed.id.partition()), is_consistent).await
    }

    /// The heartbeat of a team that a slug stands for.
    pub async fn heartbeat_by_slug(
        &self,
        team: TeamId,
        slug: &str,
    ) -> Result<Option<HeartbeatId>, StoreError> {
        let found: Option<Listed> =
            self.get(&keys::slug(team, slug)).await?.map(Stored::read).transpose()?;
        Ok(found.map(|listed| listed.id))
    }

    /// Saves a changed heartbeat.
    ///
    /// # Errors
    ///
    /// A conflict; [`heartbeat_conflict`] says what it means.
    pub async fn update_heartbeat(
        &self,
        update: HeartbeatUpdate<'_>,
        now: Timestamp,
        audit: Audit<'_>,
    ) -> Result<(), StoreError> {
        let HeartbeatUpdate { read, next, state, outbox, pages } = update;
        let before = &read.heartbeat;
        let partition = next.id.partition();
        let mut transaction =
            self.transaction().put(item(&keys::site(partition), next)?, Condition::Rev(before.rev));
        if next.slug != before.slug {
            transaction =
                put_slug(transaction, next)?.delete(&slug_key(before), Condition::Present);
        }
        if let Some(state) = state {
            transaction = put_state(transaction, partition, Tool::Heartbeat, state, now)?;
        }
        let look_at = now.saturating_add(ALERT_GRACE).unwrap_or(now);
        for entry in outbox {
            transaction = put_outbox(transaction, entry, look_at)?;
        }
        want_all(transaction, next.team, pages, now).commit(audit).await
    }

    /// Deletes a heartbeat. It is gone for everybody at once. [`Store::purge`] removes what is left.
    ///
    /// # Errors
    ///
    /// A conflict when any part of it has changed since.
    pub async fn delete_heartbeat(
        &self,
        deletion: HeartbeatDeletion<'_>,
        now: Timestamp,
        audit: Audit<'_>,
    ) -> Result<(), StoreError> {
        let HeartbeatDeletion { stored, issues, outbox, pages } = deletion;
        let StoredHeartbeat { heartbeat, state } = stored;
        let (id, team) = (heartbeat.id, heartbeat.team);
        let partition = id.partition();
        let due = now.saturating_add(RECONCILE_GRACE).unwrap_or(now);
        let tombstone = item(&keys::site(partition), &DeletedSite { id, team, deleted_at: now })?;
        let tombstone = outstanding(tombstone, keys::site_shard(partition), Some(due));
        let count = Change {
            expression: "ADD heartbeats :less".into(),
            values: vec![(":less", number(-1))],
            ..Change::default()
        };
        let mut transaction = self
            .transaction()
            .put(tombstone, Condition::Rev(heartbeat.rev))
            .delete(&keys::tool(partition, Tool::Heartbeat), Condition::Rev(state.rev))
            .delete(&keys::heartbeat(team, id), Condition::Present)
            .delete(&slug_key(heartbeat), Condition::Present)
            .update(&keys::team(team), count, Condition::Present);
        for issue in issues {
            let key = keys::issue_index(team, issue.id, issue.status());
            transaction = transaction.delete(&key, Condition::Present);
        }
        let look_at = now.saturating_add(ALERT_GRACE).unwrap_or(now);
        for entry in outbox {
            transaction = put_outbox(transaction, entry, look_at)?;
        }
        want_all(transaction, team, pages, now).commit(audit).await
    }

    /// The ping key of a team, if it has one.
    pub async fn team_ping_key(&self, team: TeamId) -> Result<Option<TeamPingKey>, StoreError> {
        let found: Option<StoredKey> =
            self.get(&keys::team_ping_key(team)).await?.map(Stored::read).transpose()?;
        Ok(found.map(|stored| stored.ping_key))
    }

    /// The team with a ping key.
    pub async fn team_by_ping_key(&self, key: &TeamPingKey) -> Result<Option<TeamId>, StoreError> {
        let found: Option<TeamOfKey> =
            self.get(&keys::ping_key(&key.hash())).await?.map(Stored::read).transpose()?;
        Ok(found.map(|of| of.team))
    }

    /// Gives a team another ping key, or none. `before` is the one that it had.
    ///
    /// # Errors
    ///
    /// A conflict when the key has changed since, or another team has the new one.
    pub async fn put_team_ping_key(
        &self,
        team: TeamId,
        before: Option<&TeamPingKey>,
        next: Option<&TeamPingKey>,
        audit: Audit<'_>,
    ) -> Result<(), StoreError> {
        let same = before.map_or(Condition::Absent, |key| {
            let key = crate::item::string(key.reveal());
            Condition::When("ping_key = :key", vec![(":key", key)])
        });
        let mut transaction = self.transaction();
        let own = keys::team_ping_key(team);
        transaction = match next {
            Some(key) => transaction.put(item(&own, &StoredKey { ping_key: key.clone() })?, same),
            None => transaction.delete(&own, same),
        };
        if let Some(before) = before {
            transaction = transaction.delete(&keys::ping_key(&before.hash()), Condition::Present);
        }
        if let Some(next) = next {
            let row = item(&keys::ping_key(&next.hash()), &TeamOfKey { team })?;
            transaction = transaction.put(row, Condition::Absent);
        }
        transaction.commit(audit).await
    }
}
