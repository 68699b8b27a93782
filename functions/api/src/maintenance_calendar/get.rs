//! `GET /teams/{team}/maintenance-calendar`: the secret address of a team's calendar feed.

use vedette_http::error::ApiError;
use vedette_http::response::{Response, ok};
use vedette_store::TeamWithSettings;

use super::resource;
use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    Ok(ok(&resource(context, &team.team)))
}
