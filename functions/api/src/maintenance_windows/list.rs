//! `GET /teams/{team}/maintenance-windows`: the maintenance windows of a team that are not over.

use vedette_http::error::ApiError;
use vedette_http::resource::WindowResource;
use vedette_http::response::{Response, ok};
use vedette_store::TeamWithSettings;

use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let now = context.caller.now;
    let windows = team.team.windows.current_ones(now);
    let shown: Vec<_> = windows.iter().map(|window| WindowResource::new(window, now)).collect();
    Ok(ok(&shown))
}
