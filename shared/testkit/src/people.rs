//! Users, teams and tokens for tests.

use jiff::ToSpan;
use vedette_domain::account::{Membership, Role, Scope, Team, Token, User};
use vedette_domain::id::{TeamId, UserId};
use vedette_domain::plan::Plan;
use vedette_domain::settings::Settings;

use crate::TestApp;

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

/// A team with an owner whose token has all scopes.
pub async fn new_team(test: &TestApp, plan: Plan) -> Member {
    let app = &test.app;
    let now = app.clock.now();
    let team = app.entropy.team_id().expect("an id");
    let user = new_user(test, "Ada").await;
    let record = Team {
        id: team,
        name: "Observers".to_owned(),
        plan,
        plan_active: true,
        sites: 0,
        members: 1,
        cfg: 1,
        synced: 1,
        created_at: now,
        updated_at: now,
    };
    let owner = Membership { team, user, role: Role::Owner };
    app.store.create_team(&record, &Settings::defaults(plan), &owner).await.expect("a team");
    let secret = new_token(test, user, &Scope::ALL).await;
    Member { user, team, secret }
}

/// Another member of a team, whose token has these scopes.
pub async fn member_of(test: &TestApp, team: TeamId, role: Role, scopes: &[Scope]) -> Member {
    let user = new_user(test, "Grace").await;
    let membership = Membership { team, user, role };
    test.app.store.put_member(&membership, None).await.expect("a member");
    let secret = new_token(test, user, scopes).await;
    Member { user, team, secret }
}

async fn new_user(test: &TestApp, name: &str) -> UserId {
    let app = &test.app;
    let now = app.clock.now();
    let id = app.entropy.user_id().expect("an id");
    let user = User {
        id,
        name: name.to_owned(),
        email: format!("{}-{id}@example.com", name.to_lowercase()),
        email_verified_at: Some(now),
        created_at: now,
    };
    app.store.create_user(&user).await.expect("a user");
    id
}

async fn new_token(test: &TestApp, user: UserId, scopes: &[Scope]) -> String {
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
    app.store.create_token(&token).await.expect("a token");
    secret.reveal().to_owned()
}
