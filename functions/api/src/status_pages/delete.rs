//! `DELETE /teams/{team}/status-pages/{status_page}`: deletes a status page with its incidents.

use vedette_actions::delete_status_page;
use vedette_http::error::ApiError;
use vedette_http::response::{Response, no_content};
use vedette_routing::StatusPageAccess;

use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    access: StatusPageAccess,
) -> Result<Response, ApiError> {
    let StatusPageAccess { team, page } = access;
    delete_status_page(context.app, &team.team, &page, context.caller.by()).await?;
    Ok(no_content())
}
