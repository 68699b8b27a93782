//! `POST /teams/{team}/maintenance-windows`: adds a maintenance window, or starts one now.

use vedette_actions::add_window;
use vedette_http::error::ApiError;
use vedette_http::maintenance::parse_window;
use vedette_http::resource::WindowResource;
use vedette_http::response::{Response, created};
use vedette_http::validation::parse_body;
use vedette_store::TeamWithSettings;

use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let (input, minutes) = parse_window(&parse_body(context.body)?)?;
    let (actor, now) = (context.caller.actor(), context.caller.now);
    let window = add_window(context.app, &team.team, input, minutes, actor, now).await?;
    let path = format!("/teams/{}/maintenance-windows/{}", team.id(), window.id);
    Ok(created(&WindowResource::new(&window, now), &context.links.to(&path)))
}
