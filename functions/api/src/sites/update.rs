//! `PATCH /sites/{site}`: changes a site's description, its URL or its monitoring.

use vedette_actions::save_site;
use vedette_domain::sites::input::SiteEdit;
use vedette_domain::sites::settings::parse_site;
use vedette_domain::sites::tag::SITE_TAGS_MAX;
use vedette_http::access::SiteAccess;
use vedette_http::error::ApiError;
use vedette_http::resource::SiteResource;
use vedette_http::response::{Response, ok};
use vedette_http::validation::{Fields, parse_body};

use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    mut access: SiteAccess,
) -> Result<Response, ApiError> {
    let (store, now) = (&context.app.store, context.caller.now);
    let (body, team) = (parse_body(context.body)?, &access.team);
    let (edit, overrides): (SiteEdit, _) =
        parse_site(&Fields::body(&body), &team.settings, team.plan())?;
    let site = &access.stored.site;
    let settings = access.settings();
    let overrides = overrides.map(|sent| site.overrides.replaced_by(sent, &settings));
    let next = edit.apply_to(site, overrides, access.has_learnt_records()?);
    if next.tags.len() > SITE_TAGS_MAX {
        let why = format!("The site would have more than {SITE_TAGS_MAX} tags.");
        return Err(ApiError::invalid("add_tags", why));
    }
    save_site(context.app, &mut access, next, context.caller.by()).await?;

    let retention = access.team.retention(now);
    let checks = store.checks(access.stored.latest().map(|check| (check, retention))).await?;
    let resource = SiteResource::new(&access.stored.site, &access.team, context.links);
    Ok(ok(&resource.with_latest(&access.stored, &checks)))
}
