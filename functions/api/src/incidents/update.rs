//! `PATCH /teams/{team}/status-pages/{status_page}/incidents/{incident}`: changes an incident, or writes an update.

use vedette_actions::edit_incident;
use vedette_domain::input::Input as _;
use vedette_domain::status_pages::IncidentEdit;
use vedette_http::error::ApiError;
use vedette_http::resource::IncidentResource;
use vedette_http::response::{Response, ok};
use vedette_routing::IncidentAccess;

use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    access: IncidentAccess,
) -> Result<Response, ApiError> {
    let edit = IncidentEdit::from_json(context.body)?;
    let IncidentAccess { page, incident, .. } = access;
    let incident = edit_incident(context.app, &page, &incident, edit, context.caller.by()).await?;
    Ok(ok(&IncidentResource::from(&incident)))
}
