//! `GET /me`: the user of the token and their teams.

use serde_json::json;
use vedette_domain::accounts::account::{Role, Scope};
use vedette_domain::accounts::plan::Plan;
use vedette_store::Audit;
use vedette_testkit::{laid_out, member_of, new_team};
use vedette_tests::Service;

use crate::support::{join, new_site, set_plan};

#[tokio::test]
async fn the_caller_is_shown_with_their_teams_and_their_limits() {
    let (service, owner) = Service::with_team().await;
    new_site(&service, &owner, "https://example.com").await;
    service.advance_minutes(1);
    let other = new_team(&service.test, Plan::Starter).await;
    join(&service, owner.user, other.team, Role::Viewer).await;

    let answer = service.client(&owner).get("/me").await;
    let client = service.client(&owner);
    let team = async |id| client.get(&format!("/teams/{id}")).await;
    let alone = [team(owner.team).await, team(other.team).await];
    let teams = alone.map(|alone| alone.body["data"].clone());
    assert_eq!(answer.body["data"]["teams"], json!(teams));
    insta::assert_snapshot!(laid_out(&answer.body["data"]["user"]), @r#"
    {
      "email": "ada-00000000-0000-4000-8000-000000000002@example.com",
      "email_verified_at": "2026-11-20T09:54:00+00:00",
      "name": "Ada"
    }
    "#);
}

#[tokio::test]
async fn without_teams_the_list_is_empty() {
    let (service, owner) = Service::with_team().await;
    let leaver = member_of(&service.test, owner.team, Role::Member, &Scope::ALL).await;
    let store = &service.test.app.store;
    store.remove_member(owner.team, leaver.user, Role::Member, Audit::None).await.expect("removed");

    let answer = service.client(&leaver).get("/me").await;
    insta::assert_snapshot!(answer.shown(), @r#"
    200 {
      "data": {
        "teams": [],
        "user": {
          "email": "grace-00000000-0000-4000-8000-000000000004@example.com",
          "email_verified_at": "2026-11-20T09:54:00+00:00",
          "name": "Grace"
        }
      }
    }
    "#);
}

#[tokio::test]
async fn teams_without_an_active_plan_are_shown_with_their_last_one() {
    let (service, owner) = Service::with_team().await;
    set_plan(&service, owner.team, Plan::Growth, false).await;

    let answer = service.client(&owner).get("/me").await;
    assert_eq!(answer.status, 200);
    let team = &answer.body["data"]["teams"][0];
    assert_eq!(team["uuid"], owner.team.to_string());
    assert_eq!(team["limits"]["plan"], "growth");
}

#[tokio::test]
async fn query_parameters_are_ignored() {
    let (service, owner) = Service::with_team().await;
    let client = service.client(&owner);
    let plain = client.get("/me").await;
    let answer = client.get("/me?page=abc&per_page=0&include=teams").await;
    assert_eq!((answer.status, answer.body), (200, plain.body));
}

#[tokio::test]
async fn the_scope_of_another_resource_is_not_enough() {
    let (service, owner) = Service::with_team().await;
    let narrow = member_of(&service.test, owner.team, Role::Owner, &[Scope::SitesRead]).await;
    let answer = service.client(&narrow).get("/me").await;
    assert_eq!(answer.status, 403);
    assert_eq!(answer.body, json!({ "message": "The access token lacks the teams:read scope." }));
}
