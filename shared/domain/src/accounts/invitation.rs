//! Invitations to join a team.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::accounts::account::{Role, User};
use crate::accounts::email;
use crate::accounts::mailbox::Mailbox;
use crate::accounts::session::{SessionHash, SessionSecret};
use crate::id::{TeamId, UserId};
use crate::input::{input, line};
use crate::name::NAME_MAX;

/// How long an invitation can be accepted.
pub(crate) const INVITATION_LIFETIME: SignedDuration = SignedDuration::from_hours(7 * 24);
/// The most pending invitations of a team on any plan, because they are stored with the team.
pub const INVITATIONS_MAX: usize = 50;

/// A seat in a team, reserved for the person with its link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invitation {
    /// Hash of the secret in its first link. The team lists the invitation under this hash.
    pub hash: SessionHash,
    /// The team.
    pub team: TeamId,
    /// The address of the account that joins. The account may not exist yet.
    pub email: String,
    /// The name of the account, if the invitation creates it.
    pub name: String,
    /// The role of the new member in the team.
    pub role: Role,
    /// The sender, or the user who renewed the invitation. It is valid while they may still give the role.
    pub by: UserId,
    /// Creation.
    pub created_at: Timestamp,
    /// When it stops working.
    pub expires_at: Timestamp,
    /// Whether only the reader of the address has the link. If so, following it confirms the address.
    #[serde(default)]
    pub by_mail: bool,
}

input! {
    /// The invited person and their role.
    NewInvitation {
        /// Their email address.
        email: Required<String> = email::address();
        /// Their name, if they have no account yet. Without it, the account has the address as its name.
        name: Nullable<String> = line(NAME_MAX);
        /// What they may do in the team.
        role: Required<Role> = Role::NEW;
    }
}

impl Invitation {
    /// A new invitation.
    pub fn new(
        secret: &SessionSecret,
        team: TeamId,
        NewInvitation { email, name, role }: NewInvitation,
        by: UserId,
        now: Timestamp,
    ) -> Self {
        Self {
            hash: secret.hash(),
            team,
            name: name.unwrap_or_else(|| email.clone()),
            email,
            role,
            by,
            created_at: now,
            expires_at: now.saturating_add(INVITATION_LIFETIME).unwrap_or(now),
            by_mail: false,
        }
    }

    /// The same invitation, renewed by another user. Only the link with the new secret leads to it.
    #[must_use]
    pub fn renewed(&self, secret: &SessionSecret, by: UserId, now: Timestamp) -> Self {
        let Self { email, name, role, .. } = self.clone();
        Self::new(secret, self.team, NewInvitation { email, name: Some(name), role }, by, now)
    }

    /// Whether it has not expired.
    pub fn works(&self, now: Timestamp) -> bool {
        now < self.expires_at
    }

    /// Whether the sender may still give the role, as a member with the role `inviter`; `None` if they are no longer a
    /// member.
    pub fn is_backed_by(&self, inviter: Option<Role>) -> bool {
        inviter.is_some_and(|inviter| inviter.governs(self.role))
    }

    /// Whether email to this address goes to the same mailbox.
    pub fn shares_mailbox(&self, email: &str) -> bool {
        Mailbox::of(&self.email) == Mailbox::of(email)
    }

    /// Whether it is for this user: exactly their address, ignoring case.
    pub fn is_for(&self, user: &User) -> bool {
        self.email.eq_ignore_ascii_case(&user.email)
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn invitation(role: Role) -> Invitation {
        let (secret, id) = (SessionSecret::from_random([7; 32]), Uuid::from_u128(7));
        let whom = NewInvitation { email: "Ada@example.com".to_owned(), name: None, role };
        Invitation::new(&secret, TeamId(id), whom, UserId(id), NOW)
    }

    #[test]
    fn an_invitation_is_for_one_address_and_a_week() {
        let invitation = invitation(Role::Member);
        let user = |email: &str| User {
            id: UserId(Uuid::from_u128(8)),
            name: "Somebody".to_owned(),
            email: email.to_owned(),
            email_verified_at: None,
            zone: None,
            created_at: NOW,
        };
        assert!(invitation.is_for(&user("ada@EXAMPLE.com")));
        assert!(!invitation.is_for(&user("ada+x@example.com")), "that may be somebody else");
        assert!(invitation.shares_mailbox("ada+x@EXAMPLE.com"));
        assert!(!invitation.shares_mailbox("bob@example.com"));
        let end = NOW + SignedDuration::from_hours(168);
        assert!(invitation.works(end - SignedDuration::from_millis(1)) && !invitation.works(end));
    }

    #[test]
    fn an_invitation_stands_while_who_invited_may_give_its_role() {
        let backing = |role| {
            let invitation = invitation(role);
            let backs = |inviter: &Role| invitation.is_backed_by(Some(*inviter));
            assert!(!invitation.is_backed_by(None), "who is no member");
            Role::ALL.into_iter().filter(backs).collect::<Vec<_>>()
        };
        for role in [Role::Viewer, Role::Member, Role::Admin] {
            assert_eq!(backing(role), [Role::Admin, Role::Owner], "{role:?}");
        }
        assert_eq!(backing(Role::Owner), [Role::Owner]);
    }

    #[test]
    fn a_renewed_invitation_has_another_link_and_another_week() {
        let (before, secret) = (invitation(Role::Admin), SessionSecret::from_random([8; 32]));
        let (by, now) = (UserId(Uuid::from_u128(9)), NOW + SignedDuration::from_hours(100));
        let renewed = before.renewed(&secret, by, now);
        assert_eq!((renewed.hash.clone(), renewed.by), (secret.hash(), by));
        assert_eq!(renewed.expires_at, now + INVITATION_LIFETIME);
        assert_eq!((&*renewed.email, renewed.role), (&*before.email, before.role));
        assert_eq!((&*renewed.name, &*before.name), ("Ada@example.com", "Ada@example.com"));
    }
}
