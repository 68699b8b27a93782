//! The incidents of a status page.

mod create;
mod delete;
mod get;
mod list;
mod update;

use serde_json::{Value, json};
use vedette_testkit::{ApiResponse, Member};
use vedette_tests::Service;

use crate::status_pages;

/// A service with a team and a status page, and the path of the page's incidents.
async fn arranged() -> (Service, Member, String) {
    let (service, owner) = Service::with_team().await;
    let page = status_pages::added(&service, &owner, "meridian").await;
    (service, owner, format!("{page}/incidents"))
}

fn delays() -> Value {
    json!({ "title": "Orders are delayed", "text": "We are looking into it." })
}

async fn post(service: &Service, caller: &Member, path: &str, body: &Value) -> ApiResponse {
    service.client(caller).post(path, body).await
}

/// Writes an incident, and returns its path.
async fn written(service: &Service, caller: &Member, path: &str) -> String {
    let answer = post(service, caller, path, &delays()).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    format!("{path}/{}", answer.data("uuid"))
}
