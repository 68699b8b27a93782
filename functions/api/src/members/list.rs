//! `GET /teams/{team}/members`: who belongs to a team, owners first.

use std::cmp::Reverse;

use vedette_http::error::ApiError;
use vedette_http::resource::MemberResource;
use vedette_http::response::{Response, ok};
use vedette_store::TeamWithSettings;

use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let store = &context.app.store;
    let rows = store.members(team.id()).await?;
    let ids: Vec<_> = rows.iter().map(|row| row.user).collect();
    let users = store.users(ids).await?;
    let mut members: Vec<_> =
        rows.iter().filter_map(|row| Some((users.get(&row.user)?, row.role))).collect();
    members.sort_by_key(|(user, role)| (Reverse(*role), &user.email));
    let shown: Vec<_> =
        members.into_iter().map(|(user, role)| MemberResource::new(user, role)).collect();
    Ok(ok(&shown))
}
