//! Answering an invitation. The link leads to a page with buttons, because email scanners follow links. A person
//! without an account gets one by joining; a person with an account joins while signed in. Until somebody joins, the
//! page does not reveal whether the address has an account, because the sender may have the link as well.

use lambda_http::http::StatusCode;
use maud::{Markup, html};
use tracing::warn;
use vedette_actions::{
    ActionError, OpenInvitation, decline_invitation, join_as, join_with_new_account, mail_sign_in,
    open_invitation,
};
use vedette_domain::accounts::account::User;
use vedette_domain::accounts::invitation::Invitation;
use vedette_domain::accounts::refusal::AccountRefusal;
use vedette_domain::accounts::session::SessionSecret;
use vedette_domain::alerts::link;
use vedette_http::error::ApiError;
use vedette_http::response::Response;
use vedette_ops::ErrorChain;

use super::role_word;
use crate::form::{FormInput, sentence};
use crate::sign_in::{how_to, with_provider};
use crate::{RequestContext, layout};

/// Asks whether to join.
pub(crate) async fn ask_to_join(context: RequestContext<'_>) -> Result<Response, ApiError> {
    let Some((secret, open)) = usable(context).await? else { return Ok(spent(context)) };
    let user = context.signed_in.map(|signed_in| &signed_in.caller.user);
    if let Some(other) = user.filter(|user| !open.invitation.is_for(user)) {
        return Ok(for_another(context, &open.invitation, other));
    }
    let content = question(&secret, &open, user.is_some());
    Ok(layout::page(context, StatusCode::OK, "Join a team", &content))
}

fn question(
    secret: &SessionSecret,
    OpenInvitation { team, invitation, .. }: &OpenInvitation,
    is_signed_in: bool,
) -> Markup {
    html! {
        p {
            "Join the team " b { bdi { (team.team.name) } } " with the role "
            (role_word(invitation.role)) "? The invitation is for "
            b { bdi { (invitation.email) } } "."
        }
        // A form without an action is sent to its own URL, including the secret.
        form.stack.lg method="post" { button.main { "Join" } }
        form.stack.lg method="post" action=(link::declined_invitation("", secret)) {
            button { "Decline" }
        }
        @if !is_signed_in {
            p.quiet.small {
                "If this address has no account yet, joining creates one. If it has one, "
                a href=(link::SIGN_IN) { "sign in" } " first, and open this link again."
            }
        }
    }
}

/// Adds the invited person to the team: the signed-in user, or a new one.
pub(crate) async fn accept(context: RequestContext<'_>) -> Result<Response, ApiError> {
    let Some((_, open)) = usable(context).await? else { return Ok(spent(context)) };
    let invitation = &open.invitation;
    let joined = match context.signed_in.map(|signed_in| &signed_in.caller.user) {
        Some(user) if invitation.is_for(user) => join_as(context.app, &open, user).await,
        Some(other) => return Ok(for_another(context, invitation, other)),
        None => join_with_new_account(context.app, &open).await,
    };
    match joined {
        Ok(()) if context.signed_in.is_some() => {
            layout::redirect(&format!("/teams/{}", open.team.id()))
        }
        Ok(()) => {
            mail_link(context, invitation).await;
            Ok(welcome(context, &open))
        }
        // The visitor may have the link without owning the account.
        Err(ActionError::Refused(why @ AccountRefusal::AccountAlready(_))) => {
            let why = sentence(&why.to_string());
            let lead = html! { p { (why) } p { "Sign in, then open this link again." } };
            let title = "This address has an account";
            Ok(how_to(context, StatusCode::CONFLICT, title, &lead, &FormInput::default()))
        }
        Err(ActionError::Refused(why @ AccountRefusal::NoSeat { .. })) => {
            Ok(refused(context, "The team has no seat left", &why))
        }
        Err(ActionError::Refused(why @ AccountRefusal::JoinedAlready(_))) => {
            Ok(refused(context, "You are already a member", &why))
        }
        Err(error) => Err(error.into()),
    }
}

/// Declines the invitation, which uses it up.
pub(crate) async fn decline(context: RequestContext<'_>) -> Result<Response, ApiError> {
    let Some((_, open)) = usable(context).await? else { return Ok(spent(context)) };
    let user = context.signed_in.map(|signed_in| &signed_in.caller.user);
    if let Some(other) = user.filter(|user| !open.invitation.is_for(user)) {
        return Ok(for_another(context, &open.invitation, other));
    }
    decline_invitation(context.app, &open).await?;
    let content = html! {
        p {
            "The invitation to the team " b { bdi { (open.team.team.name) } }
            " no longer works."
        }
    };
    Ok(layout::own_page(context, StatusCode::OK, "You have declined", &content))
}

/// Emails a sign-in link, if email is configured. The account already exists, so a failure only means that its owner
/// requests another link.
async fn mail_link(context: RequestContext<'_>, invitation: &Invitation) {
    if context.app.service.sends_mail
        && let Err(error) = mail_sign_in(context.app, &invitation.email, context.source()).await
    {
        warn!(error = %ErrorChain(&error), "a sign-in link was not sent");
    }
}

/// The page after an account was created.
fn welcome(
    context: RequestContext<'_>,
    OpenInvitation { team, invitation, .. }: &OpenInvitation,
) -> Response {
    let content = html! {
        p {
            "The account of " b { bdi { (invitation.email) } } " is a member of the team "
            b { bdi { (team.team.name) } } "."
        }
        (with_provider(context))
        @if context.app.service.sends_mail {
            p { "A sign-in link is on its way to this address." }
        } @else {
            p {
                "Ask the operator of this service to confirm that the address is yours, and to give you a sign-in link:"
            }
            p { code { "vedette user verify " (invitation.email) } }
            p { code { "vedette sign-in " (invitation.email) } }
        }
    };
    layout::own_page(context, StatusCode::OK, "You have joined", &content)
}

/// The visitor's invitation, if it can be accepted, with the secret of its link.
async fn usable(
    context: RequestContext<'_>,
) -> Result<Option<(SessionSecret, OpenInvitation)>, ApiError> {
    let Some(secret) = SessionSecret::parse(context.parameters.value("secret")) else {
        return Ok(None);
    };
    let open = open_invitation(context.app, &secret.hash()).await?;
    Ok(open.map(|open| (secret, open)))
}

fn for_another(context: RequestContext<'_>, invitation: &Invitation, user: &User) -> Response {
    let content = html! {
        p {
            "It is for " b { bdi { (invitation.email) } } ", and you are signed in as "
            b { bdi { (user.email) } } "."
        }
        p { "To accept or decline it, sign out, and then open this link again." }
    };
    let title = "This invitation is for somebody else";
    layout::own_page(context, StatusCode::FORBIDDEN, title, &content)
}

fn refused(context: RequestContext<'_>, title: &str, why: &AccountRefusal) -> Response {
    let content: Markup = html! { p { (sentence(&why.to_string())) } };
    layout::own_page(context, StatusCode::CONFLICT, title, &content)
}

fn spent(context: RequestContext<'_>) -> Response {
    let content = html! {
        p {
            "It has been used, declined or withdrawn, it has expired, the person who sent it may no longer invite \
             people, or the link is incomplete."
        }
        p { "An owner or admin of the team can invite you again." }
    };
    layout::own_page(context, StatusCode::NOT_FOUND, "This invitation is not valid", &content)
}
