//! `POST /issues/{issue}/resolve`: a member resolves an issue, and checks count from zero.

use serde_json::json;
use vedette_domain::accounts::audit::IssueDecision;
use vedette_tests::Service;

use super::{broken, decisions, next_run, only};
use crate::support::assert_invalid;

#[tokio::test]
async fn an_issue_is_resolved_once_and_opens_again_if_checks_still_fail() {
    let (service, owner) = Service::with_team().await;
    let (site, _target) = broken(&service, &owner).await;
    let issue = only(&service, &owner).await;
    let client = service.client(&owner);
    let path = format!("/issues/{issue}/resolve");
    let resolved = client.post(&path, &json!({})).await;
    assert_eq!((resolved.status, resolved.data("status")), (200, "resolved".to_owned()));
    assert_eq!(resolved.body["data"]["resolved_by"]["name"], json!("Ada"));
    let why = "An issue that is resolved cannot be resolved.";
    assert_invalid(&client.post(&path, &json!({})).await, "issue", why);
    assert_eq!(decisions(&service, &owner).await, [IssueDecision::Resolved]);

    next_run(&service, site).await;
    assert_eq!(client.get(&format!("/issues/{issue}")).await.data("status"), "open");
}
