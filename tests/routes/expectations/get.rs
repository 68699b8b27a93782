//! `GET /sites/{site}/expectations`: nothing until somebody expects something.

use serde_json::json;
use vedette_domain::accounts::account::Role;
use vedette_domain::accounts::plan::Plan;
use vedette_testkit::new_team;
use vedette_tests::Service;

use super::{get, record, without_record};
use crate::support::{
    assert_not_found, assert_plan_required, colleague, new_site, odd_spellings, suspend,
};

#[tokio::test]
async fn a_new_site_expects_nothing_and_every_role_may_know() {
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
    for role in Role::ALL {
        let member = colleague(&service, &owner, role).await;
        assert_eq!(get(&service, &member, site).await.body, answer.body);
    }
}

#[tokio::test]
async fn an_address_has_no_record() {
    let (service, owner) = Service::with_team().await;
    let site = new_site(&service, &owner, "http://192.0.2.1").await;
    assert_eq!(get(&service, &owner, site).await.body["data"].get("ownership_record"), None);
}

#[tokio::test]
async fn strangers_learn_nothing() {
    let (service, owner) = Service::with_team().await;
    let site = new_site(&service, &owner, "https://example.com").await;
    let other = new_team(&service.test, Plan::Agency).await;
    assert_not_found(&get(&service, &other, site).await);
    for uuid in odd_spellings(&site) {
        let path = format!("/sites/{uuid}/expectations");
        assert_not_found(&service.client(&owner).get(&path).await);
    }
    suspend(&service, &owner).await;
    assert_plan_required(&get(&service, &owner, site).await);
}
