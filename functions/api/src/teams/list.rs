//! `GET /teams`: the caller's teams, including teams without an active plan.

use vedette_http::error::ApiError;
use vedette_http::resource::TeamResource;
use vedette_http::response::{Response, ok};

use crate::Context;

pub(crate) async fn handle(context: Context<'_>) -> Result<Response, ApiError> {
    Ok(ok(&of_caller(context).await?))
}

/// The caller's teams, oldest first.
pub(crate) async fn of_caller(context: Context<'_>) -> Result<Vec<TeamResource>, ApiError> {
    let caller = context.caller;
    let ids = caller.memberships.iter().map(|membership| membership.team);
    let teams = context.app.store.teams(ids, caller.now).await?;
    let mut teams: Vec<_> = teams.into_values().collect();
    teams.sort_by_key(|team| (team.team.created_at, team.team.id));
    Ok(teams.iter().map(TeamResource::from).collect())
}
