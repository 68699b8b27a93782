//! What a site's status checks expect.

mod get;
mod update;

use serde_json::Value;
use vedette_domain::id::SiteId;
use vedette_testkit::{ApiResponse, Member};
use vedette_tests::Service;

async fn get(service: &Service, caller: &Member, site: SiteId) -> ApiResponse {
    service.client(caller).get(&format!("/sites/{site}/expectations")).await
}

async fn put(service: &Service, caller: &Member, site: SiteId, body: &Value) -> ApiResponse {
    service.client(caller).put(&format!("/sites/{site}/expectations"), body).await
}
