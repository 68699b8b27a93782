//! `GET /teams/{team}/audit-log`: who changed what, newest first.

use serde_json::json;
use vedette_domain::accounts::account::{Role, Scope};
use vedette_testkit::member_of;
use vedette_tests::Service;

use crate::support::{assert_invalid, assert_refused, rows};

#[tokio::test]
async fn each_change_is_an_entry_and_pages_lead_to_older_ones() {
    let (service, owner) = Service::with_team().await;
    let client = service.client(&owner);
    for name in ["One", "Two", "Three"] {
        service.advance_minutes(1);
        client.patch(&format!("/teams/{}", owner.team), &json!({ "name": name })).await;
    }
    let path = format!("/teams/{}/audit-log", owner.team);
    let page = client.get(&format!("{path}?per_page=2")).await;
    insta::assert_snapshot!(page.shown(), @r#"
    200 {
      "data": [
        {
          "actor": "user",
          "event": {
            "differences": [{ "after": "Three", "before": "Two", "setting": "team_name" }],
            "what": "settings_changed"
          },
          "timestamp": "2026-11-20T09:57:00+00:00",
          "user": {
            "email": "ada-00000000-0000-4000-8000-000000000002@example.com",
            "email_verified_at": "2026-11-20T09:54:00+00:00",
            "name": "Ada"
          }
        },
        {
          "actor": "user",
          "event": {
            "differences": [{ "after": "Two", "before": "One", "setting": "team_name" }],
            "what": "settings_changed"
          },
          "timestamp": "2026-11-20T09:56:00+00:00",
          "user": {
            "email": "ada-00000000-0000-4000-8000-000000000002@example.com",
            "email_verified_at": "2026-11-20T09:54:00+00:00",
            "name": "Ada"
          }
        }
      ],
      "links": {
        "first": "https://monitor.test/api/v1/teams/00000000-0000-4000-8000-000000000001/audit-log?per_page=2",
        "next": "https://monitor.test/api/v1/teams/00000000-0000-4000-8000-000000000001/audit-log?per_page=2&before=1795168560000%2374c228d752274628b02de33053d32e1212d9fbb34215b157fcb3dfc196bfb614"
      }
    }
    "#);
    let next = page.body["links"]["next"].as_str().expect("an older page");
    let next = next.strip_prefix("https://monitor.test/api/v1").expect("ours");
    let older = client.get(next).await;
    let [entry] = &rows(&older)[..] else { panic!("{older:?}") };
    assert_eq!(entry["event"]["differences"][0]["after"], "One");
    assert_eq!(older.body["links"]["next"], json!(null));
    let too_long = client.get(&format!("{path}?before={}", "a".repeat(129))).await;
    let why = "The before field must be from the link to the next page.";
    assert_invalid(&too_long, "before", why);
}

#[tokio::test]
async fn a_token_must_be_for_the_audit_log() {
    let (service, owner) = Service::with_team().await;
    let member = member_of(&service.test, owner.team, Role::Admin, &Scope::DEFAULT).await;
    let path = format!("/teams/{}/audit-log", owner.team);
    let refused = service.client(&member).get(&path).await;
    assert_refused(&refused, 403, "The access token lacks the audit:read scope.");
}
