//! `GET /teams/{team}/status-pages/{status_page}`.

use vedette_http::error::ApiError;
use vedette_http::resource::StatusPageResource;
use vedette_http::response::{Response, ok};
use vedette_routing::StatusPageAccess;

use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    access: StatusPageAccess,
) -> Result<Response, ApiError> {
    Ok(ok(&StatusPageResource::new(&access.page, context.app.service.pages_base())))
}
