//! A team's monitoring settings.

mod get;
mod update;

use serde_json::Value;
use vedette_domain::id::TeamId;
use vedette_testkit::{ApiResponse, Member};
use vedette_tests::Service;

async fn get(service: &Service, caller: &Member, team: TeamId) -> ApiResponse {
    service.client(caller).get(&format!("/teams/{team}/monitoring")).await
}

async fn patch(service: &Service, caller: &Member, body: &Value) -> ApiResponse {
    let path = format!("/teams/{}/monitoring", caller.team);
    service.client(caller).patch(&path, body).await
}

/// The value in a team's settings at a dotted path.
fn setting<'a>(answer: &'a ApiResponse, path: &str) -> &'a Value {
    let settings = &answer.body["data"]["settings"];
    path.split('.').fold(settings, |value, name| &value[name])
}
