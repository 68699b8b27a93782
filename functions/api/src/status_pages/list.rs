//! `GET /teams/{team}/status-pages`: the status pages of a team.

use vedette_http::error::ApiError;
use vedette_http::resource::StatusPageResource;
use vedette_http::response::{Response, ok};
use vedette_store::TeamWithSettings;

use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let base = context.app.service.pages_base();
    let mut pages = context.app.store.status_pages(team.id()).await?;
    pages.sort_by_key(|page| (page.created_at, page.id));
    let shown: Vec<_> = pages.iter().map(|page| StatusPageResource::new(page, base)).collect();
    Ok(ok(&shown))
}
