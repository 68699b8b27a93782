//! What the tests of both reports share.

mod performance;
mod uptime;

use serde_json::Value;
use vedette_domain::id::SiteId;
use vedette_testkit::{ApiResponse, Member};
use vedette_tests::Service;

async fn report(service: &Service, caller: &Member, site: SiteId, path: &str) -> ApiResponse {
    service.client(caller).get(&format!("/sites/{site}/reports/{path}")).await
}

fn days(answer: &ApiResponse) -> &[Value] {
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.body["data"]["days"].as_array().expect("days")
}

fn set_clock(service: &Service, time: &str) {
    service.test.set_clock(time.parse().expect("a time"));
}

/// Invalid values of `days`, with the error messages.
const WRONG_DAYS: [(&str, &str); 9] = [
    ("0", "The days field must be at least 1."),
    ("366", "The days field must not be greater than 365."),
    ("99999999999999999999", "The days field must not be greater than 365."),
    ("", "The days field must be an integer."),
    ("-1", "The days field must be an integer."),
    ("1.5", "The days field must be an integer."),
    ("30.0", "The days field must be an integer."),
    ("abc", "The days field must be an integer."),
    ("%2B7", "The days field must be an integer."),
];
