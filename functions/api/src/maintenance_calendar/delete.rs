//! `DELETE /teams/{team}/maintenance-calendar`: revokes the address of a team's calendar feed.

use vedette_actions::unshare_calendar;
use vedette_http::error::ApiError;
use vedette_http::response::{Response, no_content};
use vedette_store::TeamWithSettings;

use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    unshare_calendar(context.app, &team.team, context.caller.by()).await?;
    Ok(no_content())
}
