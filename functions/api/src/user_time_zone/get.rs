//! `GET /me/time-zone`: the time zone of the caller.

use vedette_http::error::ApiError;
use vedette_http::resource::UserTimeZoneResource;
use vedette_http::response::{Response, ok};

use crate::Context;

pub(crate) async fn handle(context: Context<'_>) -> Result<Response, ApiError> {
    Ok(ok(&UserTimeZoneResource::new(context.caller.user.zone.as_ref())))
}
