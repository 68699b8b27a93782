//! Making schedules follow settings, and a deleted site disappear.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use vedette_domain::id::{Partition, SiteId, TeamId};
use vedette_domain::settings::Settings;
use vedette_domain::tool::{RunReason, Tool};
use vedette_runtime::settle::send_timer;
use vedette_runtime::{App, Schedule};
use vedette_store::{Backoff, SiteSheet, StoreError, TeamSheet};

use crate::KeeperError;

/// How long a sync competes with changes of the same site.
const PATIENCE: Duration = Duration::from_secs(30);
/// Sites synced at once.
const CONCURRENCY: usize = 16;
/// Sites read in one batch.
const BATCH: usize = 16;

/// Syncs one site, until the settings it followed are still the settings.
pub(crate) async fn site(app: &App, id: SiteId) -> Result<(), KeeperError> {
    let mut backoff = Backoff::new(PATIENCE);
    loop {
        let Some(sheet) = app.store.site(id.partition()).await? else { return Ok(()) };
        let Some(team) = app.store.team(sheet.site.team, app.clock.now()).await? else {
            return Ok(());
        };
        match follow(app, &sheet, &team).await {
            Err(KeeperError::Store(error)) => backoff.wait(error).await?,
            outcome => return outcome.map(drop),
        }
    }
}

/// Makes a site's schedules what its settings say, starts a new site's first runs, and says so in
/// the table. Returns the tools that have a schedule.
pub(crate) async fn follow(
    app: &App,
    sheet: &SiteSheet,
    team: &TeamSheet,
) -> Result<Vec<Tool>, KeeperError> {
    let site = &sheet.site;
    let plan = team.team.plan;
    let settings = Settings::resolve(&team.settings, &site.overrides, plan);
    let enabled = settings.enabled_tools(plan);
    let runs = |tool: &Tool| {
        team.team.plan_active && enabled.contains(tool) && vedette_probe::TOOLS.contains(tool)
    };
    let (scheduled, idle): (Vec<Tool>, Vec<Tool>) = Tool::ALL.into_iter().partition(runs);
    for &tool in &scheduled {
        let cadence_minutes = settings.tools.cadence_minutes(tool);
        app.scheduler.put(Schedule { site: site.id, tool, cadence_minutes }).await?;
    }
    for &tool in &idle {
        app.scheduler.delete(site.id, tool).await?;
        forget_timer(app, sheet, tool).await?;
    }
    if site.synced == 0 {
        send_first_runs(app, sheet, &scheduled).await?;
    }
    if site.synced != site.cfg {
        app.store.set_site_synced(site).await?;
    }
    Ok(scheduled)
}

/// A tool that does not run has no first run, retry or follow-up outstanding.
async fn forget_timer(app: &App, sheet: &SiteSheet, tool: Tool) -> Result<(), StoreError> {
    let state = sheet.tool(tool)?;
    if state.timer.is_none() {
        return Ok(());
    }
    let partition = sheet.site.id.partition();
    let next = state.without_timer();
    app.store.put_tool(partition, tool, state, &next, app.clock.now()).await
}

/// The first runs do not wait for the cadence. They stand in the table since the site's creation,
/// which is their slot: however often they are sent, each counts once.
async fn send_first_runs(app: &App, sheet: &SiteSheet, tools: &[Tool]) -> Result<(), StoreError> {
    for &tool in tools {
        let timer = sheet.tool(tool)?.timer;
        if let Some(timer) = timer.filter(|timer| timer.reason == RunReason::Scheduled) {
            send_timer(app, &sheet.site, tool, timer).await;
        }
    }
    Ok(())
}

/// Syncs every site of a team, until plan and settings that they followed are still the same.
pub(crate) async fn team(app: &App, id: TeamId) -> Result<(), KeeperError> {
    let mut backoff = Backoff::new(PATIENCE);
    loop {
        let Some(team) = app.store.team(id, app.clock.now()).await? else { return Ok(()) };
        if team.team.synced == team.team.cfg {
            return Ok(());
        }
        sites_of(app, &team, &|_| {}).await?;
        match app.store.set_team_synced(&team.team).await {
            Ok(()) => return Ok(()),
            Err(error) => backoff.wait(error).await?,
        }
    }
}

/// Syncs every site of a team and returns what runs on each.
pub(crate) async fn sites_of(
    app: &App,
    team: &TeamSheet,
    done: &(dyn Fn(u64) + Sync),
) -> Result<BTreeMap<SiteId, Vec<Tool>>, KeeperError> {
    let rows = app.store.directory(team.team.id).await?;
    let partitions: Vec<Partition> = rows.iter().map(|row| row.id.partition()).collect();
    let batches: Vec<Vec<Partition>> = partitions.chunks(BATCH).map(<[_]>::to_vec).collect();
    let synced = stream::iter(batches).map(|batch| async move {
        let read = batch.len() as u64;
        let sheets = app.store.sites(batch).await?;
        let mut running = Vec::with_capacity(sheets.len());
        for sheet in sheets.into_values() {
            let tools = match follow(app, &sheet, team).await {
                // Changed while it was synced: its own sync follows the change.
                Err(KeeperError::Store(error)) if error.is_conflict() => {
                    site(app, sheet.site.id).await?;
                    continue;
                }
                outcome => outcome?,
            };
            running.push((sheet.site.id, tools));
        }
        done(read);
        Ok::<_, KeeperError>(running)
    });
    let running: Vec<_> = synced.buffer_unordered(CONCURRENCY).try_collect().await?;
    Ok(running.into_iter().flatten().collect())
}

/// Removes what is left of a deleted site.
pub(crate) async fn purge(app: &App, id: SiteId) -> Result<(), KeeperError> {
    if app.store.deleted_site(id.partition()).await? != Some(id) {
        return Ok(());
    }
    for tool in Tool::ALL {
        app.scheduler.delete(id, tool).await?;
    }
    Ok(app.store.purge(id.partition()).await?)
}
