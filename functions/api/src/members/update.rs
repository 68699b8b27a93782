//! `PATCH /teams/{team}/members/{user}`: gives a member another role.

use vedette_actions::change_role;
use vedette_domain::accounts::account::RoleChange;
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
    let RoleChange { role } = RoleChange::from_json(context.body)?;
    let own = context.caller.role_in(team.id())?;
    change_role(context.app, team.id(), &user, role, own, context.caller.by()).await?;
    Ok(ok(&MemberResource::new(&user, role)))
}
