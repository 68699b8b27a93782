//! Accepting an invitation: a link is shown with a button, since mail scanners follow links, and the
//! button makes the account.

use lambda_http::http::StatusCode;
use maud::html;
use tracing::warn;
use vedette_actions::{AccountError, accept_invitation, mail_sign_in};
use vedette_domain::ErrorChain;
use vedette_domain::invitation::Invitation;
use vedette_domain::session::SessionSecret;
use vedette_http::error::ApiError;
use vedette_http::response::Response;
use vedette_store::TeamWithSettings;

use super::role_word;
use crate::form::sentence;
use crate::sign_in::with_provider;
use crate::{Visit, account_error, layout};

/// Asks whether to join.
pub(crate) async fn ask(visit: Visit<'_>) -> Result<Response, ApiError> {
    let Some((team, invitation)) = usable(visit).await? else { return Ok(spent(visit)) };
    let question = html! {
        "Join the team " b { bdi { (team.team.name) } } " with the role "
        (role_word(invitation.role)) "? An account is made for "
        b { bdi { (invitation.email) } } "."
    };
    Ok(layout::form(visit, "Join a team", &question, "Join"))
}

/// Makes the account and adds it to the team.
pub(crate) async fn accept(visit: Visit<'_>) -> Result<Response, ApiError> {
    let Some((team, invitation)) = usable(visit).await? else { return Ok(spent(visit)) };
    match accept_invitation(visit.app, &team, &invitation).await {
        Ok(()) => {
            // The account is made: whatever becomes of the letter, another one can be asked for.
            if visit.app.service.sends_mail
                && let Err(error) = mail_sign_in(visit.app, &invitation.email).await
            {
                warn!(error = %ErrorChain(&error), "a link that signs in was not sent");
            }
            let content = html! {
                p {
                    "The account of " b { bdi { (invitation.email) } } " is a member of the team "
                    b { bdi { (team.team.name) } } "."
                }
                (with_provider(visit))
                @if visit.app.service.sends_mail {
                    p { "A link that signs in is on its way to this address." }
                } @else {
                    p {
                        "Who operates this service makes sure that the address is yours, and has a link for you that \
                         signs in:"
                    }
                    p { code { "vedette user verify " (invitation.email) } }
                    p { code { "vedette sign-in " (invitation.email) } }
                }
            };
            Ok(layout::own_page(visit, StatusCode::OK, "You have joined", &content))
        }
        // Whoever has the link need not be who has the account.
        Err(why @ AccountError::AccountAlready(_)) => {
            let why = sentence(&why.to_string());
            let content = html! {
                p { (why) " Sign in with it, and ask an owner or admin of the team to add you." }
            };
            let title = "This address has an account";
            Ok(layout::own_page(visit, StatusCode::CONFLICT, title, &content))
        }
        Err(why @ AccountError::NoSeat { .. }) => {
            let content = html! { p { (sentence(&why.to_string())) } };
            let title = "The team has no seat left";
            Ok(layout::own_page(visit, StatusCode::CONFLICT, title, &content))
        }
        Err(error) => Err(account_error(error)),
    }
}

/// The invitation that the visitor has, if it still works, and its team.
async fn usable(visit: Visit<'_>) -> Result<Option<(TeamWithSettings, Invitation)>, ApiError> {
    let (store, now) = (&visit.app.store, visit.app.clock.now());
    let Some(secret) = SessionSecret::parse(visit.value("secret")) else { return Ok(None) };
    let invitation = store.invitation(&secret.hash()).await?;
    let Some(invitation) = invitation.filter(|invitation| invitation.works(now)) else {
        return Ok(None);
    };
    let Some(team) = store.team(invitation.team, now).await? else { return Ok(None) };
    // A link from a mail outlives what was accepted or withdrawn; and neither who may write teams nor who may
    // write links says alone who comes in.
    let is_listed = team.team.invitation(&invitation.hash).is_some_and(|listed| {
        *listed == Invitation { by_mail: listed.by_mail, ..invitation.clone() }
    });
    Ok(is_listed.then_some((team, invitation)))
}

fn spent(visit: Visit<'_>) -> Response {
    let content = html! {
        p { "It was used or withdrawn, it is older than a week, or it is not complete." }
        p { "An owner or admin of the team can invite you again." }
    };
    layout::own_page(visit, StatusCode::NOT_FOUND, "This invitation does not work", &content)
}
