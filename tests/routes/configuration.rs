//! Documents that describe teams.

mod apply;
mod export;

use serde_json::{Value, json};
use vedette_testkit::{ApiResponse, Member};
use vedette_tests::Service;

async fn export(service: &Service, caller: &Member) -> Value {
    let path = format!("/teams/{}/configuration", caller.team);
    let answer = service.client(caller).get(&path).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.body["data"].clone()
}

async fn apply(service: &Service, caller: &Member, document: &Value) -> ApiResponse {
    order(service, caller, &json!({ "document": document })).await
}

async fn order(service: &Service, caller: &Member, body: &Value) -> ApiResponse {
    let path = format!("/teams/{}/configuration", caller.team);
    service.client(caller).post(&path, body).await
}
