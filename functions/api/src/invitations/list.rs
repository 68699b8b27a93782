//! `GET /teams/{team}/invitations`: pending invitations.

use vedette_http::error::ApiError;
use vedette_http::resource::InvitationResource;
use vedette_http::response::{Response, ok};
use vedette_store::TeamWithSettings;

use crate::Context;

pub(crate) async fn handle(_: Context<'_>, team: TeamWithSettings) -> Result<Response, ApiError> {
    let shown: Vec<_> = team.team.invitations.iter().map(InvitationResource::from).collect();
    Ok(ok(&shown))
}
