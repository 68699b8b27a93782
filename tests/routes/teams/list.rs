//! `GET /teams`: the teams of the caller.

use jiff::SignedDuration;
use serde_json::json;
use vedette_domain::accounts::account::Role;
use vedette_domain::accounts::plan::Plan;
use vedette_testkit::new_team;
use vedette_tests::Service;

use crate::support::{join, set_plan};

#[tokio::test]
async fn only_the_callers_teams_are_listed_without_pages() {
    let (service, owner) = Service::with_team().await;
    new_team(&service.test, Plan::Agency).await;

    let answer = service.client(&owner).get("/teams?page=2&per_page=1").await;
    let alone = service.client(&owner).get(&format!("/teams/{}", owner.team)).await;
    assert_eq!((answer.status, answer.body), (200, json!({ "data": [alone.body["data"]] })));
}

#[tokio::test]
async fn the_oldest_team_comes_first_and_the_uuid_decides_between_equals() {
    let (service, owner) = Service::with_team().await;
    let equal = new_team(&service.test, Plan::Starter).await;
    service.test.advance(SignedDuration::from_secs(-1));
    let older = new_team(&service.test, Plan::Starter).await;
    for team in [older.team, equal.team] {
        join(&service, owner.user, team, Role::Viewer).await;
    }

    let answer = service.client(&owner).get("/teams").await;
    let uuids: Vec<_> = answer.body["data"]
        .as_array()
        .expect("teams")
        .iter()
        .map(|team| team["uuid"].as_str().expect("a uuid").to_owned())
        .collect();
    let expected = [older.team, owner.team, equal.team].map(|team| team.to_string());
    assert_eq!(uuids, expected);
}

#[tokio::test]
async fn teams_without_an_active_plan_are_listed_with_their_last_one() {
    let (service, owner) = Service::with_team().await;
    set_plan(&service, owner.team, Plan::Starter, false).await;

    let answer = service.client(&owner).get("/teams").await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.body["data"][0]["limits"]["plan"], "starter");
}
