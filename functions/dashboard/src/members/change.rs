//! Changing and removing members, and withdrawing invitations.

use vedette_actions::{change_role, mail_invitation, remove_member, withdraw_invitation};
use vedette_domain::accounts::account::Role;
use vedette_http::error::ApiError;
use vedette_http::response::Response;
use vedette_routing::{InvitationAccess, MemberAccess};

use super::answer;
use crate::form::field;
use crate::{RequestContext, layout};

/// Gives a member another role.
pub(crate) async fn role(
    context: RequestContext<'_>,
    MemberAccess { team, user }: MemberAccess,
) -> Result<Response, ApiError> {
    let chosen = Role::parse(&field(context.body, "role"));
    let role = chosen.ok_or(ApiError::BadRequest("Choose a role."))?;
    let caller = &context.member()?.caller;
    let own = caller.role_in(team.id())?;
    let done = change_role(context.app, team.id(), &user, role, own, caller.by()).await;
    answer(context, &team, done, "changed").await
}

/// Removes a member from the team.
pub(crate) async fn remove(
    context: RequestContext<'_>,
    MemberAccess { team, user }: MemberAccess,
) -> Result<Response, ApiError> {
    let caller = &context.member()?.caller;
    let leaves = user.id == caller.user.id;
    let own = caller.role_in(team.id())?;
    let done = remove_member(context.app, team.id(), &user, own, caller.by()).await;
    if done.is_ok() && leaves {
        return layout::redirect("/");
    }
    answer(context, &team, done.map(drop), "removed").await
}

/// Withdraws an invitation.
pub(crate) async fn withdraw(
    context: RequestContext<'_>,
    InvitationAccess { team, invitation }: InvitationAccess,
) -> Result<Response, ApiError> {
    let by = context.member()?.caller.by();
    withdraw_invitation(context.app, &team, &invitation, by).await?;
    layout::redirect(&format!("/teams/{}/members?notice=withdrawn", team.id()))
}

/// Emails an invitation again.
pub(crate) async fn mail(
    context: RequestContext<'_>,
    InvitationAccess { team, invitation }: InvitationAccess,
) -> Result<Response, ApiError> {
    if !context.app.service.sends_mail {
        return Err(ApiError::NotFound);
    }
    let mailed = mail_invitation(context.app, &invitation).await;
    answer(context, &team, mailed, "invited").await
}
