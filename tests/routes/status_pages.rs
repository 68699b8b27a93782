//! The status pages of a team.

mod create;
mod delete;
mod get;
mod list;
mod update;

use serde_json::{Value, json};
use vedette_testkit::{ApiResponse, Member};
use vedette_tests::Service;

pub(crate) fn path(of: &Member) -> String {
    format!("/teams/{}/status-pages", of.team)
}

async fn post(service: &Service, caller: &Member, body: &Value) -> ApiResponse {
    service.client(caller).post(&path(caller), body).await
}

/// Creates a page without components, and returns its path.
pub(crate) async fn added(service: &Service, caller: &Member, slug: &str) -> String {
    let answer = post(service, caller, &json!({ "slug": slug, "name": "Meridian" })).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    format!("{}/{}", path(caller), answer.data("uuid"))
}
