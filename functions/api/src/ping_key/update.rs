//! `PUT /teams/{team}/ping-key`: gives the team another ping key.

use vedette_actions::replace_ping_key;
use vedette_domain::heartbeats::team_key::PingKeyChoice;
use vedette_domain::input::Input as _;
use vedette_http::error::ApiError;
use vedette_http::response::{Response, ok};
use vedette_store::TeamWithSettings;

use super::shown;
use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let PingKeyChoice { ping_key } = PingKeyChoice::from_json(context.body)?;
    let by = context.caller.by();
    let key = replace_ping_key(context.app, team.id(), ping_key, by).await?;
    Ok(ok(&shown(context, Some(&key))))
}
