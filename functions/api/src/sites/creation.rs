//! Putting a site under watch: what the routes that create sites share.

use std::time::Duration;

use jiff::Timestamp;
use vedette_domain::account::Permission;
use vedette_domain::cooldown::{Beginning, Cooldowns};
use vedette_domain::message::{Maintenance, Message};
use vedette_domain::site::Site;
use vedette_domain::tool::Tool;
use vedette_http::error::ApiError;
use vedette_http::resource::SiteResource;
use vedette_http::validation::ValidationError;
use vedette_runtime::App;
use vedette_store::{CreateRefusal, SiteWithTools, StoreError, TeamWithSettings, create_refusal};

use super::input::{Input, check_texts};
use crate::Context;

/// A team that gets new sites.
pub(super) struct TeamWithCooldowns {
    pub(super) team: TeamWithSettings,
    /// Loaded for the first site; another one may follow.
    cooldowns: Option<Cooldowns>,
}

impl TeamWithCooldowns {
    pub(super) const fn new(team: TeamWithSettings) -> Self {
        Self { team, cooldowns: None }
    }

    /// How a site begins under the team's plan, settings and cooldowns.
    async fn begin(&mut self, app: &App, site: &Site) -> Result<Beginning, StoreError> {
        let (plan, settings) = (self.team.plan(), self.team.settings_for(site));
        let mut running = Tool::ALL.to_vec();
        running.retain(|tool| app.service.runs(*tool, &self.team.team, &settings));
        let cooldowns = match &self.cooldowns {
            Some(cooldowns) => cooldowns,
            None => self.cooldowns.insert(app.store.cooldowns(self.team.id()).await?),
        };
        Ok(cooldowns.begin(plan, &site.url, &running, site.created_at))
    }
}

/// Adds a site to a team, notifies the reconciler, and shows the site as it now is; `None` if the team
/// monitors its URL already. After a conflict, the team is to be loaded again.
pub(super) async fn create(
    context: Context<'_>,
    team: &mut TeamWithCooldowns,
    input: Input,
    now: Timestamp,
) -> Result<Option<SiteResource>, ApiError> {
    let store = &context.app.store;
    let id = context.app.entropy.site_id().map_err(ApiError::internal)?;
    let site = input.into_site(id, team.team.id(), now);
    check_texts(&site)?;
    let Beginning { tools, cooldowns } = team.begin(context.app, &site).await?;
    let stored = SiteWithTools { site, tools };
    if let Err(error) = store.create_site(&team.team.team, &stored, cooldowns.as_ref()).await {
        return match create_refusal(&error) {
            Some(CreateRefusal::DuplicateUrl) => Ok(None),
            Some(CreateRefusal::SiteLimit) if is_full(context, &team.team).await? => {
                Err(site_limit().into())
            }
            _ => Err(error.into()),
        };
    }
    team.cooldowns = cooldowns.or(team.cooldowns.take());

    let sync = Message::Maintenance(Maintenance::Sync { team: stored.site.team, site: id });
    context.app.enqueue_or_leave(sync, Duration::ZERO).await;
    let resource = SiteResource::new(&stored.site, &team.team, context.links);
    Ok(Some(resource.with_latest(&stored, &Default::default())))
}

/// Whether the team has as many sites as its plan allows, and the plan is still the one that was
/// `read`.
async fn is_full(context: Context<'_>, read: &TeamWithSettings) -> Result<bool, ApiError> {
    let (store, caller) = (&context.app.store, context.caller);
    let team = caller.team(store, read.id(), Permission::ManageSites).await?;
    let limit = team.plan().limits().sites;
    Ok(team.plan() == read.plan() && limit.is_some_and(|limit| team.team.sites >= limit))
}

fn site_limit() -> ValidationError {
    ValidationError::new("url", "Your current plan has reached its site limit.")
}
