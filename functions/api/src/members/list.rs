//! `GET /teams/{team}/members`: who belongs to the team, owners first.

use vedette_actions::team_members;
use vedette_http::error::ApiError;
use vedette_http::resource::MemberResource;
use vedette_http::response::{Response, ok};
use vedette_store::TeamWithSettings;

use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let members = team_members(&context.app.store, team.id()).await?;
    let shown: Vec<_> =
        members.iter().map(|member| MemberResource::new(&member.user, member.role)).collect();
    Ok(ok(&shown))
}
