//! `GET /sites/{site}`: a site with the latest check of each tool.

use vedette_http::access::SiteAccess;
use vedette_http::error::ApiError;
use vedette_http::resource::SiteResource;
use vedette_http::response::{Response, ok};

use crate::Context;

pub(crate) async fn handle(context: Context<'_>, access: SiteAccess) -> Result<Response, ApiError> {
    let retention = access.team.retention(context.caller.now);
    let checks =
        context.app.store.checks(access.stored.latest().map(|check| (check, retention))).await?;
    let site = SiteResource::new(&access.stored.site, &access.team, context.links);
    Ok(ok(&site.with_latest(&access.stored, &checks)))
}
