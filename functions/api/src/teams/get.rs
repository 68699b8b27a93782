//! `GET /teams/{team}`.

use vedette_http::error::ApiError;
use vedette_http::resource::TeamResource;
use vedette_http::response::{Response, ok};
use vedette_store::TeamWithSettings;

use crate::Context;

pub(crate) async fn handle(_: Context<'_>, team: TeamWithSettings) -> Result<Response, ApiError> {
    Ok(ok(&TeamResource::from(&team)))
}
