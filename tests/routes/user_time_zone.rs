//! The time zone of a token's owner.

mod get;
mod update;

use serde_json::Value;
use vedette_testkit::{ApiResponse, Member};
use vedette_tests::Service;

const PATH: &str = "/me/time-zone";

async fn get(service: &Service, caller: &Member) -> ApiResponse {
    service.client(caller).get(PATH).await
}

async fn patch(service: &Service, caller: &Member, body: &Value) -> ApiResponse {
    service.client(caller).patch(PATH, body).await
}
