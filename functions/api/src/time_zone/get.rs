//! `GET /teams/{team}/time-zone`: the time zone of a team.

use vedette_http::error::ApiError;
use vedette_http::resource::TimeZoneResource;
use vedette_http::response::{Response, ok};
use vedette_store::TeamWithSettings;

use crate::Context;

pub(crate) async fn handle(
    _context: Context<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    Ok(ok(&TimeZoneResource::new(&team.team.zone)))
}
