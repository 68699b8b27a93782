//! `POST /teams/{team}/maintenance-windows/{window}/end`: ends the active instance of a maintenance window now.

use vedette_actions::end_window;
use vedette_http::error::ApiError;
use vedette_http::resource::WindowResource;
use vedette_http::response::{Response, ok};
use vedette_routing::WindowAccess;

use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    access: WindowAccess,
) -> Result<Response, ApiError> {
    let WindowAccess { team, window } = access;
    let window = end_window(context.app, &team.team, &window, context.caller.by()).await?;
    Ok(ok(&WindowResource::new(&window, context.caller.now)))
}
