//! `DELETE /teams/{team}/members/{user}`: removes a member, or leaves the team.

use vedette_actions::remove_member;
use vedette_http::error::ApiError;
use vedette_http::response::{Response, no_content};
use vedette_routing::MemberAccess;

use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    MemberAccess { team, user }: MemberAccess,
) -> Result<Response, ApiError> {
    let caller = context.caller;
    let leaves = user.id == caller.user.id;
    let own = (!leaves).then_some(caller.role_in(team.id())?);
    remove_member(context.app, team.id(), &user, own, caller.by()).await?;
    Ok(no_content())
}
