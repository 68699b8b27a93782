//! Rebuilding all schedules from the table.

use std::collections::BTreeSet;

use vedette_domain::id::SiteId;
use vedette_domain::tool::Tool;
use vedette_runtime::App;

use crate::{ReconcilerError, sync};

/// How far a reconciliation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Sites done.
    pub done: u64,
    /// Sites found so far.
    pub total: u64,
}

/// What a reconciliation did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reconciled {
    /// Sites.
    pub sites: u64,
    /// Schedules that were made or confirmed.
    pub put: u64,
    /// Schedules that should not have been there.
    pub removed: u64,
}

/// Makes every schedule that follows from the table, and removes every other.
///
/// # Errors
///
/// When table or scheduler do not answer; what was done until then stays.
pub async fn reconcile(
    app: &App,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Reconciled, ReconcilerError> {
    use std::sync::atomic::{AtomicU64, Ordering};

    let teams = app.store.all_teams().await?;
    let teams = app.store.teams(teams, app.clock.now()).await?;
    let total = teams.values().map(|team| u64::from(team.team.sites)).sum();
    let done = AtomicU64::new(0);
    let count = |more: u64| {
        let done = done.fetch_add(more, Ordering::Relaxed) + more;
        progress(Progress { done, total });
    };
    let mut wanted: BTreeSet<(SiteId, Tool)> = BTreeSet::new();
    let mut sites = 0;
    for team in teams.keys() {
        let running = sync::sites_of(app, *team, &count).await?;
        sites += running.len() as u64;
        for (site, tools) in running {
            wanted.extend(tools.into_iter().map(|tool| (site, tool)));
        }
    }
    let put = wanted.len() as u64;
    let mut removed = 0;
    for (site, tool) in app.scheduler.list().await? {
        if wanted.contains(&(site, tool)) {
            continue;
        }
        // It may belong to a site that came or changed meanwhile; a sync of its own decides.
        if app.store.site(site.partition()).await?.is_some_and(|stored| stored.site.id == site) {
            sync::site(app, site).await?;
        } else {
            app.scheduler.delete(site, tool).await?;
            removed += 1;
        }
    }
    Ok(Reconciled { sites, put, removed })
}
