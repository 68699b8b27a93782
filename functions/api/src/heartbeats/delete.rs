//! `DELETE /teams/{team}/heartbeats/{heartbeat}`: deletes a heartbeat with its runs and issues.

use vedette_actions::delete_heartbeat;
use vedette_http::error::ApiError;
use vedette_http::response::{Response, no_content};
use vedette_routing::HeartbeatAccess;

use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    access: HeartbeatAccess,
) -> Result<Response, ApiError> {
    delete_heartbeat(context.app, &access.team.team, &access.stored, context.caller.by()).await?;
    Ok(no_content())
}
