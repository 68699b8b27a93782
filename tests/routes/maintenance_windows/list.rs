//! `GET /teams/{team}/maintenance-windows`: active ones first, then in the order in which they start.

use serde_json::{Value, json};
use vedette_tests::Service;

use super::{added, path, weekly};

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
