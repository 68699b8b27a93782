//! Changing and removing members, and withdrawing invitations.

use vedette_actions::{change_role, mail_invitation, remove_member, withdraw_invitation};
use vedette_domain::accounts::account::{Permission, Role, User};
use vedette_domain::id::UserId;
use vedette_http::error::ApiError;
use vedette_http::response::Response;

use super::{answer, pending};
use crate::form::field;
use crate::{RequestContext, layout};

/// Gives a member another role.
pub(crate) async fn role(context: RequestContext<'_>) -> Result<Response, ApiError> {
    let chosen = Role::parse(&field(context.body, "role"));
    let role = chosen.ok_or(ApiError::BadRequest("Choose a role."))?;
    let team = context.team(Permission::ManageMembers).await?;
    let (user, caller) = (member(context).await?, &context.member()?.caller);
    let own = caller.role_in(team.id())?;
    let done = change_role(context.app, team.id(), &user, role, own, caller.actor()).await;
    answer(context, &team, done, "changed").await
}

/// Takes a member out of the team.
pub(crate) async fn remove(context: RequestContext<'_>) -> Result<Response, ApiError> {
    let (caller, user) = (&context.member()?.caller, member(context).await?);
    // Anybody may leave, also a team whose plan is not active any more.
    let leaves = user.id == caller.user.id;
    let own = caller.role_in(context.team_id()?)?;
    let team = match leaves {
        true => context.app.store.team(context.team_id()?, caller.now).await?,
        false => Some(context.team(Permission::ManageMembers).await?),
    };
    let team = team.ok_or(ApiError::NotFound)?;
    let own = (!leaves).then_some(own);
    let done = remove_member(context.app, team.id(), &user, own, caller.actor()).await;
    if done.is_ok() && leaves {
        return layout::redirect("/");
    }
    answer(context, &team, done.map(drop), "removed").await
}

/// Takes an invitation back.
pub(crate) async fn withdraw(context: RequestContext<'_>) -> Result<Response, ApiError> {
    let (team, invitation) = pending(context).await?;
    let by = context.member()?.caller.actor();
    withdraw_invitation(context.app, &team, &invitation, by).await?;
    layout::redirect(&format!("/teams/{}/members?said=withdrawn", team.id()))
}

/// Sends an invitation once more.
pub(crate) async fn mail(context: RequestContext<'_>) -> Result<Response, ApiError> {
    if !context.app.service.sends_mail {
        return Err(ApiError::NotFound);
    }
    let (team, invitation) = pending(context).await?;
    let mailed = mail_invitation(context.app, &invitation).await;
    answer(context, &team, mailed, "invited").await
}

/// The user that the path names.
async fn member(context: RequestContext<'_>) -> Result<User, ApiError> {
    let id = UserId::parse(context.value("user")).ok_or(ApiError::NotFound)?;
    context.app.store.user(id).await?.ok_or(ApiError::NotFound)
}
