//! Sign-in links, sign-ins at an OpenID provider, and the sessions that they begin.

use serde::Serialize;
use vedette_domain::accounts::account::User;
use vedette_domain::accounts::session::{Session, SessionHash, SignInAttempt, SignInLink};
use vedette_domain::id::UserId;

use crate::Audit;
use crate::StoreError;
use crate::account::verified;
use crate::item::{Stored, expiring, item, stored};
use crate::keys;
use crate::table::{Condition, Range, Sort, Store};
use crate::transaction::Transaction;

stored!(attributes: Session, SignInLink);

/// The user that an OpenID provider has signed in.
#[derive(Serialize)]
struct UsedAttempt {
    user: UserId,
}

impl Store {
    /// Stores a new link.
    ///
    /// # Errors
    ///
    /// A conflict when the link already exists.
    pub async fn create_sign_in_link(&self, link: &SignInLink) -> Result<(), StoreError> {
        let row = expiring(item(&keys::sign_in(&link.hash), link)?, link.expires_at);
        self.transaction().put(row, Condition::Absent).commit(Audit::None).await
    }

    /// The link with this hash, unless it was used.
    pub async fn sign_in_link(&self, hash: &SessionHash) -> Result<Option<SignInLink>, StoreError> {
        self.get(&keys::sign_in(hash)).await?.map(Stored::read).transpose()
    }

    /// Uses up a link and begins its session. `verifies` marks the user's address as confirmed.
    ///
    /// # Errors
    ///
    /// A conflict at place 0 when the link was used meanwhile.
    pub async fn begin_session(
        &self,
        link: &SignInLink,
        session: &Session,
        verifies: bool,
    ) -> Result<(), StoreError> {
        let used = self.transaction().delete(&keys::sign_in(&link.hash), Condition::Present);
        begin(used, session, verifies)?.commit(Audit::None).await
    }

    /// Begins the session of a sign-in at an OpenID provider, once. The provider says that the user has the address, so
    /// it is marked as confirmed if it was not.
    ///
    /// # Errors
    ///
    /// A conflict when the sign-in has already succeeded, or there is no such user.
    pub async fn begin_session_by_provider(
        &self,
        attempt: &SignInAttempt,
        user: &User,
        session: &Session,
    ) -> Result<(), StoreError> {
        let used = item(&keys::used_attempt(&attempt.hash()), &UsedAttempt { user: user.id })?;
        let used = self.transaction().put(expiring(used, attempt.expires_at()), Condition::Absent);
        begin(used, session, user.is_unverified())?.commit(Audit::None).await
    }

    /// A user's session with this hash.
    pub async fn session(
        &self,
        user: UserId,
        hash: &SessionHash,
    ) -> Result<Option<Session>, StoreError> {
        self.get(&keys::session(user, hash)).await?.map(Stored::read).transpose()
    }

    /// A user's sessions, newest first. Some of them may have expired.
    pub async fn sessions(&self, user: UserId) -> Result<Vec<Session>, StoreError> {
        let pk = keys::session_partition(user);
        let found = self.query(Range::new(&pk, Sort::All)).await?;
        let mut sessions: Vec<Session> =
            found.into_iter().map(Stored::read).collect::<Result<_, _>>()?;
        sessions.sort_by_key(|session| std::cmp::Reverse(session.created_at));
        Ok(sessions)
    }

    /// Ends a session at once.
    pub async fn end_session(&self, user: UserId, hash: &SessionHash) -> Result<(), StoreError> {
        self.batch_delete(&[keys::session(user, hash)]).await
    }
}

/// What a sign-in uses up, and the session that it begins.
fn begin<'a>(
    used: Transaction<'a>,
    session: &Session,
    verifies: bool,
) -> Result<Transaction<'a>, StoreError> {
    let key = keys::session(session.user, &session.hash);
    let begun = used.put(expiring(item(&key, session)?, session.expires_at), Condition::Absent);
    Ok(match verifies {
        true => {
            let change = verified(session.created_at);
            begun.update(&keys::user(session.user), change, Condition::Present)
        }
        false => begun,
    })
}
