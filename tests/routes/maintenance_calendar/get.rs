//! `GET /teams/{team}/maintenance-calendar`: the secret address, for those who manage sites.

use serde_json::json;
use vedette_domain::accounts::account::Role;
use vedette_domain::accounts::plan::Plan;
use vedette_testkit::new_team;
use vedette_tests::Service;

use super::path;
use crate::support::{
    assert_not_found, assert_plan_required, assert_role_required, colleague, suspend,
};

#[tokio::test]
async fn a_new_team_has_no_address() {
    let (service, owner) = Service::with_team().await;
    let answer = service.client(&owner).get(&path(&owner)).await;
    insta::assert_snapshot!(answer.shown(), @r#"200 { "data": { "url": null } }"#);
}

#[tokio::test]
async fn whoever_manages_sites_may_know_it_and_nobody_else() {
    let (service, owner) = Service::with_team().await;
    let created = service.client(&owner).post(&path(&owner), &json!({})).await;
    for role in [Role::Member, Role::Admin, Role::Owner] {
        let member = colleague(&service, &owner, role).await;
        let answer = service.client(&member).get(&path(&owner)).await;
        assert_eq!((answer.status, &answer.body), (200, &created.body), "{role:?}");
    }
    let viewer = colleague(&service, &owner, Role::Viewer).await;
    assert_role_required(&service.client(&viewer).get(&path(&owner)).await);
    let stranger = new_team(&service.test, Plan::Agency).await;
    assert_not_found(&service.client(&stranger).get(&path(&owner)).await);
    suspend(&service, &owner).await;
    assert_plan_required(&service.client(&owner).get(&path(&owner)).await);
}
