//! `/teams/{team}/heartbeats`, and the jobs that their tests share.

mod create;
mod delete;
mod get;
mod list;
mod runs;
mod update;

use serde_json::{Value, json};
use vedette_testkit::{ApiResponse, Member};
use vedette_tests::Service;

pub(crate) fn path(of: &Member) -> String {
    format!("/teams/{}/heartbeats", of.team)
}

pub(crate) async fn post(service: &Service, caller: &Member, body: &Value) -> ApiResponse {
    service.client(caller).post(&path(caller), body).await
}

/// Adds a heartbeat, and returns its path and its ping key.
pub(crate) async fn added(service: &Service, caller: &Member, body: &Value) -> (String, String) {
    let answer = post(service, caller, body).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    let key = answer.data("ping_url").replace("https://monitor.test/ping/", "");
    (format!("{}/{}", path(caller), answer.data("uuid")), key)
}

/// A job that runs every five minutes.
pub(crate) fn frequent(name: &str) -> Value {
    json!({ "name": name, "period_minutes": 5, "grace_minutes": 1 })
}

/// Pings a heartbeat, which must succeed.
async fn ping(service: &Service, path: &str, body: &str) {
    let answer = service.ping_with(path, body).await;
    assert_eq!((answer.status, &answer.body), (200, &json!("OK")), "{path}");
}

/// What the audit log says about heartbeats, oldest first.
async fn audited(service: &Service, owner: &Member) -> Vec<Value> {
    let log = service.client(owner).get(&format!("/teams/{}/audit-log", owner.team)).await;
    let entries = log.body["data"].as_array().expect("entries").iter().rev();
    let events = entries.map(|entry| entry["event"].clone());
    events
        .filter(|event| event["what"] == "heartbeat")
        .map(|event| event["change"].clone())
        .collect()
}
