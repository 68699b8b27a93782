//! Invitations to teams. A team lists its invitations, so that the transactions that add members can count them. To
//! join, somebody needs an invitation's own item.

use vedette_domain::accounts::account::{Membership, Role, User};
use vedette_domain::accounts::invitation::Invitation;
use vedette_domain::accounts::session::SessionHash;
use vedette_domain::accounts::team::Team;
use vedette_domain::id::UserId;

use crate::Audit;
use crate::StoreError;
use crate::account::has_role;
use crate::item::{Stored, expiring, item, number, stored};
use crate::keys;
use crate::table::{Change, Condition, Store};
use crate::team::unchanged;

stored!(attributes: Invitation);

/// The user who accepts an invitation.
#[derive(Debug, Clone, Copy)]
pub enum Newcomer<'a> {
    /// A new user, whose account is created.
    New(&'a User),
    /// A user who already has an account.
    Known(UserId),
}

impl Newcomer<'_> {
    const fn id(self) -> UserId {
        match self {
            Self::New(user) => user.id,
            Self::Known(user) => user,
        }
    }
}

impl Store {
    /// Reserves a seat in a team that has not changed since it was read.
    ///
    /// # Errors
    ///
    /// A conflict when members or invitations have changed since.
    pub async fn create_invitation(
        &self,
        team: &Team,
        invitation: &Invitation,
        audit: Audit<'_>,
    ) -> Result<(), StoreError> {
        let row =
            expiring(item(&keys::invitation(&invitation.hash), invitation)?, invitation.expires_at);
        let pending = team.invitations.iter().chain([invitation]).cloned().collect();
        self.transaction()
            .put(row, Condition::Absent)
            .update(&keys::team(team.id), change(team, pending, 0)?, unchanged(team))
            .commit(audit)
            .await
    }

    /// Stores one more link to an invitation, by the hash of its secret.
    ///
    /// # Errors
    ///
    /// A conflict when the link already exists.
    pub async fn put_invitation_link(
        &self,
        hash: &SessionHash,
        invitation: &Invitation,
    ) -> Result<(), StoreError> {
        let row = expiring(item(&keys::invitation(hash), invitation)?, invitation.expires_at);
        self.transaction().put(row, Condition::Absent).commit(Audit::None).await
    }

    /// The invitation that a link with this hash leads to. It is valid only as long as its team lists it.
    pub async fn invitation(&self, hash: &SessionHash) -> Result<Option<Invitation>, StoreError> {
        self.get(&keys::invitation(hash)).await?.map(Stored::read).transpose()
    }

    /// Withdraws an invitation; it stops working at once.
    ///
    /// # Errors
    ///
    /// A conflict when members or invitations changed since the team was read.
    pub async fn withdraw_invitation(
        &self,
        team: &Team,
        hash: &SessionHash,
        audit: Audit<'_>,
    ) -> Result<(), StoreError> {
        let change = change(team, without(team, hash), 0)?;
        self.transaction()
            .update(&keys::team(team.id), change, unchanged(team))
            .delete(&keys::invitation(hash), Condition::Always)
            .commit(audit)
            .await
    }

    /// Replaces an invitation with another one. The links of the old one stop working at once.
    ///
    /// # Errors
    ///
    /// A conflict when members or invitations changed since the team was read.
    pub async fn replace_invitation(
        &self,
        team: &Team,
        before: &SessionHash,
        invitation: &Invitation,
        audit: Audit<'_>,
    ) -> Result<(), StoreError> {
        let row =
            expiring(item(&keys::invitation(&invitation.hash), invitation)?, invitation.expires_at);
        let mut pending = without(team, before);
        pending.push(invitation.clone());
        self.transaction()
            .put(row, Condition::Absent)
            .update(&keys::team(team.id), change(team, pending, 0)?, unchanged(team))
            .delete(&keys::invitation(before), Condition::Always)
            .commit(audit)
            .await
    }

    /// Accepts an invitation: adds a user to the team, as long as the inviter has the role `inviter` there.
    ///
    /// # Errors
    ///
    /// A conflict at place 0 when the invitation was used meanwhile, at place 2 when the user is already a member, at
    /// place 4 when the inviter is no longer a member or has another role, and at place 6 when another user has the new
    /// user's address.
    pub async fn accept_invitation(
        &self,
        team: &Team,
        invitation: &Invitation,
        inviter: Role,
        newcomer: Newcomer<'_>,
        audit: Audit<'_>,
    ) -> Result<(), StoreError> {
        let user = newcomer.id();
        let place = Membership { team: team.id, user, role: invitation.role };
        let change = change(team, without(team, &invitation.hash), 1)?;
        let mut transaction = self
            .transaction()
            .delete(&keys::invitation(&invitation.hash), Condition::Present)
            .update(&keys::team(team.id), change, unchanged(team))
            .put(item(&keys::member(team.id, user), &place)?, Condition::Absent)
            .put(item(&keys::membership(user, team.id), &place)?, Condition::Absent)
            .check(&keys::member(team.id, invitation.by), has_role(inviter));
        if let Newcomer::New(user) = newcomer {
            let [account, address] = self.user_items(user)?;
            transaction =
                transaction.put(account, Condition::Absent).put(address, Condition::Absent);
        }
        transaction.commit(audit).await
    }
}

fn without(team: &Team, hash: &SessionHash) -> Vec<Invitation> {
    team.invitations.iter().filter(|pending| pending.hash != *hash).cloned().collect()
}

/// The change that gives a team other invitations and `more` additional members.
fn change(team: &Team, pending: Vec<Invitation>, more: u32) -> Result<Change, StoreError> {
    Ok(Change {
        expression: "SET invitations = :pending, invited = :next ADD members :more".into(),
        values: vec![
            (":pending", serde_dynamo::to_attribute_value(pending)?),
            (":next", number(team.invited + 1)),
            (":more", number(more)),
        ],
        ..Change::default()
    })
}
