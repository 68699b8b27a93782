//! Checks whether recurring runs happen at all: for a sample of sites, how many runs were due and how many were done.
//!
//! The figures come from the table, so the gauge notices any reason why runs do not happen: a polling scheduler that is
//! disabled, schedules that are missing or not allowed to send, checkers that get no messages.

use jiff::{SignedDuration, Timestamp};
use tracing::warn;
use vedette_domain::ErrorChain;
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::TeamId;
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

/// The runs of a period, for the sites that were checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Gauge {
    /// Runs that were due.
    pub due: u64,
    /// Runs that were done, or were followed by later ones.
    pub done: u64,
}

impl Gauge {
    const fn add(&mut self, more: Self) {
        self.due += more.due;
        self.done += more.done;
    }
}

/// Whether the gauge is due at this minute.
pub fn is_time_for_gauge(now: Timestamp) -> bool {
    now.as_second().div_euclid(60).rem_euclid(PERIOD.as_mins()) == 0
}

/// Reads the gauge, without teams and sites that cannot be read.
///
/// # Errors
///
/// When the table does not answer.
pub async fn gauge(app: &App) -> Result<Gauge, ReconcilerError> {
    let now = app.clock.now();
    let until = now.saturating_sub(PERIOD).unwrap_or(now);
    let since = until.saturating_sub(PERIOD).unwrap_or(until);
    let teams = app.store.listed_teams().await?.items;
    let period = now.as_second().div_euclid(PERIOD.as_secs());
    let count = i64::try_from(teams.len()).unwrap_or(i64::MAX).max(1);
    let pace = i64::try_from(TEAMS).unwrap_or(1);
    let first = usize::try_from(period.wrapping_mul(pace).rem_euclid(count)).unwrap_or(0);
    let mut gauge = Gauge::default();
    for &team in teams.iter().cycle().skip(first).take(TEAMS.min(teams.len())) {
        match of_team(app, team, since, until).await {
            Err(error @ StoreError::Corrupt(_)) => {
                warn!(%team, error = %ErrorChain(&error), "could not read a team for the gauge");
            }
            read => gauge.add(read?),
        }
    }
    Ok(gauge)
}

/// The runs of a team's sites after `since`, up to `until`.
async fn of_team(
    app: &App,
    team: TeamId,
    since: Timestamp,
    until: Timestamp,
) -> Result<Gauge, StoreError> {
    let mut gauge = Gauge::default();
    let Some(team) = app.store.team(team, app.clock.now()).await? else { return Ok(gauge) };
    let sites = app.store.some_listed_sites(team.id(), SITES).await?.items;
    for stored in readable(app, &sites).await?.values() {
        match of_site(app, stored, &team, since, until) {
            Err(error @ StoreError::Corrupt(_)) => {
                warn!(site = %stored.site.id, error = %ErrorChain(&error), "could not read the site");
            }
            read => gauge.add(read?),
        }
    }
    Ok(gauge)
}

/// The runs of a site after `since`, up to `until`. Crawls and audits are left out, because they may wait for an hour.
/// So are sites whose schedules do not follow their settings yet.
fn of_site(
    app: &App,
    stored: &SiteWithTools,
    team: &TeamWithSettings,
    since: Timestamp,
    until: Timestamp,
) -> Result<Gauge, StoreError> {
    let site = &stored.site;
    let mut gauge = Gauge::default();
    if !stored.has_settled(team) {
        return Ok(gauge);
    }
    let settings = team.settings_for(site);
    let short = running(app, stored, team).into_iter().filter(|tool: &Tool| !tool.is_long());
    for tool in short {
        let cadence = settings.tools.cadence_minutes(tool);
        let slot = app.service.time_scale.latest_at_or_before(site.id, tool, cadence, until);
        if slot <= since || slot <= site.created_at {
            continue;
        }
        gauge.due += 1;
        let latest = stored.tool(tool)?.automatic;
        gauge.done += u64::from(latest.is_some_and(|latest| latest.id().created_at() >= slot));
    }
    Ok(gauge)
}
