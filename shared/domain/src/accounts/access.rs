//! Whether a caller may do something with a team, and why not.

use crate::accounts::account::{Permission, Role, Scope, Token};
use crate::accounts::team::Team;

/// Why a caller may not do something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AccessRefusal {
    /// The resource does not exist, or it belongs to a team that they are not a member of. The response does not reveal
    /// which.
    #[error("The requested resource was not found.")]
    NotFound,
    /// The team has no active plan.
    #[error("An active team plan is required.")]
    PlanRequired,
    /// Their role in the team lacks the permission.
    #[error("Your role in this team does not permit this.")]
    RoleLacks(Permission),
    /// Their token lacks the scope.
    #[error("The access token lacks the {} scope.", .0.as_str())]
    ScopeMissing(Scope),
}

impl Team {
    /// Refuses a team without an active plan, then a role without the permission.
    ///
    /// # Errors
    ///
    /// The refusal.
    pub fn authorize(&self, role: Role, permission: Permission) -> Result<(), AccessRefusal> {
        if !self.plan_active {
            Err(AccessRefusal::PlanRequired)
        } else if role.grants(permission) {
            Ok(())
        } else {
            Err(AccessRefusal::RoleLacks(permission))
        }
    }
}

impl Token {
    /// Refuses a token without the scope.
    ///
    /// # Errors
    ///
    /// The refusal.
    pub fn require(&self, scope: Scope) -> Result<(), AccessRefusal> {
        if self.scopes.contains(&scope) { Ok(()) } else { Err(AccessRefusal::ScopeMissing(scope)) }
    }
}
