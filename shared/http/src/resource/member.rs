//! The members of a team and its invitations as the API shows them.

use jiff::Timestamp;
use serde::Serialize;
use vedette_domain::accounts::account::{Role, User};
use vedette_domain::accounts::invitation::Invitation;
use vedette_domain::id::UserId;

use super::wire_time;

/// A member of a team.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Member"))]
pub struct MemberResource<'a> {
    /// The user's unique ID.
    uuid: UserId,
    /// Display name.
    name: &'a str,
    /// Their email address.
    email: &'a str,
    /// What they may do in the team.
    role: Role,
}

impl<'a> MemberResource<'a> {
    /// A user with their role in the team.
    pub fn new(user: &'a User, role: Role) -> Self {
        Self { uuid: user.id, name: &user.name, email: &user.email, role }
    }
}

/// An invitation that nobody has answered yet, without the secret of its link.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Invitation"))]
pub struct InvitationResource<'a> {
    /// The SHA-256 of the secret in its first link in hexadecimal, which identifies it.
    hash: &'a str,
    /// The address of the invited person.
    email: &'a str,
    /// The role that they get.
    role: Role,
    /// Whether it can be accepted. It cannot if its sender may no longer invite people.
    is_valid: bool,
    /// When it stops working.
    #[serde(serialize_with = "wire_time")]
    expires_at: Timestamp,
    /// When it was created.
    #[serde(serialize_with = "wire_time")]
    created_at: Timestamp,
}

impl<'a> InvitationResource<'a> {
    /// An invitation, and whether it can be accepted.
    pub fn new(invitation: &'a Invitation, is_valid: bool) -> Self {
        Self {
            hash: &invitation.hash.0,
            email: &invitation.email,
            role: invitation.role,
            is_valid,
            expires_at: invitation.expires_at,
            created_at: invitation.created_at,
        }
    }
}

/// A new invitation. It has no `Debug`, so that its link does not slip into a log.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "NewInvitation"))]
#[expect(missing_debug_implementations, reason = "its URL has a secret")]
pub struct NewInvitationResource<'a> {
    #[serde(flatten)]
    invitation: InvitationResource<'a>,
    /// If the service sends no email, the link for the invited person, which is shown only this once. Anybody who has it
    /// can join. Null if the service sends email: then only the recipient of the address gets the link.
    url: Option<String>,
    /// Why the service, which sends email, has not sent any to the invited person; null otherwise. The invitation takes
    /// a seat until it is withdrawn or expires.
    unsent: Option<String>,
}

impl<'a> NewInvitationResource<'a> {
    /// An invitation with its link, or with the reason why its link was not emailed.
    pub fn new(
        invitation: InvitationResource<'a>,
        url: Option<String>,
        unsent: Option<String>,
    ) -> Self {
        Self { invitation, url, unsent }
    }
}
