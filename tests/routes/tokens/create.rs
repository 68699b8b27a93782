//! `POST /me/tokens`: a token that may do no more than its creator, and works no longer.

use serde_json::json;
use vedette_domain::accounts::account::{Role, Scope};
use vedette_testkit::member_of;
use vedette_tests::Service;

use crate::support::{assert_invalid, bearer};

#[tokio::test]
async fn a_token_creates_another_one_whose_secret_is_shown_once() {
    let (service, owner) = Service::with_team().await;
    let client = service.client(&owner);
    let body = json!({ "name": "Deploy", "days": 30, "scopes": ["teams:read"] });
    let created = client.post("/me/tokens", &body).await;
    assert_eq!((created.status, &created.body["data"]["scopes"]), (201, &json!(["teams:read"])));
    let secret = created.data("secret");
    let path = format!("/me/tokens/{}", created.data("hash"));
    assert_eq!(created.header("location"), format!("https://monitor.test/api/v1{path}"));
    let listed = client.get("/me/tokens").await;
    assert!(!listed.shown().contains(&secret), "{listed:?}");

    let theirs = service.client_with(Some(&bearer(&secret)));
    assert_eq!(theirs.get("/teams").await.status, 200);
    assert_eq!(theirs.get("/me/tokens").await.status, 403, "it has another scope");
}

#[tokio::test]
async fn a_new_token_has_no_scope_that_its_creator_lacks() {
    let (service, owner) = Service::with_team().await;
    let scopes = [Scope::TeamsRead, Scope::TokensWrite];
    let member = member_of(&service.test, owner.team, Role::Viewer, &scopes).await;
    let client = service.client(&member);
    let more = json!({ "name": "More", "scopes": ["teams:read", "sites:write"] });
    let refused = client.post("/me/tokens", &more).await;
    assert_invalid(&refused, "scopes", "The access token lacks the sites:write scope.");
    let longer = client.post("/me/tokens", &json!({ "name": "Longer", "days": 3650 })).await;
    assert_eq!(longer.body["data"]["scopes"], json!(["teams:read", "tokens:write"]));
    let tokens = service.test.app.store.tokens_of(member.user).await.expect("read");
    let ends: Vec<_> = tokens.iter().map(|(token, _)| token.expires_at).collect();
    assert_eq!(ends, [ends[0]; 2], "no longer than its creator");
    let unnamed = client.post("/me/tokens", &json!({})).await;
    assert_invalid(&unnamed, "name", "The name field is required.");
}
