//! The first user of a service on one machine, who signs in with the setup link that the service prints.

use serde::{Deserialize, Serialize};
use vedette_domain::accounts::account::{Membership, Role, User};
use vedette_domain::accounts::session::{Session, SessionHash};
use vedette_domain::accounts::team::Team;
use vedette_domain::sites::settings::Settings;

use crate::item::{Stored, expiring, item, stored, string};
use crate::table::{Condition, Store};
use crate::{Audit, StoreError, keys};

stored!(attributes: SetupLink);

/// What is stored about the link until it is used.
#[derive(Serialize, Deserialize)]
struct SetupLink {
    link: SessionHash,
}

impl Store {
    /// Stores the link by the hash of its secret; an earlier one stops working.
    pub async fn put_setup_link(&self, hash: &SessionHash) -> Result<(), StoreError> {
        self.put(item(&keys::setup(), &SetupLink { link: hash.clone() })?, Condition::Always).await
    }

    /// Removes the link, if there is one.
    pub async fn remove_setup_link(&self) -> Result<(), StoreError> {
        self.batch_delete(&[keys::setup()]).await
    }

    /// The hash of the link that can still be used, if there is one.
    pub async fn setup_link(&self) -> Result<Option<SessionHash>, StoreError> {
        let stored = self.get(&keys::setup()).await?.map(SetupLink::read).transpose()?;
        Ok(stored.map(|stored| stored.link))
    }

    /// Uses up the link: creates a user, a team that the user owns, and the user's session.
    ///
    /// # Errors
    ///
    /// A conflict at place 0 when the link was used meanwhile, and at place 2 when another user has the address.
    pub async fn set_up(
        &self,
        link: &SessionHash,
        user: &User,
        team: &Team,
        session: &Session,
    ) -> Result<(), StoreError> {
        let unused = Condition::When("link = :link", vec![(":link", string(link.0.clone()))]);
        let [account, address] = self.user_items(user)?;
        let owner = Membership { team: team.id, user: user.id, role: Role::Owner };
        let begun = item(&keys::session(user.id, &session.hash), session)?;
        let mut transaction = self
            .transaction()
            .delete(&keys::setup(), unused)
            .put(account, Condition::Absent)
            .put(address, Condition::Absent)
            .put(expiring(begun, session.expires_at), Condition::Absent);
        for item in self.team_items(team, &Settings::defaults(team.plan), &owner)? {
            transaction = transaction.put(item, Condition::Absent);
        }
        transaction.commit(Audit::None).await
    }
}
