//! `POST /teams/{team}/status-pages`: creates a status page.

use vedette_actions::create_status_page;
use vedette_domain::input::Input as _;
use vedette_domain::status_pages::NewPage;
use vedette_http::error::ApiError;
use vedette_http::resource::StatusPageResource;
use vedette_http::response::{Response, created};
use vedette_store::TeamWithSettings;

use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let new = NewPage::from_json(context.body)?;
    let page = create_status_page(context.app, &team.team, new, context.caller.by()).await?;
    let path = format!("/teams/{}/status-pages/{}", team.id(), page.id);
    let resource = StatusPageResource::new(&page, context.app.service.pages_base());
    Ok(created(&resource, &context.links.to(&path)))
}
