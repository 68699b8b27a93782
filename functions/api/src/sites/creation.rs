//! Putting a site under watch: what the routes that create sites share.

use std::time::Duration;

use jiff::Timestamp;
use tracing::warn;
use vedette_domain::account::Permission;
use vedette_domain::message::{Message, Upkeep};
use vedette_domain::plan::Plan;
use vedette_http::error::ApiError;
use vedette_http::resource::SiteResource;
use vedette_http::validation::ValidationError;
use vedette_store::{Backoff, CreateRefusal, SiteSheet, TeamSheet, create_refusal};

use super::input::{Input, check_texts, duplicate_url};
use crate::Context;

/// How long a creation competes with others in the same team.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// Why a site is not created.
#[derive(Debug)]
pub(super) enum NotCreated {
    /// The team has its URL.
    Duplicate,
    /// Anything else.
    Refused(ApiError),
}

impl From<ApiError> for NotCreated {
    fn from(error: ApiError) -> Self {
        Self::Refused(error)
    }
}

impl From<NotCreated> for ApiError {
    fn from(reason: NotCreated) -> Self {
        match reason {
            NotCreated::Duplicate => duplicate_url().into(),
            NotCreated::Refused(error) => error,
        }
    }
}

/// Adds a site to a team, tells the keeper of it, and shows it as it now is.
///
/// `team` is what the site was decided on; where it turns out to be on another plan by now, it is
/// read again, and `fits` says whether the site fits that plan too.
pub(super) async fn create(
    context: Context<'_>,
    team: &mut TeamSheet,
    input: Input,
    now: Timestamp,
    patience: Duration,
    fits: impl Fn(Plan) -> Result<(), ValidationError>,
) -> Result<SiteResource, NotCreated> {
    let (store, caller) = (&context.app.store, context.caller);
    let id = context.app.entropy.site_id();
    let id = id.map_err(|error| ApiError::Internal(error.to_string()))?;
    let site = input.into_site(id, team.team.id, now);
    check_texts(&site).map_err(ApiError::from)?;
    let mut backoff = Backoff::new(patience);
    while let Err(error) = store.create_site(&team.team, &site).await {
        match create_refusal(&error) {
            Some(CreateRefusal::DuplicateUrl) => return Err(NotCreated::Duplicate),
            Some(CreateRefusal::SiteLimit) => {
                // Either the limit, or the plan is another one than was read.
                let read = team.team.plan;
                *team = caller.team(store, site.team, Permission::ManageSites).await?;
                let plan = team.team.plan;
                if plan != read {
                    fits(plan).map_err(ApiError::from)?;
                } else if plan.limits().sites.is_some_and(|limit| team.team.sites >= limit) {
                    return Err(NotCreated::Refused(site_limit().into()));
                }
            }
            None => {}
        }
        backoff.wait(error).await.map_err(ApiError::from)?;
    }

    let sync = Message::Upkeep(Upkeep::Sync(id));
    if let Err(error) = context.app.queue.send(&sync, Duration::ZERO).await {
        warn!(site = %id, %error, "the first runs are left to the keeper's sweep");
    }
    let sheet = SiteSheet { site, tools: Default::default() };
    let resource = SiteResource::new(&sheet.site, team, context.links);
    Ok(resource.with_latest(&sheet, &Default::default()))
}

fn site_limit() -> ValidationError {
    ValidationError::new("url", "Your current plan has reached its site limit.")
}
