//! Putting a site under watch: what the routes that create sites share.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use tracing::warn;
use vedette_domain::account::Permission;
use vedette_domain::cooldown::{Beginning, Cooldowns};
use vedette_domain::message::{Message, Upkeep};
use vedette_domain::settings::Settings;
use vedette_domain::site::Site;
use vedette_http::error::ApiError;
use vedette_http::resource::SiteResource;
use vedette_http::validation::ValidationError;
use vedette_runtime::App;
use vedette_store::{Backoff, CreateRefusal, SiteSheet, StoreError, TeamSheet, create_refusal};

use super::input::{Input, check_texts};
use crate::Context;

/// What new sites of a team are decided on.
pub(super) struct Ground {
    /// The team.
    pub(super) team: TeamSheet,
    /// Its cooldowns, once a site needs them: another one may follow.
    cooldowns: Option<Cooldowns>,
}

impl Ground {
    pub(super) const fn new(team: TeamSheet) -> Self {
        Self { team, cooldowns: None }
    }

    /// How a site begins under the team's plan, settings and cooldowns.
    async fn begin(&mut self, app: &App, site: &Site) -> Result<Beginning, StoreError> {
        let TeamSheet { team, settings, .. } = &self.team;
        let plan = team.plan;
        let mut running = Settings::resolve(settings, &site.overrides, plan).enabled_tools(plan);
        running.retain(|tool| app.service.tools.contains(tool));
        let cooldowns = match &self.cooldowns {
            Some(cooldowns) => cooldowns,
            None => self.cooldowns.insert(app.store.cooldowns(team.id).await?),
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
    fits: impl Fn(&TeamSheet) -> Result<(), ValidationError>,
) -> Result<Option<SiteResource>, ApiError> {
    let (store, caller) = (&context.app.store, context.caller);
    let id = context.app.entropy.site_id().map_err(ApiError::internal)?;
    let site = input.into_site(id, ground.team.team.id, now);
    check_texts(&site)?;
    let mut sheet = SiteSheet { site, tools: BTreeMap::new() };
    let mut backoff = Backoff::new(budget);
    loop {
        let Beginning { tools, cooldowns } = ground.begin(context.app, &sheet.site).await?;
        sheet.tools = tools;
        let team = &mut ground.team;
        let Err(error) = store.create_site(&team.team, &sheet, cooldowns.as_ref()).await else {
            ground.cooldowns = cooldowns.or(ground.cooldowns.take());
            break;
        };
        match create_refusal(&error) {
            Some(CreateRefusal::DuplicateUrl) => return Ok(None),
            Some(CreateRefusal::SiteLimit) => {
                // Either the limit, or the plan is another one than was read.
                let read = team.team.plan;
                *team = caller.team(store, sheet.site.team, Permission::ManageSites).await?;
                let plan = team.team.plan;
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

    let sync = Message::Upkeep(Upkeep::Sync { team: sheet.site.team, site: id });
    if let Err(error) = context.app.queue.send(&sync, Duration::ZERO).await {
        warn!(site = %id, %error, "the first runs are left to the keeper's sweep");
    }
    let resource = SiteResource::new(&sheet.site, &ground.team, context.links);
    Ok(Some(resource.with_latest(&sheet, &Default::default())))
}

fn site_limit() -> ValidationError {
    ValidationError::new("url", "Your current plan has reached its site limit.")
}
