//! `GET /teams/{team}/maintenance-windows/{window}`.

use serde_json::json;
use vedette_domain::accounts::plan::Plan;
use vedette_testkit::new_team;
use vedette_tests::Service;

use super::{added, path, weekly};
use crate::support::assert_not_found;

#[tokio::test]
async fn a_window_is_read_until_it_is_over() {
    let (service, owner) = Service::with_team().await;
    let window = added(&service, &owner, &json!({ "duration_minutes": 5 })).await;
    let client = service.client(&owner);
    let listed = client.get(&path(&owner)).await;
    assert_eq!(client.get(&window).await.body, json!({ "data": listed.body["data"][0] }));
    service.advance_minutes(5);
    assert_not_found(&client.get(&window).await);
}

#[tokio::test]
async fn a_window_is_not_found_under_another_team() {
    let (service, owner) = Service::with_team().await;
    let window = added(&service, &owner, &weekly()).await;
    let other = new_team(&service.test, Plan::Agency).await;
    let (_, uuid) = window.rsplit_once('/').expect("a uuid");
    let elsewhere = format!("{}/{uuid}", path(&other));
    assert_not_found(&service.client(&other).get(&elsewhere).await);
}
