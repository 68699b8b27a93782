//! `POST /teams`: creates a team that the caller owns, if the operator allows it.

use vedette_actions::create_own_team;
use vedette_domain::accounts::team::TeamName;
use vedette_domain::input::Input as _;
use vedette_http::error::ApiError;
use vedette_http::resource::TeamResource;
use vedette_http::response::{Response, created};

use crate::Context;

pub(crate) async fn handle(context: Context<'_>) -> Result<Response, ApiError> {
    let TeamName { name } = TeamName::from_json(context.body)?;
    let team = create_own_team(context.app, context.caller.user.id, &name).await?;
    let path = context.links.to(&format!("/teams/{}", team.id()));
    Ok(created(&TeamResource::from(&team), &path))
}
