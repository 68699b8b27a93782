//! `DELETE /teams/{team}/invitations/{invitation}`: withdraws an invitation, which stops working at once.

use vedette_actions::withdraw_invitation;
use vedette_http::error::ApiError;
use vedette_http::response::{Response, no_content};
use vedette_routing::InvitationAccess;

use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    InvitationAccess { team, invitation }: InvitationAccess,
) -> Result<Response, ApiError> {
    withdraw_invitation(context.app, &team, &invitation, context.caller.by()).await?;
    Ok(no_content())
}
