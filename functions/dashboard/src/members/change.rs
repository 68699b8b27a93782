//! Changing and removing members, and withdrawing invitations.

use vedette_actions::{AccountError, change_role, remove_member};
use vedette_domain::account::{Permission, Role, User};
use vedette_domain::id::UserId;
use vedette_domain::session::SessionHash;
use vedette_http::error::ApiError;
use vedette_http::response::Response;
use vedette_store::TeamWithSettings;

use super::list::page;
use super::{may_touch, team};
use crate::form::{field, sentence};
use crate::{Visit, account_error, layout};

/// Gives a member another role.
pub(crate) async fn role(visit: Visit<'_>) -> Result<Response, ApiError> {
    let chosen = Role::parse(&field(visit.body, "role"));
    let role = chosen.ok_or(ApiError::BadRequest("Choose a role."))?;
    let opened = Opened::read(visit, Some(role)).await?;
    let done = change_role(visit.app, opened.team.id(), &opened.user, role).await;
    opened.answer(visit, done, "changed").await
}

/// Takes a member out of the team.
pub(crate) async fn remove(visit: Visit<'_>) -> Result<Response, ApiError> {
    let opened = Opened::read(visit, None).await?;
    let done = remove_member(visit.app, opened.team.id(), &opened.user).await;
    opened.answer(visit, done, "removed").await
}

/// Takes an invitation back.
pub(crate) async fn withdraw(visit: Visit<'_>) -> Result<Response, ApiError> {
    let team = team(visit, Permission::ManageMembers).await?;
    let hash = SessionHash(visit.value("invitation").to_owned());
    if !team.team.invitations.iter().any(|invitation| invitation.hash == hash) {
        return Err(ApiError::NotFound);
    }
    visit.app.store.withdraw_invitation(&team.team, &hash).await?;
    layout::see(&format!("/teams/{}/members?said=withdrawn", team.id()))
}

/// A member of a team whom the one who is signed in may change.
struct Opened {
    team: TeamWithSettings,
    user: User,
}

impl Opened {
    async fn read(visit: Visit<'_>, role: Option<Role>) -> Result<Self, ApiError> {
        let (store, caller) = (&visit.app.store, &visit.member()?.caller);
        let team = team(visit, Permission::ManageMembers).await?;
        let id = UserId::parse(visit.value("user")).ok_or(ApiError::NotFound)?;
        let members = store.members(team.id()).await?;
        let row = members.iter().find(|row| row.user == id).ok_or(ApiError::NotFound)?;
        let own = caller.role_in(team.id())?;
        if !may_touch(own, row.role) || role.is_some_and(|role| !may_touch(own, role)) {
            let message = "Only an owner makes owners, or changes and removes them.";
            return Err(ApiError::Forbidden(message.to_owned()));
        }
        let user = store.users([id]).await?.remove(&id).ok_or(ApiError::NotFound)?;
        Ok(Self { team, user })
    }

    async fn answer(
        &self,
        visit: Visit<'_>,
        done: Result<Role, AccountError>,
        said: &str,
    ) -> Result<Response, ApiError> {
        match done {
            Ok(_) => layout::see(&format!("/teams/{}/members?said={said}", self.team.id())),
            Err(error @ (AccountError::Store(_) | AccountError::Entropy(_))) => {
                Err(account_error(error))
            }
            Err(why) => {
                let why = sentence(&why.to_string());
                page(visit, &self.team, None, Some(&why)).await
            }
        }
    }
}
