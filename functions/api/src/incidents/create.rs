//! `POST /teams/{team}/status-pages/{status_page}/incidents`: writes an incident.

use vedette_actions::create_incident;
use vedette_domain::input::Input as _;
use vedette_domain::status_pages::NewIncident;
use vedette_http::error::ApiError;
use vedette_http::resource::IncidentResource;
use vedette_http::response::{Response, created};
use vedette_routing::StatusPageAccess;

use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    access: StatusPageAccess,
) -> Result<Response, ApiError> {
    let new = NewIncident::from_json(context.body)?;
    let StatusPageAccess { team, page } = access;
    let incident = create_incident(context.app, &page, new, context.caller.by()).await?;
    let path = format!("/teams/{}/status-pages/{}/incidents/{}", team.id(), page.id, incident.id);
    Ok(created(&IncidentResource::from(&incident), &context.links.to(&path)))
}
