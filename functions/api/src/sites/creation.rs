//! Putting a site under watch: what the routes that create sites share.

use jiff::Timestamp;
use vedette_actions::{TeamWithCooldowns, create_site};
use vedette_http::error::ApiError;
use vedette_http::resource::SiteResource;

use super::input::Input;
use crate::Context;

/// Adds a site to a team, and shows the site as it now is; `None` if the team monitors its URL already.
/// After a conflict, the team is to be loaded again.
pub(super) async fn create(
    context: Context<'_>,
    team: &mut TeamWithCooldowns,
    input: Input,
    now: Timestamp,
) -> Result<Option<SiteResource>, ApiError> {
    let id = context.app.entropy.site_id().map_err(ApiError::internal)?;
    let site = input.into_site(id, team.team.id(), now);
    let created = create_site(context.app, context.caller, team, site).await?;
    Ok(created.map(|stored| {
        let resource = SiteResource::new(&stored.site, &team.team, context.links);
        resource.with_latest(&stored, &Default::default())
    }))
}
