//! Inviting people, whether or not they have an account, and joining.

use vedette_domain::accounts::account::{Membership, Role, User};
use vedette_domain::accounts::audit::{Actor, AuditEntry, AuditEvent, By};
use vedette_domain::accounts::invitation::{INVITATIONS_MAX, Invitation, NewInvitation};
use vedette_domain::accounts::refusal::AccountRefusal;
use vedette_domain::accounts::session::{SessionHash, SessionSecret};
use vedette_domain::id::UserId;
use vedette_runtime::App;
use vedette_store::{Audit, Newcomer, StoreError, TeamWithSettings};

use crate::AccountError;
use crate::mail::mail_invitation;
use crate::members::{TeamMember, need_seats, team_members};

/// Invites an address to a team and reserves a seat, as a member. Show the secret once: it is not stored. The answer
/// does not reveal whether the address has an account, because Vedette does not look.
///
/// # Errors
///
/// The refusal, or a fault of the table; a conflict when members or invitations have changed since the team was read.
pub async fn invite(
    app: &App,
    team: &TeamWithSettings,
    inviter: &Membership,
    invited: NewInvitation,
    by: By,
) -> Result<(SessionSecret, Invitation), AccountError> {
    if !inviter.role.governs(invited.role) {
        return Err(AccountRefusal::OwnersOnly.into());
    }
    let members = team_members(&app.store, team.id()).await?;
    let has_address = |member: &&TeamMember| member.user.email.eq_ignore_ascii_case(&invited.email);
    if let Some(TeamMember { role, .. }) = members.iter().find(has_address) {
        let (email, role) = (invited.email, *role);
        return Err(AccountRefusal::MemberAlready { email, role }.into());
    }
    let pending = &team.team.invitations;
    if pending.iter().any(|pending| pending.shares_mailbox(&invited.email)) {
        return Err(AccountRefusal::InvitedAlready(invited.email).into());
    }
    if pending.len() >= INVITATIONS_MAX {
        return Err(AccountRefusal::TooManyInvitations.into());
    }
    need_seats(team, team.team.seats_taken() + 1)?;
    let secret = app.entropy.session_secret()?;
    let invitation = Invitation::new(&secret, team.id(), invited, inviter.user, by.now);
    let entry = AuditEntry::new(team.id(), by, inviting(&invitation));
    app.store.create_invitation(&team.team, &invitation, Audit::Entry(&entry)).await?;
    Ok((secret, invitation))
}

/// Renews an invitation, as a member: with another link and for another week, even if the previous sender has left the
/// team.
///
/// # Errors
///
/// The refusal, or a fault of the table; a conflict when members or invitations changed since the team was read.
pub async fn renew_invitation(
    app: &App,
    team: &TeamWithSettings,
    invitation: &Invitation,
    by: &Membership,
) -> Result<(SessionSecret, Invitation), AccountError> {
    if !by.role.governs(invitation.role) {
        return Err(AccountRefusal::OwnersOnly.into());
    }
    let (secret, now) = (app.entropy.session_secret()?, app.clock.now());
    let renewed = invitation.renewed(&secret, by.user, now);
    let entry = AuditEntry::new(team.id(), By::user(by.user, now), inviting(&renewed));
    let audit = Audit::Entry(&entry);
    app.store.replace_invitation(&team.team, &invitation.hash, &renewed, audit).await?;
    Ok((secret, renewed))
}

fn inviting(Invitation { email, role, .. }: &Invitation) -> AuditEvent {
    AuditEvent::Invited { email: email.clone(), role: *role }
}

/// Hands over the link of a new or renewed invitation. If email is configured, emails another link to the recipient of
/// the address, and to nobody else. Otherwise, returns the secret: whoever invites passes its link on.
///
/// # Errors
///
/// As for [`mail_invitation`]. The invitation remains valid.
pub async fn hand_over(
    app: &App,
    secret: SessionSecret,
    invitation: &Invitation,
) -> Result<Option<SessionSecret>, AccountError> {
    if !app.service.sends_mail {
        return Ok(Some(secret));
    }
    mail_invitation(app, invitation).await?;
    Ok(None)
}

/// The pending invitations of a team, each with whether it can be accepted. It cannot if its sender, who may be one of
/// the `members`, may no longer invite people.
pub fn pending_invitations<'a>(
    team: &'a TeamWithSettings,
    members: &[TeamMember],
) -> Vec<(&'a Invitation, bool)> {
    let is_valid = |pending: &Invitation| {
        let inviter = members.iter().find(|member| member.user.id == pending.by);
        pending.is_backed_by(inviter.map(|inviter| inviter.role))
    };
    team.team.invitations.iter().map(|pending| (pending, is_valid(pending))).collect()
}

/// Withdraws an invitation; it stops working at once.
///
/// # Errors
///
/// A fault of the table; a conflict when members or invitations changed since the team was read.
pub async fn withdraw_invitation(
    app: &App,
    team: &TeamWithSettings,
    invitation: &Invitation,
    by: By,
) -> Result<(), StoreError> {
    let event = AuditEvent::InvitationWithdrawn { email: invitation.email.clone() };
    let entry = AuditEntry::new(team.id(), by, event);
    app.store.withdraw_invitation(&team.team, &invitation.hash, Audit::Entry(&entry)).await
}

/// An invitation that can be accepted.
#[derive(Debug, Clone)]
pub struct OpenInvitation {
    /// The team.
    pub team: TeamWithSettings,
    /// The invitation, as stored with the link.
    pub invitation: Invitation,
    /// The sender's role, which must allow them to give the role of the invitation.
    inviter: Role,
}

/// The invitation that a link with this hash leads to, if it can be accepted.
///
/// # Errors
///
/// A fault of the table.
pub async fn open_invitation(
    app: &App,
    link: &SessionHash,
) -> Result<Option<OpenInvitation>, StoreError> {
    let now = app.clock.now();
    let found = app.store.invitation(link).await?;
    let Some(invitation) = found.filter(|invitation| invitation.works(now)) else {
        return Ok(None);
    };
    let (team, inviter) = futures::try_join!(
        app.store.team(invitation.team, now),
        app.store.membership(invitation.by, invitation.team),
    )?;
    let (Some(team), Some(inviter)) = (team, inviter) else { return Ok(None) };
    // A link from an email may outlive an invitation that was accepted or withdrawn. Admitting somebody takes both
    // items, so a function that may write only teams or only links cannot do it alone.
    let is_listed = team.team.invitation(&invitation.hash).is_some_and(|listed| {
        *listed == Invitation { by_mail: listed.by_mail, ..invitation.clone() }
    });
    let works = is_listed && invitation.is_backed_by(Some(inviter.role));
    Ok(works.then_some(OpenInvitation { team, invitation, inviter: inviter.role }))
}

/// The places of the joining member and of a new address in the transaction of `Store::accept_invitation`.
const MEMBER: usize = 2;
const ADDRESS: usize = 6;

/// Creates the account that an invitation is for, and adds it to the team. Unless the link came by email, its address
/// is not confirmed yet. The sender has the link as well, and could otherwise take over somebody else's address, to
/// which other teams may give access.
///
/// # Errors
///
/// When the address has an account, when the team's plan has fewer seats than the team has members, or a fault of the
/// table; a conflict when the invitation was used, or when the team or the sender's role has changed since.
pub async fn join_with_new_account(app: &App, open: &OpenInvitation) -> Result<(), AccountError> {
    let (invitation, now) = (&open.invitation, app.clock.now());
    let user = User {
        id: app.entropy.user_id()?,
        name: invitation.name.clone(),
        email: invitation.email.clone(),
        email_verified_at: invitation.by_mail.then_some(now),
        zone: None,
        created_at: now,
    };
    join(app, open, Newcomer::New(&user), user.id).await
}

/// Adds the signed-in user whom an invitation is for to the team.
///
/// # Errors
///
/// When they are already a member, when the team's plan has fewer seats than the team has members, or a fault of the
/// table; a conflict when the invitation was used, or when the team or the sender's role has changed since.
pub async fn join_as(app: &App, open: &OpenInvitation, user: &User) -> Result<(), AccountError> {
    join(app, open, Newcomer::Known(user.id), user.id).await
}

async fn join(
    app: &App,
    OpenInvitation { team, invitation, inviter }: &OpenInvitation,
    newcomer: Newcomer<'_>,
    user: UserId,
) -> Result<(), AccountError> {
    need_seats(team, team.team.members + 1)?;
    let email = invitation.email.clone();
    let event = AuditEvent::MemberAdded { user, role: invitation.role };
    let entry = AuditEntry::new(team.id(), By::user(user, app.clock.now()), event);
    let audit = Audit::Entry(&entry);
    let joined = app.store.accept_invitation(&team.team, invitation, *inviter, newcomer, audit);
    joined.await.map_err(|error| match () {
        () if error.has_failed(ADDRESS) => AccountRefusal::AccountAlready(email).into(),
        () if error.has_failed(MEMBER) => AccountRefusal::JoinedAlready(email).into(),
        () => error.into(),
    })
}

/// Declines an invitation for the person who has its link. The audit log does not say whether they have an account.
///
/// # Errors
///
/// A fault of the table; a conflict when members or invitations have changed since.
pub async fn decline_invitation(
    app: &App,
    OpenInvitation { team, invitation, .. }: &OpenInvitation,
) -> Result<(), StoreError> {
    let event = AuditEvent::InvitationDeclined { email: invitation.email.clone() };
    let entry =
        AuditEntry::new(team.id(), By { actor: Actor::Reader, now: app.clock.now() }, event);
    app.store.withdraw_invitation(&team.team, &invitation.hash, Audit::Entry(&entry)).await
}
