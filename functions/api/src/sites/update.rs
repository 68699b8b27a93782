//! `PATCH /sites/{site}`: changes a site's description, its URL or its monitoring.

use vedette_actions::save_site;
use vedette_http::access::SiteAccess;
use vedette_http::error::ApiError;
use vedette_http::resource::SiteResource;
use vedette_http::response::{Response, ok};
use vedette_http::site_input::parse_site_update;
use vedette_http::validation::{Fields, parse_body};

use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    mut access: SiteAccess,
) -> Result<Response, ApiError> {
    let (store, now) = (&context.app.store, context.caller.now);
    let update = parse_site_update(&Fields::body(&parse_body(context.body)?), &access.team)?;
    let site = &access.stored.site;
    let update = update.as_written_back(site, &access.settings());
    let next = update.apply_to(site, access.has_learnt_records()?);
    save_site(context.app, &mut access, next, context.caller.actor(), now).await?;

    let retention = access.team.retention(now);
    let checks = store.checks(access.stored.latest().map(|check| (check, retention))).await?;
    let resource = SiteResource::new(&access.stored.site, &access.team, context.links);
    Ok(ok(&resource.with_latest(&access.stored, &checks)))
}
