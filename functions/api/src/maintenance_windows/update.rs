//! `PATCH /teams/{team}/maintenance-windows/{window}`: changes a maintenance window.

use vedette_actions::edit_window;
use vedette_domain::input::Input as _;
use vedette_domain::maintenance::WindowEdit;
use vedette_http::error::ApiError;
use vedette_http::resource::WindowResource;
use vedette_http::response::{Response, ok};
use vedette_routing::WindowAccess;

use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    access: WindowAccess,
) -> Result<Response, ApiError> {
    let edit = WindowEdit::from_json(context.body)?;
    let WindowAccess { team, window } = access;
    let window = edit_window(context.app, &team.team, &window, edit, context.caller.by()).await?;
    Ok(ok(&WindowResource::new(&window, context.caller.now)))
}
