//! `GET /sites/{site}`: a site with the latest check of each tool.

use vedette_http::access::SiteAccess;
use vedette_http::error::ApiError;
use vedette_http::objectives::BudgetOf;
use vedette_http::resource::SiteResource;
use vedette_http::response::{Response, ok};

use crate::Context;

pub(crate) async fn handle(context: Context<'_>, access: SiteAccess) -> Result<Response, ApiError> {
    let (store, now) = (&context.app.store, context.caller.now);
    let (site, retention) = (&access.stored.site, access.team.retention(now));
    let checks = store.checks(access.stored.latest().map(|check| (check, retention))).await?;
    let issues = match site.objective {
        Some(_) => store.issues_of_site(site.id.partition()).await?,
        None => Vec::new(),
    };
    let budget = BudgetOf::site(store, &access, &issues, now).await?;
    let resource = SiteResource::new(site, &access.team, context.links).with_budget(budget);
    Ok(ok(&resource.with_latest(&access.stored, &checks)))
}
