//! `PATCH /teams/{team}/status-pages/{status_page}/incidents/{incident}`: changes an incident, or writes an update.

use vedette_actions::edit_incident;
use vedette_http::error::ApiError;
use vedette_http::resource::IncidentResource;
use vedette_http::response::{Response, ok};
use vedette_http::status_pages::parse_incident_update;
use vedette_http::validation::parse_body;
use vedette_routing::IncidentAccess;

use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    access: IncidentAccess,
) -> Result<Response, ApiError> {
    let input = parse_incident_update(&parse_body(context.body)?)?;
    let IncidentAccess { page, incident, .. } = access;
    let (actor, now) = (context.caller.actor(), context.caller.now);
    let incident = edit_incident(context.app, &page, &incident, input, actor, now).await?;
    Ok(ok(&IncidentResource::from(&incident)))
}
