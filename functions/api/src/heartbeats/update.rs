//! `PATCH /teams/{team}/heartbeats/{heartbeat}`: changes, pauses or resumes a heartbeat.

use vedette_actions::edit_heartbeat;
use vedette_domain::heartbeats::input::HeartbeatEdit;
use vedette_domain::input::Input as _;
use vedette_http::error::ApiError;
use vedette_http::response::{Response, ok};
use vedette_routing::HeartbeatAccess;

use super::shown;
use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    HeartbeatAccess { team, stored }: HeartbeatAccess,
) -> Result<Response, ApiError> {
    let edit = HeartbeatEdit::from_json(context.body)?;
    let by = context.caller.by();
    let stored = edit_heartbeat(context.app, &team.team, &stored, edit, by).await?;
    Ok(ok(&shown(context, &stored)))
}
