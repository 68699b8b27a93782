//! Makes schedules follow settings, and purges deleted sites.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures::future::{try_join, try_join_all};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use tracing::{error, warn};
use vedette_domain::checks::tool::{RunReason, Tool};
use vedette_domain::id::{Partition, SiteId, TeamId};
use vedette_domain::message::{Message, ReconcileMessage};
use vedette_ops::ErrorChain;
use vedette_runs::{clear_timer, enqueue_timer};
use vedette_runtime::{App, Presence, Schedule, SchedulerError};
use vedette_store::{
    Backoff, Purged, SiteWithTools, StoreError, TeamWithSettings, budget, retry_on_conflict,
    unless_conflict,
};

use crate::ReconcilerError;

/// Batches handled concurrently.
pub(crate) const CONCURRENCY: usize = 16;
/// Sites read in one batch.
pub(crate) const BATCH: usize = 16;
/// How many sites of a team one message syncs: a few seconds' work, well below the two minutes that the reconciler's
/// function has.
const SLICE: usize = CONCURRENCY * BATCH;

/// Syncs one site. If it no longer exists, its remaining schedules are removed.
pub(crate) async fn site(app: &App, id: SiteId) -> Result<(), ReconcilerError> {
    if app.store.site(id.partition()).await?.is_none() {
        return Ok(remove_schedules(app, id).await?);
    }
    follow(app, vec![id.partition()], None).await.map(drop)
}

/// Syncs the next sites of a team, and requests the sites after them. If a sync is lost, redelivery continues it
/// where it stopped.
pub(crate) async fn team(app: &App, id: TeamId) -> Result<(), ReconcilerError> {
    let Some(slice) = app.store.next_sync_slice(id, SLICE).await? else { return Ok(()) };
    follow_all(app, &slice.sites).await?;
    let finish = || app.store.finish_sync_slice(&slice, app.clock.now());
    let is_ahead = retry_on_conflict(budget::SYNC, finish).await?;
    // Another message has come this far, or has started again, and will continue.
    if is_ahead && slice.has_next() {
        app.queue.send(&Message::Reconcile(ReconcileMessage::SyncTeam(id)), Duration::ZERO).await?;
    }
    Ok(())
}

/// The schedules that existed when a pass over many sites began.
pub(crate) type Known = BTreeSet<(SiteId, Tool)>;

/// The result of syncing some sites.
#[derive(Debug, Default)]
pub(crate) struct Synced {
    /// The tools that have a schedule, by site.
    pub(crate) running: BTreeMap<SiteId, Vec<Tool>>,
    /// Sites that cannot be read. Their schedules were left as they are.
    pub(crate) unreadable: BTreeSet<Partition>,
}

/// Syncs sites of one team, a batch at a time.
async fn follow_all(app: &App, sites: &[Partition]) -> Result<(), ReconcilerError> {
    let batches: Vec<Vec<Partition>> = sites.chunks(BATCH).map(<[_]>::to_vec).collect();
    let synced = stream::iter(batches).map(|batch| follow_readable(app, batch, None));
    synced.buffer_unordered(CONCURRENCY).try_for_each(|_| async { Ok(()) }).await
}

/// Syncs a batch of one team's sites. A site that cannot be read does not stop the others.
pub(crate) async fn follow_readable(
    app: &App,
    batch: Vec<Partition>,
    known: Option<&Known>,
) -> Result<Synced, ReconcilerError> {
    let mut synced = Synced::default();
    match follow(app, batch.clone(), known).await {
        Err(ReconcilerError::Store(StoreError::Corrupt(_))) => {}
        outcome => {
            synced.running.extend(outcome?);
            return Ok(synced);
        }
    }
    for site in batch {
        match follow(app, vec![site], known).await {
            Err(ReconcilerError::Store(error @ StoreError::Corrupt(_))) => {
                error!(?site, error = %ErrorChain(&error), "could not sync the site's schedules; skipping it");
                synced.unreadable.insert(site);
            }
            outcome => synced.running.extend(outcome?),
        }
    }
    Ok(synced)
}

/// A batch of sites, without those that cannot be read.
pub(crate) async fn readable(
    app: &App,
    batch: &[Partition],
) -> Result<BTreeMap<Partition, SiteWithTools>, StoreError> {
    match app.store.sites(batch.iter().copied()).await {
        Err(StoreError::Corrupt(_)) => {}
        found => return found,
    }
    let mut readable = BTreeMap::new();
    for &site in batch {
        match app.store.sites([site]).await {
            Err(error @ StoreError::Corrupt(_)) => {
                warn!(?site, error = %ErrorChain(&error), "could not read the site");
            }
            found => readable.extend(found?),
        }
    }
    Ok(readable)
}

/// The cadences of tools, in minutes.
type Cadences = BTreeMap<Tool, u32>;

/// What should run on some sites.
#[derive(Debug, Default)]
pub(crate) struct WantedSchedules {
    /// The tools of each site with their cadences in minutes, without sites that wait for a sync.
    pub(crate) synced: BTreeMap<SiteId, Cadences>,
    /// Sites that wait for a sync or cannot be read. Any schedules that they have are accepted.
    pub(crate) excused: BTreeSet<Partition>,
    /// How many cannot be read.
    pub(crate) unreadable: u64,
}

/// What should run on a batch of one team's sites.
pub(crate) async fn wanted(
    app: &App,
    batch: Vec<Partition>,
) -> Result<WantedSchedules, ReconcilerError> {
    let mut wanted = WantedSchedules::default();
    match synced(app, &batch).await {
        Err(StoreError::Corrupt(_)) => {}
        found => {
            wanted.add(&batch, found?);
            return Ok(wanted);
        }
    }
    for site in batch {
        match synced(app, &[site]).await {
            Err(error @ StoreError::Corrupt(_)) => {
                error!(?site, error = %ErrorChain(&error), "could not read the site");
                wanted.excused.insert(site);
                wanted.unreadable += 1;
            }
            found => wanted.add(&[site], found?),
        }
    }
    Ok(wanted)
}

impl WantedSchedules {
    fn add(&mut self, batch: &[Partition], synced: BTreeMap<SiteId, Cadences>) {
        let is_synced: BTreeSet<_> = synced.keys().map(|site| site.partition()).collect();
        self.excused.extend(batch.iter().filter(|site| !is_synced.contains(site)));
        self.synced.extend(synced);
    }
}

/// What should run on the sites of one team whose schedules follow already.
async fn synced(app: &App, batch: &[Partition]) -> Result<BTreeMap<SiteId, Cadences>, StoreError> {
    let found = app.store.sites(batch.iter().copied()).await?;
    let Some(team) = found.values().next().map(|stored| stored.site.team) else {
        return Ok(BTreeMap::new());
    };
    let Some(team) = app.store.team(team, app.clock.now()).await? else {
        return Ok(BTreeMap::new());
    };
    let synced = found.values().filter(|stored| stored.is_synced(&team));
    let cadences = |stored: &SiteWithTools| {
        let settings = team.settings_for(&stored.site);
        let tools = running(app, stored, &team).into_iter();
        tools.map(|tool| (tool, settings.tools.cadence_minutes(tool))).collect()
    };
    Ok(synced.map(|stored| (stored.site.id, cadences(stored))).collect())
}

/// The tools that run on a site.
pub(crate) fn running(app: &App, stored: &SiteWithTools, team: &TeamWithSettings) -> Vec<Tool> {
    let settings = team.settings_for(&stored.site);
    Tool::ALL.into_iter().filter(|tool| app.service.runs(*tool, &team.team, &settings)).collect()
}

/// Makes the schedules of sites of one team follow the plan and the settings. Returns the tools that have a schedule.
///
/// After schedules are written, their input is read again. If it has changed, they are written again. So what the last
/// writer writes matches the table, no matter how many write at the same time.
///
/// `known` are the existing schedules, if the caller knows them; a schedule that is not among them is not removed. They
/// apply only to the first round.
async fn follow(
    app: &App,
    mut sites: Vec<Partition>,
    mut known: Option<&Known>,
) -> Result<Vec<(SiteId, Vec<Tool>)>, ReconcilerError> {
    let mut running = Vec::with_capacity(sites.len());
    let mut backoff = Backoff::new(budget::SYNC);
    loop {
        let found = app.store.sites(sites).await?;
        let Some(team) = found.values().next().map(|stored| stored.site.team) else {
            return Ok(running);
        };
        let Some(team) = app.store.team(team, app.clock.now()).await? else { return Ok(running) };
        let write = |stored| write_schedules(app, stored, &team, known);
        let written = try_join_all(found.values().map(write)).await?;
        let written = found.values().zip(written);
        known = None;
        let versions = app.store.versions(team.id(), found.keys().copied()).await?;
        sites = Vec::new();
        for (stored, tools) in written {
            if !versions.has(stored) {
                remove_schedules(app, stored.site.id).await?;
            } else if versions.are_of(stored, &team) && finish(app, stored, &tools).await? {
                running.push((stored.site.id, tools));
            } else {
                sites.push(stored.site.id.partition());
            }
        }
        if sites.is_empty() {
            return Ok(running);
        }
        backoff.wait(StoreError::STALE).await?;
    }
}

/// Creates a site's schedules and removes the others. Returns the tools that have one.
async fn write_schedules(
    app: &App,
    stored: &SiteWithTools,
    team: &TeamWithSettings,
    known: Option<&Known>,
) -> Result<Vec<Tool>, SchedulerError> {
    let site = &stored.site;
    let settings = team.settings_for(site);
    let scheduled = running(app, stored, team);
    let idle = Tool::ALL.into_iter().filter(|tool| !scheduled.contains(tool));
    let is_known = |tool| known.map(|known| known.contains(&(site.id, tool)));
    let puts = scheduled.iter().map(|&tool| {
        let cadence_minutes = settings.tools.cadence_minutes(tool);
        let schedule = Schedule { team: site.team, site: site.id, tool, cadence_minutes };
        // A site that was synced before already has most of its schedules.
        let is_there = is_known(tool).unwrap_or(site.synced > 0);
        let before = if is_there { Presence::Present } else { Presence::Absent };
        app.scheduler.put(schedule, before)
    });
    let stale = idle.filter(|&tool| is_known(tool).unwrap_or(true));
    let deletes = stale.map(|tool| app.scheduler.delete(site.id, tool));
    try_join(try_join_all(puts), try_join_all(deletes)).await?;
    Ok(scheduled)
}

pub(crate) async fn remove_schedules(app: &App, id: SiteId) -> Result<(), SchedulerError> {
    try_join_all(Tool::ALL.map(|tool| app.scheduler.delete(id, tool))).await.map(drop)
}

/// Does the work that goes with a site's schedules: forgets what is outstanding for idle tools, starts the first runs
/// of a new site, and records in the table that the schedules follow. Returns false if the site has changed meanwhile.
async fn finish(app: &App, stored: &SiteWithTools, scheduled: &[Tool]) -> Result<bool, StoreError> {
    unless_conflict(try_finish(app, stored, scheduled).await)
}

async fn try_finish(
    app: &App,
    stored: &SiteWithTools,
    scheduled: &[Tool],
) -> Result<(), StoreError> {
    let site = &stored.site;
    // A site that is older than a tool has no item for it yet, so the tool's first run would find no site.
    let is_new = |tool: &Tool| {
        tool.joined_later() && stored.tools.get(tool).is_some_and(|state| state.rev == 0)
    };
    app.store.begin_tools(site, Tool::ALL.into_iter().filter(is_new)).await?;
    for tool in Tool::ALL.into_iter().filter(|tool| !scheduled.contains(tool)) {
        clear_timer(app, site, tool, stored.tool(tool)?).await?;
    }
    if site.synced == 0 {
        send_first_runs(app, stored, scheduled).await?;
    }
    if site.synced != site.cfg {
        app.store.set_site_synced(site).await?;
    }
    Ok(())
}

/// The first runs do not wait for the cadence. They have been in the table since the site's creation, which is their
/// slot. However often they are sent, each counts once.
async fn send_first_runs(
    app: &App,
    stored: &SiteWithTools,
    tools: &[Tool],
) -> Result<(), StoreError> {
    for &tool in tools {
        let timer = stored.tool(tool)?.timer;
        if let Some(timer) = timer.filter(|timer| timer.reason == RunReason::Scheduled) {
            enqueue_timer(app, &stored.site, tool, timer).await;
        }
    }
    Ok(())
}

/// Removes what is left of a deleted site, a part at a time.
pub(crate) async fn purge(app: &App, team: TeamId, site: SiteId) -> Result<(), ReconcilerError> {
    let deleted = app.store.deleted_site(site.partition()).await?;
    if deleted.is_none_or(|deleted| deleted.id != site) {
        return Ok(());
    }
    remove_schedules(app, site).await?;
    match app.store.purge(team, site.partition()).await? {
        Purged::Partly => {
            let rest = Message::Reconcile(ReconcileMessage::Purge { team, site });
            app.queue.send(&rest, Duration::ZERO).await?;
        }
        // Redelivery returns to it later.
        Purged::Unnotified | Purged::Whole => {}
    }
    Ok(())
}
