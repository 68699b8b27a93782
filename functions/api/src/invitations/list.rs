//! `GET /teams/{team}/invitations`: who is invited and has not answered yet.

use vedette_actions::{pending_invitations, team_members};
use vedette_http::error::ApiError;
use vedette_http::resource::InvitationResource;
use vedette_http::response::{Response, ok};
use vedette_store::TeamWithSettings;

use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let members = team_members(&context.app.store, team.id()).await?;
    let pending = pending_invitations(&team, &members);
    let shown: Vec<_> = pending
        .iter()
        .map(|(invitation, is_valid)| InvitationResource::new(invitation, *is_valid))
        .collect();
    Ok(ok(&shown))
}
