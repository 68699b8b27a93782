//! Sites: adds, changes and deletes them.

mod delete;
mod update;

use std::time::Duration;

use jiff::Timestamp;
use tracing::error;
use vedette_domain::accounts::account::Permission;
use vedette_domain::accounts::audit::{AuditEntry, AuditEvent, By};
use vedette_domain::checks::cooldown::{Beginning, Cooldowns};
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::{SiteId, TeamId};
use vedette_domain::message::{Message, ReconcileMessage};
use vedette_domain::sites::refusal::SiteRefusal;
use vedette_domain::sites::site::Site;
use vedette_domain::sites::tag::Tags;
use vedette_domain::sites::tag_dictionary::TagDictionary;
use vedette_ops::ErrorChain;
use vedette_runtime::App;
use vedette_store::{
    Audit, Backoff, CreateRefusal, SiteWithTools, StoreError, TeamWithSettings, budget,
    create_refusal,
};

use crate::access::Caller;
use crate::{AccessError, ActionError, SiteError};

pub use delete::delete_site;
pub(crate) use delete::outbox_of_deletion;
pub use update::{pause_site, resume_site, save_site};

/// Refuses what names sites that a team does not have. `new` are those that it did not name before: those may be gone
/// by now.
///
/// # Errors
///
/// The refusal; a fault of the table.
pub(crate) async fn refuse_unknown_sites<E: From<StoreError>>(
    app: &App,
    team: TeamId,
    new: impl IntoIterator<Item = SiteId>,
    refusal: E,
) -> Result<(), E> {
    let new: Vec<SiteId> = new.into_iter().collect();
    if new.is_empty() {
        return Ok(());
    }
    let known = app.store.sites_of_team(team, new.iter().copied()).await?;
    if known.len() < new.len() { Err(refusal) } else { Ok(()) }
}

/// A team that gets new sites.
#[derive(Debug)]
pub struct GrowingTeam {
    /// The team.
    pub team: TeamWithSettings,
    /// Loaded for the first site, and kept for the next ones.
    cooldowns: Option<Cooldowns>,
    /// Loaded for the first site that has any.
    tags: Option<TagDictionary>,
}

impl GrowingTeam {
    /// A team whose cooldowns and tags are not read yet.
    pub const fn new(team: TeamWithSettings) -> Self {
        Self { team, cooldowns: None, tags: None }
    }

    /// How a new site begins under the team's plan, settings and cooldowns.
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

    /// The team's tags with those of a new site; `None` if it has none.
    async fn tags_with(
        &mut self,
        app: &App,
        site: &Site,
    ) -> Result<Option<TagDictionary>, SiteError> {
        if site.tags.is_empty() {
            return Ok(None);
        }
        let tags = match &self.tags {
            Some(tags) => tags,
            None => self.tags.insert(app.store.tags(self.team.id()).await?),
        };
        let changed = tags.changed(&Tags::new(), &site.tags);
        Ok(Some(changed.map_err(SiteRefusal::from)?))
    }
}

/// Adds a site to its team, notifies the reconciler, and returns how the site begins. After a conflict, load the team
/// again.
///
/// # Errors
///
/// The refusal, or a fault of the table.
pub async fn create_site(
    app: &App,
    caller: &Caller,
    team: &mut GrowingTeam,
    site: Site,
) -> Result<SiteWithTools, SiteError> {
    site.check_texts()?;
    site.check_objective(&team.team.settings_for(&site)).map_err(SiteRefusal::from)?;
    if site.expectations.post.is_some() {
        app.txt_records.prove(&site).await.map_err(SiteRefusal::PostNotProven)?;
    }
    let Beginning { tools, cooldowns } = team.begin(app, &site).await?;
    let tags = team.tags_with(app, &site).await?;
    let stored = SiteWithTools { site, tools };
    let (id, name) = (stored.site.id, stored.site.name.clone());
    let event = AuditEvent::SiteCreated { site: id, name };
    let by = By { now: stored.site.created_at, ..caller.by() };
    let entry = AuditEntry::new(team.team.id(), by, event);
    let audit = Audit::Entry(&entry);
    let (with_cooldowns, with_tags) = (cooldowns.as_ref(), tags.as_ref());
    let read = &team.team.team;
    let created = app.store.create_site(read, &stored, with_cooldowns, with_tags, audit).await;
    if let Err(error) = created {
        return Err(match create_refusal(&error) {
            Some(CreateRefusal::DuplicateUrl) => SiteRefusal::DuplicateUrl.into(),
            Some(CreateRefusal::SiteLimit) if is_full(app, caller, &team.team).await? => {
                SiteRefusal::SiteLimit.into()
            }
            Some(CreateRefusal::SiteLimit) | None => error.into(),
        });
    }
    team.cooldowns = cooldowns.or(team.cooldowns.take());
    team.tags = tags.or(team.tags.take());

    let Site { team, id: site, .. } = stored.site;
    let sync = Message::Reconcile(ReconcileMessage::Sync { team, site });
    app.enqueue_or_leave(sync, Duration::ZERO).await;
    Ok(stored)
}

/// The most sites in a request that creates many.
pub const SITES_MAX: usize = 100;
/// Sites that have not been started by then are left out: the gateway gives up after 30 seconds, and the client would
/// not learn which sites were created.
const BUDGET: Duration = Duration::from_secs(25);

/// What happened to one of the sites in a request.
#[derive(Debug)]
pub enum OneOfMany {
    /// It was created.
    Created(Box<SiteWithTools>),
    /// The team already monitors its URL.
    Duplicate,
    /// The request ran out of time first.
    OutOfTime,
}

/// Creates one of the sites in a request independently of the others. After a conflict, loads the team again and
/// retries. Logs faults.
///
/// # Errors
///
/// The refusal, or a fault of the table.
pub async fn create_one_of_many(
    app: &App,
    caller: &Caller,
    team: &mut GrowingTeam,
    site: impl Fn(SiteId, Timestamp) -> Site + Sync,
) -> Result<OneOfMany, SiteError> {
    let now = app.clock.now();
    let spent = Duration::try_from(now.duration_since(caller.now)).unwrap_or_default();
    let left = BUDGET.saturating_sub(spent);
    if left.is_zero() {
        return Ok(OneOfMany::OutOfTime);
    }
    let created = create_within(left, app, caller, team, |id| site(id, now)).await;
    if let Err(ActionError::Failed(fault)) = &created {
        error!(team = %team.team.id(), error = %ErrorChain(fault), "could not create a site of a bulk request");
    }
    match created {
        Ok(site) => Ok(OneOfMany::Created(Box::new(site))),
        Err(ActionError::Refused(SiteRefusal::DuplicateUrl)) => Ok(OneOfMany::Duplicate),
        Err(error) => Err(error),
    }
}

async fn create_within(
    left: Duration,
    app: &App,
    caller: &Caller,
    team: &mut GrowingTeam,
    site: impl Fn(SiteId) -> Site + Send,
) -> Result<SiteWithTools, SiteError> {
    let mut backoff = Backoff::new(budget::WRITE.min(left));
    loop {
        let id = app.entropy.site_id()?;
        match create_site(app, caller, team, site(id)).await {
            Err(error) => backoff.wait(error).await?,
            done => return done,
        }
        let current = caller.team(&app.store, team.team.id(), Permission::ManageSites).await?;
        *team = GrowingTeam::new(current);
    }
}

/// Whether the team has as many sites as its plan allows, and the plan is still the one that was `read`.
async fn is_full(app: &App, caller: &Caller, read: &TeamWithSettings) -> Result<bool, AccessError> {
    let team = caller.team(&app.store, read.id(), Permission::ManageSites).await?;
    let limit = team.plan().limits().sites;
    Ok(team.plan() == read.plan() && limit.is_some_and(|limit| team.team.sites >= limit))
}
