//! `GET /teams/{team}/heartbeats/{heartbeat}/runs`: what a job has reported, newest first.

use std::collections::BTreeMap;

use vedette_domain::checks::history::HistoryFilter;
use vedette_domain::checks::tool::Tool;
use vedette_http::error::ApiError;
use vedette_http::history::history_page;
use vedette_http::paging::{self, PageRequest};
use vedette_http::resource::RunResource;
use vedette_http::response::Response;
use vedette_http::validation::Errors;
use vedette_routing::HeartbeatAccess;
use vedette_store::HistoryAccess;

use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    HeartbeatAccess { team, stored }: HeartbeatAccess,
) -> Result<Response, ApiError> {
    let (query, mut errors) = (context.query(), Errors::new());
    let page = PageRequest::parse(&query, &mut errors);
    let page = errors.finish(Some(page))?;
    let (id, tools) = (stored.heartbeat.id, BTreeMap::from([(Tool::Heartbeat, stored.state)]));
    let access = HistoryAccess { partition: id.partition(), tools: &tools, team: &team };
    let (store, now, all) = (&context.app.store, context.caller.now, HistoryFilter::default());
    let (checks, total) = history_page(store, now, access, &all, page).await?;
    let data: Vec<_> = checks.iter().filter_map(RunResource::of).collect();
    let path = context.links.to(&format!("/teams/{}/heartbeats/{id}/runs", team.id()));
    Ok(paging::page(&data, total, page, &query, &path))
}
