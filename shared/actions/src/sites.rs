//! Putting a site under watch.

use std::time::Duration;

use vedette_domain::account::Permission;
use vedette_domain::cooldown::{Beginning, Cooldowns};
use vedette_domain::message::{Maintenance, Message};
use vedette_domain::site::{LISTED_TEXTS_MAX, Site};
use vedette_domain::tool::Tool;
use vedette_http::access::Caller;
use vedette_http::error::ApiError;
use vedette_http::validation::ValidationError;
use vedette_runtime::App;
use vedette_store::{CreateRefusal, SiteWithTools, StoreError, TeamWithSettings, create_refusal};

/// A team that gets new sites.
#[derive(Debug)]
pub struct TeamWithCooldowns {
    /// The team.
    pub team: TeamWithSettings,
    /// Loaded for the first site; another one may follow.
    cooldowns: Option<Cooldowns>,
}

impl TeamWithCooldowns {
    /// A team whose cooldowns are not read yet.
    pub const fn new(team: TeamWithSettings) -> Self {
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

/// Adds a site to its team, notifies the reconciler, and says how the site begins; `None` if the team
/// monitors its URL already. After a conflict, the team is to be loaded again.
///
/// # Errors
///
/// The refusal, or a fault of the table.
pub async fn create_site(
    app: &App,
    caller: &Caller,
    team: &mut TeamWithCooldowns,
    site: Site,
) -> Result<Option<SiteWithTools>, ApiError> {
    check_texts(&site)?;
    let Beginning { tools, cooldowns } = team.begin(app, &site).await?;
    let stored = SiteWithTools { site, tools };
    if let Err(error) = app.store.create_site(&team.team.team, &stored, cooldowns.as_ref()).await {
        return match create_refusal(&error) {
            Some(CreateRefusal::DuplicateUrl) => Ok(None),
            Some(CreateRefusal::SiteLimit) if is_full(app, caller, &team.team).await? => {
                Err(site_limit().into())
            }
            _ => Err(error.into()),
        };
    }
    team.cooldowns = cooldowns.or(team.cooldowns.take());

    let Site { team, id: site, .. } = stored.site;
    let sync = Message::Maintenance(Maintenance::Sync { team, site });
    app.enqueue_or_leave(sync, Duration::ZERO).await;
    Ok(Some(stored))
}

/// Whether the team has as many sites as its plan allows, and the plan is still the one that was
/// `read`.
async fn is_full(app: &App, caller: &Caller, read: &TeamWithSettings) -> Result<bool, ApiError> {
    let team = caller.team(&app.store, read.id(), Permission::ManageSites).await?;
    let limit = team.plan().limits().sites;
    Ok(team.plan() == read.plan() && limit.is_some_and(|limit| team.team.sites >= limit))
}

fn site_limit() -> ValidationError {
    ValidationError::new("url", "Your current plan has reached its site limit.")
}

/// Refuses a site whose texts are too long together, although each of them alone is not: on the
/// field that has the most of them.
///
/// # Errors
///
/// The refusal.
pub fn check_texts(site: &Site) -> Result<(), ValidationError> {
    let taken = site.listed_texts();
    if taken <= LISTED_TEXTS_MAX {
        return Ok(());
    }
    let notes = site.notes.as_ref().map_or(0, String::len);
    let records: usize = site.expected_records.values().flatten().map(String::len).sum();
    let field = if notes < records { "dns_expected_records" } else { "notes" };
    let message = format!(
        "The {field} field must be shorter: the texts of this site take {taken} bytes in lists, \
         of {LISTED_TEXTS_MAX} at most."
    );
    Err(ValidationError::new(field, message))
}

/// What is said of a URL that a team monitors already.
pub fn duplicate_url() -> ValidationError {
    ValidationError::new("url", "This URL is already monitored by the team.")
}
