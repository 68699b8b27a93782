//! `GET /teams/{team}/heartbeats`: order, states and pages.

use serde_json::json;
use vedette_tests::Service;

use super::{added, frequent, path, ping};
use crate::support::{assert_invalid, assert_paged, rows};

#[tokio::test]
async fn heartbeats_are_listed_by_name_and_by_state() {
    let (service, owner) = Service::with_team().await;
    let client = service.client(&owner);
    let (_, on_time) = added(&service, &owner, &frequent("sync")).await;
    let (_, failed) = added(&service, &owner, &frequent("Backup")).await;
    let (paused, _) = added(&service, &owner, &frequent("index")).await;
    added(&service, &owner, &frequent("Audit")).await;
    ping(&service, &on_time, "").await;
    ping(&service, &format!("{failed}/1"), "").await;
    assert_eq!(client.patch(&paused, &json!({ "paused": true })).await.status, 200);
    let listed = async |query: &str| -> Vec<String> {
        let listed = rows(&client.get(&format!("{}?{query}", path(&owner))).await);
        listed.iter().map(|row| row["name"].as_str().expect("a name").to_owned()).collect()
    };
    assert_eq!(listed("").await, ["Audit", "Backup", "index", "sync"]);
    for (state, names) in [
        ("new", vec!["Audit"]),
        ("on_time", vec!["sync"]),
        ("failed", vec!["Backup"]),
        ("paused", vec!["index"]),
        ("late", vec![]),
        ("running_long", vec![]),
    ] {
        assert_eq!(listed(&format!("state={state}")).await, names, "{state}");
    }
    let refused = client.get(&format!("{}?state=down", path(&owner))).await;
    assert_invalid(&refused, "state", "The selected state is invalid.");
    let all = assert_paged(&client, &path(&owner), "", &[1, 3]).await;
    assert_eq!(all[2], client.get(&paused).await.body["data"], "as each is shown");
}
