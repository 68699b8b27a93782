//! Invitations: who may come into a team with an account of their own.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::account::Role;
use crate::id::{TeamId, UserId};
use crate::session::{SessionHash, SessionSecret};

/// How long an invitation can be accepted.
pub const INVITATION_LIFETIME: SignedDuration = SignedDuration::from_hours(7 * 24);
/// The most pending invitations of a team, whatever its plan: they are kept with the team.
pub const INVITATIONS_MAX: usize = 50;

/// A place in a team that is kept for whoever has its link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invitation {
    /// Hash of the secret that its first link carries; by it the team lists the invitation.
    pub hash: SessionHash,
    /// The team.
    pub team: TeamId,
    /// The address of the account that it makes.
    pub email: String,
    /// The name of the account.
    pub name: String,
    /// What the account may do in the team.
    pub role: Role,
    /// Who invited.
    pub by: UserId,
    /// Creation.
    pub created_at: Timestamp,
    /// When it stops working.
    pub expires_at: Timestamp,
    /// Whether nobody but the reader of the address has the link: who follows it has the address.
    #[serde(default)]
    pub by_mail: bool,
}

/// Who is invited, and to what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Invited<'a> {
    /// The address.
    pub email: &'a str,
    /// Display name.
    pub name: &'a str,
    /// What they may do in the team.
    pub role: Role,
}

impl Invitation {
    /// A new invitation.
    pub fn new(
        secret: &SessionSecret,
        team: TeamId,
        Invited { email, name, role }: Invited<'_>,
        by: UserId,
        now: Timestamp,
    ) -> Self {
        Self {
            hash: secret.hash(),
            team,
            email: email.to_owned(),
            name: name.to_owned(),
            role,
            by,
            created_at: now,
            expires_at: now.saturating_add(INVITATION_LIFETIME).unwrap_or(now),
            by_mail: false,
        }
    }

    /// Whether it can be accepted.
    pub fn works(&self, now: Timestamp) -> bool {
        now < self.expires_at
    }

    /// Whether it is for this address, without regard to case.
    pub fn is_for(&self, email: &str) -> bool {
        self.email.to_lowercase() == email.to_lowercase()
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn an_invitation_is_for_one_address_and_a_week() {
        let now: Timestamp = "2026-11-20T09:54:00Z".parse().expect("a timestamp");
        let (secret, id) = (SessionSecret::from_random([7; 32]), Uuid::from_u128(7));
        let whom = Invited { email: "Ada@example.com", name: "Ada", role: Role::Member };
        let invitation = Invitation::new(&secret, TeamId(id), whom, UserId(id), now);
        assert!(invitation.is_for("ada@EXAMPLE.com") && !invitation.is_for("bob@example.com"));
        let end = now + SignedDuration::from_hours(168);
        assert!(invitation.works(end - SignedDuration::from_millis(1)) && !invitation.works(end));
    }
}
