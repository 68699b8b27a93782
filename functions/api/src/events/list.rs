//! `GET /teams/{team}/events`: the issues that opened and were resolved, newest first.

use vedette_http::error::ApiError;
use vedette_http::events::{FirstEvent, TeamEvents};
use vedette_http::paging::{CursorRequest, cursor_page};
use vedette_http::resource::TeamEventResource;
use vedette_http::response::Response;
use vedette_store::TeamWithSettings;

use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let (query, store) = (context.query(), &context.app.store);
    let wanted = CursorRequest::parse(&query)?;
    let first = wanted.before.as_deref().map_or(FirstEvent::After(0), FirstEvent::Before);
    let events = TeamEvents::load(store, team.id(), first, wanted.limit()).await?;
    let people: Vec<_> = events.iter().filter_map(|(event, _)| event.by).collect();
    let users = store.users(people).await?;
    let data: Vec<_> =
        events.iter().map(|(event, of)| TeamEventResource::new(event, of, &users)).collect();
    let path = context.links.to(&format!("/teams/{}/events", team.id()));
    Ok(cursor_page(&data, events.next_page().as_deref(), &wanted, &path))
}
