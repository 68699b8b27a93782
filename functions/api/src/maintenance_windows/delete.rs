//! `DELETE /teams/{team}/maintenance-windows/{window}`: deletes a maintenance window.

use vedette_actions::delete_window;
use vedette_http::error::ApiError;
use vedette_http::response::{Response, no_content};
use vedette_routing::WindowAccess;

use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    access: WindowAccess,
) -> Result<Response, ApiError> {
    let WindowAccess { team, window } = access;
    delete_window(context.app, &team.team, &window, context.caller.by()).await?;
    Ok(no_content())
}
