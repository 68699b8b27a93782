//! Checks whether recurring runs happen: for a sample of sites, how many runs of each tool were due and how many were
//! done.
//!
//! The figures come from the table, so the gauge notices any reason why runs do not happen: a polling scheduler that is
//! disabled, schedules that are missing or not allowed to send, checkers that get no messages.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use tracing::warn;
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::TeamId;
use vedette_ops::ErrorChain;
use vedette_runtime::App;
use vedette_store::{SiteWithTools, StoreError, TeamWithSettings};

use crate::ReconcilerError;
use crate::sync::{BATCH, readable, running};

/// How often the gauge is read, and the length of the period that it covers. The period ended one period ago, so that
/// its runs are done, unless none happen.
const PERIOD: SignedDuration = SignedDuration::from_mins(5);
/// How many teams are checked each time. The next period checks the next teams.
const TEAMS: usize = 8;
/// How many sites of a team are checked: those with the lowest hashes of URLs, which are as good a sample as any.
const SITES: usize = BATCH;

/// The runs of a tool in a period, for the sites that were checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Gauge {
    /// Runs that were due.
    pub due: u64,
    /// Runs that were done, or were followed by later ones.
    pub done: u64,
}

/// The gauge of each tool. Crawls and audits have none, because they may wait for an hour.
pub type Gauges = BTreeMap<Tool, Gauge>;

fn add(gauges: &mut Gauges, more: Gauges) {
    for (tool, Gauge { due, done }) in more {
        let gauge = gauges.entry(tool).or_default();
        gauge.due += due;
        gauge.done += done;
    }
}

/// Whether the gauge is due at this minute.
pub fn is_time_for_gauge(now: Timestamp) -> bool {
    now.as_second().div_euclid(60).rem_euclid(PERIOD.as_mins()) == 0
}

/// Reads the gauge of each tool, without teams and sites that cannot be read. A tool without due runs has one, too, so
/// that its data does not stop.
///
/// # Errors
///
/// When the table does not answer.
pub async fn gauge(app: &App) -> Result<Gauges, ReconcilerError> {
    let now = app.clock.now();
    let until = now.saturating_sub(PERIOD).unwrap_or(now);
    let since = until.saturating_sub(PERIOD).unwrap_or(until);
    let teams = app.store.listed_teams().await?.items;
    let period = now.as_second().div_euclid(PERIOD.as_secs());
    let count = i64::try_from(teams.len()).unwrap_or(i64::MAX).max(1);
    let pace = i64::try_from(TEAMS).unwrap_or(1);
    let first = usize::try_from(period.wrapping_mul(pace).rem_euclid(count)).unwrap_or(0);
    let measured = Tool::ALL.into_iter().filter(|tool| !tool.is_long());
    let mut gauges: Gauges = measured.map(|tool| (tool, Gauge::default())).collect();
    for &team in teams.iter().cycle().skip(first).take(TEAMS.min(teams.len())) {
        match of_team(app, team, since, until).await {
            Err(error @ StoreError::Corrupt(_)) => {
                warn!(%team, error = %ErrorChain(&error), "could not read a team for the gauge");
            }
            read => add(&mut gauges, read?),
        }
    }
    Ok(gauges)
}

/// The runs of a team's sites after `since`, up to `until`.
async fn of_team(
    app: &App,
    team: TeamId,
    since: Timestamp,
    until: Timestamp,
) -> Result<Gauges, StoreError> {
    let mut gauges = Gauges::new();
    let Some(team) = app.store.team(team, app.clock.now()).await? else { return Ok(gauges) };
    let sites = app.store.some_listed_sites(team.id(), SITES).await?.items;
    for stored in readable(app, &sites).await?.values() {
        match of_site(app, stored, &team, since, until) {
            Err(error @ StoreError::Corrupt(_)) => {
                warn!(site = %stored.site.id, error = %ErrorChain(&error), "could not read the site");
            }
            read => add(&mut gauges, read?),
        }
    }
    Ok(gauges)
}

/// The runs of a site after `since`, up to `until`; none if its schedules do not follow its settings yet.
fn of_site(
    app: &App,
    stored: &SiteWithTools,
    team: &TeamWithSettings,
    since: Timestamp,
    until: Timestamp,
) -> Result<Gauges, StoreError> {
    let site = &stored.site;
    let mut gauges = Gauges::new();
    if !stored.is_synced(team) {
        return Ok(gauges);
    }
    let settings = team.settings_for(site);
    let short = running(app, stored, team).into_iter().filter(|tool: &Tool| !tool.is_long());
    for tool in short {
        let cadence = settings.tools.cadence_minutes(tool);
        let slot = app.service.time_scale.latest_at_or_before(site.id, tool, cadence, until);
        if slot <= since || slot <= site.created_at {
            continue;
        }
        let latest = stored.tool(tool)?.automatic;
        let is_done = latest.is_some_and(|latest| latest.id().created_at() >= slot);
        gauges.insert(tool, Gauge { due: 1, done: is_done.into() });
    }
    Ok(gauges)
}
