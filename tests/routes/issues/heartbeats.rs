//! `GET /issues`: the issues of heartbeats are listed only on request.

use serde_json::json;
use vedette_tests::Service;

use super::{broken, decisions};
use crate::heartbeats::{added, frequent};
use crate::support::{assert_invalid, rows};

#[tokio::test]
async fn issues_of_heartbeats_are_listed_only_on_request() {
    let (service, owner) = Service::with_team().await;
    let (site, _target) = broken(&service, &owner).await;
    let (heartbeat, key) = added(&service, &owner, &frequent("Backup")).await;
    service.advance_minutes(1);
    assert_eq!(service.ping_with(&format!("{key}/3"), "No space left").await.status, 200);
    let client = service.client(&owner);
    let types = async |query: &str| -> Vec<String> {
        let listed = client.get(&format!("/issues?{query}")).await;
        let types = rows(&listed)
            .iter()
            .map(|row| row["type"].as_str().expect("a type").to_owned())
            .collect::<Vec<_>>();
        assert_eq!(listed.body["meta"]["total"], types.len(), "{query}");
        types
    };
    assert_eq!(types("").await, ["status"]);
    assert_eq!(types("severity=critical&status=open").await, ["status"]);
    assert_eq!(types("include=heartbeats").await, ["heartbeat", "status"]);
    assert_eq!(types(&format!("include=heartbeats&site={site}")).await, ["status"]);
    assert_eq!(types("include=heartbeats&tool=status").await, ["status"]);
    for (query, field) in [("include=all", "include"), ("tool=heartbeat", "tool")] {
        let refused = client.get(&format!("/issues?{query}")).await;
        assert_invalid(&refused, field, &format!("The selected {field} is invalid."));
    }
    let listed = client.get("/issues?include=heartbeats&per_page=1").await;
    let issue = rows(&listed)[0].clone();
    let (_, id) = heartbeat.rsplit_once('/').expect("a uuid");
    assert_eq!(issue["heartbeat"], json!({ "uuid": id, "name": "Backup" }));
    let path = format!("/issues/{}", issue["uuid"].as_str().expect("a uuid"));
    let shown = client.get(&path).await;
    assert_eq!(shown.body["data"], issue);
    insta::assert_snapshot!(shown.shown(), @r#"
    200 {
      "data": {
        "acknowledged_at": null,
        "acknowledged_by": null,
        "check": {
          "automatic": true,
          "completed_at": "2026-11-20T09:55:00+00:00",
          "created_at": "2026-11-20T09:55:00+00:00",
          "result": { "exit_status": 3, "outcome": "failure", "output": "No space left" },
          "run_reason": "scheduled",
          "site": null,
          "status": "completed",
          "type": "heartbeat",
          "updated_at": "2026-11-20T09:55:00+00:00",
          "uuid": "01a1f861-7920-8a80-8000-000000000005"
        },
        "context": {
          "failures": 1,
          "first_failed_at": "2026-11-20T09:55:00+00:00",
          "last_failed_at": "2026-11-20T09:55:00+00:00",
          "measured": {
            "deadline": null,
            "duration": null,
            "exit_status": 3,
            "expected_at": null,
            "outcome": "failure"
          }
        },
        "created_at": "2026-11-20T09:55:00+00:00",
        "fingerprint": "heartbeat:down",
        "heartbeat": { "name": "Backup", "uuid": "00000000-0000-4000-8000-000000000005" },
        "is_active": true,
        "last_evaluated_at": "2026-11-20T09:55:00+00:00",
        "opened_at": "2026-11-20T09:55:00+00:00",
        "previous_check": null,
        "resolved_at": null,
        "resolved_by": null,
        "severity": "critical",
        "site": null,
        "status": "open",
        "summary": "the job failed: exit status 3",
        "team_uuid": "00000000-0000-4000-8000-000000000001",
        "timeline": [{ "key": "opened", "timestamp": "2026-11-20T09:55:00+00:00", "user": null }],
        "type": "heartbeat",
        "updated_at": "2026-11-20T09:55:00+00:00",
        "uuid": "01a1f861-7920-8d00-8000-000000000005"
      }
    }
    "#);

    let taken = client.post(&format!("{path}/acknowledge"), &json!({})).await;
    assert_eq!(taken.body["data"]["status"], "acknowledged", "{taken:?}");
    let resolved = client.post(&format!("{path}/resolve"), &json!({})).await;
    assert_eq!(resolved.body["data"]["status"], "resolved", "{resolved:?}");
    assert_eq!(decisions(&service, &owner).await.len(), 2);
    assert_eq!(types("status=resolved").await, [""; 0]);
    assert_eq!(types("status=resolved&include=heartbeats").await, ["heartbeat"]);
}
