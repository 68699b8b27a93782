//! `GET /teams/{team}/outages`: the outages of a team's sites, newest first.

use vedette_domain::checks::history::day_of;
use vedette_http::error::ApiError;
use vedette_http::outages::{OutageFilter, Outages};
use vedette_http::paging::{PageRequest, page};
use vedette_http::resource::OutageResource;
use vedette_http::response::Response;
use vedette_http::validation::Errors;
use vedette_store::TeamWithSettings;

use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let (query, now, store) = (context.query(), context.caller.now, &context.app.store);
    let mut errors = Errors::new();
    let wanted = PageRequest::parse(&query, &mut errors);
    let filter = OutageFilter::read(&query, day_of(now), &mut errors);
    let filter = errors.finish(filter)?;
    let directory =
        async { store.tagged_directory(team.id(), team.team.sites as usize).await.map(Box::new) };
    let outages = Outages::load(store, &team, directory, &filter, now).await?;
    let total = outages.found.len() as u64;
    let data: Vec<_> = wanted
        .slice(&outages.found)
        .iter()
        .map(|found| OutageResource::new(found, &outages.users, now))
        .collect();
    let path = context.links.to(&format!("/teams/{}/outages", team.id()));
    Ok(page(&data, total, wanted, &query, &path))
}
