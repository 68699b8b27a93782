//! `GET /teams/{team}/monitoring`: what a team's sites start from, and what it may choose.

use vedette_domain::account::Permission;
use vedette_domain::id::TeamId;
use vedette_http::error::ApiError;
use vedette_http::resource::MonitoringResource;
use vedette_http::response::{Response, ok};

use crate::Context;

pub(crate) async fn handle(context: Context<'_>) -> Result<Response, ApiError> {
    let id = context.id("team", TeamId::parse)?;
    let team = context.caller.team(&context.app.store, id, Permission::View).await?;
    Ok(ok(&MonitoringResource::new(&team)))
}
