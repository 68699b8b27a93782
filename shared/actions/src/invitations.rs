//! Inviting people who have no account, and their coming.

use vedette_domain::account::User;
use vedette_domain::audit::{Actor, AuditEvent};
use vedette_domain::id::UserId;
use vedette_domain::invitation::{INVITATIONS_MAX, Invitation, Invited};
use vedette_domain::session::SessionSecret;
use vedette_runtime::App;
use vedette_store::{StoreError, TeamWithSettings};

use crate::AccountError;
use crate::audit::recording;
use crate::members::need_seats;

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
    need_seats(team, team.team.seats_taken() + 1)?;
    let secret = app.entropy.session_secret()?;
    let invitation = Invitation::new(&secret, team.id(), invited, by, app.clock.now());
    let (email, role) = (invitation.email.clone(), invitation.role);
    let event = AuditEvent::Invited { email, role };
    recording(app, team.id(), Actor::User(by), event, invitation.created_at)
        .create_invitation(&team.team, &invitation)
        .await?;
    Ok((secret, invitation))
}

/// Takes an invitation back; it stops working at once.
///
/// # Errors
///
/// A fault of the table; a conflict when members or invitations changed since the team was read.
pub async fn withdraw_invitation(
    app: &App,
    team: &TeamWithSettings,
    invitation: &Invitation,
    by: Actor,
) -> Result<(), StoreError> {
    let event = AuditEvent::InvitationWithdrawn { email: invitation.email.clone() };
    recording(app, team.id(), by, event, app.clock.now())
        .withdraw_invitation(&team.team, &invitation.hash)
        .await
}

/// The place of the address in the transaction of `Store::accept_invitation`.
const ADDRESS: usize = 5;

/// Makes the account that an invitation is for, and adds it to the team. Unless the link came by mail, its
/// address is still to be verified: who invites has the link as well, and could otherwise hold the account
/// of an address that is somebody else's, to which other teams may give access.
///
/// # Errors
///
/// When the address has an account, when the team's plan has shrunk below its members, or a fault of the table; a conflict when the invitation was used or
/// the team changed meanwhile.
pub async fn accept_invitation(
    app: &App,
    team: &TeamWithSettings,
    invitation: &Invitation,
) -> Result<(), AccountError> {
    need_seats(team, team.team.members + 1)?;
    let now = app.clock.now();
    let user = User {
        id: app.entropy.user_id()?,
        name: invitation.name.clone(),
        email: invitation.email.clone(),
        email_verified_at: invitation.by_mail.then_some(now),
        created_at: now,
    };
    let event = AuditEvent::MemberAdded { user: user.id, role: invitation.role };
    let store = recording(app, team.id(), Actor::User(user.id), event, now);
    let accepted = store.accept_invitation(&team.team, invitation, &user).await;
    accepted.map_err(|error| match error.has_failed(ADDRESS) {
        true => AccountError::AccountAlready(invitation.email.clone()),
        false => error.into(),
    })
}
