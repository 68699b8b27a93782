//! What a run needs to know, and the lease that it takes.

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

use crate::item::{Stored, expiring, item, number, stored};
use crate::table::{Change, Condition, Store};
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

    async fn read_run_context(
        &self,
        team: TeamId,
        id: SiteId,
        tool: Tool,
        is_consistent: bool,
    ) -> Result<Option<RunContext>, StoreError> {
        let partition = id.partition();
        let keys = [
            keys::site(partition),
            keys::tool(partition, tool),
            keys::team(team),
            keys::team_settings(team),
        ];
        let mut found = self.batches(keys.to_vec(), is_consistent).await?;
        let [found_site, state, found_team, settings] =
            keys.each_ref().map(|key| found.remove(key));
        let (Some(found_site), Some(state), Some(found_team)) = (found_site, state, found_team)
        else {
            return Ok(None);
        };
        if found_site.contains_key("deleted_at") {
            return Ok(None);
        }
        let (team, of_team) = of_one_moment(found_team, settings)?;
        let (site, state): (Site, _) = (Stored::read(found_site)?, Stored::read(state)?);
        let settings = Settings::resolve(&of_team, &site.overrides, team.plan);
        let is_asked = (site.id, site.team) == (id, team.id);
        Ok(Some(RunContext { site, state, team, settings }).filter(|_| is_asked))
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
