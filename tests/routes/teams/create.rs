//! `POST /teams`: a user creates teams, if the operator allows it.

use serde_json::json;
use vedette_domain::accounts::team::Team;
use vedette_tests::Service;

use crate::support::{assert_invalid, assert_refused};

#[tokio::test]
async fn a_user_owns_the_teams_that_they_create_and_there_are_at_most_ten() {
    let (service, owner) = Service::with_team().await;
    let client = service.client(&owner);
    let created = client.post("/teams", &json!({ "name": "Shop" })).await;
    assert_eq!((created.status, created.data("name")), (201, "Shop".to_owned()));
    assert_eq!(created.body["data"]["limits"]["plan"], "starter");
    let path = format!("/teams/{}", created.data("uuid"));
    assert_eq!(created.header("location"), format!("https://monitor.test/api/v1{path}"));
    assert_eq!(client.get(&path).await.body, created.body);
    let renamed = client.patch(&path, &json!({ "name": "Shops" })).await;
    assert_eq!(renamed.status, 200, "only owners rename: {renamed:?}");

    for number in 1..Team::CREATED_MAX {
        let another = client.post("/teams", &json!({ "name": number.to_string() })).await;
        assert_eq!(another.status, 201, "{another:?}");
    }
    let refused = client.post("/teams", &json!({ "name": "Too many" })).await;
    let why = "You have already created 10 teams; the operator of this service can create more.";
    assert_invalid(&refused, "name", why);
}

#[tokio::test]
async fn a_team_has_a_name_and_the_operator_may_keep_teams_to_themselves() {
    let (mut service, owner) = Service::with_team().await;
    let refused = service.client(&owner).post("/teams", &json!({ "name": "two\nlines" })).await;
    assert_eq!(refused.status, 422, "{refused:?}");
    service.test.app.service.creates_teams = false;
    let refused = service.client(&owner).post("/teams", &json!({ "name": "Shop" })).await;
    assert_refused(&refused, 403, "Only the operator of this service creates teams.");
}
