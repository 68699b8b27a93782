//! `GET /teams/{team}/heartbeats/{heartbeat}`.

use vedette_http::error::ApiError;
use vedette_http::response::{Response, ok};
use vedette_routing::HeartbeatAccess;

use super::shown;
use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    access: HeartbeatAccess,
) -> Result<Response, ApiError> {
    Ok(ok(&shown(context, &access.stored)))
}
