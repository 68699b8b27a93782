//! `GET /teams/{team}/sites`: a team's sites with their latest checks.

use vedette_domain::checks::tool::{CheckStatus, Tool};
use vedette_domain::sites::selector::Selector;
use vedette_domain::sites::tag::Tag;
use vedette_http::error::ApiError;
use vedette_http::paging::{self, PageRequest};
use vedette_http::query::Query;
use vedette_http::resource::SiteResource;
use vedette_http::response::Response;
use vedette_http::validation::{Errors, ValidationError};
use vedette_store::{SiteWithTools, TeamWithSettings};

use super::listing::{Listing, Sort};
use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let (store, id) = (&context.app.store, team.id());
    let query = context.query();
    let (listing, page) = parse(&query)?;

    let retention = team.retention(context.caller.now);
    let sites = team.team.sites as usize;
    let rows = async {
        match listing.status {
            Some(_) => store.directory_with_newest(id, sites).await,
            None => store.directory(id, sites).await,
        }
    };
    let (rows, tags) = futures::try_join!(rows, store.tags_if(listing.is_by_tags(), id))?;
    let rows = listing.of(rows, &tags, &team.settings, team.plan(), retention);
    let shown = page.slice(&rows);
    let partitions: Vec<_> = shown.iter().map(|row| row.id.partition()).collect();
    let sites = store.sites(partitions).await?;
    let latest = sites.values().flat_map(SiteWithTools::latest);
    let checks = store.checks(latest.map(|check| (check, retention))).await?;

    // A site that was deleted since the directory was read is missing, and does not count.
    let sites = shown.iter().filter_map(|row| sites.get(&row.id.partition()));
    let data: Vec<_> = sites
        .map(|stored| {
            SiteResource::new(&stored.site, &team, context.links).with_latest(stored, &checks)
        })
        .collect();
    let total = rows.len() - (shown.len() - data.len());
    let path = context.links.to(&format!("/teams/{id}/sites"));
    Ok(paging::page(&data, total as u64, page, &query, &path))
}

fn parse(query: &Query) -> Result<(Listing, PageRequest), ValidationError> {
    let mut errors = Errors::new();
    let page = PageRequest::parse(query, &mut errors);
    let listing = Listing {
        search: query.search("search").map(str::to_owned),
        tag: query.parsed("tag", Tag::parse, &mut errors),
        selector: query.parsed("selector", Selector::parse, &mut errors),
        pinned: query.boolean("pinned", &mut errors),
        tool: query.one_of("tool", Tool::parse, &mut errors),
        status: query.one_of("status", CheckStatus::parse, &mut errors),
        sort: query.one_of("sort", Sort::parse, &mut errors).unwrap_or_default(),
    };
    errors.finish(Some((listing, page)))
}
