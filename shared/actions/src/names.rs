//! Creates a team for a user, and renames teams and users.

use vedette_domain::accounts::account::{Membership, Role, User};
use vedette_domain::accounts::audit::{AuditEntry, AuditEvent, By};
use vedette_domain::accounts::refusal::AccountRefusal;
use vedette_domain::accounts::team::Team;
use vedette_domain::id::UserId;
use vedette_domain::sites::settings::Settings;
use vedette_runtime::App;
use vedette_store::{Audit, StoreError, TeamWithSettings};

use crate::AccountError;

/// The place of the user in the transaction of `Store::create_own_team`.
const CREATOR: usize = 0;

/// Creates a team that a user owns, with the plan [`Team::PLAN`].
///
/// # Errors
///
/// The refusal, a fault of the table, or no randomness.
pub async fn create_own_team(
    app: &App,
    owner: UserId,
    name: &str,
) -> Result<TeamWithSettings, AccountError> {
    if !app.service.creates_teams {
        return Err(AccountRefusal::OperatorCreatesTeams.into());
    }
    let team = Team::new(app.entropy.team_id()?, name, Team::PLAN, app.clock.now());
    let owner = Membership { team: team.id, user: owner, role: Role::Owner };
    let settings = Settings::defaults(team.plan);
    match app.store.create_own_team(&team, &settings, &owner).await {
        Err(error) if error.has_failed(CREATOR) => Err(AccountRefusal::TooManyTeams.into()),
        created => Ok(created.map(|()| TeamWithSettings { team, settings, manual_checks: 0 })?),
    }
}

/// Saves a team's name. If the team already has this name, nothing changes.
///
/// # Errors
///
/// A fault of the table; a conflict when the name has changed since the team was read.
pub async fn rename_team(app: &App, team: Team, name: &str, by: By) -> Result<Team, StoreError> {
    if name == team.name {
        return Ok(team);
    }
    let now = by.now;
    let entry = AuditEntry::new(team.id, by, AuditEvent::team_name(&team.name, name));
    app.store.save_team_name(&team, name, now, Audit::Entry(&entry)).await?;
    Ok(Team { name: name.to_owned(), updated_at: now, ..team })
}

/// Saves a user's name. Like the user's time zone, it does not appear in the audit log of any team.
///
/// # Errors
///
/// A fault of the table.
pub async fn rename_user(app: &App, user: &User, name: &str) -> Result<(), StoreError> {
    if name == user.name {
        return Ok(());
    }
    app.store.save_user_name(user.id, name).await
}
