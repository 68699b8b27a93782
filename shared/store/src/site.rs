//! Sites with their tools, the team directory, deletion.

stored!(attributes: Site, DeletedSite, Cooldowns);
stored!(document: ToolState);

mod update;

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use vedette_domain::accounts::team::Team;
use vedette_domain::alerts::delivery::OutboxEntry;
use vedette_domain::checks::cooldown::Cooldowns;
use vedette_domain::checks::limits::{ALERT_GRACE, RECONCILE_GRACE};
use vedette_domain::checks::tool::Tool;
use vedette_domain::checks::tool_state::{CheckSource, ToolState};
use vedette_domain::id::{MonitorId, Partition, SiteId, StatusPageId, TeamId};
use vedette_domain::issues::record::Issue;
use vedette_domain::sites::site::Site;
use vedette_domain::sites::tag_dictionary::TagDictionary;

use crate::channel::put_outbox;
use crate::directory::write_tags;
use crate::failing::unlist;
use crate::item::{
    Item, REV, Stored, document_item, item, key_of, number, outstanding, readable, stored,
};
use crate::keys::{self, Key, OUTBOX, SELF};
use crate::monitor::{TOMBSTONE, live_site};
use crate::status_page::want_all;
use crate::table::{Change, Condition, Range, Sort, Store};
use crate::transaction::Transaction;
use crate::{Audit, DirectoryRow, StoreError, TeamWithSettings};

pub use update::{SiteUpdate, is_taken_url};

/// A site with the state of its tools.
#[derive(Debug, Clone)]
pub struct SiteWithTools {
    /// The site.
    pub site: Site,
    /// The state of every tool.
    pub tools: BTreeMap<Tool, ToolState>,
}

impl SiteWithTools {
    /// Whether its schedules already follow its settings and those of its team.
    pub fn is_synced(&self, team: &TeamWithSettings) -> bool {
        self.site.synced == self.site.cfg && team.team.synced == team.team.cfg
    }

    /// The state of a tool.
    ///
    /// # Errors
    ///
    /// When the table has lost it.
    pub fn tool(&self, tool: Tool) -> Result<&ToolState, StoreError> {
        self.tools
            .get(&tool)
            .ok_or_else(|| StoreError::corrupt(format!("site {} has no {tool}", self.site.id)))
    }

    /// The newest check of each tool that has one.
    pub fn latest(&self) -> impl Iterator<Item = CheckSource> {
        self.tools.values().filter_map(|tool| Some(tool.source(tool.latest()?)))
    }

    /// The newest check with a result of each tool that has one.
    pub fn latest_completed(&self) -> impl Iterator<Item = CheckSource> {
        self.tools.values().filter_map(|tool| Some(tool.source(tool.latest_completed()?)))
    }
}

/// How much of a deleted site is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purged {
    /// All of it.
    Whole,
    /// A part of it.
    Partly,
    /// Everything except what channels do not know yet.
    Unnotified,
}

/// What remains of a deleted site or heartbeat until the rest of it is gone.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DeletedSite {
    /// Its id.
    pub id: MonitorId,
    /// The team that it belonged to.
    pub team: TeamId,
    pub(crate) deleted_at: Timestamp,
}

fn site_item(site: &Site) -> Result<Item, StoreError> {
    let partition = site.id.partition();
    let stored = item(&keys::site(partition), site)?;
    Ok(outstanding(stored, keys::site_shard(partition), site.work_due()))
}

pub(crate) fn tool_item(
    partition: Partition,
    tool: Tool,
    state: &ToolState,
    now: Timestamp,
) -> Result<Item, StoreError> {
    let mut stored = document_item(&keys::tool(partition, tool), state)?;
    stored.insert(REV.to_owned(), number(state.rev));
    Ok(outstanding(stored, keys::site_shard(partition), state.work_due(tool, now)))
}

/// Writes a tool's state, whose `rev` is one above that of the item.
pub(crate) fn put_state<'a>(
    transaction: Transaction<'a>,
    partition: Partition,
    tool: Tool,
    state: &ToolState,
    now: Timestamp,
) -> Result<Transaction<'a>, StoreError> {
    let stored = tool_item(partition, tool, state, now)?;
    Ok(transaction.put(stored, Condition::Rev(state.rev.saturating_sub(1))))
}

/// The tools of a site: those that were found, and those that were added to Vedette after the site was created. The
/// latter are at revision 0, which means that there is no item yet. A batch may read items at different moments, so a
/// site that lacks any other tool, or has none, is being deleted.
fn with_later_tools(
    mut found: BTreeMap<Tool, ToolState>,
    joined_later: impl Fn(Tool) -> bool,
) -> Option<BTreeMap<Tool, ToolState>> {
    if found.is_empty() {
        return None;
    }
    for tool in Tool::ALL {
        if joined_later(tool) {
            found.entry(tool).or_default();
        }
    }
    (found.len() == Tool::ALL.len()).then_some(found)
}

fn write_cooldowns<'a>(
    transaction: Transaction<'a>,
    team: TeamId,
    cooldowns: Option<&Cooldowns>,
) -> Result<Transaction<'a>, StoreError> {
    let Some(cooldowns) = cooldowns else { return Ok(transaction) };
    let stored = item(&keys::cooldowns(team), cooldowns)?;
    Ok(transaction.put(stored, Condition::after(cooldowns.rev - 1)))
}

/// The place of the team's site count in the transaction of [`Store::create_site`].
const CREATE_TEAM: usize = 0;
/// The place of the directory row there.
const CREATE_DIRECTORY: usize = 1;

/// Why a site was not created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CreateRefusal {
    /// The team already has this URL.
    DuplicateUrl,
    /// The plan allows no more sites, or the plan or the settings have changed since.
    SiteLimit,
}

/// What else changes when a site is deleted.
#[derive(Debug, Default)]
pub struct SiteDeletion<'a> {
    /// The site's issues, which are deleted too.
    pub issues: &'a [Issue],
    /// What channels have to learn about these.
    pub outbox: &'a [OutboxEntry],
    /// The team's status pages, which are published again.
    pub pages: &'a [StatusPageId],
    /// The team's cooldowns, if they change.
    pub cooldowns: Option<&'a Cooldowns>,
    /// The team's tags, if the site had any.
    pub tags: Option<&'a TagDictionary>,
}

impl Store {
    /// Adds a site to a team. `team` is the team as it was read, with an active plan; `cooldowns` are the team's, if
    /// they change, and `tags` are the team's, if the site has any.
    ///
    /// # Errors
    ///
    /// A conflict; [`create_refusal`] says what it means.
    pub async fn create_site(
        &self,
        team: &Team,
        stored: &SiteWithTools,
        cooldowns: Option<&Cooldowns>,
        tags: Option<&TagDictionary>,
        audit: Audit<'_>,
    ) -> Result<(), StoreError> {
        let site = &stored.site;
        let partition = site.id.partition();
        let limit = team.plan.limits().sites.unwrap_or(u32::MAX);
        let count = Change {
            expression: "ADD sites :one".into(),
            values: vec![(":one", number(1))],
            ..Change::default()
        };
        // The plan itself is not compared: no function may write it, and IAM does not distinguish a condition from a
        // write. Each change of the plan also changes the team's `cfg`.
        let seen = Condition::When(
            "cfg = :cfg AND sites < :limit",
            vec![(":cfg", number(team.cfg)), (":limit", number(limit))],
        );
        let numbers = tags.map(|tags| tags.numbers(&site.tags)).unwrap_or_default();
        let row = DirectoryRow { tags: numbers, ..DirectoryRow::of(site) };
        let row = row.item(&keys::directory(site.team, &site.url))?;
        let mut transaction = self
            .transaction()
            .update(&keys::team(site.team), count, seen)
            .put(row, Condition::Absent)
            .put(site_item(site)?, Condition::Absent);
        for (&tool, state) in &stored.tools {
            let stored = tool_item(partition, tool, state, site.created_at)?;
            transaction = transaction.put(stored, Condition::Absent);
        }
        let transaction = write_cooldowns(transaction, site.team, cooldowns)?;
        write_tags(transaction, site.team, tags)?.commit(audit).await
    }

    /// A site with its tools; `None` if there is no such site.
    pub async fn site(&self, partition: Partition) -> Result<Option<SiteWithTools>, StoreError> {
        Ok(self.sites([partition]).await?.remove(&partition))
    }

    /// Sites with their tools, by partition; missing ones are left out.
    pub async fn sites(
        &self,
        partitions: impl IntoIterator<Item = Partition>,
    ) -> Result<BTreeMap<Partition, SiteWithTools>, StoreError> {
        let partitions: Vec<Partition> = partitions.into_iter().collect();
        let keys = partitions.iter().flat_map(|&partition| {
            let tools = Tool::ALL.into_iter().map(move |tool| keys::tool(partition, tool));
            tools.chain([keys::site(partition)])
        });
        let mut found = self.batch_get(keys).await?;
        let mut sites = BTreeMap::new();
        for partition in partitions {
            let stored = found.remove(&keys::site(partition));
            let Some(site) = stored.map(live_site).transpose()?.flatten() else {
                continue;
            };
            let mut tools = BTreeMap::new();
            for tool in Tool::ALL {
                if let Some(state) = found.remove(&keys::tool(partition, tool)) {
                    tools.insert(tool, Stored::read(state)?);
                }
            }
            if let Some(tools) = with_later_tools(tools, Tool::joined_later) {
                sites.insert(partition, SiteWithTools { site, tools });
            }
        }
        Ok(sites)
    }

    /// Those of the sites that belong to a team, without their tools, in the order of their ids.
    pub async fn sites_of_team(
        &self,
        team: TeamId,
        ids: impl IntoIterator<Item = SiteId>,
    ) -> Result<Vec<Site>, StoreError> {
        let keys = ids.into_iter().map(|id| keys::site(id.partition()));
        let found = self.batch_get(keys).await?.into_values();
        let sites: Result<Vec<_>, _> = found.map(live_site).collect();
        let mut sites: Vec<Site> = sites?.into_iter().flatten().collect();
        sites.retain(|site| site.team == team);
        sites.sort_unstable_by_key(|site| site.id);
        Ok(sites)
    }

    /// Starts tools on a site that is older than they are. A tool that already has a state keeps it.
    ///
    /// # Errors
    ///
    /// A conflict when the site has been changed or deleted since.
    pub async fn begin_tools(
        &self,
        site: &Site,
        tools: impl IntoIterator<Item = Tool>,
    ) -> Result<(), StoreError> {
        let partition = site.id.partition();
        for tool in tools {
            if self.get(&keys::tool(partition, tool)).await?.is_some() {
                continue;
            }
            // This changes nothing, but it conflicts with a transaction that deletes the site.
            let same = Change {
                expression: "SET cfg = :cfg".into(),
                values: vec![(":cfg", number(site.cfg))],
                ..Change::default()
            };
            let state = tool_item(partition, tool, &ToolState::new(), site.created_at)?;
            self.transaction()
                .update(&keys::site(partition), same, Condition::When("cfg = :cfg", Vec::new()))
                .put(state, Condition::Absent)
                .commit(Audit::None)
                .await?;
        }
        Ok(())
    }

    /// A site that a queue message or the work index names, with one tool.
    pub async fn site_tool(
        &self,
        partition: Partition,
        tool: Tool,
    ) -> Result<Option<(Site, ToolState)>, StoreError> {
        let (site_key, tool_key) = (keys::site(partition), keys::tool(partition, tool));
        let mut found = self.batch_get([site_key.clone(), tool_key.clone()]).await?;
        let site = found.remove(&site_key).map(live_site).transpose()?.flatten();
        let state = found.remove(&tool_key).map(Stored::read).transpose()?;
        Ok(site.zip(state))
    }

    /// The state of a tool on each of these sites, perhaps as of a moment ago, without sites that are gone or cannot be
    /// read.
    pub async fn tool_states(
        &self,
        partitions: impl IntoIterator<Item = Partition>,
        tool: Tool,
    ) -> Result<BTreeMap<Partition, ToolState>, StoreError> {
        let partitions: Vec<Partition> = partitions.into_iter().collect();
        let keys = partitions.iter().map(|&partition| keys::tool(partition, tool));
        let mut found = self.batch_get_relaxed(keys).await?;
        let states = partitions.into_iter().filter_map(|partition| {
            let item = found.remove(&keys::tool(partition, tool))?;
            Some((partition, readable(item, Stored::read)?))
        });
        Ok(states.collect())
    }

    /// Records that a site's schedules follow its `cfg`.
    ///
    /// # Errors
    ///
    /// A conflict when `cfg` has risen since, or the site is gone.
    pub async fn set_site_synced(&self, site: &Site) -> Result<(), StoreError> {
        let change = Change {
            expression: "SET synced = :cfg REMOVE w, due".into(),
            values: vec![(":cfg", number(site.cfg))],
            ..Change::default()
        };
        let unchanged = Condition::When("cfg = :cfg", Vec::new());
        self.update(&keys::site(site.id.partition()), change, Some(unchanged)).await.map(drop)
    }

    /// Saves a tool's next state, if nothing else changes with it.
    ///
    /// # Errors
    ///
    /// A conflict when the state has changed since.
    pub async fn put_tool(
        &self,
        partition: Partition,
        tool: Tool,
        next: &ToolState,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        put_state(self.transaction(), partition, tool, next, now)?.commit(Audit::None).await
    }

    /// The same with a put, for half the price. A put has no token by which DynamoDB recognizes it when it is repeated. So
    /// if its answer was lost, there is a conflict although the state is saved, and the caller must read and decide again.
    ///
    /// # Errors
    ///
    /// A conflict when the state has changed since, or is saved already.
    pub async fn put_tool_without_token(
        &self,
        partition: Partition,
        tool: Tool,
        next: &ToolState,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let stored = tool_item(partition, tool, next, now)?;
        self.put(stored, Condition::Rev(next.rev.saturating_sub(1))).await
    }

    /// Deletes a site. It is gone for everybody at once, and nothing can be written to it any more. [`Store::purge`]
    /// removes what is left.
    ///
    /// # Errors
    ///
    /// A conflict when any part of the site has changed since.
    pub async fn delete_site(
        &self,
        stored: &SiteWithTools,
        effects: SiteDeletion<'_>,
        now: Timestamp,
        audit: Audit<'_>,
    ) -> Result<(), StoreError> {
        let SiteDeletion { issues, outbox, pages, cooldowns, tags } = effects;
        let site = &stored.site;
        let partition = site.id.partition();
        let due = now.saturating_add(RECONCILE_GRACE).unwrap_or(now);
        let tombstone = DeletedSite { id: site.id, team: site.team, deleted_at: now };
        let tombstone = item(&keys::site(partition), &tombstone)?;
        let tombstone = outstanding(tombstone, keys::site_shard(partition), Some(due));
        let unchanged = Condition::When("cfg = :cfg", vec![(":cfg", number(site.cfg))]);
        let count = Change {
            expression: "ADD sites :less".into(),
            values: vec![(":less", number(-1))],
            ..Change::default()
        };
        let mut transaction = self
            .transaction()
            .put(tombstone, unchanged)
            .delete(&keys::directory(site.team, &site.url), Condition::Present)
            .update(&keys::team(site.team), count, Condition::Present);
        for (tool, state) in &stored.tools {
            let key = keys::tool(partition, *tool);
            if state.rev == 0 && tool.joined_later() {
                // It may have no item yet. The purge removes what is written meanwhile.
                continue;
            }
            transaction = transaction.delete(&key, Condition::Rev(state.rev));
            transaction = unlist(transaction, site.into(), state)?;
        }
        for issue in issues {
            let key = keys::issue_index(site.team, issue.id, issue.status());
            transaction = transaction.delete(&key, Condition::Present);
        }
        let look_at = now.saturating_add(ALERT_GRACE).unwrap_or(now);
        for entry in outbox {
            transaction = put_outbox(transaction, entry, look_at)?;
        }
        transaction = want_all(transaction, site.team, pages, now);
        transaction = transaction.delete(&keys::newest(site.team, site.id), Condition::Always);
        let transaction = write_cooldowns(transaction, site.team, cooldowns)?;
        write_tags(transaction, site.team, tags)?.commit(audit).await
    }

    /// The deleted site in a partition, if there is one.
    pub async fn deleted_site(
        &self,
        partition: Partition,
    ) -> Result<Option<DeletedSite>, StoreError> {
        let stored = self.get(&keys::site(partition)).await?;
        stored.filter(|item| item.contains_key(TOMBSTONE)).map(Stored::read).transpose()
    }

    /// What new sites of a team cannot get again yet.
    pub async fn cooldowns(&self, team: TeamId) -> Result<Cooldowns, StoreError> {
        let stored = self.get(&keys::cooldowns(team)).await?;
        stored.map_or_else(|| Ok(Cooldowns::default()), Stored::read)
    }

    /// Removes a part of what is left of a deleted site of a team, its notifications and outages, and its tombstone
    /// last. What channels do not know yet stays until they do. A part is small enough for one run of the reconciler's
    /// function.
    pub async fn purge(&self, team: TeamId, partition: Partition) -> Result<Purged, StoreError> {
        const PAGE: usize = 500;
        const PAGES: usize = 10;
        let pk = keys::site_partition(partition);
        let page = || Range { limit: Some(PAGE), keys_only: true, ..Range::new(&pk, Sort::All) };
        for _ in 0..PAGES {
            let items = self.query(page()).await?;
            let keys: Vec<Key> = items.iter().map(key_of).collect::<Result<_, _>>()?;
            let found = keys.len();
            let (unnotified, rest): (Vec<Key>, Vec<Key>) = keys
                .into_iter()
                .filter(|key| key.sk != SELF)
                .partition(|key| key.sk.starts_with(OUTBOX));
            self.batch_delete(&rest).await?;
            match (unnotified.is_empty(), rest.is_empty()) {
                (true, true) => {
                    if self.purge_notifications(partition).await? {
                        return Ok(Purged::Partly);
                    }
                    self.purge_outages(team, partition).await?;
                    self.batch_delete(&[keys::site(partition)]).await?;
                    return Ok(Purged::Whole);
                }
                (false, _) if found < PAGE => return Ok(Purged::Unnotified),
                _ => {}
            }
        }
        Ok(Purged::Partly)
    }
}

/// What a conflict of [`Store::create_site`] means; `None` if another transaction was in progress.
pub fn create_refusal(error: &StoreError) -> Option<CreateRefusal> {
    if error.has_failed(CREATE_DIRECTORY) {
        Some(CreateRefusal::DuplicateUrl)
    } else if error.has_failed(CREATE_TEAM) {
        Some(CreateRefusal::SiteLimit)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_that_is_older_than_a_tool_has_it_in_its_initial_state() {
        let all: BTreeMap<_, _> = Tool::ALL.map(|tool| (tool, ToolState::new())).into();
        let is_later = |tool| tool == Tool::Performance;
        let mut older = all.clone();
        older.remove(&Tool::Performance);
        let mut begun = older.clone();
        begun.insert(Tool::Performance, ToolState::default());
        assert_eq!(with_later_tools(older.clone(), is_later), Some(begun));
        assert_eq!(with_later_tools(all.clone(), |_| false), Some(all));
        // A tool that every site has had from its beginning lacks an item only while the site is deleted.
        assert_eq!(with_later_tools(older, |_| false), None);
        assert_eq!(with_later_tools(BTreeMap::new(), |_| true), None);
    }
}
