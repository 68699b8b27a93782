//! What the reconciler reads while it makes schedules follow the table: whether the table has changed since, and how
//! far a sync of a team's sites is.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Deserialize;
use vedette_domain::checks::limits::RECONCILE_GRACE;
use vedette_domain::id::{Partition, SiteId, TeamId};

use crate::item::{Item, Readable, Stored, key_of, number, stored, string};
use crate::keys;
use crate::table::{Change, Condition, Range, Store};
use crate::{DirectoryRow, SiteWithTools, StoreError, TeamWithSettings};

stored!(attributes: Version, Progress);

/// The `cfg` of a team and of sites at one moment.
#[derive(Debug, Clone)]
pub struct Versions {
    team: Option<u64>,
    sites: BTreeMap<Partition, u64>,
}

impl Versions {
    /// Whether the site still exists.
    pub fn has(&self, stored: &SiteWithTools) -> bool {
        self.sites.contains_key(&stored.site.id.partition())
    }

    /// Whether the site and the team still lead to the same schedules as when they were read.
    pub fn are_of(&self, stored: &SiteWithTools, team: &TeamWithSettings) -> bool {
        self.sites.get(&stored.site.id.partition()) == Some(&stored.site.cfg)
            && self.team == Some(team.team.cfg)
    }
}

/// Some sites of a team, whose schedules are the next to follow its plan and settings.
#[derive(Debug)]
pub struct SyncSlice {
    /// The sites.
    pub sites: Vec<Partition>,
    team: TeamId,
    cfg: u64,
    /// The place of the last one in the directory; `None` if there are no more.
    last: Option<String>,
}

impl SyncSlice {
    /// Whether more slices come after this one.
    pub const fn has_next(&self) -> bool {
        self.last.is_some()
    }
}

#[derive(Deserialize)]
struct Version {
    /// Absent on the tombstone of a deleted site.
    cfg: Option<u64>,
}

#[derive(Deserialize)]
struct Progress {
    cfg: u64,
    synced: u64,
    /// The place in the directory up to which sites follow `cfg`; raising `cfg` removes it.
    #[serde(rename = "resync")]
    continued: Option<String>,
}

/// The only part of a directory row that a sync needs.
fn listed_site(row: Item) -> Result<Partition, StoreError> {
    #[derive(Deserialize)]
    struct Listed {
        id: SiteId,
    }
    stored!(document: Listed);
    Listed::read(row).map(|listed| listed.id.partition())
}

impl Store {
    /// The current `cfg` of a team and of some of its sites.
    pub async fn versions(
        &self,
        team: TeamId,
        sites: impl IntoIterator<Item = Partition>,
    ) -> Result<Versions, StoreError> {
        let team_key = keys::team(team);
        let sites: Vec<Partition> = sites.into_iter().collect();
        let site_keys = sites.iter().map(|&partition| keys::site(partition));
        let mut found = self.batch_get(site_keys.chain([team_key.clone()])).await?;
        let mut version = |key: &keys::Key| match found.remove(key) {
            Some(stored) => Version::read(stored).map(|version| version.cfg),
            None => Ok(None),
        };
        let mut versions = Versions { team: version(&team_key)?, sites: BTreeMap::new() };
        for partition in sites {
            if let Some(cfg) = version(&keys::site(partition))? {
                versions.sites.insert(partition, cfg);
            }
        }
        Ok(versions)
    }

    /// The next sites of a team to be synced, at most `limit`; `None` if all of them follow its plan and settings.
    pub async fn next_sync_slice(
        &self,
        team: TeamId,
        limit: usize,
    ) -> Result<Option<SyncSlice>, StoreError> {
        let Some(stored) = self.get(&keys::team(team)).await? else { return Ok(None) };
        let Progress { cfg, synced, continued } = Stored::read(stored)?;
        if synced == cfg {
            return Ok(None);
        }
        let pk = keys::directory_partition(team);
        let rest = DirectoryRow::after(continued.as_deref());
        let rows = self.query(Range { limit: Some(limit), ..Range::new(&pk, rest) }).await?;
        let last = match rows.last() {
            Some(row) if rows.len() >= limit => Some(key_of(row)?.sk),
            _ => None,
        };
        let sites = Readable::of(rows, listed_site).items;
        Ok(Some(SyncSlice { sites, team, cfg, last }))
    }

    /// All sites of a team, and how many entries of its directory cannot be read.
    pub async fn listed_sites(&self, team: TeamId) -> Result<Readable<Partition>, StoreError> {
        let pk = keys::directory_partition(team);
        let all = Range::new(&pk, DirectoryRow::after(None));
        Ok(Readable::of(self.query(all).await?, listed_site))
    }

    /// At most this many sites of a team, in the order of the hashes of their URLs.
    pub async fn some_listed_sites(
        &self,
        team: TeamId,
        most: usize,
    ) -> Result<Readable<Partition>, StoreError> {
        let pk = keys::directory_partition(team);
        let range = Range {
            limit: Some(most),
            relaxed: true,
            ..Range::new(&pk, DirectoryRow::after(None))
        };
        Ok(Readable::of(self.query(range).await?, listed_site))
    }

    /// Records that a slice is done and, with the last slice, that all schedules follow. Returns `false` if another
    /// sync has come this far, or has started again because the plan or the settings changed.
    ///
    /// # Errors
    ///
    /// When DynamoDB does not answer, or another write changed the team at the same time.
    pub async fn finish_sync_slice(
        &self,
        slice: &SyncSlice,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let cfg = (":cfg", number(slice.cfg));
        let (change, condition) = match &slice.last {
            Some(place) => {
                let due = now.saturating_add(RECONCILE_GRACE).unwrap_or(now);
                let change = Change {
                    expression: "SET resync = :place, due = :due".into(),
                    values: vec![(":place", string(place)), (":due", number(due.as_millisecond()))],
                    ..Change::default()
                };
                let behind = "cfg = :cfg AND (attribute_not_exists(resync) OR resync < :place)";
                (change, Condition::When(behind, vec![cfg]))
            }
            None => {
                let change = Change {
                    expression: "SET synced = :cfg REMOVE resync, w, due".into(),
                    values: vec![cfg],
                    ..Change::default()
                };
                (change, Condition::When("cfg = :cfg", Vec::new()))
            }
        };
        match self.update(&keys::team(slice.team), change, Some(condition)).await {
            Ok(_) => Ok(true),
            Err(error) if error.has_failed(0) => Ok(false),
            Err(error) => Err(error),
        }
    }
}
