//! `DELETE /teams/{team}/members/{user}`: removes a member, or lets the caller leave.

use vedette_actions::remove_member;
use vedette_http::error::ApiError;
use vedette_http::response::{Response, no_content};
use vedette_routing::MemberAccess;

use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    MemberAccess { team, user }: MemberAccess,
) -> Result<Response, ApiError> {
    let own = context.caller.role_in(team.id())?;
    remove_member(context.app, team.id(), &user, own, context.caller.by()).await?;
    Ok(no_content())
}
