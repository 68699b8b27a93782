//! `POST /issues/{issue}/acknowledge`: a member takes care of an open issue.

use serde_json::json;
use vedette_domain::accounts::account::{Role, Scope};
use vedette_domain::accounts::audit::IssueDecision;
use vedette_domain::message::{AlertMessage, Message};
use vedette_runtime::Destination;
use vedette_testkit::member_of;
use vedette_tests::Service;

use super::{decisions, opened};
use crate::support::{assert_invalid, assert_refused};

#[tokio::test]
async fn the_caller_takes_care_of_it_once() {
    let (service, owner) = Service::with_team().await;
    let (issue, _target) = opened(&service, &owner).await;
    let client = service.client(&owner);
    service.test.queue.drain(Destination::Alerts);
    let taken = client.post(&format!("/issues/{issue}/acknowledge"), &json!({})).await;
    assert_eq!((taken.status, taken.data("status")), (200, "acknowledged".to_owned()));
    assert_eq!(taken.body["data"]["acknowledged_by"]["name"], json!("Ada"));
    assert_eq!(taken.body, client.get(&format!("/issues/{issue}")).await.body);
    let sent = service.test.queue.drain(Destination::Alerts);
    assert!(matches!(sent[..], [(Message::Alert(AlertMessage::Issue { .. }), _)]), "{sent:?}");

    let again = client.post(&format!("/issues/{issue}/acknowledge"), &json!({})).await;
    let why = "An issue that is acknowledged cannot be acknowledged.";
    assert_invalid(&again, "issue", why);
    assert_eq!(decisions(&service, &owner).await, [IssueDecision::Acknowledged]);
}

#[tokio::test]
async fn a_token_needs_the_scope_and_its_user_a_role() {
    let (service, owner) = Service::with_team().await;
    let (issue, _target) = opened(&service, &owner).await;
    let path = format!("/issues/{issue}/acknowledge");
    let before = member_of(&service.test, owner.team, Role::Admin, &Scope::DEFAULT).await;
    let refused = service.client(&before).post(&path, &json!({})).await;
    assert_refused(&refused, 403, "The access token lacks the issues:write scope.");
    let viewer = member_of(&service.test, owner.team, Role::Viewer, &Scope::ALL).await;
    assert_eq!(service.client(&viewer).post(&path, &json!({})).await.status, 403);
    assert_eq!(decisions(&service, &owner).await, []);
}
