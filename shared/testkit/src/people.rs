//! Users, teams and tokens for tests.

use jiff::ToSpan;
use vedette_domain::accounts::account::{Membership, Role, Scope, Token, User};
use vedette_domain::accounts::plan::Plan;
use vedette_domain::accounts::team::Team;
use vedette_domain::id::{TeamId, UserId};
use vedette_domain::sites::settings::Settings;

use crate::TestApp;
use vedette_store::Audit;

/// A user of a team, with a token.
#[derive(Debug, Clone)]
pub struct Member {
    /// The user.
    pub user: UserId,
    /// The team.
    pub team: TeamId,
    /// The token's secret.
    pub secret: String,
}

impl TestApp {
    /// An app with a team on the agency plan, and its owner.
    pub async fn with_team() -> (Self, Member) {
        let test = Self::start().await;
        let owner = new_team(&test, Plan::Agency).await;
        (test, owner)
    }
}

/// A team with an owner whose token has all scopes.
pub async fn new_team(test: &TestApp, plan: Plan) -> Member {
    let id = test.app.entropy.team_id().expect("an id");
    let team = Team::new(id, "Observers", plan, test.now());
    store_team(test, &team, &new_user(test, "Ada")).await
}

/// Stores a team with its owner, who gets a token with all scopes.
pub async fn store_team(test: &TestApp, team: &Team, owner: &User) -> Member {
    let store = &test.app.store;
    store.create_user(owner).await.expect("a user");
    let membership = Membership { team: team.id, user: owner.id, role: Role::Owner };
    store.create_team(team, &Settings::defaults(team.plan), &membership).await.expect("a team");
    Member { user: owner.id, team: team.id, secret: new_token(test, owner.id, &Scope::ALL).await }
}

/// Another member of a team, whose token has these scopes.
pub async fn member_of(test: &TestApp, team: TeamId, role: Role, scopes: &[Scope]) -> Member {
    let user = new_user(test, "Grace");
    test.app.store.create_user(&user).await.expect("a user");
    let membership = Membership { team, user: user.id, role };
    test.app.store.put_member(&membership, None, Audit::None).await.expect("a member");
    Member { user: user.id, team, secret: new_token(test, user.id, scopes).await }
}

fn new_user(test: &TestApp, name: &str) -> User {
    let now = test.now();
    let id = test.app.entropy.user_id().expect("an id");
    User {
        id,
        name: name.to_owned(),
        email: format!("{}-{id}@example.com", name.to_lowercase()),
        email_verified_at: Some(now),
        zone: None,
        created_at: now,
    }
}

/// Creates another token of a user, valid for half a year, and returns its secret.
pub async fn new_token(test: &TestApp, user: UserId, scopes: &[Scope]) -> String {
    let app = &test.app;
    let now = app.clock.now();
    let secret = app.entropy.secret().expect("a secret");
    let token = Token {
        hash: secret.hash(),
        user,
        name: "test".to_owned(),
        scopes: scopes.to_vec(),
        expires_at: now.saturating_add((24 * 183).hours()).expect("a time"),
        created_at: now,
    };
    app.store.create_token(&token, Audit::None).await.expect("a token");
    secret.reveal().to_owned()
}
