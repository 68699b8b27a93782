//! `/teams/{team}/ping-key`.

mod get;
mod update;

use serde_json::Value;
use vedette_testkit::{ApiResponse, Member};
use vedette_tests::Service;

fn path(of: &Member) -> String {
    format!("/teams/{}/ping-key", of.team)
}

pub(crate) async fn put(service: &Service, caller: &Member, body: &Value) -> ApiResponse {
    service.client(caller).put(&path(caller), body).await
}
