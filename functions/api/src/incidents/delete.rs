//! `DELETE /teams/{team}/status-pages/{status_page}/incidents/{incident}`: deletes an incident.

use vedette_actions::delete_incident;
use vedette_http::error::ApiError;
use vedette_http::response::{Response, no_content};
use vedette_routing::IncidentAccess;

use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    access: IncidentAccess,
) -> Result<Response, ApiError> {
    let IncidentAccess { page, incident, .. } = access;
    delete_incident(context.app, &page, &incident, context.caller.by()).await?;
    Ok(no_content())
}
