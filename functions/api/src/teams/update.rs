//! `PATCH /teams/{team}`: renames a team.

use vedette_actions::rename_team;
use vedette_domain::accounts::team::TeamName;
use vedette_domain::input::Input as _;
use vedette_http::error::ApiError;
use vedette_http::resource::TeamResource;
use vedette_http::response::{Response, ok};
use vedette_store::TeamWithSettings;

use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    found: TeamWithSettings,
) -> Result<Response, ApiError> {
    let TeamName { name } = TeamName::from_json(context.body)?;
    let team = rename_team(context.app, found.team, &name, context.caller.by()).await?;
    Ok(ok(&TeamResource::from(&TeamWithSettings { team, ..found })))
}
