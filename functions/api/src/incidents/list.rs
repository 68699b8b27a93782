//! `GET /teams/{team}/status-pages/{status_page}/incidents`: the newest incidents of a status page.

use vedette_http::error::ApiError;
use vedette_http::resource::IncidentResource;
use vedette_http::response::{Response, ok};
use vedette_routing::StatusPageAccess;

use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    access: StatusPageAccess,
) -> Result<Response, ApiError> {
    let StatusPageAccess { team, page } = access;
    let incidents = context.app.store.incidents(team.id(), page.id).await?;
    let shown: Vec<_> = incidents.iter().map(IncidentResource::from).collect();
    Ok(ok(&shown))
}
