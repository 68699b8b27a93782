//! `GET /teams/{team}/status-pages`.

use serde_json::Value;
use vedette_tests::Service;

use super::{added, path};

#[tokio::test]
async fn pages_are_listed_in_the_order_of_their_creation() {
    let (service, owner) = Service::with_team().await;
    let client = service.client(&owner);
    assert_eq!(client.get(&path(&owner)).await.body["data"], Value::Array(Vec::new()));
    for slug in ["second", "first"] {
        added(&service, &owner, slug).await;
        service.advance_minutes(1);
    }
    let listed = client.get(&path(&owner)).await;
    let slugs: Vec<_> =
        listed.body["data"].as_array().expect("pages").iter().map(|page| &page["slug"]).collect();
    assert_eq!(slugs, ["second", "first"]);
}
