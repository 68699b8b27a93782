//! `GET /teams/{team}/heartbeats`: the heartbeats of a team, by name.

use vedette_domain::heartbeats::reports::HeartbeatState;
use vedette_http::error::ApiError;
use vedette_http::paging::{self, PageRequest};
use vedette_http::response::Response;
use vedette_http::validation::Errors;
use vedette_store::TeamWithSettings;

use super::shown;
use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let (query, mut errors) = (context.query(), Errors::new());
    let state = |text: &str| HeartbeatState::ALL.into_iter().find(|state| state.as_str() == text);
    let state = query.one_of("state", state, &mut errors);
    let page = errors.finish(Some(())).and_then(|()| {
        let mut errors = Errors::new();
        let page = PageRequest::parse(&query, &mut errors);
        errors.finish(Some(page))
    })?;
    let mut found = context.app.store.heartbeats_relaxed(team.id()).await?;
    found.retain(|found| state.is_none_or(|state| found.state.reports().state() == state));
    found.sort_by_cached_key(|found| (found.heartbeat.name.to_lowercase(), found.heartbeat.id));
    let data: Vec<_> = page.slice(&found).iter().map(|found| shown(context, found)).collect();
    let path = context.links.to(&format!("/teams/{}/heartbeats", team.id()));
    Ok(paging::page(&data, found.len() as u64, page, &query, &path))
}
