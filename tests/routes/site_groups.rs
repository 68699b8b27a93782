//! The groups of a team's sites.

mod get;
mod update;

use serde_json::Value;
use vedette_domain::id::TeamId;
use vedette_testkit::{ApiResponse, Member};
use vedette_tests::Service;

async fn get(service: &Service, caller: &Member, team: TeamId) -> ApiResponse {
    service.client(caller).get(&format!("/teams/{team}/groups")).await
}

async fn put(service: &Service, caller: &Member, body: &Value) -> ApiResponse {
    let path = format!("/teams/{}/groups", caller.team);
    service.client(caller).put(&path, body).await
}
