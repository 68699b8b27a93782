//! `GET /sites/{site}/expectations`: nothing until somebody expects something.

use serde_json::json;
use vedette_tests::Service;

use super::{get, record, without_record};
use crate::support::new_site;

#[tokio::test]
async fn a_new_site_expects_nothing() {
    let (service, owner) = Service::with_team().await;
    let site = new_site(&service, &owner, "https://example.com").await;
    let answer = get(&service, &owner, site).await;
    let policy = |severity| json!({ "severity": severity, "failures_to_open": 2, "successes_to_resolve": 1 });
    let expected = json!({ "data": {
        "method": "GET",
        "expectations": [],
        "issues": { "expectation": policy("critical"), "slow": policy("warning") },
    } });
    assert_eq!((answer.status, without_record(&answer)), (200, expected));
    let record = record(&service, site).await;
    assert_eq!(record.name, "_vedette-challenge.example.com");
    assert_eq!(answer.body["data"]["ownership_record"], json!(record));
}

#[tokio::test]
async fn an_address_has_no_record() {
    let (service, owner) = Service::with_team().await;
    let site = new_site(&service, &owner, "http://192.0.2.1").await;
    assert_eq!(get(&service, &owner, site).await.body["data"].get("ownership_record"), None);
}
