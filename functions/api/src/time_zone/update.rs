//! `PATCH /teams/{team}/time-zone`: chooses the time zone of a team.

use vedette_actions::change_time_zone;
use vedette_domain::input::Input as _;
use vedette_domain::time_zone::ZoneChoice;
use vedette_http::error::ApiError;
use vedette_http::resource::TimeZoneResource;
use vedette_http::response::{Response, ok};
use vedette_store::TeamWithSettings;

use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let zone = ZoneChoice::from_open_json(context.body)?.time_zone.unwrap_or_default();
    let team = change_time_zone(context.app, team.team, zone, context.caller.by()).await?;
    Ok(ok(&TimeZoneResource::new(&team.zone)))
}
