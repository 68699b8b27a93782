//! Derives outstanding work from the table again every night, in case a write was lost unnoticed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::future::try_join_all;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use tracing::{error, info, warn};
use vedette_domain::checks::policy::ToolPolicy;
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::{Partition, TeamId};
use vedette_domain::message::{AlertMessage, Message, ReconcileMessage};
use vedette_ops::ErrorChain;
use vedette_runs::{enqueue_timer, record_deadline};
use vedette_runtime::metrics::{self, Metric};
use vedette_runtime::{App, Schedule};
use vedette_store::{SiteWithTools, StoreError, TeamWithSettings, unless_conflict};

use crate::sync::{self, BATCH, CONCURRENCY, running};
use crate::{ReconcilerError, channels};

/// How many sites of a team one message covers: a few seconds' work.
const SLICE: usize = 200;

/// Requests a rebuild of the timers, the schedules and the alerts of all teams. Returns the number of teams.
///
/// # Errors
///
/// When the table or a queue does not answer. The remaining teams are left to the next night.
pub async fn rebuild_all(app: &App) -> Result<u64, ReconcilerError> {
    let teams = app.store.listed_teams().await?.items;
    let count = teams.len() as u64;
    let sends = stream::iter(teams).map(|team| async move {
        let timers = Message::Reconcile(ReconcileMessage::Rebuild { team, after: None });
        app.queue.send(&timers, Duration::ZERO).await?;
        app.queue.send(&Message::Alert(AlertMessage::Rebuild(team)), Duration::ZERO).await
    });
    sends.buffer_unordered(CONCURRENCY).try_for_each(|()| async { Ok(()) }).await?;
    Ok(count)
}

/// Repairs the timers of a team's next sites, creates their missing schedules, and sends a message for the sites after
/// them. The log names what cannot be read, which stops nothing else.
pub(crate) async fn timers(
    app: &App,
    id: TeamId,
    after: Option<Partition>,
) -> Result<(), ReconcilerError> {
    let Some(team) = app.store.team(id, app.clock.now()).await? else { return Ok(()) };
    if after.is_none() {
        match channels::convert(app, id).await {
            Err(error @ StoreError::Corrupt(_)) => {
                error!(team = %id, error = %ErrorChain(&error), "could not rebuild the team's channels; skipping them");
            }
            converted => converted?,
        }
        deadlines(app, id).await?;
        let reports = Message::Reconcile(ReconcileMessage::Report(id));
        app.queue.send(&reports, Duration::ZERO).await?;
    }
    let mut sites = app.store.listed_sites(id).await?.items;
    sites.sort_unstable();
    sites.retain(|site| after.is_none_or(|after| *site > after));
    let has_next = sites.len() > SLICE;
    sites.truncate(SLICE);
    let created = AtomicU64::new(0);
    let rebuilt = slice(app, &team, &sites, &created).await;
    let created = created.into_inner();
    if created > 0 {
        warn!(team = %id, created, "created missing schedules again");
        metrics::emit(&[(Metric::SchedulesRecreated, created)], app.clock.now());
    }
    let timers = rebuilt?;
    info!(team = %id, sites = sites.len(), timers, created, "rebuilt timers and schedules");
    if let Some(after) = sites.last().copied().filter(|_| has_next) {
        let next = ReconcileMessage::Rebuild { team: id, after: Some(after) };
        app.queue.send(&Message::Reconcile(next), Duration::ZERO).await?;
    }
    Ok(())
}

/// Repairs the deadlines of a team's heartbeats.
async fn deadlines(app: &App, team: TeamId) -> Result<(), ReconcilerError> {
    let heartbeats = app.store.heartbeats(team).await?.into_iter().map(Ok);
    stream::iter(heartbeats)
        .try_for_each_concurrent(CONCURRENCY, |stored| async move {
            record_deadline(app, stored.heartbeat.id).await
        })
        .await?;
    Ok(())
}

/// Repairs the timers of some sites and creates their missing schedules, a batch at a time. Returns how many timers it
/// has repaired, and adds to `created`, even if it fails.
async fn slice(
    app: &App,
    team: &TeamWithSettings,
    sites: &[Partition],
    created: &AtomicU64,
) -> Result<u64, ReconcilerError> {
    let mut timers = 0;
    for batch in sites.chunks(BATCH) {
        let found = sync::readable(app, batch).await?;
        for stored in found.values() {
            timers += unless_unreadable(stored, rebuild_timers(app, stored, team).await)?;
        }
        let made = found.values().map(|stored| async move {
            unless_unreadable(stored, create_missing(app, stored, team, created).await)
        });
        try_join_all(made).await?;
    }
    Ok(timers)
}

/// The result for a site; the default if the site cannot be read.
fn unless_unreadable<T: Default>(
    stored: &SiteWithTools,
    outcome: Result<T, ReconcilerError>,
) -> Result<T, ReconcilerError> {
    match outcome {
        Err(ReconcilerError::Store(error @ StoreError::Corrupt(_))) => {
            error!(site = %stored.site.id, error = %ErrorChain(&error), "could not rebuild the site; skipping it");
            Ok(T::default())
        }
        outcome => outcome,
    }
}

/// Creates the schedules that a site lacks and counts them, unless they do not follow its settings yet.
async fn create_missing(
    app: &App,
    stored: &SiteWithTools,
    team: &TeamWithSettings,
    created: &AtomicU64,
) -> Result<(), ReconcilerError> {
    if !stored.is_synced(team) {
        return Ok(());
    }
    let site = &stored.site;
    let settings = team.settings_for(site);
    let made = running(app, stored, team).into_iter().map(|tool| {
        let cadence_minutes = settings.tools.cadence_minutes(tool);
        app.scheduler.create_missing(Schedule {
            team: site.team,
            site: site.id,
            tool,
            cadence_minutes,
        })
    });
    let made = try_join_all(made).await?.into_iter().filter(|was_missing| *was_missing).count();
    let made = made as u64;
    if made > 0 {
        created.fetch_add(made, Ordering::Relaxed);
        // Their input may have changed since it was read.
        sync::site(app, site.id).await?;
    }
    Ok(())
}

/// Sets the missing retries and follow-ups of a site. Returns how many.
async fn rebuild_timers(
    app: &App,
    stored: &SiteWithTools,
    team: &TeamWithSettings,
) -> Result<u64, ReconcilerError> {
    let settings = team.settings_for(&stored.site);
    let runs = |tool: &Tool| app.service.runs(*tool, &team.team, &settings);
    let mut timers = 0;
    for tool in Tool::ALL.into_iter().filter(runs) {
        let (policy, now) = (ToolPolicy::of(tool, &settings), app.clock.now());
        let state = stored.tool(tool)?;
        let site = &stored.site;
        let maintenance = team.team.windows.until(site.id, &site.tags, now, now);
        let time_scale = app.service.time_scale;
        let Some(next) = state.with_missing_timer(&policy, time_scale, maintenance, now) else {
            continue;
        };
        let written = app.store.put_tool(stored.site.id.partition(), tool, &next, now).await;
        // The concurrent write has decided about the timer.
        if unless_conflict(written)? {
            timers += 1;
            if let Some(timer) = next.timer {
                enqueue_timer(app, &stored.site, tool, timer).await;
            }
        }
    }
    Ok(timers)
}
