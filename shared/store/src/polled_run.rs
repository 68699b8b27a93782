//! Recurring runs of the polling scheduler. Instead of one schedule for each site and tool, it sends everything that is
//! due in a minute itself. A partition holds a tool's runs of one cadence, sorted by their offset, so one range
//! contains what is due in a minute.

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use serde::Deserialize;
use vedette_domain::accounts::plan::CADENCE_MINUTES;
use vedette_domain::checks::schedule::offset;
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::{SiteId, TeamId};

use crate::item::{Stored, key_of, number, stored, string};
use crate::keys::{self, Key};
use crate::table::{Change, Condition, Range, Sort, Store};
use crate::{StoreError, unless_conflict};

stored!(attributes: PolledRun, Sent);

/// A site whose tool is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct PolledRun {
    /// Its team.
    pub team: TeamId,
    /// The site.
    pub site: SiteId,
}

/// The minute up to which runs have been sent.
#[derive(Deserialize)]
struct Sent {
    minute: i64,
}

/// Some rows, and the place of the last one if there may be more.
#[derive(Debug)]
pub struct PolledPage {
    /// The rows.
    pub rows: Vec<PolledRun>,
    /// Where to continue.
    pub next: Option<PolledPlace>,
}

/// A place in a partition of polled runs.
#[derive(Debug)]
pub struct PolledPlace(String);

/// Partitions read at once.
const CONCURRENCY: usize = 16;

/// Rows read at a time: a thousand are 100 KB.
const PAGE: usize = 1_000;

fn key(site: SiteId, tool: Tool, cadence_minutes: u32) -> Key {
    keys::polled_run(tool, cadence_minutes, offset(site, tool, cadence_minutes), site)
}

fn written(row: PolledRun) -> Change {
    let PolledRun { team, site } = row;
    Change {
        expression: "SET team = :team, site = :site".into(),
        values: vec![(":team", string(team.to_string())), (":site", string(site.to_string()))],
        ..Change::default()
    }
}

impl Store {
    /// Adds a site to the polled runs of its cadence and, unless it is new, removes it from the others.
    pub async fn put_polled_run(
        &self,
        row: PolledRun,
        tool: Tool,
        cadence_minutes: u32,
        is_new: bool,
    ) -> Result<(), StoreError> {
        let site = row.site;
        self.update(&key(site, tool, cadence_minutes), written(row), None).await?;
        if is_new {
            return Ok(());
        }
        let others = CADENCE_MINUTES.into_iter().filter(|cadence| *cadence != cadence_minutes);
        let others: Vec<_> = others.map(|cadence| key(site, tool, cadence)).collect();
        self.batch_delete(&others).await
    }

    /// Adds a site to the polled runs of its cadence, unless it is there. Returns whether it was missing.
    pub async fn put_missing_polled_run(
        &self,
        row: PolledRun,
        tool: Tool,
        cadence_minutes: u32,
    ) -> Result<bool, StoreError> {
        let key = key(row.site, tool, cadence_minutes);
        let put = self.update(&key, written(row), Some(Condition::Absent)).await;
        unless_conflict(put.map(drop))
    }

    /// Removes a site from all polled runs of a tool.
    pub async fn remove_polled_runs(&self, site: SiteId, tool: Tool) -> Result<(), StoreError> {
        let keys = CADENCE_MINUTES.map(|cadence| key(site, tool, cadence));
        self.batch_delete(&keys).await
    }

    /// The sites whose tool runs at this cadence in a minute. Minutes are counted from the Unix epoch.
    pub async fn polled_page(
        &self,
        tool: Tool,
        cadence_minutes: u32,
        minute: i64,
        from: Option<PolledPlace>,
    ) -> Result<PolledPage, StoreError> {
        let offset = minute.rem_euclid(i64::from(cadence_minutes.max(1)));
        let offset = u32::try_from(offset).unwrap_or_default();
        let pk = keys::polled_partition(tool, cadence_minutes);
        let (first, last) = keys::polled_range(offset);
        // A place is a whole sort key. With one more byte it sorts directly after itself.
        let first = from.map_or(first, |PolledPlace(last)| format!("{last}!"));
        let range = Range {
            limit: Some(PAGE),
            relaxed: true,
            ..Range::new(&pk, Sort::Between(first, last))
        };
        let items = self.query(range).await?;
        let next = items.last().filter(|_| items.len() == PAGE);
        let next = next.map(key_of).transpose()?.map(|key| PolledPlace(key.sk));
        let rows = items.into_iter().map(Stored::read).collect::<Result<_, _>>()?;
        Ok(PolledPage { rows, next })
    }

    /// All polled sites, with their tools.
    pub async fn all_polled_runs(&self) -> Result<Vec<(SiteId, Tool)>, StoreError> {
        let buckets = Tool::ALL.into_iter();
        let buckets = buckets.flat_map(|tool| CADENCE_MINUTES.map(|cadence| (tool, cadence)));
        let read = stream::iter(buckets).map(|(tool, cadence)| async move {
            let pk = keys::polled_partition(tool, cadence);
            let rows = self.query(Range::new(&pk, Sort::All)).await?;
            let site = |row| PolledRun::read(row).map(|row| (row.site, tool));
            rows.into_iter().map(site).collect::<Result<Vec<_>, StoreError>>()
        });
        let read: Vec<_> = read.buffer_unordered(CONCURRENCY).try_collect().await?;
        Ok(read.into_iter().flatten().collect())
    }

    /// The minute up to which runs have been sent; `None` if none have.
    pub async fn sent_minute(&self) -> Result<Option<i64>, StoreError> {
        let sent = self.get(&keys::polled_until()).await?;
        Ok(sent.map(Sent::read).transpose()?.map(|sent| sent.minute))
    }

    /// Records the minute up to which runs have been sent.
    pub async fn set_sent_minute(&self, minute: i64) -> Result<(), StoreError> {
        let change = Change {
            expression: "SET #minute = :minute".into(),
            names: vec![("#minute", "minute".to_owned())],
            values: vec![(":minute", number(minute))],
        };
        self.update(&keys::polled_until(), change, None).await.map(drop)
    }
}
