//! `POST /teams/{team}/maintenance-calendar`: gives a team's calendar feed a new address.

use vedette_actions::share_calendar;
use vedette_http::error::ApiError;
use vedette_http::response::{Response, created};
use vedette_store::TeamWithSettings;

use super::resource;
use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let team = share_calendar(context.app, team.team, context.caller.by()).await?;
    let path = format!("/teams/{}/maintenance-calendar", team.id);
    Ok(created(&resource(context, &team), &context.links.to(&path)))
}
