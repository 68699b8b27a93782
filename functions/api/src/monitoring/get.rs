//! `GET /teams/{team}/monitoring`: the settings that a team's sites start from, and the values to choose from.

use vedette_http::error::ApiError;
use vedette_http::resource::MonitoringResource;
use vedette_http::response::{Response, ok};
use vedette_store::TeamWithSettings;

use crate::Context;

pub(crate) async fn handle(_: Context<'_>, team: TeamWithSettings) -> Result<Response, ApiError> {
    Ok(ok(&MonitoringResource::new(&team)))
}
