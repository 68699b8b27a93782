//! Invitations to join a team.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::accounts::account::{Role, User};
use crate::accounts::email::parse_email;
use crate::accounts::mailbox::Mailbox;
use crate::accounts::session::{SessionHash, SessionSecret};
use crate::id::{TeamId, UserId};
use crate::input::{TextKind, TextRule, input, line};
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

/// The invited person and their role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Invited<'a> {
    /// The address.
    pub email: &'a str,
    /// Display name.
    pub name: &'a str,
    /// What they may do in the team.
    pub role: Role,
}

const ADDRESS: TextRule<String> = TextRule {
    min: 0,
    max: usize::MAX,
    kind: TextKind::Format("email"),
    parse: |text| {
        let address = parse_email(text).map(str::to_owned);
        address.map_err(|_| "must be an address such as ada@example.com".to_owned())
    },
};

input! {
    /// Whom to invite.
    NewInvitation {
        /// The address of the person. An account is created if it has none.
        email: Required<String> = ADDRESS;
        /// The name of a new account. The default is the address.
        name: Nullable<String> = line(NAME_MAX);
        /// What they may do in the team. Only owners make others owners, once they are members.
        role: Required<Role> = Role::NEW;
    }
}

impl NewInvitation {
    /// The invited person.
    pub fn invited(&self) -> Invited<'_> {
        let name = self.name.as_deref().unwrap_or(&self.email);
        Invited { email: &self.email, name, role: self.role }
    }
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

    /// The same invitation, renewed by another user. Only the link with the new secret leads to it.
    #[must_use]
    pub fn renewed(&self, secret: &SessionSecret, by: UserId, now: Timestamp) -> Self {
        let Self { email, name, role, .. } = self;
        Self::new(secret, self.team, Invited { email, name, role: *role }, by, now)
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
        let whom = Invited { email: "Ada@example.com", name: "Ada", role };
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
        assert_eq!((renewed.email, renewed.role), (before.email, before.role));
    }
}
