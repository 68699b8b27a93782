//! `GET /teams/{team}/events`: issues that opened and were resolved, newest first.

use serde_json::json;
use vedette_domain::checks::tool::Tool;
use vedette_testkit::WebServer;
use vedette_tests::Service;

use crate::support::{assert_invalid, new_site_with, rows};

/// A team whose two sites go down together and come back together, three times, and the path of its events.
async fn ups_and_downs() -> (Service, vedette_testkit::Member, String, [WebServer; 2]) {
    let (service, owner) = Service::with_team().await;
    let targets = [WebServer::start().await, WebServer::start().await];
    let at_once = json!({ "tools": { "status": {
        "settings": { "failures_to_open": 1, "successes_to_resolve": 1 },
    } } });
    let mut sites = Vec::new();
    for target in &targets {
        sites.push(new_site_with(&service, &owner, &target.url, &at_once).await);
    }
    service.consume().await;
    for code in [503, 200, 503, 200, 503, 200] {
        service.advance_minutes(5);
        for (target, site) in targets.iter().zip(&sites) {
            target.answer(code);
            service.run_scheduled(*site, Tool::Status).await;
        }
    }
    let path = format!("/teams/{}/events", owner.team);
    (service, owner, path, targets)
}

#[tokio::test]
async fn events_have_their_issue_site_and_length() {
    let (service, owner, path, _targets) = ups_and_downs().await;
    let mut listed = rows(&service.client(&owner).get(&format!("{path}?per_page=3")).await);
    for event in &mut listed {
        event["site"] = json!("<the site>");
        assert!(event["issue_uuid"].is_string());
        event["issue_uuid"] = json!("<the issue>");
    }
    assert_eq!(listed[0], listed[1], "two sites at the same time");
    insta::assert_json_snapshot!(listed[1..], @r#"
    [
      {
        "event": "resolved",
        "issue_uuid": "<the issue>",
        "resolved_by": null,
        "seconds": 300,
        "severity": "critical",
        "site": "<the site>",
        "summary": "127.0.0.1 was down: HTTP 503 Service Unavailable",
        "timestamp": "2026-11-20T10:24:00+00:00"
      },
      {
        "event": "opened",
        "issue_uuid": "<the issue>",
        "resolved_by": null,
        "seconds": null,
        "severity": "critical",
        "site": "<the site>",
        "summary": "127.0.0.1 was down: HTTP 503 Service Unavailable",
        "timestamp": "2026-11-20T10:19:00+00:00"
      }
    ]
    "#);
}

#[tokio::test]
async fn pages_of_any_size_have_each_event_once() {
    let (service, owner, path, _targets) = ups_and_downs().await;
    let client = service.client(&owner);
    let all = rows(&client.get(&path).await);
    assert_eq!(all.len(), 12);
    for per_page in [1, 2, 5, 11, 12] {
        let mut paged = Vec::new();
        let mut next = Some(format!("{path}?per_page={per_page}"));
        while let Some(page) = next {
            let answer = client.get(&page).await;
            let found = rows(&answer);
            assert!(!found.is_empty() && found.len() <= per_page, "{page}");
            paged.extend(found);
            let link = answer.body["links"]["next"].as_str();
            next = link.map(|link| link.replace("https://monitor.test/api/v1", ""));
        }
        assert_eq!(paged, all, "{per_page}");
    }
    // A place is only compared.
    assert_eq!(rows(&client.get(&format!("{path}?before=zzz")).await), all);
    assert!(rows(&client.get(&format!("{path}?before=0")).await).is_empty());
    let why = "The before field must be from the link to the next page.";
    let long = "x".repeat(129);
    assert_invalid(&client.get(&format!("{path}?before={long}")).await, "before", why);
}
