//! Inviting an address. Nothing here depends on whether it has an account. The link of an invitation is either emailed
//! or shown in the answer.

use lambda_http::http::StatusCode;
use maud::html;
use vedette_actions::{ActionError, invite, mail_invitation, renew_invitation};
use vedette_domain::accounts::account::Role;
use vedette_domain::accounts::email::parse_email;
use vedette_domain::accounts::invitation::{Invitation, Invited};
use vedette_domain::accounts::session::SessionSecret;
use vedette_domain::alerts::link;
use vedette_domain::name::parse_name;
use vedette_http::error::ApiError;
use vedette_http::response::Response;
use vedette_http::validation::{Errors, ValidationError};
use vedette_routing::InvitationAccess;
use vedette_store::TeamWithSettings;

use super::list::{Refused, page};
use super::{answer, role_word};
use crate::form::{field, sentence};
use crate::layout::{self, NavTab};
use crate::{RequestContext, session};

/// The input of the form for a new member.
struct MemberInput {
    email: String,
    name: String,
    role: String,
}

impl MemberInput {
    fn read(body: &[u8]) -> Self {
        let [email, name, role] = ["email", "name", "role"].map(|name| field(body, name));
        let trimmed = |text: &str| text.trim().to_owned();
        Self { email: trimmed(&email), name: trimmed(&name), role: role.into_owned() }
    }

    fn parse(&self) -> Result<Invited<'_>, ValidationError> {
        let mut errors = Errors::new();
        let email = parse_email(&self.email).map_err(|error| {
            errors.push("email", sentence(&error.to_string()));
        });
        let role = Role::parse(&self.role).filter(|role| Role::NEW.contains(role));
        if role.is_none() {
            errors.push("role", "Choose a role.");
        }
        // A person without a name is called by their address.
        let name = if self.name.is_empty() { &self.email } else { &self.name };
        let name = parse_name(name)
            .map_err(|error| errors.push("name", format!("The name field {error}.")));
        let read = email.ok().zip(name.ok()).zip(role);
        errors.finish(read.map(|((email, name), role)| Invited { email, name, role }))
    }
}

/// Invites somebody.
pub(crate) async fn add(
    context: RequestContext<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let input = MemberInput::read(context.body);
    let invited = match input.parse() {
        Ok(invited) => invited,
        Err(why) => return refused(context, &team, &input, why).await,
    };
    let caller = &context.member()?.caller;
    let inviter = caller.membership_in(team.id())?;
    match invite(context.app, &team, inviter, invited, caller.by()).await {
        Ok((secret, invitation)) => hand_over(context, &team, &secret, &invitation).await,
        Err(ActionError::Failed(fault)) => Err(fault.into()),
        Err(ActionError::Refused(refusal)) => {
            let why = ValidationError::new("email", sentence(&refusal.to_string()));
            refused(context, &team, &input, why).await
        }
    }
}

/// The list of members, with the form's input and what is wrong with it.
async fn refused(
    context: RequestContext<'_>,
    team: &TeamWithSettings,
    MemberInput { email, name, role }: &MemberInput,
    why: ValidationError,
) -> Result<Response, ApiError> {
    page(context, team, Some(&Refused { email, name, role, why }), None).await
}

/// Renews an invitation, even if its sender may no longer give the role. Its old links stop working.
pub(crate) async fn renew(
    context: RequestContext<'_>,
    InvitationAccess { team, invitation }: InvitationAccess,
) -> Result<Response, ApiError> {
    let by = context.member()?.caller.membership_in(team.id())?;
    match renew_invitation(context.app, &team, &invitation, by).await {
        Ok((secret, invitation)) => hand_over(context, &team, &secret, &invitation).await,
        Err(error) => answer(context, &team, Err(error), "").await,
    }
}

/// If email is configured, emails a new link to the recipient of the address, and to nobody else. Otherwise shows it.
async fn hand_over(
    context: RequestContext<'_>,
    team: &TeamWithSettings,
    secret: &SessionSecret,
    invitation: &Invitation,
) -> Result<Response, ApiError> {
    if !context.app.service.sends_mail {
        return Ok(link_page(context, team, secret, invitation));
    }
    match mail_invitation(context.app, invitation).await {
        Ok(()) => answer(context, team, Ok(()), "invited").await,
        // The invitation remains valid, and the page shows why its email was not sent.
        unsent => {
            let team = context.app.store.team(team.id(), context.app.clock.now()).await?;
            answer(context, &team.ok_or(ApiError::NotFound)?, unsent, "").await
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
