//! `GET /teams/{team}/status-pages/{status_page}/incidents/{incident}`.

use vedette_http::error::ApiError;
use vedette_http::resource::IncidentResource;
use vedette_http::response::{Response, ok};
use vedette_routing::IncidentAccess;

use crate::Context;

pub(crate) async fn handle(_: Context<'_>, access: IncidentAccess) -> Result<Response, ApiError> {
    Ok(ok(&IncidentResource::from(&access.incident)))
}
