//! Making schedules follow settings, and a deleted site disappear.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use vedette_domain::id::{Partition, SiteId, TeamId};
use vedette_domain::message::{Maintenance, Message};
use vedette_domain::tool::{RunReason, Tool};
use vedette_runs::{clear_timer, enqueue_timer};
use vedette_runtime::{App, Schedule, SchedulerError};
use vedette_store::{
    Backoff, SiteWithTools, StoreError, TeamWithSettings, budget, retry_on_conflict,
};

use crate::ReconcilerError;

/// Batches in hand at once.
const CONCURRENCY: usize = 16;
/// Sites read in one batch.
const BATCH: usize = 16;
/// Sites of a team that one message has synced: some seconds' work, well below the two minutes
/// that the reconciler's function has.
const SLICE: usize = CONCURRENCY * BATCH;

/// Syncs one site. One that is gone has no schedules, even if some were left behind.
pub(crate) async fn site(app: &App, id: SiteId) -> Result<(), ReconcilerError> {
    if app.store.site(id.partition()).await?.is_none() {
        return Ok(remove_schedules(app, id).await?);
    }
    follow(app, vec![id.partition()]).await.map(drop)
}

/// Syncs the next sites of a team, and asks for those after them. A resync that is lost on its way
/// is taken up by redelivery where it was.
pub(crate) async fn team(app: &App, id: TeamId) -> Result<(), ReconcilerError> {
    let Some(slice) = app.store.next_resync_slice(id, SLICE).await? else { return Ok(()) };
    follow_all(app, &slice.sites, &|_| {}).await?;
    let finish = || app.store.finish_resync_slice(&slice, app.clock.now());
    let is_ahead = retry_on_conflict(budget::SYNC, finish).await?;
    // Another message that has come this far, or begun anew, goes on.
    if is_ahead && slice.has_next() {
        app.queue.send(&Message::Maintenance(Maintenance::Resync(id)), Duration::ZERO).await?;
    }
    Ok(())
}

/// Syncs every site of a team and returns what runs on each.
pub(crate) async fn sites_of(
    app: &App,
    team: TeamId,
    done: &(dyn Fn(u64) + Sync),
) -> Result<BTreeMap<SiteId, Vec<Tool>>, ReconcilerError> {
    let rows = app.store.directory(team).await?;
    let partitions: Vec<Partition> = rows.iter().map(|row| row.id.partition()).collect();
    follow_all(app, &partitions, done).await
}

async fn follow_all(
    app: &App,
    sites: &[Partition],
    done: &(dyn Fn(u64) + Sync),
) -> Result<BTreeMap<SiteId, Vec<Tool>>, ReconcilerError> {
    let batches: Vec<Vec<Partition>> = sites.chunks(BATCH).map(<[_]>::to_vec).collect();
    let synced = stream::iter(batches).map(|batch| async move {
        let read = batch.len() as u64;
        let running = follow(app, batch).await?;
        done(read);
        Ok::<_, ReconcilerError>(running)
    });
    let running: Vec<_> = synced.buffer_unordered(CONCURRENCY).try_collect().await?;
    Ok(running.into_iter().flatten().collect())
}

/// Makes the schedules of sites of one team what plan and settings say. Returns the tools that
/// have a schedule.
///
/// After schedules are written, what they followed is read again, and if it has changed they are
/// written again. So the last to write has written what stands in the table, however many
/// do so at once.
async fn follow(
    app: &App,
    mut sites: Vec<Partition>,
) -> Result<Vec<(SiteId, Vec<Tool>)>, ReconcilerError> {
    let mut running = Vec::with_capacity(sites.len());
    let mut backoff = Backoff::new(budget::SYNC);
    loop {
        let found = app.store.sites(sites).await?;
        let Some(team) = found.values().next().map(|stored| stored.site.team) else {
            return Ok(running);
        };
        let Some(team) = app.store.team(team, app.clock.now()).await? else { return Ok(running) };
        let mut written = Vec::with_capacity(found.len());
        for stored in found.values() {
            written.push((stored, write_schedules(app, stored, &team).await?));
        }
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

/// Makes a site's schedules and removes the others. Returns the tools that have one.
async fn write_schedules(
    app: &App,
    stored: &SiteWithTools,
    team: &TeamWithSettings,
) -> Result<Vec<Tool>, SchedulerError> {
    let site = &stored.site;
    let settings = team.settings_for(site);
    let runs = |tool: &Tool| app.service.runs(*tool, &team.team, &settings);
    let (scheduled, idle): (Vec<Tool>, Vec<Tool>) = Tool::ALL.into_iter().partition(runs);
    for &tool in &scheduled {
        let cadence_minutes = settings.tools.cadence_minutes(tool);
        let schedule = Schedule { team: site.team, site: site.id, tool, cadence_minutes };
        app.scheduler.put(schedule).await?;
    }
    for tool in idle {
        app.scheduler.delete(site.id, tool).await?;
    }
    Ok(scheduled)
}

async fn remove_schedules(app: &App, id: SiteId) -> Result<(), SchedulerError> {
    for tool in Tool::ALL {
        app.scheduler.delete(id, tool).await?;
    }
    Ok(())
}

/// Does what goes with a site's schedules: forgets what idle tools had outstanding, starts a new
/// site's first runs, and says in the table that the schedules follow. Says no where the site was
/// written meanwhile.
async fn finish(app: &App, stored: &SiteWithTools, scheduled: &[Tool]) -> Result<bool, StoreError> {
    match try_finish(app, stored, scheduled).await {
        Err(error) if error.is_conflict() => Ok(false),
        outcome => outcome.map(|()| true),
    }
}

async fn try_finish(
    app: &App,
    stored: &SiteWithTools,
    scheduled: &[Tool],
) -> Result<(), StoreError> {
    let site = &stored.site;
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

/// The first runs do not wait for the cadence. They stand in the table since the site's creation,
/// which is their slot: however often they are sent, each counts once.
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

/// Removes what is left of a deleted site, a slice at a time.
pub(crate) async fn purge(app: &App, team: TeamId, site: SiteId) -> Result<(), ReconcilerError> {
    let deleted = app.store.deleted_site(site.partition()).await?;
    if deleted.is_none_or(|deleted| deleted.id != site) {
        return Ok(());
    }
    remove_schedules(app, site).await?;
    if !app.store.purge(site.partition()).await? {
        let rest = Message::Maintenance(Maintenance::Purge { team, site });
        app.queue.send(&rest, Duration::ZERO).await?;
    }
    Ok(())
}
