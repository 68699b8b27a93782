//! `GET /teams/{team}/configuration`: a document of everything that a team has.

use vedette_actions::TeamObjects;
use vedette_domain::configuration::{ManagedBy, export};
use vedette_http::error::ApiError;
use vedette_http::query::Query;
use vedette_http::response::{Response, ok};
use vedette_http::validation::Errors;
use vedette_store::TeamWithSettings;

use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let query = Query::parse(context.head.uri.query());
    let mut errors = Errors::new();
    let name = query.parsed("name", ManagedBy::parse_name, &mut errors);
    errors.finish(Some(()))?;
    let objects = TeamObjects::load(context.app, &team).await?;
    Ok(ok(&export(&objects.of(&team), name.as_deref(), context.caller.now)))
}
