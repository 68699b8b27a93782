//! `GET /issues/{issue}/evidence`: what checks of an issue and their target sent each other.

use serde_json::json;
use vedette_domain::id::IssueId;
use vedette_domain::issues::Fingerprint;
use vedette_testkit::{ApiResponse, Member};
use vedette_tests::Service;

use super::{broken, next_run, open};
use crate::support::{masked, new_site};

async fn get(service: &Service, caller: &Member, uuid: impl ToString) -> ApiResponse {
    service.client(caller).get(&format!("/issues/{}/evidence", uuid.to_string())).await
}

async fn only(service: &Service, owner: &Member) -> IssueId {
    let list = service.client(owner).get("/issues").await;
    IssueId::parse(list.body["data"][0]["uuid"].as_str().expect("a uuid")).expect("an id")
}

/// The answer without what differs from run to run.
fn steady(mut answer: ApiResponse) -> ApiResponse {
    for kind in ["first", "newest", "last_good"] {
        let evidence = &mut answer.body["data"][kind];
        if evidence.is_null() {
            continue;
        }
        for phase in ["lookup", "connect", "first_byte"] {
            assert!(evidence["timing"][phase].as_f64().is_some_and(|ms| ms >= 0.0), "{evidence}");
        }
        evidence["timing"] = json!("<phases>");
        let address = evidence["address"].as_str().expect("an address");
        evidence["address"] = json!(address.rsplit_once(':').expect("a port").0);
        let headers = evidence["headers"].as_array_mut().expect("headers");
        headers.retain(|header| header["name"] != "date");
    }
    answer
}

#[tokio::test]
async fn the_first_evidence_and_the_newest_are_shown() {
    let (service, owner) = Service::with_team().await;
    let (site, target) = broken(&service, &owner).await;
    let issue = only(&service, &owner).await;
    let mut answer = steady(get(&service, &owner, issue).await);
    assert_eq!(answer.body["data"]["first"], answer.body["data"]["newest"]);
    answer.body["data"]["newest"] = json!("<the first>");
    insta::assert_snapshot!(masked(&answer, &target), @r#"
    200 {
      "data": {
        "first": {
          "address": "127.0.0.1",
          "body": {
            "bytes": 5,
            "is_cut": false,
            "sha256": "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
            "text": "hello"
          },
          "check_uuid": "01a1f860-8ec0-8080-8000-000000000004",
          "checked_at": "2026-11-20T09:54:00+00:00",
          "error": null,
          "headers": [
            { "name": "content-type", "value": "text/plain; charset=utf-8" },
            { "name": "set-cookie", "value": "[redacted]" },
            { "name": "content-length", "value": "5" }
          ],
          "requests": [{ "code": 503, "url": "http://127.0.0.1:PORT/" }],
          "status_line": "HTTP/1.1 503 Service Unavailable",
          "timing": "<phases>"
        },
        "last_good": null,
        "newest": "<the first>"
      }
    }
    "#);
    target.say("another");
    next_run(&service, site).await;
    let answer = get(&service, &owner, issue).await;
    let texts = ["first", "newest"].map(|kind| &answer.body["data"][kind]["body"]["text"]);
    assert_eq!(texts, ["hello", "another"]);
}

#[tokio::test]
async fn an_issue_of_another_tool_has_none() {
    let (service, owner) = Service::with_team().await;
    let site = new_site(&service, &owner, "https://example.com").await;
    let issue = open(&service, site, Fingerprint::SslInvalid).await;
    let answer = get(&service, &owner, issue).await;
    let none = json!({ "first": null, "newest": null, "last_good": null });
    assert_eq!((answer.status, &answer.body["data"]), (200, &none));
}
