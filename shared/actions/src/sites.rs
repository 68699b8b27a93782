//! Sites: putting one under watch, changing it, and taking it away.

mod delete;
mod input;
mod update;

use std::time::Duration;

use jiff::Timestamp;
use tracing::error;
use vedette_domain::ErrorChain;
use vedette_domain::accounts::account::Permission;
use vedette_domain::accounts::audit::{AuditEntry, AuditEvent};
use vedette_domain::checks::cooldown::{Beginning, Cooldowns};
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::SiteId;
use vedette_domain::message::{Maintenance, Message};
use vedette_domain::sites::site::{LISTED_TEXTS_MAX, Site};
use vedette_http::access::Caller;
use vedette_http::error::ApiError;
use vedette_http::validation::ValidationError;
use vedette_runtime::App;
use vedette_store::{
    Audit, Backoff, CreateRefusal, SiteWithTools, StoreError, TeamWithSettings, budget,
    create_refusal,
};

pub use delete::delete_site;
pub use input::SiteInput;
pub use update::{SiteUpdate, pause_site, resume_site, save_site};

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
    let (id, name) = (stored.site.id, stored.site.name.clone());
    let event = AuditEvent::SiteCreated { site: id, name };
    let entry = AuditEntry::new(team.team.id(), caller.actor(), event, stored.site.created_at);
    let audit = Audit::Entry(&entry);
    let created = app.store.create_site(&team.team.team, &stored, cooldowns.as_ref(), audit).await;
    if let Err(error) = created {
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

/// The most sites of a request that creates many.
pub const SITES_MAX: usize = 100;
/// What is not begun by then is left: the gateway gives up after 30 seconds, and then the client
/// would not learn what was created.
const BUDGET: Duration = Duration::from_secs(25);

/// What became of one of the sites of a request.
#[derive(Debug)]
pub enum OneOfMany {
    /// It is under watch.
    Created(Box<SiteWithTools>),
    /// The team monitors its URL already.
    Duplicate,
    /// The request ran out of time before.
    OutOfTime,
}

/// Creates one of the sites of a request, on its own; after a conflict again, with the team reloaded.
/// Faults are logged.
///
/// # Errors
///
/// The refusal, or a fault of the table.
pub async fn create_one_of_many(
    app: &App,
    caller: &Caller,
    team: &mut TeamWithCooldowns,
    site: impl Fn(SiteId, Timestamp) -> Site + Sync,
) -> Result<OneOfMany, ApiError> {
    let now = app.clock.now();
    let spent = Duration::try_from(now.duration_since(caller.now)).unwrap_or_default();
    let left = BUDGET.saturating_sub(spent);
    if left.is_zero() {
        return Ok(OneOfMany::OutOfTime);
    }
    let created = create_within(left, app, caller, team, |id| site(id, now)).await;
    if let Err(refusal) = &created
        && refusal.is_fault()
    {
        error!(team = %team.team.id(), error = %ErrorChain(refusal), "a site of many was not created");
    }
    Ok(created?.map_or(OneOfMany::Duplicate, |site| OneOfMany::Created(Box::new(site))))
}

async fn create_within(
    left: Duration,
    app: &App,
    caller: &Caller,
    team: &mut TeamWithCooldowns,
    site: impl Fn(SiteId) -> Site + Send,
) -> Result<Option<SiteWithTools>, ApiError> {
    let mut backoff = Backoff::new(budget::WRITE.min(left));
    loop {
        let id = app.entropy.site_id().map_err(ApiError::internal)?;
        match create_site(app, caller, team, site(id)).await {
            Err(error) => backoff.wait(error).await?,
            done => return done,
        }
        let current = caller.team(&app.store, team.team.id(), Permission::ManageSites).await?;
        *team = TeamWithCooldowns::new(current);
    }
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
fn check_texts(site: &Site) -> Result<(), ValidationError> {
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
