//! `PATCH /teams/{team}/maintenance-windows/{window}`: changes a maintenance window.

use vedette_actions::edit_window;
use vedette_http::error::ApiError;
use vedette_http::maintenance::parse_window_update;
use vedette_http::resource::WindowResource;
use vedette_http::response::{Response, ok};
use vedette_http::validation::parse_body;
use vedette_routing::WindowAccess;

use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    access: WindowAccess,
) -> Result<Response, ApiError> {
    let input = parse_window_update(&parse_body(context.body)?)?;
    let WindowAccess { team, window } = access;
    let (actor, now) = (context.caller.actor(), context.caller.now);
    let window = edit_window(context.app, &team.team, &window, input, actor, now).await?;
    Ok(ok(&WindowResource::new(&window, now)))
}
