//! `POST /issues/{issue}/unacknowledge`: nobody takes care of the issue any more.

use serde_json::json;
use vedette_domain::accounts::audit::IssueDecision;
use vedette_tests::Service;

use super::{decisions, opened};
use crate::support::assert_invalid;

#[tokio::test]
async fn only_an_acknowledged_issue_opens_again() {
    let (service, owner) = Service::with_team().await;
    let (issue, _target) = opened(&service, &owner).await;
    let client = service.client(&owner);
    let path = format!("/issues/{issue}/unacknowledge");
    let why = "An issue that is open cannot be unacknowledged.";
    assert_invalid(&client.post(&path, &json!({})).await, "issue", why);
    client.post(&format!("/issues/{issue}/acknowledge"), &json!({})).await;
    let answer = client.post(&path, &json!({})).await;
    assert_eq!((answer.status, answer.data("status")), (200, "open".to_owned()));
    assert_eq!(answer.body["data"]["acknowledged_by"], json!(null));
    let expected = [IssueDecision::Acknowledged, IssueDecision::Unacknowledged];
    assert_eq!(decisions(&service, &owner).await, expected);
}
