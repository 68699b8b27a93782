//! `POST /teams/{team}/heartbeats`: creates a heartbeat.

use vedette_actions::create_heartbeat;
use vedette_domain::heartbeats::input::NewHeartbeat;
use vedette_domain::input::Input as _;
use vedette_http::error::ApiError;
use vedette_http::response::{Response, created};
use vedette_store::TeamWithSettings;

use super::shown;
use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let new = NewHeartbeat::from_json(context.body)?;
    let stored = create_heartbeat(context.app, &team.team, new, context.caller.by()).await?;
    let path = format!("/teams/{}/heartbeats/{}", team.id(), stored.heartbeat.id);
    Ok(created(&shown(context, &stored), &context.links.to(&path)))
}
