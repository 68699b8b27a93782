//! Putting a site under watch: what the routes that create sites share.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use tracing::warn;
use vedette_domain::account::Permission;
use vedette_domain::cooldown::{Beginning, Cooldowns};
use vedette_domain::message::{Message, Upkeep};
use vedette_domain::site::Site;
use vedette_http::error::ApiError;
use vedette_http::resource::SiteResource;
use vedette_http::validation::ValidationError;
use vedette_runtime::App;
use vedette_store::{
    Backoff, CreateRefusal, SiteWithTools, StoreError, TeamWithSettings, create_refusal,
};

use super::input::{Input, check_texts};
use crate::Context;

/// What new sites of a team are decided on.
pub(super) struct Ground {
    /// The team.
    pub(super) team: TeamWithSettings,
    /// Its cooldowns, once a site needs them: another one may follow.
    cooldowns: Option<Cooldowns>,
}

impl Ground {
    pub(super) const fn new(team: TeamWithSettings) -> Self {
        Self { team, cooldowns: None }
    }

    /// How a site begins under the team's plan, settings and cooldowns.
    async fn begin(&mut self, app: &App, site: &Site) -> Result<Beginning, StoreError> {
        let plan = self.team.plan();
        let mut running = self.team.settings_for(site).enabled_tools(plan);
        running.retain(|tool| app.service.tools.contains(tool));
        let cooldowns = match &self.cooldowns {
            Some(cooldowns) => cooldowns,
            None => self.cooldowns.insert(app.store.cooldowns(self.team.id()).await?),
        };
        Ok(cooldowns.begin(plan, &site.url, &running, site.created_at))
    }
}

/// Adds a site to a team, tells the keeper of it, and shows it as it now is; `None` if the team
/// monitors its URL already.
///
/// `ground` is what the site is decided on; where the team turns out to be on another plan by now,
/// it is read again, and `fits` says whether the site fits that plan too.
pub(super) async fn create(
    context: Context<'_>,
    ground: &mut Ground,
    input: Input,
    now: Timestamp,
    budget: Duration,
    fits: impl Fn(&TeamWithSettings) -> Result<(), ValidationError>,
) -> Result<Option<SiteResource>, ApiError> {
    let (store, caller) = (&context.app.store, context.caller);
    let id = context.app.entropy.site_id().map_err(ApiError::internal)?;
    let site = input.into_site(id, ground.team.id(), now);
    check_texts(&site)?;
    let mut stored = SiteWithTools { site, tools: BTreeMap::new() };
    let mut backoff = Backoff::new(budget);
    loop {
        let Beginning { tools, cooldowns } = ground.begin(context.app, &stored.site).await?;
        stored.tools = tools;
        let team = &mut ground.team;
        let Err(error) = store.create_site(&team.team, &stored, cooldowns.as_ref()).await else {
            ground.cooldowns = cooldowns.or(ground.cooldowns.take());
            break;
        };
        match create_refusal(&error) {
            Some(CreateRefusal::DuplicateUrl) => return Ok(None),
            Some(CreateRefusal::SiteLimit) => {
                // Either the limit, or the plan is another one than was read.
                let read = team.plan();
                *team = caller.team(store, stored.site.team, Permission::ManageSites).await?;
                let plan = team.plan();
                if plan != read {
                    fits(team)?;
                } else if plan.limits().sites.is_some_and(|limit| team.team.sites >= limit) {
                    return Err(site_limit().into());
                }
            }
            None => {}
        }
        ground.cooldowns = None;
        backoff.wait(error).await?;
    }

    let sync = Message::Upkeep(Upkeep::Sync { team: stored.site.team, site: id });
    if let Err(error) = context.app.queue.send(&sync, Duration::ZERO).await {
        warn!(site = %id, %error, "the first runs are left to the keeper's sweep");
    }
    let resource = SiteResource::new(&stored.site, &ground.team, context.links);
    Ok(Some(resource.with_latest(&stored, &Default::default())))
}

fn site_limit() -> ValidationError {
    ValidationError::new("url", "Your current plan has reached its site limit.")
}
