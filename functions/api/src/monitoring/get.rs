//! `GET /teams/{team}/monitoring`: what a team's sites start from, and what it may choose.

use vedette_http::error::ApiError;
use vedette_http::resource::MonitoringResource;
use vedette_http::response::{Response, ok};
use vedette_store::TeamWithSettings;

use crate::Context;

pub(crate) async fn handle(_: Context<'_>, team: TeamWithSettings) -> Result<Response, ApiError> {
    Ok(ok(&MonitoringResource::new(&team)))
}
