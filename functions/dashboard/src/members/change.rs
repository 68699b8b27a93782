//! Changing and removing members, and withdrawing invitations.

use vedette_actions::{change_role, mail_invitation, remove_member, withdraw_invitation};
use vedette_domain::account::{Permission, Role, User};
use vedette_domain::id::UserId;
use vedette_http::error::ApiError;
use vedette_http::response::Response;

use super::{answer, pending};
use crate::form::field;
use crate::{Visit, layout};

/// Gives a member another role.
pub(crate) async fn role(visit: Visit<'_>) -> Result<Response, ApiError> {
    let chosen = Role::parse(&field(visit.body, "role"));
    let role = chosen.ok_or(ApiError::BadRequest("Choose a role."))?;
    let team = visit.team(Permission::ManageMembers).await?;
    let (user, caller) = (member(visit).await?, &visit.member()?.caller);
    let own = caller.role_in(team.id())?;
    let done = change_role(visit.app, team.id(), &user, role, own, caller.actor()).await;
    answer(visit, &team, done, "changed").await
}

/// Takes a member out of the team.
pub(crate) async fn remove(visit: Visit<'_>) -> Result<Response, ApiError> {
    let (caller, user) = (&visit.member()?.caller, member(visit).await?);
    // Anybody may leave, also a team whose plan is not active any more.
    let leaves = user.id == caller.user.id;
    let own = caller.role_in(visit.team_id()?)?;
    let team = match leaves {
        true => visit.app.store.team(visit.team_id()?, caller.now).await?,
        false => Some(visit.team(Permission::ManageMembers).await?),
    };
    let team = team.ok_or(ApiError::NotFound)?;
    let own = (!leaves).then_some(own);
    let done = remove_member(visit.app, team.id(), &user, own, caller.actor()).await;
    if done.is_ok() && leaves {
        return layout::see("/");
    }
    answer(visit, &team, done.map(drop), "removed").await
}

/// Takes an invitation back.
pub(crate) async fn withdraw(visit: Visit<'_>) -> Result<Response, ApiError> {
    let (team, invitation) = pending(visit).await?;
    let by = visit.member()?.caller.actor();
    withdraw_invitation(visit.app, &team, &invitation, by).await?;
    layout::see(&format!("/teams/{}/members?said=withdrawn", team.id()))
}

/// Sends an invitation once more.
pub(crate) async fn mail(visit: Visit<'_>) -> Result<Response, ApiError> {
    if !visit.app.service.sends_mail {
        return Err(ApiError::NotFound);
    }
    let (team, invitation) = pending(visit).await?;
    let mailed = mail_invitation(visit.app, &invitation).await;
    answer(visit, &team, mailed, "invited").await
}

/// The user that the path names.
async fn member(visit: Visit<'_>) -> Result<User, ApiError> {
    let id = UserId::parse(visit.value("user")).ok_or(ApiError::NotFound)?;
    visit.app.store.user(id).await?.ok_or(ApiError::NotFound)
}
