//! `POST /teams/{team}/sites`: adds a site.

use vedette_actions::{GrowingTeam, create_site};
use vedette_domain::sites::input::NewSite;
use vedette_domain::sites::settings::parse_site;
use vedette_http::error::ApiError;
use vedette_http::response::{Response, created};
use vedette_http::validation::{Fields, parse_body};
use vedette_store::TeamWithSettings;

use super::creation::shown;
use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let body = parse_body(context.body)?;
    let (new, overrides): (NewSite, _) =
        parse_site(&Fields::body(&body), &team.settings, team.plan())?;
    let mut team = GrowingTeam::new(team);
    let id = context.app.entropy.site_id().map_err(ApiError::internal)?;
    let site = new.into_site(overrides.unwrap_or_default(), id, team.team.id(), context.caller.now);
    let stored = create_site(context.app, context.caller, &mut team, site).await?;
    let site = shown(context, &team, &stored);
    Ok(created(&site, &context.links.site(site.id())))
}
