//! `PATCH /me/time-zone`: chooses the time zone of the caller.

use vedette_actions::change_user_time_zone;
use vedette_domain::input::Input as _;
use vedette_domain::time_zone::ZoneChoice;
use vedette_http::error::ApiError;
use vedette_http::resource::UserTimeZoneResource;
use vedette_http::response::{Response, ok};

use crate::Context;

pub(crate) async fn handle(context: Context<'_>) -> Result<Response, ApiError> {
    let zone = ZoneChoice::from_open_json(context.body)?.time_zone;
    change_user_time_zone(context.app, &context.caller.user, zone.as_ref()).await?;
    Ok(ok(&UserTimeZoneResource::new(zone.as_ref())))
}
