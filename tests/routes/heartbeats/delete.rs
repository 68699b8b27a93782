//! `DELETE /teams/{team}/heartbeats/{heartbeat}`.

use serde_json::json;
use vedette_tests::Service;

use super::{added, audited, frequent, path, ping};
use crate::support::{assert_not_found, rows};

#[tokio::test]
async fn a_deleted_heartbeat_is_gone_and_its_address_is_unknown() {
    let (service, owner) = Service::with_team().await;
    let (heartbeat, key) = added(&service, &owner, &frequent("Backup")).await;
    let (other, _) = added(&service, &owner, &frequent("Other")).await;
    ping(&service, &format!("{key}/fail"), "No space left").await;
    let client = service.client(&owner);
    assert_eq!(rows(&client.get("/issues?include=heartbeats").await).len(), 1);
    assert_eq!(client.delete(&heartbeat).await.shown(), "204 null");
    for gone in [heartbeat.clone(), format!("{heartbeat}/runs")] {
        assert_not_found(&client.get(&gone).await);
    }
    assert_not_found(&client.delete(&heartbeat).await);
    assert!(rows(&client.get("/issues?include=heartbeats").await).is_empty());
    let answer = service.ping(&key).await;
    assert_eq!((answer.status, answer.body), (404, json!("not found")));
    let listed = rows(&client.get(&path(&owner)).await);
    assert_eq!(listed, [client.get(&other).await.body["data"].clone()]);
    assert_eq!(audited(&service, &owner).await, ["removed", "added", "added"]);
    added(&service, &owner, &frequent("Backup")).await;
}
