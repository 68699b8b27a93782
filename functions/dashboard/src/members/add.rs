//! Inviting an address. Nothing here depends on whether it has an account. The link of an invitation is either emailed
//! or shown in the answer.

use lambda_http::http::StatusCode;
use maud::html;
use vedette_actions::{ActionError, hand_over, invite, renew_invitation};
use vedette_domain::accounts::invitation::{Invitation, NewInvitation};
use vedette_domain::accounts::session::SessionSecret;
use vedette_domain::alerts::link;
use vedette_domain::input::Input as _;
use vedette_http::error::ApiError;
use vedette_http::response::Response;
use vedette_http::validation::ValidationError;
use vedette_routing::InvitationAccess;
use vedette_store::TeamWithSettings;

use super::list::page;
use super::{answer, role_word};
use crate::form::{FormInput, sentence};
use crate::layout::{self, NavTab};
use crate::{RequestContext, session};

/// Invites somebody.
pub(crate) async fn add(
    context: RequestContext<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let sent = FormInput::sent(context.body);
    let new = match NewInvitation::from_texts(&sent.texts(NewInvitation::FIELDS)) {
        Ok(new) => new,
        Err(why) => return page(context, &team, &sent.refused(why), None).await,
    };
    let caller = &context.member()?.caller;
    let inviter = caller.membership_in(team.id())?;
    match invite(context.app, &team, inviter, new, caller.by()).await {
        Ok(invited) => give_link(context, &team, invited).await,
        Err(ActionError::Failed(fault)) => Err(fault.into()),
        Err(ActionError::Refused(refusal)) => {
            let why = ValidationError::new("email", sentence(&refusal.to_string()));
            page(context, &team, &sent.refused(why), None).await
        }
    }
}

/// Renews an invitation, even if its sender may no longer give the role. Its old links stop working.
pub(crate) async fn renew(
    context: RequestContext<'_>,
    InvitationAccess { team, invitation }: InvitationAccess,
) -> Result<Response, ApiError> {
    let by = context.member()?.caller.membership_in(team.id())?;
    match renew_invitation(context.app, &team, &invitation, by).await {
        Ok(renewed) => give_link(context, &team, renewed).await,
        Err(error) => answer(context, &team, Err(error), "").await,
    }
}

/// Says that the link was emailed, or shows it.
async fn give_link(
    context: RequestContext<'_>,
    team: &TeamWithSettings,
    (secret, invitation): (SessionSecret, Invitation),
) -> Result<Response, ApiError> {
    match hand_over(context.app, secret, &invitation).await {
        Ok(Some(secret)) => Ok(link_page(context, team, &secret, &invitation)),
        Ok(None) => answer(context, team, Ok(()), "invited").await,
        // The invitation remains valid, and the page shows why its email was not sent.
        Err(unsent) => {
            let team = context.app.store.team(team.id(), context.app.clock.now()).await?;
            answer(context, &team.ok_or(ApiError::NotFound)?, Err(unsent), "").await
        }
    }
}

/// Shows the link of an invitation once: it is in no URL, and pages are not cached.
fn link_page(
    context: RequestContext<'_>,
    team: &TeamWithSettings,
    secret: &SessionSecret,
    invitation: &Invitation,
) -> Response {
    let address = session::address(context.app, context.head);
    let content = html! {
        section.card {
            div.in.stack.gm {
                p { "Send this link to " b { bdi { (invitation.email) } } ":" }
                pre data-copy { code { (link::invitation(&address, secret)) } }
                p.quiet {
                    "It works once, until " (context.clock(Some(&team.team)).instant(invitation.expires_at))
                    ", and can’t be shown again. Anybody who has this link can join with the role "
                    (role_word(invitation.role)) "."
                }
                div { a.btn href={ "/teams/" (team.id()) "/members" } { "Done" } }
            }
        }
    };
    layout::team_page(
        context,
        (&team.team, NavTab::Members),
        StatusCode::OK,
        "Invitation",
        &content,
    )
}
