//! `PATCH /teams/{team}/status-pages/{status_page}`: changes a status page.

use vedette_actions::edit_status_page;
use vedette_http::error::ApiError;
use vedette_http::resource::StatusPageResource;
use vedette_http::response::{Response, ok};
use vedette_http::status_pages::parse_page_update;
use vedette_http::validation::parse_body;
use vedette_routing::StatusPageAccess;

use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    access: StatusPageAccess,
) -> Result<Response, ApiError> {
    let input = parse_page_update(&parse_body(context.body)?)?;
    let (actor, now) = (context.caller.actor(), context.caller.now);
    let page = edit_status_page(context.app, &access.page, input, actor, now).await?;
    Ok(ok(&StatusPageResource::new(&page, context.app.service.pages_base())))
}
