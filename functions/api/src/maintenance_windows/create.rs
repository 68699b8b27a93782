//! `POST /teams/{team}/maintenance-windows`: adds a maintenance window, or starts one now.

use vedette_actions::add_window;
use vedette_domain::input::Input as _;
use vedette_domain::maintenance::NewWindow;
use vedette_http::error::ApiError;
use vedette_http::resource::WindowResource;
use vedette_http::response::{Response, created};
use vedette_store::TeamWithSettings;

use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let new = NewWindow::from_json(context.body)?;
    let window = add_window(context.app, &team.team, new, context.caller.by()).await?;
    let path = format!("/teams/{}/maintenance-windows/{}", team.id(), window.id);
    Ok(created(&WindowResource::new(&window, context.caller.now), &context.links.to(&path)))
}
