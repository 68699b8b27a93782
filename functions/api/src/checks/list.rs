//! `GET /sites/{site}/checks`: the history of a site, newest first.

use vedette_http::access::SiteAccess;
use vedette_http::error::ApiError;
use vedette_http::history::{history_page, parse_history};
use vedette_http::paging;
use vedette_http::resource::CheckResource;
use vedette_http::response::Response;

use crate::Context;

pub(crate) async fn handle(context: Context<'_>, access: SiteAccess) -> Result<Response, ApiError> {
    let (site, store) = (&access.stored.site, &context.app.store);
    let query = context.query();
    let (filter, page) = parse_history(&query)?;
    let (checks, total) =
        history_page(store, context.caller.now, (&access).into(), &filter, page).await?;
    let data: Vec<_> = checks.iter().map(|check| CheckResource::new(check, Some(site))).collect();
    let path = context.links.to(&format!("/sites/{}/checks", site.id));
    Ok(paging::page(&data, total, page, &query, &path))
}
