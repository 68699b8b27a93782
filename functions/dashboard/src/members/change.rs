//! Changing and removing members, and withdrawing invitations.

use vedette_actions::{change_role, mail_invitation, remove_member};
use vedette_domain::account::{Permission, Role, User};
use vedette_domain::id::UserId;
use vedette_domain::invitation::Invitation;
use vedette_domain::session::SessionHash;
use vedette_http::error::ApiError;
use vedette_http::response::Response;
use vedette_store::TeamWithSettings;

use super::{answer, may_touch};
use crate::form::field;
use crate::{Visit, layout};

/// Gives a member another role.
pub(crate) async fn role(visit: Visit<'_>) -> Result<Response, ApiError> {
    let chosen = Role::parse(&field(visit.body, "role"));
    let role = chosen.ok_or(ApiError::BadRequest("Choose a role."))?;
    let opened = Opened::read(visit, Some(role)).await?;
    let done = change_role(visit.app, opened.team.id(), &opened.user, role).await;
    answer(visit, &opened.team, done.map(drop), "changed").await
}

/// Takes a member out of the team.
pub(crate) async fn remove(visit: Visit<'_>) -> Result<Response, ApiError> {
    let opened = Opened::read(visit, None).await?;
    let done = remove_member(visit.app, opened.team.id(), &opened.user).await;
    // Who has left does not see the team any more.
    if done.is_ok() && opened.user.id == visit.member()?.caller.user.id {
        return layout::see("/");
    }
    answer(visit, &opened.team, done.map(drop), "removed").await
}

/// Takes an invitation back.
pub(crate) async fn withdraw(visit: Visit<'_>) -> Result<Response, ApiError> {
    let (team, invitation) = invitation(visit).await?;
    visit.app.store.withdraw_invitation(&team.team, &invitation.hash).await?;
    layout::see(&format!("/teams/{}/members?said=withdrawn", team.id()))
}

/// Sends an invitation once more.
pub(crate) async fn mail(visit: Visit<'_>) -> Result<Response, ApiError> {
    if !visit.app.service.sends_mail {
        return Err(ApiError::NotFound);
    }
    let (team, invitation) = invitation(visit).await?;
    let mailed = mail_invitation(visit.app, &invitation).await;
    answer(visit, &team, mailed, "invited").await
}

/// A pending invitation, for who may take it back.
async fn invitation(visit: Visit<'_>) -> Result<(TeamWithSettings, Invitation), ApiError> {
    let team = visit.team(Permission::ManageMembers).await?;
    let hash = SessionHash(visit.value("invitation").to_owned());
    let invitation = team.team.invitation(&hash).cloned().ok_or(ApiError::NotFound)?;
    Ok((team, invitation))
}

/// A member of a team whom the one who is signed in may change.
struct Opened {
    team: TeamWithSettings,
    user: User,
}

impl Opened {
    async fn read(visit: Visit<'_>, role: Option<Role>) -> Result<Self, ApiError> {
        let (store, caller) = (&visit.app.store, &visit.member()?.caller);
        let id = UserId::parse(visit.value("user")).ok_or(ApiError::NotFound)?;
        // Anybody may leave.
        let leaves = role.is_none() && id == caller.user.id;
        let team = match leaves {
            // Also one whose plan is not active any more.
            true => {
                caller.role_in(visit.team_id()?)?;
                store.team(visit.team_id()?, caller.now).await?.ok_or(ApiError::NotFound)?
            }
            false => visit.team(Permission::ManageMembers).await?,
        };
        let members = store.members(team.id()).await?;
        let row = members.iter().find(|row| row.user == id).ok_or(ApiError::NotFound)?;
        let own = caller.role_in(team.id())?;
        let may_touch = |role| leaves || may_touch(own, role);
        if !may_touch(row.role) || role.is_some_and(|role| !may_touch(role)) {
            let message = "Only an owner makes owners, or changes and removes them.";
            return Err(ApiError::Forbidden(message.to_owned()));
        }
        let user = store.users([id]).await?.remove(&id).ok_or(ApiError::NotFound)?;
        Ok(Self { team, user })
    }
}
