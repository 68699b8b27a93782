//! `GET /sites/{site}/checks`: the history of a site, newest first.

use vedette_domain::history::{Filter, locate};
use vedette_domain::tool::{CheckStatus, RunReason, Tool};
use vedette_http::access::SiteAccess;
use vedette_http::days::shown_days;
use vedette_http::error::ApiError;
use vedette_http::paging::{self, Page};
use vedette_http::query::Query;
use vedette_http::resource::CheckResource;
use vedette_http::response::Response;
use vedette_http::validation::{Errors, ValidationError};

use crate::Context;

pub(crate) async fn handle(context: Context<'_>, access: SiteAccess) -> Result<Response, ApiError> {
    let site = &access.stored.site;
    let query = context.query();
    let (filter, page) = parse(&query)?;

    let days = shown_days(&context.app.store, context.caller.now, &access, &filter).await?;
    let days = days.iter().map(|(tool, day)| (*tool, day));
    let located = locate(days, &filter, page.offset(), page.limit());
    let checks = match &located.window {
        Some(window) => context.app.store.page(site.id.partition(), &filter, window).await?,
        None => Vec::new(),
    };

    let data: Vec<_> = checks.iter().map(|check| CheckResource::new(check, site)).collect();
    let path = context.links.to(&format!("/sites/{}/checks", site.id));
    Ok(paging::page(&data, located.total, page, &query, &path))
}

fn parse(query: &Query) -> Result<(Filter, Page), ValidationError> {
    let mut errors = Errors::new();
    let page = Page::parse(query, &mut errors);
    let filter = Filter {
        tool: query.one_of("type", Tool::parse, &mut errors),
        status: query.one_of("status", CheckStatus::parse, &mut errors),
        automatic: query.boolean("automatic", &mut errors),
        reason: query.one_of("run_reason", RunReason::parse, &mut errors),
        from: query.date("from", &mut errors),
        to: query.date("to", &mut errors),
    };
    if filter.from.zip(filter.to).is_some_and(|(from, to)| to < from) {
        errors.push("to", "The to field must be a date on or after from.");
    }
    errors.finish(Some((filter, page)))
}
