//! `POST /teams/{team}/maintenance-calendar`: a new address, which replaces the one before.

use serde_json::json;
use vedette_tests::Service;

use super::path;

#[tokio::test]
async fn each_address_replaces_the_one_before() {
    let (service, owner) = Service::with_team().await;
    let client = service.client(&owner);
    let mut before = String::new();
    for _ in 0..2 {
        let created = client.post(&path(&owner), &json!({})).await;
        assert_eq!(created.status, 201, "{created:?}");
        let url = created.data("url");
        let (address, key) = url.split_once("?key=").expect("a key");
        assert_eq!(
            address,
            format!("https://monitor.test/calendars/{}/maintenance.ics", owner.team)
        );
        assert!(key.len() >= 22, "{key}");
        assert_ne!(url, before);
        assert_eq!(client.get(&path(&owner)).await.data("url"), url);
        before = url;
    }
}
