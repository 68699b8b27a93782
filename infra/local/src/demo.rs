//! The first start: somebody who can use the service at once.

use jiff::{SignedDuration, Timestamp};
use tracing::warn;
use vedette_domain::ErrorChain;
use vedette_domain::accounts::account::{
    Membership, Role, Scope, Secret, TOKEN_LIFETIME_DAYS, Token, User,
};
use vedette_domain::accounts::plan::Plan;
use vedette_domain::accounts::session::{SessionSecret, SignInLink};
use vedette_domain::accounts::team::Team;
use vedette_domain::sites::settings::Settings;
use vedette_embedded::{Folder, FolderError};
use vedette_runtime::{Clock, Entropy, EntropyError};
use vedette_store::{Audit, Store, StoreError};

const EMAIL: &str = "demo@example.com";

/// How the person at this machine comes in.
pub(crate) enum Access {
    /// With a new token, which is in the token file as well.
    Issued(Secret),
    /// With the token that is in the token file.
    OnFile,
    /// With a token of their own: the table has no demo user.
    Unknown,
}

/// Why there is no demo user.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// The table does not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The token file cannot be written.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The system has no randomness to give.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
}

/// What the link for a sign-in carries, where there is one.
pub(crate) type SignIn = Option<SessionSecret>;

/// Makes a link by which the demo user signs in, as long as nobody else is there: they would not expect
/// whoever reads the terminal to come in as one of them.
pub(crate) async fn sign_in(
    store: &Store,
    clock: &Clock,
    entropy: &Entropy,
) -> Result<SignIn, DemoError> {
    let teams = store.all_teams().await?;
    let [team] = &teams[..] else { return Ok(None) };
    let members = store.members(*team).await?;
    let user = store.user_by_email(EMAIL).await?;
    let Some(user) = user.filter(|user| members.iter().all(|member| member.user == user.id)) else {
        return Ok(None);
    };
    let secret = entropy.session_secret()?;
    match store.create_sign_in_link(&SignInLink::new(&secret, user.id, clock.now())).await {
        // What can be read is served, and the pages say what is wrong.
        Err(error @ StoreError::Unavailable(_)) => {
            warn!(error = %ErrorChain(&error), "no sign-in link can be created");
            Ok(None)
        }
        made => made.map(|()| Some(secret)).map_err(Into::into),
    }
}

/// Makes demo user, team and token in an empty table; later, sees to it that the token file holds
/// a token that works.
///
/// Each step looks whether it was done, so that a start that was cut off is finished by the next.
pub(crate) async fn prepare(
    store: &Store,
    clock: &Clock,
    entropy: &Entropy,
    folder: &Folder,
) -> Result<Access, DemoError> {
    let now = clock.now();
    let is_new = store.all_teams().await?.is_empty();
    let user = match store.user_by_email(EMAIL).await? {
        Some(user) => user,
        None if is_new => create_user(store, entropy, now).await?,
        None => return Ok(Access::Unknown),
    };
    if is_new {
        create_team(store, entropy, &user, now).await?;
    }
    if let Some(secret) = folder.read_token() {
        let token = store.token(&secret.hash()).await?;
        if token.is_some_and(|token| token.expires_at > now) {
            return Ok(Access::OnFile);
        }
    }
    match issue_token(store, entropy, folder, &user, now).await {
        Err(error @ (DemoError::Store(StoreError::Unavailable(_)) | DemoError::Folder(_)))
            if !is_new =>
        {
            warn!(error = %ErrorChain(&error), "no token for the demo user can be created");
            Ok(Access::Unknown)
        }
        issued => issued.map(Access::Issued),
    }
}

async fn issue_token(
    store: &Store,
    entropy: &Entropy,
    folder: &Folder,
    user: &User,
    now: Timestamp,
) -> Result<Secret, DemoError> {
    let secret = entropy.secret()?;
    store
        .create_token(
            &Token {
                hash: secret.hash(),
                user: user.id,
                name: "Demo".to_owned(),
                scopes: Scope::ALL.to_vec(),
                expires_at: now + SignedDuration::from_hours(24 * TOKEN_LIFETIME_DAYS),
                created_at: now,
            },
            Audit::None,
        )
        .await?;
    folder.write_token(&secret)?;
    Ok(secret)
}

async fn create_user(store: &Store, entropy: &Entropy, now: Timestamp) -> Result<User, DemoError> {
    let user = User {
        id: entropy.user_id()?,
        name: "Demo".to_owned(),
        email: EMAIL.to_owned(),
        email_verified_at: Some(now),
        created_at: now,
    };
    store.create_user(&user).await?;
    Ok(user)
}

async fn create_team(
    store: &Store,
    entropy: &Entropy,
    user: &User,
    now: Timestamp,
) -> Result<(), DemoError> {
    let team = Team::new(entropy.team_id()?, "Demo team", Plan::Agency, now);
    let owner = Membership { team: team.id, user: user.id, role: Role::Owner };
    store.create_team(&team, &Settings::defaults(team.plan), &owner).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use vedette_embedded::{Database, Fsync, Reached, reach};

    use super::*;

    struct Start {
        store: Store,
        clock: Clock,
        entropy: Entropy,
        folder: Folder,
        _database: Database,
        _temporary: tempfile::TempDir,
    }

    impl Start {
        async fn on_an_empty_folder() -> Self {
            let temporary = tempfile::tempdir().expect("a folder");
            let Ok(Reached::Free(folder)) = reach(temporary.path()).await else {
                panic!("nobody else has it");
            };
            let database = Database::open(&folder, Fsync::EverySecond).await.expect("a database");
            let store = database.store();
            let (clock, entropy) = (Clock::system(), Entropy::system());
            Self { store, clock, entropy, folder, _database: database, _temporary: temporary }
        }

        /// Prepares, and says whether a token was issued; whatever happened, the file's works.
        async fn prepare(&self) -> bool {
            let access = prepare(&self.store, &self.clock, &self.entropy, &self.folder).await;
            let secret = self.folder.read_token().expect("a token on file");
            let token = self.store.token(&secret.hash()).await.expect("an answer").expect("known");
            let account = self.store.account(token.user).await.expect("an answer").expect("a user");
            assert_eq!(account.memberships.len(), 1);
            assert_eq!(account.memberships[0].role, Role::Owner);
            assert_eq!(self.store.all_teams().await.expect("teams").len(), 1);
            let mode = fs::metadata(self.folder.token()).expect("a file").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
            match access.expect("prepared") {
                Access::Issued(issued) => issued == secret,
                Access::OnFile => false,
                Access::Unknown => panic!("there is a demo user"),
            }
        }
    }

    #[tokio::test]
    async fn a_token_is_issued_once_and_again_when_it_is_lost() {
        let start = Start::on_an_empty_folder().await;
        assert!(start.prepare().await);
        assert!(!start.prepare().await);
        fs::remove_file(start.folder.token()).expect("removed");
        assert!(start.prepare().await);
        // Of another table, or a draft with another mode that a crash left behind.
        fs::write(start.folder.token(), "vdt_").expect("written");
        fs::write(start.folder.token().with_extension("new"), "vdt_").expect("written");
        assert!(start.prepare().await);
        assert!(!start.prepare().await);
    }

    #[tokio::test]
    async fn a_start_that_was_cut_off_is_finished_by_the_next() {
        let start = Start::on_an_empty_folder().await;
        let now = start.clock.now();
        let user = create_user(&start.store, &start.entropy, now).await.expect("a user");
        assert!(start.prepare().await);
        assert!(start.store.account(user.id).await.expect("an answer").is_some());

        let start = Start::on_an_empty_folder().await;
        let user = create_user(&start.store, &start.entropy, now).await.expect("a user");
        create_team(&start.store, &start.entropy, &user, now).await.expect("a team");
        assert!(start.prepare().await);
    }

    #[tokio::test]
    async fn a_table_of_others_gets_no_demo_user() {
        let start = Start::on_an_empty_folder().await;
        let Start { store, clock, entropy, folder, .. } = &start;
        let other = User {
            email: "owner@example.com".to_owned(),
            ..create_user(&Start::on_an_empty_folder().await.store, entropy, clock.now())
                .await
                .expect("a user")
        };
        store.create_user(&other).await.expect("a user");
        create_team(store, entropy, &other, clock.now()).await.expect("a team");
        let access = prepare(store, clock, entropy, folder).await.expect("prepared");
        assert!(matches!(access, Access::Unknown));
        assert!(folder.read_token().is_none());
    }
}
