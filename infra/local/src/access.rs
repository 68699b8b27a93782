//! How the person at this machine gets access: a link for the browser, and a token for scripts if one was requested.

use jiff::{SignedDuration, Timestamp};
use tracing::warn;
use vedette_domain::accounts::account::{
    Membership, Role, Scope, Secret, TOKEN_LIFETIME_DAYS, Token, User,
};
use vedette_domain::accounts::plan::Plan;
use vedette_domain::accounts::session::{SessionSecret, SignInLink};
use vedette_domain::accounts::team::Team;
use vedette_domain::sites::settings::Settings;
use vedette_embedded::{Folder, FolderError};
use vedette_ops::ErrorChain;
use vedette_runtime::{Clock, Entropy, EntropyError};
use vedette_store::{Audit, Store, StoreError};

/// The user of the token if there is no user yet. Nobody reads this address.
const EMAIL: &str = "owner@example.com";

/// How the person at this machine gets access.
pub(crate) struct Access {
    pub(crate) link: Option<AccessLink>,
    pub(crate) token: TokenAccess,
}

/// A link that works once.
pub(crate) enum AccessLink {
    /// Creates the first account and its team.
    Setup(SessionSecret),
    /// Signs in the only user, or the owner of the demo.
    SignIn(SessionSecret),
}

/// The token for scripts.
pub(crate) enum TokenAccess {
    /// No token was requested.
    Unwanted,
    /// A new token, which is also in the token file.
    Issued(Secret),
    /// The token in the token file.
    OnFile,
    /// No token: there are several users, each with their own tokens.
    Unknown,
}

/// Why no access could be prepared.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// The table does not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The token file cannot be written.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The system provides no randomness.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
}

/// What a start works with.
struct Start<'a> {
    store: &'a Store,
    entropy: &'a Entropy,
    folder: &'a Folder,
    now: Timestamp,
    is_demo: bool,
}

/// Creates a link, and a token if one was requested. An empty table gets an owner and a team only for a token;
/// otherwise the person who opens the link creates them.
///
/// Each step checks whether it was already done, so that the next start finishes an interrupted one.
pub(crate) async fn prepare(
    store: &Store,
    clock: &Clock,
    entropy: &Entropy,
    folder: &Folder,
    wants_token: bool,
    is_demo: bool,
) -> Result<Access, AccessError> {
    let start = Start { store, entropy, folder, now: clock.now(), is_demo };
    let is_new = store.all_teams().await?.is_empty();
    if is_new && wants_token {
        start.make_owner().await?;
    }
    let only = start.only_user().await?;
    let token = match (wants_token, &only) {
        (false, _) => TokenAccess::Unwanted,
        (true, _) if start.has_token_on_file().await? => TokenAccess::OnFile,
        (true, None) => TokenAccess::Unknown,
        (true, Some(user)) => match start.issue_token(user).await {
            Err(error) if !is_new && is_disk_full(&error) => {
                warn!(error = %ErrorChain(&error), "could not create a token");
                TokenAccess::Unknown
            }
            issued => TokenAccess::Issued(issued?),
        },
    };
    let link = match start.link(is_new && !wants_token, only.as_ref()).await {
        // Whatever can be read is served, and the pages say what is wrong.
        Err(error) if is_disk_full(&error) => {
            warn!(error = %ErrorChain(&error), "could not create a link");
            None
        }
        link => link?,
    };
    Ok(Access { link, token })
}

fn is_disk_full(error: &AccessError) -> bool {
    matches!(error, AccessError::Store(StoreError::Unavailable(_)) | AccessError::Folder(_))
}

impl Start<'_> {
    /// The only user of the only team. If there are others, the person at the terminal may be none of them. In the demo,
    /// the others are made up, so it is the owner.
    async fn only_user(&self) -> Result<Option<User>, AccessError> {
        let teams = self.store.all_teams().await?;
        let [team] = &teams[..] else { return Ok(None) };
        let mut members = self.store.members(*team).await?;
        members.retain(|member| !self.is_demo || member.role == Role::Owner);
        let [member] = &members[..] else { return Ok(None) };
        Ok(self.store.user(member.user).await?.filter(|user| !user.is_unverified()))
    }

    async fn link(
        &self,
        is_new: bool,
        only: Option<&User>,
    ) -> Result<Option<AccessLink>, AccessError> {
        let secret = self.entropy.session_secret()?;
        if is_new {
            self.store.put_setup_link(&secret.hash()).await?;
            return Ok(Some(AccessLink::Setup(secret)));
        }
        // A link from an earlier start must not create another account.
        self.store.remove_setup_link().await?;
        let Some(user) = only else { return Ok(None) };
        let link = SignInLink::new(&secret, user.id, self.now);
        self.store.create_sign_in_link(&link).await?;
        Ok(Some(AccessLink::SignIn(secret)))
    }

    async fn has_token_on_file(&self) -> Result<bool, AccessError> {
        let Some(secret) = self.folder.read_token() else { return Ok(false) };
        let token = self.store.token(&secret.hash()).await?;
        Ok(token.is_some_and(|token| token.expires_at > self.now))
    }

    async fn issue_token(&self, user: &User) -> Result<Secret, AccessError> {
        let secret = self.entropy.secret()?;
        let token = Token {
            hash: secret.hash(),
            user: user.id,
            name: "vedette serve --token".to_owned(),
            scopes: Scope::ALL.to_vec(),
            expires_at: self.now + SignedDuration::from_hours(24 * i64::from(TOKEN_LIFETIME_DAYS)),
            created_at: self.now,
        };
        self.store.create_token(&token, Audit::None).await?;
        self.folder.write_token(&secret)?;
        Ok(secret)
    }

    async fn make_owner(&self) -> Result<(), AccessError> {
        let user = match self.store.user_by_email(EMAIL).await? {
            Some(user) => user,
            None => self.make_user().await?,
        };
        let team = Team::new(self.entropy.team_id()?, "My team", Plan::Agency, self.now);
        let owner = Membership { team: team.id, user: user.id, role: Role::Owner };
        Ok(self.store.create_team(&team, &Settings::defaults(team.plan), &owner).await?)
    }

    async fn make_user(&self) -> Result<User, AccessError> {
        let user = User {
            id: self.entropy.user_id()?,
            name: "Owner".to_owned(),
            email: EMAIL.to_owned(),
            email_verified_at: Some(self.now),
            zone: None,
            created_at: self.now,
        };
        self.store.create_user(&user).await?;
        Ok(user)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use vedette_embedded::{Database, Fsync, Reached, reach};

    use super::*;

    struct Machine {
        store: Store,
        folder: Folder,
        _database: Database,
        _temporary: tempfile::TempDir,
    }

    impl Machine {
        async fn new() -> Self {
            let temporary = tempfile::tempdir().expect("a folder");
            let Ok(Reached::Free(folder)) = reach(temporary.path()).await else {
                panic!("nobody else has it");
            };
            let database = Database::open(&folder, Fsync::EverySecond).await.expect("a database");
            Self { store: database.store(), folder, _database: database, _temporary: temporary }
        }

        fn start(&self) -> Start<'_> {
            static ENTROPY: std::sync::LazyLock<Entropy> =
                std::sync::LazyLock::new(Entropy::system);
            let now = Clock::system().now();
            Start {
                store: &self.store,
                entropy: &ENTROPY,
                folder: &self.folder,
                now,
                is_demo: false,
            }
        }

        async fn prepare(&self, wants_token: bool) -> Access {
            let (clock, entropy) = (Clock::system(), Entropy::system());
            let prepared =
                prepare(&self.store, &clock, &entropy, &self.folder, wants_token, false).await;
            prepared.expect("prepared")
        }

        /// Prepares access, and returns whether a token was issued; in either case the token in the file works.
        async fn prepare_token(&self) -> bool {
            let access = self.prepare(true).await;
            let secret = self.folder.read_token().expect("a token on file");
            let token = self.store.token(&secret.hash()).await.expect("an answer").expect("known");
            let account = self.store.account(token.user).await.expect("an answer").expect("a user");
            assert_eq!(account.memberships.len(), 1);
            assert_eq!(account.memberships[0].role, Role::Owner);
            assert_eq!(self.store.all_teams().await.expect("teams").len(), 1);
            let mode = fs::metadata(self.folder.token()).expect("a file").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
            assert!(matches!(access.link, Some(AccessLink::SignIn(_))));
            match access.token {
                TokenAccess::Issued(issued) => issued == secret,
                TokenAccess::OnFile => false,
                TokenAccess::Unwanted | TokenAccess::Unknown => panic!("there is a user"),
            }
        }
    }

    #[tokio::test]
    async fn a_token_is_issued_once_and_again_when_it_is_lost() {
        let machine = Machine::new().await;
        assert!(machine.prepare_token().await);
        assert!(!machine.prepare_token().await);
        fs::remove_file(machine.folder.token()).expect("removed");
        assert!(machine.prepare_token().await);
        // The token of another table, or a draft with another mode that a crash left behind.
        fs::write(machine.folder.token(), "vdt_").expect("written");
        fs::write(machine.folder.token().with_extension("new"), "vdt_").expect("written");
        assert!(machine.prepare_token().await);
        assert!(!machine.prepare_token().await);
    }

    #[tokio::test]
    async fn a_start_that_was_cut_off_is_finished_by_the_next() {
        let machine = Machine::new().await;
        let user = machine.start().make_user().await.expect("a user");
        assert!(machine.prepare_token().await);
        assert!(machine.store.account(user.id).await.expect("an answer").is_some());
        let machine = Machine::new().await;
        machine.start().make_owner().await.expect("an owner");
        assert!(machine.prepare_token().await);
    }

    #[tokio::test]
    async fn an_empty_table_gets_a_sign_in_link_but_no_user() {
        let machine = Machine::new().await;
        let mut before = None;
        for _ in 0..2 {
            let access = machine.prepare(false).await;
            assert!(matches!(access.token, TokenAccess::Unwanted));
            let Some(AccessLink::Setup(secret)) = access.link else { panic!("a link") };
            let usable = machine.store.setup_link().await.expect("read");
            assert_eq!(usable, Some(secret.hash()), "only the newest");
            assert_ne!(before.replace(secret.hash()), usable);
        }
        assert!(machine.store.all_teams().await.expect("teams").is_empty());
        assert!(machine.folder.read_token().is_none());
        machine.start().make_owner().await.expect("an owner");
        assert!(matches!(machine.prepare(false).await.link, Some(AccessLink::SignIn(_))));
        let usable = machine.store.setup_link().await.expect("read");
        assert_eq!(usable, None, "it makes no second owner");
    }

    #[tokio::test]
    async fn no_sign_in_link_is_printed_if_there_are_several_users() {
        let machine = Machine::new().await;
        let start = machine.start();
        start.make_owner().await.expect("an owner");
        let second = User {
            id: start.entropy.user_id().expect("an id"),
            email: "second@example.com".to_owned(),
            ..start.only_user().await.expect("read").expect("a user")
        };
        machine.store.create_user(&second).await.expect("a user");
        let team = machine.store.all_teams().await.expect("teams")[0];
        let member = Membership { team, user: second.id, role: Role::Viewer };
        machine.store.put_member(&member, None, Audit::None).await.expect("a member");
        let access = machine.prepare(true).await;
        assert!(access.link.is_none());
        assert!(matches!(access.token, TokenAccess::Unknown));
        assert!(machine.folder.read_token().is_none());
    }
}
