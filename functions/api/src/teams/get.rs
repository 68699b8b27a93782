//! `GET /teams/{team}`.

use vedette_domain::account::Permission;
use vedette_domain::id::TeamId;
use vedette_http::error::ApiError;
use vedette_http::resource::TeamResource;
use vedette_http::response::{Response, ok};

use crate::Context;

pub(crate) async fn handle(context: Context<'_>) -> Result<Response, ApiError> {
    let id = context.id("team", TeamId::parse)?;
    let team = context.caller.team(&context.app.store, id, Permission::View).await?;
    Ok(ok(&TeamResource::from(&team)))
}
