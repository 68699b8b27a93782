//! `GET /me/time-zone`: none until the user chooses one.

use serde_json::json;
use vedette_domain::accounts::account::Role;
use vedette_tests::Service;

use super::{get, patch};
use crate::support::{colleague, suspend};

#[tokio::test]
async fn a_new_user_has_no_zone_of_their_own() {
    let (service, owner) = Service::with_team().await;
    let answer = get(&service, &owner).await;
    insta::assert_snapshot!(answer.shown(), @r#"200 { "data": { "time_zone": null } }"#);
}

#[tokio::test]
async fn each_user_has_their_own_whatever_their_role_and_their_teams_plan() {
    let (service, owner) = Service::with_team().await;
    let viewer = colleague(&service, &owner, Role::Viewer).await;
    suspend(&service, &owner).await;
    let zone = json!({ "time_zone": "Asia/Kathmandu" });
    assert_eq!(patch(&service, &viewer, &zone).await.status, 200);
    assert_eq!(get(&service, &viewer).await.body, json!({ "data": zone }));
    assert_eq!(get(&service, &owner).await.body, json!({ "data": { "time_zone": null } }));
}
