//! Who belongs to a team, and who is invited to it.

pub(crate) mod add;
pub(crate) mod change;
pub(crate) mod join;
pub(crate) mod list;

use vedette_domain::account::{Permission, Role};
use vedette_domain::id::TeamId;
use vedette_http::error::ApiError;
use vedette_store::TeamWithSettings;

use crate::Visit;

async fn team(visit: Visit<'_>, permission: Permission) -> Result<TeamWithSettings, ApiError> {
    let team = TeamId::parse(visit.value("team")).ok_or(ApiError::NotFound)?;
    visit.member()?.caller.team(&visit.app.store, team, permission).await
}

/// The roles that can be given to somebody new; a team's first owner comes with the team.
const NEW_ROLES: [Role; 3] = [Role::Viewer, Role::Member, Role::Admin];

/// A role in words.
const fn role_word(role: Role) -> &'static str {
    match role {
        Role::Viewer => "Viewer",
        Role::Member => "Member",
        Role::Admin => "Admin",
        Role::Owner => "Owner",
    }
}

/// Whether a member may make something of this role, or no longer: owners are made and unmade by
/// owners.
fn may_touch(own: Role, role: Role) -> bool {
    own.grants(Permission::ManageMembers) && (role != Role::Owner || own == Role::Owner)
}
