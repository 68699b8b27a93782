//! `PATCH /teams/{team}/status-pages/{status_page}`: changes a status page.

use vedette_actions::edit_status_page;
use vedette_domain::input::Input as _;
use vedette_domain::status_pages::PageEdit;
use vedette_http::error::ApiError;
use vedette_http::resource::StatusPageResource;
use vedette_http::response::{Response, ok};
use vedette_routing::StatusPageAccess;

use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    access: StatusPageAccess,
) -> Result<Response, ApiError> {
    let edit = PageEdit::from_json(context.body)?;
    let page = edit_status_page(context.app, &access.page, edit, context.caller.by()).await?;
    Ok(ok(&StatusPageResource::new(&page, context.app.service.pages_base())))
}
