//! A team's time zone.

mod get;
mod update;

use serde_json::Value;
use vedette_domain::id::TeamId;
use vedette_testkit::{ApiResponse, Member};
use vedette_tests::Service;

async fn get(service: &Service, caller: &Member, team: TeamId) -> ApiResponse {
    service.client(caller).get(&format!("/teams/{team}/time-zone")).await
}

async fn patch(service: &Service, caller: &Member, body: &Value) -> ApiResponse {
    let path = format!("/teams/{}/time-zone", caller.team);
    service.client(caller).patch(&path, body).await
}
