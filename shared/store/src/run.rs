//! What a run needs to know, and the lease that it takes.

use std::collections::HashMap;

use jiff::Timestamp;
use vedette_domain::accounts::team::Team;
use vedette_domain::checks::concurrency::Leases;
use vedette_domain::checks::run::Run;
use vedette_domain::checks::schedule::TimeScale;
use vedette_domain::checks::tool::Tool;
use vedette_domain::checks::tool_state::ToolState;
use vedette_domain::id::{CheckId, SiteId, TeamId};
use vedette_domain::sites::settings::Settings;
use vedette_domain::sites::site::Site;

use crate::item::{Item, Stored, expiring, item, number, stored};
use crate::keys::Key;
use crate::monitor::{TOMBSTONE, is_heartbeat};
use crate::table::{Change, Condition, Store, unique};
use crate::team::of_one_moment;
use crate::{Audit, StoreError, budget, keys, retry_on_conflict};

stored!(attributes: Leases);

/// What a run is decided on.
#[derive(Debug, Clone)]
pub struct RunContext {
    /// The site.
    pub site: Site,
    /// The state of the tool on the site.
    pub state: ToolState,
    /// The site's team.
    pub team: Team,
    /// The site's settings: those of its team and its own, as far as the plan allows.
    pub settings: Settings,
}

impl RunContext {
    /// The run of a check, and the state of its tool.
    pub fn begin(self, check: CheckId, time_scale: TimeScale) -> (Run, ToolState) {
        let Self { site, state, team, settings } = self;
        (Run { check, site, team, settings, time_scale }, state)
    }
}

/// The keys of what a run needs to know: the site, its tool, the team and its settings.
fn run_keys(team: TeamId, id: SiteId, tool: Tool) -> [Key; 4] {
    let partition = id.partition();
    let (site, state) = (keys::site(partition), keys::tool(partition, tool));
    [site, state, keys::team(team), keys::team_settings(team)]
}

/// What a run on a site needs to know, from its items; `None` if the site is gone.
fn read_context(
    id: SiteId,
    of_site: [Option<Item>; 2],
    [found_team, settings]: [Option<Item>; 2],
) -> Result<Option<RunContext>, StoreError> {
    let ([Some(found_site), Some(state)], Some(found_team)) = (of_site, found_team) else {
        return Ok(None);
    };
    if found_site.contains_key(TOMBSTONE) || is_heartbeat(&found_site) {
        return Ok(None);
    }
    let (team, of_team) = of_one_moment(found_team, settings)?;
    let (site, state): (Site, _) = (Stored::read(found_site)?, Stored::read(state)?);
    let settings = Settings::resolve(&of_team, &site.overrides, team.plan);
    let is_asked = (site.id, site.team) == (id, team.id);
    Ok(Some(RunContext { site, state, team, settings }).filter(|_| is_asked))
}

impl Store {
    /// What a run of a tool on a site needs to know, in one batch; `None` if the site is gone.
    pub async fn run_context(
        &self,
        team: TeamId,
        id: SiteId,
        tool: Tool,
    ) -> Result<Option<RunContext>, StoreError> {
        retry_on_conflict(budget::READ, || self.read_run_context(team, id, tool, true)).await
    }

    /// Like [`Store::run_context`], but at half the price and perhaps as of a moment ago. A run that begins with it is
    /// saved only if the state of its tool has not changed since. It must not be the reason to drop a run.
    pub async fn run_context_relaxed(
        &self,
        team: TeamId,
        id: SiteId,
        tool: Tool,
    ) -> Result<Option<RunContext>, StoreError> {
        match self.read_run_context(team, id, tool, false).await {
            // The team and its settings were read at different moments.
            Err(StoreError::Conflict { .. }) => self.run_context(team, id, tool).await,
            read => read,
        }
    }

    /// Like [`Store::run_context_relaxed`], for many runs at once, so that a team and its settings are read once for all
    /// of its runs. Runs that must be read by themselves are left out: the site is gone, or its items cannot be read or
    /// are from different moments.
    pub async fn run_contexts_relaxed(
        &self,
        runs: &[(TeamId, SiteId, Tool)],
    ) -> Result<HashMap<(TeamId, SiteId, Tool), RunContext>, StoreError> {
        let keys = runs.iter().flat_map(|&(team, id, tool)| run_keys(team, id, tool));
        let mut found = self.batches(unique(keys), false).await?;
        let context = |&(team, id, tool): &(TeamId, SiteId, Tool)| {
            let [site, state, of_team, settings] = run_keys(team, id, tool);
            let of_site = [found.remove(&site), found.remove(&state)];
            let of_team = [of_team, settings].map(|key| found.get(&key).cloned());
            Some(((team, id, tool), read_context(id, of_site, of_team).ok()??))
        };
        Ok(runs.iter().filter_map(context).collect())
    }

    async fn read_run_context(
        &self,
        team: TeamId,
        id: SiteId,
        tool: Tool,
        is_consistent: bool,
    ) -> Result<Option<RunContext>, StoreError> {
        let keys = run_keys(team, id, tool);
        let mut found = self.batches(keys.to_vec(), is_consistent).await?;
        let [site, state, team, settings] = keys.each_ref().map(|key| found.remove(key));
        read_context(id, [site, state], [team, settings])
    }

    /// Takes a lease for a run, until it is released or expires. `limit` is how many runs of the tool may run at a
    /// time. Returns whether the team had a lease left.
    pub async fn acquire_lease(
        &self,
        team: TeamId,
        run: CheckId,
        tool: Tool,
        limit: usize,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let key = keys::leases(team, tool);
        let until = now.saturating_add(tool.limits().run).unwrap_or(now);
        retry_on_conflict(budget::READ, || async {
            let leases: Leases = match self.get(&key).await? {
                Some(stored) => Stored::read(stored)?,
                None => Leases::default(),
            };
            let Some(next) = leases.acquire(run, limit, now, until) else { return Ok(false) };
            let stored = expiring(item(&key, &next)?, next.expire_at().unwrap_or(until));
            self.transaction()
                .put(stored, Condition::after(leases.rev))
                .commit(Audit::None)
                .await?;
            Ok(true)
        })
        .await
    }

    /// Releases the lease of a run.
    pub async fn release_lease(
        &self,
        team: TeamId,
        run: CheckId,
        tool: Tool,
    ) -> Result<(), StoreError> {
        let change = Change {
            expression: "REMOVE held.#run ADD rev :one".into(),
            names: vec![("#run", run.to_string())],
            values: vec![(":one", number(1))],
        };
        match self.update(&keys::leases(team, tool), change, Some(Condition::Present)).await {
            // All leases have expired.
            Err(error) if error.has_failed(0) => Ok(()),
            answer => answer.map(drop),
        }
    }
}
