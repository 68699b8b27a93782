//! `/teams/{team}/channels`.

mod create;
mod delete;
mod disable;
mod enable;
mod get;
mod list;
mod resend;
mod secrets;
mod test;
mod update;

use serde_json::{Value, json};
use vedette_domain::id::TeamId;
use vedette_testkit::Client;

/// A channel in Slack: its path.
async fn slack(client: &Client<'_>, team: TeamId) -> String {
    let body = json!({
        "kind": "slack",
        "url": "https://hooks.slack.com/services/T0/B0/s3cret",
        "name": "Operations",
    });
    let path = format!("/teams/{team}/channels");
    let added = client.post(&path, &body).await;
    assert_eq!(added.status, 201, "{added:?}");
    format!("{path}/{}", added.data("uuid"))
}

/// The channel's state, by a pointer into it.
async fn at(client: &Client<'_>, path: &str, pointer: &str) -> Value {
    let read = client.get(path).await;
    read.body["data"].pointer(pointer).cloned().unwrap_or_default()
}
