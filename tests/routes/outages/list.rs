//! `GET /teams/{team}/outages`: outages with their lengths and causes, newest first.

use serde_json::json;
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::SiteId;
use vedette_testkit::{Member, WebServer};
use vedette_tests::Service;

use crate::support::{assert_invalid, assert_page, new_site_with, rows};

/// A site that was down from 9:54 to 9:59, and is down again since 10:04.
async fn twice_down(service: &Service, owner: &Member) -> (SiteId, WebServer) {
    let target = WebServer::start().await;
    target.answer(503);
    let at_once = json!({ "tools": { "status": {
        "settings": { "failures_to_open": 1, "successes_to_resolve": 1 },
    } } });
    let site = new_site_with(service, owner, &target.url, &at_once).await;
    service.consume().await;
    let issues = service.client(owner).get("/issues").await;
    let issue = rows(&issues)[0]["uuid"].as_str().expect("a uuid").to_owned();
    service.advance_minutes(2);
    service.client(owner).post(&format!("/issues/{issue}/acknowledge"), &json!({})).await;
    for (code, minutes) in [(200, 3), (503, 5)] {
        target.answer(code);
        service.advance_minutes(minutes);
        service.run_scheduled(site, Tool::Status).await;
    }
    (site, target)
}

#[tokio::test]
async fn each_opening_is_an_outage_with_its_length_and_cause() {
    let (service, owner) = Service::with_team().await;
    let (site, target) = twice_down(&service, &owner).await;
    service.advance_minutes(10);
    let path = format!("/teams/{}/outages", owner.team);
    let mut answer = service.client(&owner).get(&path).await;
    assert_page(&answer, (&path, ""), (1, 25, 2));
    for row in answer.body["data"].as_array_mut().expect("rows") {
        assert_eq!(row["site"]["uuid"], json!(site));
        assert_eq!(row["site"]["url"], json!(target.url));
        row["site"] = json!("<the site>");
    }
    insta::assert_json_snapshot!(answer.body["data"], @r#"
    [
      {
        "acknowledged_at": null,
        "acknowledged_by": null,
        "cause": "http",
        "detail": "HTTP 503 Service Unavailable",
        "ended_at": null,
        "issue_uuid": "01a1f860-8ec0-8100-8000-000000000004",
        "resolved_by": null,
        "seconds": 600,
        "site": "<the site>",
        "started_at": "2026-11-20T10:04:00+00:00"
      },
      {
        "acknowledged_at": "2026-11-20T09:56:00+00:00",
        "acknowledged_by": {
          "email": "ada-00000000-0000-4000-8000-000000000002@example.com",
          "email_verified_at": "2026-11-20T09:54:00+00:00",
          "name": "Ada"
        },
        "cause": "http",
        "detail": "HTTP 503 Service Unavailable",
        "ended_at": "2026-11-20T09:59:00+00:00",
        "issue_uuid": "01a1f860-8ec0-8100-8000-000000000004",
        "resolved_by": null,
        "seconds": 300,
        "site": "<the site>",
        "started_at": "2026-11-20T09:54:00+00:00"
      }
    ]
    "#);
}

#[tokio::test]
async fn a_client_chooses_days_causes_and_sites() {
    let (service, owner) = Service::with_team().await;
    let (site, _target) = twice_down(&service, &owner).await;
    let client = service.client(&owner);
    let path = format!("/teams/{}/outages", owner.team);
    for (query, expected) in [
        ("cause=http", 2),
        ("cause=dns", 0),
        ("site=elsewhere", 0),
        (&*format!("site={site}"), 2),
        ("from=2026-11-18&to=2026-11-19", 0),
        ("per_page=1&page=2", 1),
    ] {
        let found = rows(&client.get(&format!("{path}?{query}")).await).len();
        assert_eq!(found, expected, "{query}");
    }
    for (query, field, why) in [
        ("cause=rain", "cause", "The selected cause is invalid."),
        ("from=2026-08-01&to=2026-11-20", "from", "At most 92 days can be read at a time."),
        ("from=2026-11-20&to=2026-11-19", "to", "The to field must be a date on or after from."),
    ] {
        assert_invalid(&client.get(&format!("{path}?{query}")).await, field, why);
    }
}
