//! `GET /me/tokens`: the caller's tokens, without their secrets.

use vedette_domain::accounts::account::{Role, Scope};
use vedette_testkit::member_of;
use vedette_tests::Service;

use crate::support::rows;

#[tokio::test]
async fn a_user_sees_their_own_tokens_without_secrets() {
    let (service, owner) = Service::with_team().await;
    let scopes = [Scope::TokensRead];
    let other = member_of(&service.test, owner.team, Role::Viewer, &scopes).await;
    let answer = service.client(&other).get("/me/tokens").await;
    assert!(!answer.shown().contains(&other.secret), "{answer:?}");
    let mut tokens = rows(&answer);
    assert_eq!(tokens.len(), 1, "{tokens:?}");
    assert_eq!(tokens[0]["hash"].as_str().map(str::len), Some(64));
    tokens[0]["hash"] = "<hash>".into();
    insta::assert_json_snapshot!(tokens[0], @r#"
    {
      "created_at": "2026-11-20T09:54:00+00:00",
      "expires_at": "2027-05-22T09:54:00+00:00",
      "hash": "<hash>",
      "last_used_at": "2026-11-20T09:54:00+00:00",
      "name": "test",
      "scopes": [
        "tokens:read"
      ]
    }
    "#);
}
