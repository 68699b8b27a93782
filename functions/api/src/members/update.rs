//! `PATCH /teams/{team}/members/{user}`: gives a member another role.

use vedette_actions::change_role;
use vedette_domain::accounts::account::NewRole;
use vedette_domain::input::Input as _;
use vedette_http::error::ApiError;
use vedette_http::resource::MemberResource;
use vedette_http::response::{Response, ok};
use vedette_routing::MemberAccess;

use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    MemberAccess { team, user }: MemberAccess,
) -> Result<Response, ApiError> {
    let (NewRole { role }, caller) = (NewRole::from_json(context.body)?, context.caller);
    let own = caller.role_in(team.id())?;
    change_role(context.app, team.id(), &user, role, own, caller.by()).await?;
    Ok(ok(&MemberResource::new(&user, role)))
}
