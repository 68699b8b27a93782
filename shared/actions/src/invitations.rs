//! Inviting people who have no account, and their coming.

use vedette_domain::account::User;
use vedette_domain::id::UserId;
use vedette_domain::invitation::{INVITATIONS_MAX, Invitation, Invited};
use vedette_domain::session::{Session, SessionSecret};
use vedette_runtime::App;
use vedette_store::TeamWithSettings;

use crate::AccountError;

/// Keeps a seat of a team for an address that has no account. The secret is to be shown once: it is
/// not kept.
///
/// # Errors
///
/// The refusal, or a fault of the table; a conflict when members or invitations changed meanwhile.
pub async fn invite(
    app: &App,
    team: &TeamWithSettings,
    by: UserId,
    invited: Invited<'_>,
) -> Result<(SessionSecret, Invitation), AccountError> {
    let pending = &team.team.invitations;
    if pending.iter().any(|pending| pending.is_for(invited.email)) {
        return Err(AccountError::InvitedAlready(invited.email.to_owned()));
    }
    if pending.len() >= INVITATIONS_MAX {
        return Err(AccountError::TooManyInvitations);
    }
    if let Some(seats) = team.plan().limits().seats
        && team.team.seats_taken() >= seats
    {
        return Err(AccountError::NoSeat { plan: team.plan(), seats });
    }
    let secret = app.entropy.session_secret()?;
    let invitation = Invitation::new(&secret, team.id(), invited, by, app.clock.now());
    app.store.create_invitation(&team.team, &invitation).await?;
    Ok((secret, invitation))
}

/// The place of the address in the transaction of `Store::accept_invitation`.
const ADDRESS: usize = 5;

/// Makes the account that an invitation is for, adds it to the team, and begins its first session.
///
/// # Errors
///
/// When the address has an account, or a fault of the table; a conflict when the invitation was used or
/// the team changed meanwhile.
pub async fn accept_invitation(
    app: &App,
    team: &TeamWithSettings,
    invitation: &Invitation,
    browser: &str,
) -> Result<(SessionSecret, Session), AccountError> {
    let now = app.clock.now();
    let user = User {
        id: app.entropy.user_id()?,
        name: invitation.name.clone(),
        email: invitation.email.clone(),
        // Who has the link was sent it at that address, or got it from somebody who vouches for them.
        email_verified_at: Some(now),
        created_at: now,
    };
    let secret = app.entropy.session_secret()?;
    let session = Session::new(&secret, user.id, browser, now);
    let accepted = app.store.accept_invitation(&team.team, invitation, &user, &session).await;
    accepted.map_err(|error| match error.has_failed(ADDRESS) {
        true => AccountError::AccountAlready(invitation.email.clone()),
        false => error.into(),
    })?;
    Ok((secret, session))
}
