//! `GET /teams/{team}/ping-key`: the key with which slugs of the team's heartbeats form addresses.

use vedette_http::error::ApiError;
use vedette_http::response::{Response, ok};
use vedette_store::TeamWithSettings;

use super::shown;
use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let key = context.app.store.team_ping_key(team.id()).await?;
    Ok(ok(&shown(context, key.as_ref())))
}
