//! Who belongs to a team.

use vedette_domain::accounts::account::{Membership, Role, User};
use vedette_domain::accounts::audit::{Actor, AuditEntry, AuditEvent};
use vedette_domain::accounts::invitation::INVITATIONS_MAX;
use vedette_domain::accounts::plan::Plan;
use vedette_domain::id::{TeamId, UserId};
use vedette_runtime::{App, EntropyError};
use vedette_store::{Audit, MayConflict, MemberRow, StoreError, TeamWithSettings};

/// Why something was not done with users, members or tokens.
#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    /// Who is to be added belongs to the team.
    #[error("{email} is a member already, with the role {}", .role.as_str())]
    MemberAlready {
        /// The user's address.
        email: String,
        /// What they may do.
        role: Role,
    },
    /// Whoever accepts an invitation already belongs to the team.
    #[error("{0} is a member of the team already")]
    JoinedAlready(String),
    /// Who is to be changed does not.
    #[error("{0} is not a member of the team")]
    NoMember(String),
    /// Owners stand above the others.
    #[error("only an owner makes owners, or changes and removes them")]
    OwnersOnly,
    /// A team keeps an owner.
    #[error("{0} is the team's last owner; make another member an owner first")]
    LastOwner(String),
    /// Members and pending invitations have taken the plan's seats.
    #[error("the {plan} plan has {seats} seats, and all are taken")]
    NoSeat {
        /// The plan.
        plan: Plan,
        /// How many seats it has.
        seats: u32,
    },
    /// An invitation stands, and its letter was not sent.
    #[error("{0} is invited, but the letter was not sent; send it again")]
    NotSent(String),
    /// Nobody is to be pestered.
    #[error("{0} was asked often enough today; ask again tomorrow")]
    AskedOften(String),
    /// A team has an allowance of invitations, too.
    #[error(
        "{0} is invited, but the team has sent all the invitations that it may send in a day; send it again tomorrow"
    )]
    InvitedMany(String),
    /// The sender of the invitation can no longer give the role.
    #[error("the invitation of {0} is not valid any more; renew it")]
    NotBacked(String),
    /// The address has an invitation that can be accepted.
    #[error("{0} is invited already")]
    InvitedAlready(String),
    /// A team may have so many invitations.
    #[error("the team has {INVITATIONS_MAX} pending invitations, and a team may have no more")]
    TooManyInvitations,
    /// Who is invited has an account by now.
    #[error("{0} has an account")]
    AccountAlready(String),
    /// There is no randomness for ids and secrets.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
    /// The table does not answer, or a conflict: somebody else wrote the same meanwhile.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl MayConflict for AccountError {
    fn is_conflict(&self) -> bool {
        matches!(self, Self::Store(error) if error.is_conflict())
    }
}

/// Adds a user to a team, within the seats that pending invitations leave.
///
/// # Errors
///
/// The refusal, or a fault of the table; a conflict when members or invitations changed meanwhile.
pub async fn add_member(
    app: &App,
    team: &TeamWithSettings,
    user: &User,
    role: Role,
    by: Actor,
) -> Result<(), AccountError> {
    let members = app.store.members(team.id()).await?;
    if let Some(row) = members.iter().find(|row| row.user == user.id) {
        return Err(AccountError::MemberAlready { email: user.email.clone(), role: row.role });
    }
    need_seats(team, team.team.seats_taken() + 1)?;
    let membership = Membership { team: team.id(), user: user.id, role };
    let event = AuditEvent::MemberAdded { user: user.id, role };
    let entry = AuditEntry::new(team.id(), by, event, app.clock.now());
    Ok(app.store.put_member(&membership, Some(&team.team), Audit::Entry(&entry)).await?)
}

/// Refuses more seats than the team's plan has.
pub(crate) fn need_seats(team: &TeamWithSettings, needed: u32) -> Result<(), AccountError> {
    match team.plan().limits().seats {
        Some(seats) if needed > seats => Err(AccountError::NoSeat { plan: team.plan(), seats }),
        _ => Ok(()),
    }
}

/// Gives a member another role, as somebody who has the role `own`.
///
/// # Errors
///
/// The refusal, or a fault of the table; a conflict when the member's role changed meanwhile.
pub async fn change_role(
    app: &App,
    team: TeamId,
    user: &User,
    role: Role,
    own: Role,
    by: Actor,
) -> Result<(), AccountError> {
    let members = app.store.members(team).await?;
    let before = role_of(&members, user)?;
    if !(own.governs(before) && own.governs(role)) {
        return Err(AccountError::OwnersOnly);
    }
    let membership = Membership { team, user: user.id, role };
    let event = AuditEvent::MemberChanged { user: user.id, before, after: role };
    let entry = AuditEntry::new(team, by, event, app.clock.now());
    let audit = Audit::Entry(&entry);
    if before == Role::Owner && role != Role::Owner {
        let staying = other_owner(&members, user)?;
        app.store.demote_owner(&membership, staying, audit).await?;
    } else {
        app.store.change_role(&membership, before, audit).await?;
    }
    Ok(())
}

/// Takes a member out of a team, as somebody who has the role `own`, or who leaves; says which role they
/// had.
///
/// # Errors
///
/// The refusal, or a fault of the table; a conflict when the member's role changed meanwhile.
pub async fn remove_member(
    app: &App,
    team: TeamId,
    user: &User,
    own: Option<Role>,
    by: Actor,
) -> Result<Role, AccountError> {
    let members = app.store.members(team).await?;
    let role = role_of(&members, user)?;
    if own.is_some_and(|own| !own.governs(role)) {
        return Err(AccountError::OwnersOnly);
    }
    let event = AuditEvent::MemberRemoved { user: user.id, role };
    let entry = AuditEntry::new(team, by, event, app.clock.now());
    let audit = Audit::Entry(&entry);
    if role == Role::Owner {
        let staying = other_owner(&members, user)?;
        app.store.remove_owner(team, user.id, staying, audit).await?;
    } else {
        app.store.remove_member(team, user.id, role, audit).await?;
    }
    Ok(role)
}

fn role_of(members: &[MemberRow], user: &User) -> Result<Role, AccountError> {
    let found = members.iter().find(|row| row.user == user.id);
    found.map(|row| row.role).ok_or_else(|| AccountError::NoMember(user.email.clone()))
}

/// An owner who stays when another one leaves.
fn other_owner(members: &[MemberRow], leaving: &User) -> Result<UserId, AccountError> {
    let stays = |row: &&MemberRow| row.role == Role::Owner && row.user != leaving.id;
    let found = members.iter().find(stays).map(|row| row.user);
    found.ok_or_else(|| AccountError::LastOwner(leaving.email.clone()))
}
