//! `GET /teams/{team}/maintenance-windows/{window}`.

use vedette_http::error::ApiError;
use vedette_http::resource::WindowResource;
use vedette_http::response::{Response, ok};
use vedette_routing::WindowAccess;

use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    access: WindowAccess,
) -> Result<Response, ApiError> {
    Ok(ok(&WindowResource::new(&access.window, context.caller.now)))
}
