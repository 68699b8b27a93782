//! `GET /teams/{team}/maintenance-windows`: active ones first, then in the order in which they start.

use serde_json::{Value, json};
use vedette_domain::accounts::account::Role;
use vedette_domain::accounts::plan::Plan;
use vedette_testkit::new_team;
use vedette_tests::Service;

use super::{added, path, weekly};
use crate::support::{assert_not_found, assert_plan_required, colleague, suspend};

#[tokio::test]
async fn windows_that_are_not_over_are_listed_in_order() {
    let (service, owner) = Service::with_team().await;
    let names = async || -> Vec<Value> {
        let listed = service.client(&owner).get(&path(&owner)).await;
        let listed = listed.body["data"].as_array().expect("windows").clone();
        listed.iter().map(|window| window["name"].clone()).collect()
    };
    assert_eq!(names().await, [""; 0]);
    added(&service, &owner, &weekly()).await;
    for (name, start, minutes) in [
        ("Later", "2026-11-21T10:00", 60),
        ("Long", "2026-11-20T09:00", 300),
        ("Short", "2026-11-20T09:00", 60),
    ] {
        let body = json!({ "name": name, "starts_at": start, "duration_minutes": minutes });
        added(&service, &owner, &body).await;
    }
    assert_eq!(names().await, ["Short", "Long", "Later", "Updates"]);
    service.advance_minutes(6);
    assert_eq!(names().await, ["Long", "Later", "Updates"]);
}

#[tokio::test]
async fn every_role_reads_and_strangers_do_not() {
    let (service, owner) = Service::with_team().await;
    added(&service, &owner, &weekly()).await;
    let expected = service.client(&owner).get(&path(&owner)).await.body;
    for role in Role::ALL {
        let member = colleague(&service, &owner, role).await;
        assert_eq!(service.client(&member).get(&path(&owner)).await.body, expected);
    }
    let other = new_team(&service.test, Plan::Agency).await;
    assert_not_found(&service.client(&other).get(&path(&owner)).await);
    suspend(&service, &owner).await;
    assert_plan_required(&service.client(&owner).get(&path(&owner)).await);
}
