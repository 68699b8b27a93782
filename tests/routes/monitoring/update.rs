//! `PATCH /teams/{team}/monitoring`: what changes, what stays, what is refused.

use std::time::Duration;

use serde_json::{Value, json};
use vedette_domain::accounts::plan::Plan;
use vedette_domain::message::{Message, ReconcileMessage};
use vedette_testkit::{ApiResponse, Member, laid_out, new_team};
use vedette_tests::Service;

use super::{get, patch, setting};
use crate::support::{assert_invalid, new_site, new_site_with, set_plan};

/// PATCHes settings together with one tool, since every PATCH needs a tool.
async fn patch_settings(service: &Service, owner: &Member, settings: &Value) -> ApiResponse {
    let mut settings = settings.clone();
    if settings.get("tools").is_none() {
        settings["tools"] = json!({ "ssl": { "enabled": true, "cadence_minutes": 1440 } });
    }
    patch(service, owner, &json!({ "monitoring_settings": settings })).await
}

/// PATCHes one tool; fields that are not given are sent with their defaults.
async fn patch_tool(service: &Service, owner: &Member, tool: &str, said: &Value) -> ApiResponse {
    let mut settings = json!({ "enabled": true, "cadence_minutes": 1440 });
    for (name, value) in said.as_object().expect("settings") {
        settings[name] = value.clone();
    }
    patch_settings(service, owner, &json!({ "tools": { tool: settings } })).await
}

#[tokio::test]
async fn everything_can_be_set() {
    let (service, owner) = Service::with_team().await;
    let body = json!({ "monitoring_settings": {
        "tools": {
            "status": { "enabled": true, "cadence_minutes": 1, "settings": {
                "incident_status_codes": [503, 404, 503],
                "failures_to_open": 3,
                "successes_to_resolve": 2,
                "confirmation_retry_minutes": 5,
                "incident_follow_up_minutes": 60,
            } },
            "ssl": { "enabled": false, "cadence_minutes": 10080, "settings": {
                "expiry_days": 30,
                "failures_to_open": 4,
                "confirmation_retry_minutes": 1,
            } },
            "dns": { "enabled": true, "cadence_minutes": 15, "settings": {
                "hard_failures_only": true,
                "failures_to_open": 5,
                "confirmation_retry_minutes": 3,
                "monitored_record_types": ["MX", "A"],
            } },
            "broken-links": { "enabled": true, "cadence_minutes": 720, "settings": {
                "min_broken_count": 2,
                "consecutive_breaches_to_open": 6,
                "ignore_paths": ["/z/*", " /a/* ", "/z/*"],
                "ignore_external_links": true,
                "ignore_redirects": true,
            } },
            "performance": { "enabled": false, "cadence_minutes": 1440, "settings": {
                "url": null,
                "min_score": 90,
                "max_ttfb_ms": 800,
                "max_load_time_seconds": 4,
                "consecutive_breaches_to_open": 7,
            } },
        },
        "request_header": { "name": "X-Watch", "value": "a b" },
        "quiet_time": { "enabled": true, "starts_at": "23:30", "ends_at": "05:00" },
        "escalation": { "enabled": true, "intervals": [60, 0, 60] },
    } });
    let answer = patch(&service, &owner, &body).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let settings = laid_out(&answer.body["data"]["settings"]);
    insta::assert_snapshot!(settings, @r#"
    {
      "escalation": { "enabled": true, "intervals": [0, 60] },
      "quiet_time": { "enabled": true, "ends_at": "05:00", "starts_at": "23:30" },
      "request_header": { "name": "X-Watch", "value": "a b" },
      "tools": {
        "broken-links": {
          "cadence_minutes": 720,
          "enabled": true,
          "settings": {
            "consecutive_breaches_to_open": 6,
            "ignore_external_links": true,
            "ignore_paths": ["/a/*", "/z/*"],
            "ignore_redirects": true,
            "min_broken_count": 2
          }
        },
        "dns": {
          "cadence_minutes": 15,
          "enabled": true,
          "settings": {
            "confirmation_retry_minutes": 3,
            "failures_to_open": 5,
            "hard_failures_only": true,
            "monitored_record_types": ["A", "MX"]
          }
        },
        "performance": {
          "cadence_minutes": 1440,
          "enabled": false,
          "settings": {
            "consecutive_breaches_to_open": 7,
            "max_load_time_seconds": 4,
            "max_response_time_ms": 800,
            "max_ttfb_ms": 800,
            "min_score": 90,
            "url": null
          }
        },
        "ssl": {
          "cadence_minutes": 10080,
          "enabled": false,
          "settings": { "confirmation_retry_minutes": 1, "expiry_days": 30, "failures_to_open": 4 }
        },
        "status": {
          "cadence_minutes": 1,
          "enabled": true,
          "settings": {
            "confirmation_retry_minutes": 5,
            "failures_to_open": 3,
            "incident_follow_up_minutes": 60,
            "incident_status_codes": [404, 503],
            "successes_to_resolve": 2
          }
        }
      }
    }
    "#);
    let read = get(&service, &owner, owner.team).await;
    assert_eq!((read.status, read.body), (200, answer.body));
}

#[tokio::test]
async fn what_was_read_can_be_sent_back_and_changes_nothing() {
    let service = Service::start().await;
    for plan in Plan::ALL {
        let owner = new_team(&service.test, plan).await;
        let read = get(&service, &owner, owner.team).await;
        let body = json!({ "monitoring_settings": read.body["data"]["settings"] });
        let before = service.test.faults().writes();
        let answer = patch(&service, &owner, &body).await;
        assert_eq!((answer.status, &answer.body), (200, &read.body), "{plan}");
        assert_eq!(service.test.faults().writes(), before, "nothing is written");
        assert_eq!(service.waiting(), [], "no message is sent");
    }
}

#[tokio::test]
async fn what_was_read_on_a_smaller_plan_can_be_sent_back_too() {
    let (service, owner) = Service::with_team().await;
    set_plan(&service, owner.team, Plan::Starter, true).await;
    let read = get(&service, &owner, owner.team).await;
    let body = json!({ "monitoring_settings": read.body["data"]["settings"] });
    let answer = patch(&service, &owner, &body).await;
    assert_eq!((answer.status, answer.body), (200, read.body));
    set_plan(&service, owner.team, Plan::Agency, true).await;
    let read = get(&service, &owner, owner.team).await;
    assert_eq!(setting(&read, "tools.status.cadence_minutes"), 30, "it was said, and so it stays");
}

#[tokio::test]
async fn omitted_settings_are_unchanged() {
    let (service, owner) = Service::with_team().await;
    let first = json!({
        "tools": {
            "status": { "enabled": true, "cadence_minutes": 10, "settings": {
                "failures_to_open": 7, "successes_to_resolve": 3,
            } },
            "dns": { "enabled": false, "cadence_minutes": 120 },
        },
        "request_header": { "name": "X-Watch", "value": "a" },
        "quiet_time": { "enabled": true, "starts_at": "20:00" },
        "escalation": { "enabled": true, "intervals": [15] },
    });
    assert_eq!(patch_settings(&service, &owner, &first).await.status, 200);
    let second = json!({
        "tools": { "status": { "enabled": false, "cadence_minutes": 10, "settings": {
            "failures_to_open": 8,
        } } },
        "request_header": {},
        "quiet_time": { "enabled": false, "ends_at": "06:30" },
        "escalation": { "enabled": false },
    });
    let answer = patch_settings(&service, &owner, &second).await;
    for (path, value) in [
        ("tools.status.enabled", json!(false)),
        ("tools.status.cadence_minutes", json!(10)),
        ("tools.status.settings.failures_to_open", json!(8)),
        ("tools.status.settings.successes_to_resolve", json!(3)),
        ("tools.dns.enabled", json!(false)),
        ("tools.dns.cadence_minutes", json!(120)),
        ("tools.ssl.cadence_minutes", json!(1440)),
        ("request_header", json!({ "name": "X-Watch", "value": "a" })),
        ("quiet_time", json!({ "enabled": false, "starts_at": "20:00", "ends_at": "06:30" })),
        ("escalation", json!({ "enabled": false, "intervals": [15] })),
    ] {
        assert_eq!(setting(&answer, path), &value, "{path}");
    }
    let cleared = json!({ "request_header": { "name": null, "value": null } });
    let answer = patch_settings(&service, &owner, &cleared).await;
    assert_eq!(setting(&answer, "request_header"), &json!({ "name": null, "value": null }));
}

#[tokio::test]
async fn settings_and_their_tools_are_required_objects() {
    let (service, owner) = Service::with_team().await;
    let settings = "monitoring_settings";
    let tools = "monitoring_settings.tools";
    for (body, path, complaint) in [
        (json!({}), settings, "is required"),
        (json!({ "tools": {} }), settings, "is required"),
        (json!({ "monitoring_settings": null }), settings, "is required"),
        (json!({ "monitoring_settings": "" }), settings, "is required"),
        (json!({ "monitoring_settings": [] }), settings, "must be an object"),
        (json!({ "monitoring_settings": 5 }), settings, "must be an object"),
        (json!({ "monitoring_settings": {} }), tools, "is required"),
        (json!({ "monitoring_settings": { "tools": null } }), tools, "is required"),
    ] {
        let refused = patch(&service, &owner, &body).await;
        assert_invalid(&refused, path, &format!("The {path} field {complaint}."));
    }
}

#[tokio::test]
async fn invalid_settings_are_refused_at_their_path_and_change_nothing() {
    let service = Service::start().await;
    let owner = new_team(&service.test, Plan::Starter).await;
    let before = get(&service, &owner, owner.team).await;
    let refused = patch_settings(
        &service,
        &owner,
        &json!({
            "tools": { "dns": {}, "uptime": {}, "ssl": { "enabled": false, "cadence_minutes": 5 } },
            "request_header": { "name": "X" },
            "quiet_time": { "enabled": true, "ends_at": "22:00" },
            "escalation": { "enabled": true, "intervals": [45] },
        }),
    )
    .await;
    insta::assert_snapshot!(refused.shown(), @r#"
    422 {
      "errors": {
        "monitoring_settings.escalation.intervals.0": [
          "The monitoring_settings.escalation.intervals.0 field must be one of 0, 15, 30, 60, 360, 1440."
        ],
        "monitoring_settings.quiet_time.ends_at": ["The monitoring_settings.quiet_time.ends_at field must differ from starts_at."],
        "monitoring_settings.request_header.value": [
          "The monitoring_settings.request_header.value field is required with monitoring_settings.request_header.name."
        ],
        "monitoring_settings.tools.dns.cadence_minutes": ["The monitoring_settings.tools.dns.cadence_minutes field is required."],
        "monitoring_settings.tools.dns.enabled": ["The monitoring_settings.tools.dns.enabled field is required."],
        "monitoring_settings.tools.ssl.cadence_minutes": [
          "The monitoring_settings.tools.ssl.cadence_minutes field must be at least 30 on the starter plan."
        ],
        "monitoring_settings.tools.uptime": ["The monitoring_settings.tools.uptime field is not known."]
      },
      "message": "The monitoring_settings.tools.ssl.cadence_minutes field must be at least 30 on the starter plan. (and 6 more errors)"
    }
    "#);
    assert_eq!(get(&service, &owner, owner.team).await.body, before.body);
    assert_eq!(service.waiting(), []);
}

#[tokio::test]
async fn fields_that_are_not_known_are_refused_inside_the_settings_and_ignored_beside_them() {
    let (service, owner) = Service::with_team().await;
    let path = "monitoring_settings.retention";
    let refused = patch_settings(&service, &owner, &json!({ "retention": 5 })).await;
    assert_invalid(&refused, path, &format!("The {path} field is not known."));
    let tools = json!({ "dns": { "enabled": true, "cadence_minutes": 60 } });
    let body = json!({
        "monitoring_settings": { "tools": tools },
        "dns_expected_records": { "A": ["192.0.2.1"] },
        "name": 5,
    });
    assert_eq!(patch(&service, &owner, &body).await.status, 200);
}

#[tokio::test]
async fn sites_follow_their_team_except_in_what_they_override() {
    let (service, owner) = Service::with_team().await;
    let site = new_site(&service, &owner, "https://example.com").await;
    let own = json!({ "tools": { "status": { "settings": { "failures_to_open": 9 } } } });
    let other = new_site_with(&service, &owner, "https://example.org", &own).await;
    let said = json!({ "enabled": true, "cadence_minutes": 15, "settings": {
        "failures_to_open": 4, "successes_to_resolve": 5,
    } });
    patch_tool(&service, &owner, "status", &said).await;
    for (site, failures_to_open) in [(site, 4), (other, 9)] {
        let read = service.client(&owner).get(&format!("/sites/{site}")).await;
        let status = &read.body["data"]["monitoring"]["settings"]["tools"]["status"];
        assert_eq!(status["cadence_minutes"], 15);
        assert_eq!(status["settings"]["failures_to_open"], failures_to_open);
        assert_eq!(read.body["data"]["issue_settings"]["status"]["successes_to_resolve"], 5);
    }
}

#[tokio::test]
async fn the_reconciler_is_told_when_schedules_follow_from_what_changed() {
    let (service, owner) = Service::with_team().await;
    let sync =
        || vec![(Message::Reconcile(ReconcileMessage::SyncTeam(owner.team)), Duration::ZERO)];
    for (settings, notified) in [
        (json!({ "tools": { "status": { "enabled": true, "cadence_minutes": 1 } } }), sync()),
        (json!({ "tools": { "status": { "enabled": false, "cadence_minutes": 1 } } }), sync()),
        (json!({ "tools": { "status": { "enabled": false, "cadence_minutes": 1 } } }), Vec::new()),
        (json!({ "quiet_time": { "enabled": true } }), Vec::new()),
        (json!({ "escalation": { "enabled": true, "intervals": [60] } }), Vec::new()),
        (json!({ "request_header": { "name": "X-Watch", "value": "a" } }), Vec::new()),
        (
            json!({ "tools": { "status": { "enabled": false, "cadence_minutes": 1, "settings": {
                "failures_to_open": 6,
            } } } }),
            Vec::new(),
        ),
    ] {
        let answer = patch_settings(&service, &owner, &settings).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let waiting = service.waiting();
        assert_eq!(waiting, notified, "{settings}");
        for (message, _) in waiting {
            service.deliver(&message).await;
        }
    }
}

#[tokio::test]
async fn the_team_says_when_it_was_changed() {
    let (service, owner) = Service::with_team().await;
    service.advance_minutes(90);
    patch_settings(&service, &owner, &json!({ "escalation": { "enabled": true } })).await;
    service.advance_minutes(90);
    patch_settings(&service, &owner, &json!({ "escalation": { "enabled": true } })).await;
    let team = service.client(&owner).get(&format!("/teams/{}", owner.team)).await;
    assert_eq!(team.data("updated_at"), "2026-11-20T11:24:00+00:00");
}
