//! Members of a team and its invitations as the API shows them.

use jiff::Timestamp;
use serde::Serialize;
use vedette_domain::accounts::account::{Role, User};
use vedette_domain::accounts::invitation::Invitation;
use vedette_domain::id::UserId;

use super::{UserResource, wire_time};

/// A member of a team.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Member"))]
pub struct MemberResource {
    /// The user's unique ID.
    uuid: UserId,
    #[serde(flatten)]
    user: UserResource,
    /// What they may do in the team.
    role: Role,
}

impl MemberResource {
    /// A user with their role.
    pub fn new(user: &User, role: Role) -> Self {
        Self { uuid: user.id, user: UserResource::from(user), role }
    }
}

/// A pending invitation.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Invitation"))]
pub struct InvitationResource<'a> {
    /// Its ID. The link of the invitation contains another secret.
    id: &'a str,
    /// The invited address.
    email: &'a str,
    /// The name of the account, if the invitation creates it.
    name: &'a str,
    /// The role of the new member.
    role: Role,
    /// When it was created.
    #[serde(serialize_with = "wire_time")]
    created_at: Timestamp,
    /// When it stops working.
    #[serde(serialize_with = "wire_time")]
    expires_at: Timestamp,
}

impl<'a> From<&'a Invitation> for InvitationResource<'a> {
    fn from(invitation: &'a Invitation) -> Self {
        let Invitation { hash, email, name, role, created_at, expires_at, .. } = invitation;
        let (created_at, expires_at) = (*created_at, *expires_at);
        Self { id: &hash.0, email, name, role: *role, created_at, expires_at }
    }
}

/// A new invitation. It has no `Debug`, so that the link does not slip into a log.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "NewInvitation"))]
#[expect(missing_debug_implementations, reason = "it has a secret link")]
pub struct NewInvitationResource<'a> {
    #[serde(flatten)]
    invitation: InvitationResource<'a>,
    /// The link with which the person joins, for a service that sends no email. Whoever has it can join. It is shown only
    /// this once.
    #[serde(skip_serializing_if = "Option::is_none")]
    link: Option<String>,
    /// Why no email was sent, although the person is invited.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_sent: Option<String>,
}

impl<'a> NewInvitationResource<'a> {
    /// An invitation whose link is handed over.
    pub fn with_link(invitation: &'a Invitation, link: String) -> Self {
        Self { invitation: invitation.into(), link: Some(link), not_sent: None }
    }

    /// An invitation that is emailed, unless something was in the way.
    pub fn by_mail(invitation: &'a Invitation, not_sent: Option<String>) -> Self {
        Self { invitation: invitation.into(), link: None, not_sent }
    }
}
