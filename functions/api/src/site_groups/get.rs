//! `GET /teams/{team}/groups`: the groups of a team's sites.

use vedette_http::error::ApiError;
use vedette_http::resource::SiteGroupsResource;
use vedette_http::response::{Response, ok};
use vedette_store::TeamWithSettings;

use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    Ok(ok(&SiteGroupsResource::from(context.app.store.site_groups(team.id()).await?)))
}
