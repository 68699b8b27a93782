//! `PUT /teams/{team}/groups`: replaces the groups of a team's sites.

use vedette_actions::change_site_groups;
use vedette_domain::input::Input as _;
use vedette_domain::sites::group::SiteGroupsInput;
use vedette_http::error::ApiError;
use vedette_http::resource::SiteGroupsResource;
use vedette_http::response::{Response, ok};
use vedette_store::TeamWithSettings;

use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let chosen = SiteGroupsInput::from_json(context.body)?;
    let (app, by) = (context.app, context.caller.by());
    let before = app.store.site_groups(team.id()).await?;
    chosen.check_objectives(&before, &team.settings)?;
    let groups = change_site_groups(app, team.id(), before, chosen, by).await?;
    Ok(ok(&SiteGroupsResource::from(groups)))
}
