//! The members of a team: who they are, adding and removing them, and changing their roles.

use vedette_domain::accounts::account::{Membership, Role, User};
use vedette_domain::accounts::audit::{Actor, AuditEntry, AuditEvent, By};
use vedette_domain::accounts::refusal::AccountRefusal;
use vedette_domain::id::{TeamId, UserId};
use vedette_runtime::App;
use vedette_store::{Audit, MemberRow, Store, StoreError, TeamWithSettings};

use crate::AccountError;

/// A member of a team.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TeamMember {
    /// The user.
    pub user: User,
    /// What they may do there.
    pub role: Role,
}

/// The members of a team in the order of their roles, owners first, then by address.
///
/// # Errors
///
/// A fault of the table.
pub async fn team_members(store: &Store, team: TeamId) -> Result<Vec<TeamMember>, StoreError> {
    let rows = store.members(team).await?;
    let ids: Vec<UserId> = rows.iter().map(|row| row.user).collect();
    let mut users = store.users(ids).await?;
    let found = rows.iter().filter_map(|row| Some((users.remove(&row.user)?, row.role)));
    let mut members: Vec<_> = found.map(|(user, role)| TeamMember { user, role }).collect();
    members.sort_by(|a, b| b.role.cmp(&a.role).then_with(|| a.user.email.cmp(&b.user.email)));
    Ok(members)
}

/// Adds a user to a team, within the seats that pending invitations leave free.
///
/// # Errors
///
/// The refusal, or a fault of the table; a conflict when members or invitations have changed since.
pub async fn add_member(
    app: &App,
    team: &TeamWithSettings,
    user: &User,
    role: Role,
    by: By,
) -> Result<(), AccountError> {
    let members = app.store.members(team.id()).await?;
    if let Some(row) = members.iter().find(|row| row.user == user.id) {
        return Err(
            AccountRefusal::MemberAlready { email: user.email.clone(), role: row.role }.into()
        );
    }
    need_seats(team, team.team.seats_taken() + 1)?;
    let membership = Membership { team: team.id(), user: user.id, role };
    let event = AuditEvent::MemberAdded { user: user.id, role };
    let entry = AuditEntry::new(team.id(), by, event);
    Ok(app.store.put_member(&membership, Some(&team.team), Audit::Entry(&entry)).await?)
}

/// Refuses more seats than the team's plan has.
pub(crate) fn need_seats(team: &TeamWithSettings, needed: u32) -> Result<(), AccountError> {
    match team.plan().limits().seats {
        Some(seats) if needed > seats => {
            Err(AccountRefusal::NoSeat { plan: team.plan(), seats }.into())
        }
        _ => Ok(()),
    }
}

/// Gives a member another role, on behalf of somebody with the role `own`.
///
/// # Errors
///
/// The refusal, or a fault of the table; a conflict when the member's role has changed since.
pub async fn change_role(
    app: &App,
    team: TeamId,
    user: &User,
    role: Role,
    own: Role,
    by: By,
) -> Result<(), AccountError> {
    let members = app.store.members(team).await?;
    let before = role_of(&members, user)?;
    if !(own.governs(before) && own.governs(role)) {
        return Err(AccountRefusal::OwnersOnly.into());
    }
    let membership = Membership { team, user: user.id, role };
    let event = AuditEvent::MemberChanged { user: user.id, before, after: role };
    let entry = AuditEntry::new(team, by, event);
    let audit = Audit::Entry(&entry);
    if before == Role::Owner && role != Role::Owner {
        let staying = other_owner(&members, user)?;
        app.store.demote_owner(&membership, staying, audit).await?;
    } else {
        app.store.change_role(&membership, before, audit).await?;
    }
    Ok(())
}

/// Removes a member from a team, on behalf of somebody with the role `own`. Everybody may remove themselves. Returns the
/// role that the member had.
///
/// # Errors
///
/// The refusal, or a fault of the table; a conflict when the member's role has changed since.
pub async fn remove_member(
    app: &App,
    team: TeamId,
    user: &User,
    own: Role,
    by: By,
) -> Result<Role, AccountError> {
    let members = app.store.members(team).await?;
    let role = role_of(&members, user)?;
    let leaves = by.actor == Actor::User(user.id);
    if !leaves && !own.governs(role) {
        return Err(AccountRefusal::OwnersOnly.into());
    }
    let event = AuditEvent::MemberRemoved { user: user.id, role };
    let entry = AuditEntry::new(team, by, event);
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
    found.map(|row| row.role).ok_or_else(|| AccountRefusal::NoMember(user.email.clone()).into())
}

/// An owner who stays when another owner leaves.
fn other_owner(members: &[MemberRow], leaving: &User) -> Result<UserId, AccountError> {
    let stays = |row: &&MemberRow| row.role == Role::Owner && row.user != leaving.id;
    let found = members.iter().find(stays).map(|row| row.user);
    found.ok_or_else(|| AccountRefusal::LastOwner(leaving.email.clone()).into())
}
