//! `GET /teams/{team}/monitoring`: settings and choices on each plan.

use serde_json::{Value, json};
use vedette_domain::accounts::plan::Plan;
use vedette_testkit::new_team;
use vedette_tests::Service;

use super::{get, setting};
use crate::support::set_plan;

#[tokio::test]
async fn a_new_team_has_the_defaults_and_may_choose_of_everything() {
    let (service, owner) = Service::with_team().await;
    let answer = get(&service, &owner, owner.team).await;
    insta::assert_snapshot!(answer.shown(), @r#"
    200 {
      "data": {
        "allowed_tools": [
          { "label": "Status", "minimum_check_cadence_minutes": 1, "value": "status" },
          { "label": "SSL", "minimum_check_cadence_minutes": 1, "value": "ssl" },
          { "label": "DNS", "minimum_check_cadence_minutes": 1, "value": "dns" },
          { "label": "Broken links", "minimum_check_cadence_minutes": 720, "value": "broken-links" },
          { "label": "Performance", "minimum_check_cadence_minutes": 720, "value": "performance" }
        ],
        "cadence_presets": [
          { "disabled": false, "label": "Every minute", "minutes": 1 },
          { "disabled": false, "label": "Every 5 minutes", "minutes": 5 },
          { "disabled": false, "label": "Every 10 minutes", "minutes": 10 },
          { "disabled": false, "label": "Every 15 minutes", "minutes": 15 },
          { "disabled": false, "label": "Every 30 minutes", "minutes": 30 },
          { "disabled": false, "label": "Every hour", "minutes": 60 },
          { "disabled": false, "label": "Every 2 hours", "minutes": 120 },
          { "disabled": false, "label": "Every 6 hours", "minutes": 360 },
          { "disabled": false, "label": "Every 12 hours", "minutes": 720 },
          { "disabled": false, "label": "Every day", "minutes": 1440 },
          { "disabled": false, "label": "Every week", "minutes": 10080 }
        ],
        "dns_record_types": ["A", "AAAA", "CNAME", "MX", "NS", "TXT"],
        "escalation_interval_presets": [
          { "key": "immediately", "label": "Immediately", "minutes": 0 },
          { "key": "15m", "label": "After 15 minutes", "minutes": 15 },
          { "key": "30m", "label": "After 30 minutes", "minutes": 30 },
          { "key": "1h", "label": "After 1 hour", "minutes": 60 },
          { "key": "6h", "label": "After 6 hours", "minutes": 360 },
          { "key": "daily", "label": "Daily", "minutes": 1440 }
        ],
        "failure_threshold_presets": [
          { "failures_to_open": 1, "key": "instant", "label": "Instant" },
          { "failures_to_open": 2, "key": "aggressive", "label": "Aggressive" },
          { "failures_to_open": 3, "key": "conservative", "label": "Conservative" }
        ],
        "minimum_check_cadence_minutes": 1,
        "settings": "<the defaults>",
        "status_incident_code_options": [
          { "code": 400, "group": "client", "label": "Bad Request" },
          { "code": 401, "group": "client", "label": "Unauthorized" },
          { "code": 403, "group": "client", "label": "Forbidden" },
          { "code": 404, "group": "client", "label": "Not Found" },
          { "code": 405, "group": "client", "label": "Method Not Allowed" },
          { "code": 408, "group": "client", "label": "Request Timeout" },
          { "code": 410, "group": "client", "label": "Gone" },
          { "code": 429, "group": "client", "label": "Too Many Requests" },
          { "code": 500, "group": "server", "label": "Internal Server Error" },
          { "code": 501, "group": "server", "label": "Not Implemented" },
          { "code": 502, "group": "server", "label": "Bad Gateway" },
          { "code": 503, "group": "server", "label": "Service Unavailable" },
          { "code": 504, "group": "server", "label": "Gateway Timeout" },
          { "code": 521, "group": "server", "label": "Web Server Is Down" },
          { "code": 522, "group": "server", "label": "Connection Timed Out" },
          { "code": 523, "group": "server", "label": "Origin Is Unreachable" },
          { "code": 524, "group": "server", "label": "A Timeout Occurred" }
        ]
      }
    }
    "#);
}

#[tokio::test]
async fn a_smaller_plan_disables_presets_and_raises_every_minimum() {
    let service = Service::start().await;
    for (plan, minimum, disabled) in [
        (Plan::Starter, 30, vec![1, 5, 10, 15]),
        (Plan::Growth, 5, vec![1]),
        (Plan::Agency, 1, vec![]),
    ] {
        let owner = new_team(&service.test, plan).await;
        let answer = get(&service, &owner, owner.team).await;
        let data = &answer.body["data"];
        assert_eq!(data["minimum_check_cadence_minutes"], minimum);
        let minimums = listed(&data["allowed_tools"], "minimum_check_cadence_minutes");
        assert_eq!(json!(minimums), json!([minimum, minimum, minimum, 720, 720]), "{plan}");
        let presets = data["cadence_presets"].as_array().expect("presets");
        let found: Vec<_> = presets.iter().filter(|preset| preset["disabled"] == true).collect();
        let found: Vec<_> = found.into_iter().map(|preset| preset["minutes"].clone()).collect();
        assert_eq!(json!(found), json!(disabled), "{plan}");
    }
}

fn listed(items: &Value, field: &str) -> Vec<Value> {
    items.as_array().expect("items").iter().map(|item| item[field].clone()).collect()
}

#[tokio::test]
async fn after_a_downgrade_cadences_read_as_the_plan_allows_and_come_back_with_it() {
    let (service, owner) = Service::with_team().await;
    for (plan, minutes) in [(Plan::Starter, 30), (Plan::Growth, 5), (Plan::Agency, 5)] {
        set_plan(&service, owner.team, plan, true).await;
        let answer = get(&service, &owner, owner.team).await;
        assert_eq!(setting(&answer, "tools.status.cadence_minutes"), minutes, "{plan}");
        assert_eq!(setting(&answer, "tools.broken-links.cadence_minutes"), 10080, "{plan}");
    }
}
