//! `GET /teams/{team}/heartbeats/{heartbeat}`.

use jiff::SignedDuration;
use serde_json::{Value, json};
use vedette_domain::accounts::plan::Plan;
use vedette_testkit::new_team;
use vedette_tests::Service;

use super::{added, frequent, path, ping, post};
use crate::support::assert_not_found;

#[tokio::test]
async fn a_heartbeat_is_shown_as_it_was_created() {
    let (service, owner) = Service::with_team().await;
    let created = post(&service, &owner, &frequent("Backup")).await;
    let path = format!("{}/{}", path(&owner), created.data("uuid"));
    let shown = service.client(&owner).get(&path).await;
    assert_eq!((shown.status, shown.body), (200, created.body));
}

#[tokio::test]
async fn a_heartbeat_says_what_its_job_has_reported_and_what_is_awaited() {
    let (service, owner) = Service::with_team().await;
    let (heartbeat, key) = added(&service, &owner, &frequent("Backup")).await;
    let shown = async |fields: &[&str]| -> Vec<Value> {
        let data = service.client(&owner).get(&heartbeat).await.body["data"].take();
        fields.iter().map(|field| data[field].clone()).collect()
    };
    let times = ["state", "last_ping_at", "running_since", "expected_at", "deadline"];
    let at = |time: &str| json!(format!("2026-11-20T{time}+00:00"));
    ping(&service, &key, "").await;
    let on_time = json!("on_time");
    assert_eq!(
        shown(&times).await,
        [on_time.clone(), at("09:54:00"), Value::Null, at("09:59:00"), at("10:00:00")]
    );
    service.advance_minutes(1);
    ping(&service, &format!("{key}/start"), "").await;
    // A run must end within the grace period.
    assert_eq!(
        shown(&times).await,
        [on_time.clone(), at("09:54:00"), at("09:55:00"), Value::Null, at("09:56:00")]
    );
    service.test.advance(SignedDuration::from_secs(30));
    ping(&service, &key, "").await;
    assert_eq!(
        shown(&times).await,
        [on_time, at("09:55:30"), Value::Null, at("10:00:30"), at("10:01:30")]
    );
    let median = shown(&["median_seconds"]).await[0].as_f64().expect("a duration");
    assert!((median - 30.0).abs() < 0.1, "{median}");
    ping(&service, &format!("{key}/fail"), "").await;
    assert_eq!(shown(&["state"]).await, [json!("failed")]);
}

#[tokio::test]
async fn a_heartbeat_is_not_found_under_another_team() {
    let (service, owner) = Service::with_team().await;
    let (heartbeat, key) = added(&service, &owner, &frequent("Backup")).await;
    let (_, uuid) = heartbeat.rsplit_once('/').expect("a uuid");
    let other = new_team(&service.test, Plan::Agency).await;
    let client = service.client(&other);
    for elsewhere in [heartbeat.clone(), format!("{}/{uuid}", path(&other))] {
        assert_not_found(&client.get(&elsewhere).await);
        assert_not_found(&client.get(&format!("{elsewhere}/runs")).await);
        assert_not_found(&client.patch(&elsewhere, &json!({ "name": "Mine" })).await);
        assert_not_found(&client.delete(&elsewhere).await);
    }
    // The key is not the id, although both have the same end.
    assert_not_found(&service.client(&owner).get(&format!("{}/{key}", path(&owner))).await);
}
