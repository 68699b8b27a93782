//! Rebuilds all schedules from the table, and tells how far they differ from it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::stream::{self, Stream, StreamExt as _, TryStreamExt as _};
use tracing::error;
use vedette_domain::checks::load::Load;
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::{Partition, SiteId, TeamId};
use vedette_ops::ErrorChain;
use vedette_runtime::{App, PollingScheduler, Scheduler};
use vedette_store::{Readable, StoreError};

use crate::sync::{BATCH, CONCURRENCY, Known, Synced, WantedSchedules};
use crate::{ReconcilerError, sync};

/// The progress of a reconciliation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReconcileProgress {
    /// Sites that are done.
    pub done: u64,
    /// All sites of the teams.
    pub total: u64,
}

/// The result of a reconciliation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reconciled {
    /// Sites.
    pub sites: u64,
    /// Schedules that were created or confirmed.
    pub put: u64,
    /// Schedules that were missing.
    pub missing: u64,
    /// Schedules that should not have been there.
    pub removed: u64,
    /// Schedules of the other kind, from before `VEDETTE_SCHEDULES` was changed.
    pub retired: u64,
    /// Entries that cannot be read. The log names them, and their schedules stay as they are.
    pub unreadable: u64,
}

/// Creates every schedule that follows from the table, and removes all others.
///
/// # Errors
///
/// When the table or the scheduler does not answer. The work done until then stays.
pub async fn reconcile(
    app: &App,
    progress: &(dyn Fn(ReconcileProgress) + Sync),
) -> Result<Reconciled, ReconcilerError> {
    // Read this first: a schedule that is created meanwhile does no harm.
    let known: Known = app.scheduler.list().await?.into_iter().collect();
    let Readable { items: teams, unreadable } = app.store.listed_teams().await?;
    let total = count_sites(app, &teams).await?;
    let unreadable = AtomicU64::new(unreadable);
    let done = AtomicU64::new(0);
    let followed = batches(app, teams, &unreadable).map_ok(|batch| async {
        let read = batch.len() as u64;
        let synced = sync::follow_readable(app, batch, Some(&known)).await?;
        let done = done.fetch_add(read, Ordering::Relaxed) + read;
        progress(ReconcileProgress { done, total: total.max(done) });
        Ok::<_, ReconcilerError>(synced)
    });
    let synced = followed.try_buffer_unordered(CONCURRENCY);
    let Synced { running, unreadable: left } = synced
        .try_fold(Synced::default(), |mut all, synced| async move {
            all.running.extend(synced.running);
            all.unreadable.extend(synced.unreadable);
            Ok(all)
        })
        .await?;
    let mut reconciled = Reconciled {
        sites: running.len() as u64,
        unreadable: unreadable.into_inner() + left.len() as u64,
        ..Reconciled::default()
    };
    for (&site, tools) in &running {
        reconciled.put += tools.len() as u64;
        let missing = tools.iter().filter(|&&tool| !known.contains(&(site, tool)));
        reconciled.missing += missing.count() as u64;
    }
    let mut strays: BTreeMap<SiteId, u64> = BTreeMap::new();
    for (site, tool) in known {
        match running.get(&site) {
            Some(tools) if tools.contains(&tool) => {}
            Some(_) => reconciled.removed += 1,
            None if left.contains(&site.partition()) => {}
            None => *strays.entry(site).or_default() += 1,
        }
    }
    let removed = stream::iter(strays).map(|(site, count)| async move {
        Ok::<_, ReconcilerError>(if remove_stray(app, site).await? { count } else { 0 })
    });
    let removed = removed.buffer_unordered(CONCURRENCY);
    reconciled.removed += removed.try_fold(0, |all, more| async move { Ok(all + more) }).await?;
    reconciled.retired = retire(app, &running).await?;
    Ok(reconciled)
}

/// Removes the remaining schedules of the other kind, of sites that have schedules of the new kind and of sites that
/// are gone. Until now both kinds have sent every run, which counts once, so no run is lost during the change.
async fn retire(app: &App, running: &BTreeMap<SiteId, Vec<Tool>>) -> Result<u64, ReconcilerError> {
    let before = match &app.scheduler {
        Scheduler::Polling(PollingScheduler { before, .. }) => {
            Scheduler::EventBridge(before.clone())
        }
        Scheduler::EventBridge(now) => {
            Scheduler::Polling(PollingScheduler { store: app.store.clone(), before: now.clone() })
        }
        Scheduler::Local(_) => return Ok(0),
    };
    let before = &before;
    let removed = stream::iter(before.list().await?).map(|(site, tool)| async move {
        let retired = running.contains_key(&site) || is_gone(app, site).await?;
        if retired {
            before.delete(site, tool).await?;
        }
        Ok::<_, ReconcilerError>(u64::from(retired))
    });
    let removed = removed.buffer_unordered(CONCURRENCY);
    removed.try_fold(0, |all, more| async move { Ok(all + more) }).await
}

/// Whether the site does not exist. A site that cannot be read is not gone.
async fn is_gone(app: &App, site: SiteId) -> Result<bool, StoreError> {
    match app.store.site(site.partition()).await {
        Ok(stored) => Ok(stored.is_none_or(|stored| stored.site.id != site)),
        Err(StoreError::Corrupt(_)) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Removes the schedules of a site that no team has listed. The site may have been created or changed meanwhile, so a
/// separate sync decides. Returns `false` if the schedules stay.
async fn remove_stray(app: &App, site: SiteId) -> Result<bool, ReconcilerError> {
    match app.store.site(site.partition()).await {
        Ok(Some(stored)) if stored.site.id == site => sync::site(app, site).await.map(|()| false),
        Ok(_) => sync::remove_schedules(app, site).await.map(|()| true).map_err(Into::into),
        Err(error @ StoreError::Corrupt(_)) => {
            error!(%site, error = %ErrorChain(&error), "could not reconcile the site; its schedules stay as they are");
            Ok(false)
        }
        Err(error) => Err(error.into()),
    }
}

/// How far schedules differ from the table.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Drift {
    /// Sites that should have all of their schedules, without sites that wait for a sync.
    pub sites: u64,
    /// Schedules that they should have.
    pub wanted: u64,
    /// The runs of these schedules.
    pub load: Load,
    /// Schedules that are missing.
    pub missing: u64,
    /// Schedules of tools that do not run, or of sites that do not exist.
    pub stray: u64,
    /// Entries that cannot be read.
    pub unreadable: u64,
}

/// Compares all schedules with the table, and changes nothing. It does not notice a wrong cadence.
///
/// # Errors
///
/// When the table or the scheduler does not answer.
pub async fn drift(app: &App) -> Result<Drift, ReconcilerError> {
    let known: Known = app.scheduler.list().await?.into_iter().collect();
    let Readable { items: teams, unreadable } = app.store.listed_teams().await?;
    let unreadable = AtomicU64::new(unreadable);
    let read = batches(app, teams, &unreadable)
        .map_ok(|batch| sync::wanted(app, batch))
        .try_buffer_unordered(CONCURRENCY);
    let WantedSchedules { synced, excused, unreadable: left } = read
        .try_fold(WantedSchedules::default(), |mut all, wanted| async move {
            all.synced.extend(wanted.synced);
            all.excused.extend(wanted.excused);
            all.unreadable += wanted.unreadable;
            Ok(all)
        })
        .await?;
    let mut drift = Drift {
        sites: synced.len() as u64,
        unreadable: unreadable.into_inner() + left,
        ..Drift::default()
    };
    for (&site, tools) in &synced {
        for (&tool, &cadence) in tools {
            drift.wanted += 1;
            drift.load.add(tool, cadence);
            drift.missing += u64::from(!known.contains(&(site, tool)));
        }
    }
    let is_stray = |(site, tool): &&(SiteId, Tool)| match synced.get(site) {
        Some(tools) => !tools.contains_key(tool),
        None => !excused.contains(&site.partition()),
    };
    drift.stray = known.iter().filter(is_stray).count() as u64;
    Ok(drift)
}

/// The sites of teams in batches, each with sites of only one team.
fn batches<'a>(
    app: &'a App,
    teams: Vec<TeamId>,
    unreadable: &'a AtomicU64,
) -> impl Stream<Item = Result<Vec<Partition>, ReconcilerError>> + 'a {
    let directories = stream::iter(teams).map(|team| app.store.listed_sites(team));
    let directories = directories.buffer_unordered(CONCURRENCY).map(|listed| {
        let listed = listed?;
        unreadable.fetch_add(listed.unreadable, Ordering::Relaxed);
        let batches: Vec<_> = listed.items.chunks(BATCH).map(|batch| Ok(batch.to_vec())).collect();
        Ok::<_, ReconcilerError>(stream::iter(batches))
    });
    directories.try_flatten()
}

/// How many sites the teams have, without those that cannot be read.
async fn count_sites(app: &App, teams: &[TeamId]) -> Result<u64, StoreError> {
    let batches: Vec<Vec<TeamId>> = teams.chunks(BATCH).map(<[_]>::to_vec).collect();
    let read = stream::iter(batches).map(|teams| async move {
        match app.store.teams(teams, app.clock.now()).await {
            Ok(teams) => Ok(teams.values().map(|team| u64::from(team.team.sites)).sum()),
            Err(StoreError::Corrupt(_)) => Ok(0),
            Err(error) => Err(error),
        }
    });
    let read = read.buffer_unordered(CONCURRENCY);
    read.try_fold(0, |all, more: u64| async move { Ok(all + more) }).await
}
