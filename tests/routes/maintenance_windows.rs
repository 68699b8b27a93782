//! The maintenance windows of a team.

mod create;
mod delete;
mod end;
mod get;
mod list;
mod update;

use serde_json::{Value, json};
use vedette_testkit::{ApiResponse, Member};
use vedette_tests::Service;

fn path(of: &Member) -> String {
    format!("/teams/{}/maintenance-windows", of.team)
}

async fn post(service: &Service, caller: &Member, body: &Value) -> ApiResponse {
    service.client(caller).post(&path(caller), body).await
}

/// Adds a window, and returns its path.
async fn added(service: &Service, caller: &Member, body: &Value) -> String {
    let answer = post(service, caller, body).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    format!("{}/{}", path(caller), answer.data("uuid"))
}

/// A window on Sundays. The tests begin on a Friday, 20 November 2026, at 9:54.
fn weekly() -> Value {
    json!({
        "name": "Updates",
        "starts_at": "2026-11-22T02:00",
        "time_zone": "Europe/Berlin",
        "duration_minutes": 90,
        "recurrence": "FREQ=WEEKLY;BYDAY=SU",
    })
}
