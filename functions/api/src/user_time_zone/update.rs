//! `PATCH /me/time-zone`: chooses the time zone of the caller.

use vedette_actions::change_user_time_zone;
use vedette_http::error::ApiError;
use vedette_http::resource::UserTimeZoneResource;
use vedette_http::response::{Response, ok};
use vedette_http::time_zone::parse_time_zone;
use vedette_http::validation::parse_body;

use crate::Context;

pub(crate) async fn handle(context: Context<'_>) -> Result<Response, ApiError> {
    let zone = parse_time_zone(&parse_body(context.body)?)?;
    change_user_time_zone(context.app, &context.caller.user, zone.as_ref()).await?;
    Ok(ok(&UserTimeZoneResource::new(zone.as_ref())))
}
