//! `PATCH /teams/{team}/monitoring`: what changes, what stays, what is refused.

use std::time::Duration;

use serde_json::{Value, json};
use vedette_domain::accounts::plan::Plan;
use vedette_domain::message::{Message, ReconcileMessage};
use vedette_testkit::{ApiResponse, Member, laid_out, new_team};
use vedette_tests::Service;

use super::{get, patch, setting};
use crate::limits::{broken_headers, broken_settings};
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
async fn what_is_left_out_stays() {
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
        (json!({ "monitoring_settings": { "tools": {} } }), tools, "is required"),
        (json!({ "monitoring_settings": { "tools": [] } }), tools, "must be an object"),
        (json!({ "monitoring_settings": { "tools": ["ssl"] } }), tools, "must be an object"),
    ] {
        let refused = patch(&service, &owner, &body).await;
        assert_invalid(&refused, path, &format!("The {path} field {complaint}."));
    }
}

#[tokio::test]
async fn each_tool_sent_says_whether_and_how_often_it_runs() {
    let (service, owner) = Service::with_team().await;
    for tool in ["status", "ssl", "dns", "broken-links", "performance"] {
        for (sent, missing) in [
            (json!({ "cadence_minutes": 1440 }), "enabled"),
            (json!({ "enabled": null, "cadence_minutes": 1440 }), "enabled"),
            (json!({ "enabled": false }), "cadence_minutes"),
            (json!({ "enabled": true, "cadence_minutes": null }), "cadence_minutes"),
        ] {
            let refused =
                patch_settings(&service, &owner, &json!({ "tools": { tool: sent } })).await;
            let path = format!("monitoring_settings.tools.{tool}.{missing}");
            assert_invalid(&refused, &path, &format!("The {path} field is required."));
        }
    }
    let two =
        patch_settings(&service, &owner, &json!({ "tools": { "dns": {}, "uptime": {} } })).await;
    insta::assert_snapshot!(two.shown(), @r#"
    422 {
      "errors": {
        "monitoring_settings.tools.dns.cadence_minutes": ["The monitoring_settings.tools.dns.cadence_minutes field is required."],
        "monitoring_settings.tools.dns.enabled": ["The monitoring_settings.tools.dns.enabled field is required."],
        "monitoring_settings.tools.uptime": ["The monitoring_settings.tools.uptime field is not known."]
      },
      "message": "The monitoring_settings.tools.dns.enabled field is required. (and 2 more errors)"
    }
    "#);
}

#[tokio::test]
async fn what_breaks_a_limit_is_refused_at_its_path_and_changes_nothing() {
    let (service, owner) = Service::with_team().await;
    let before = get(&service, &owner, owner.team).await;
    for broken in broken_settings() {
        let tools = json!({ "tools": { broken.tool: broken.tool_settings() } });
        let (path, message) = broken.error();
        assert_invalid(&patch_settings(&service, &owner, &tools).await, &path, &message);
    }
    for (header, at, complaint) in broken_headers() {
        let refused = patch_settings(&service, &owner, &json!({ "request_header": header })).await;
        let path = format!("monitoring_settings.request_header{at}");
        assert_invalid(&refused, &path, &format!("The {path} field {complaint}."));
    }
    assert_eq!(get(&service, &owner, owner.team).await.body, before.body);
    assert_eq!(service.waiting(), []);
}

#[tokio::test]
async fn cadences_are_validated_even_of_disabled_tools() {
    let service = Service::start().await;
    for (plan, tool, minutes, complaint) in [
        (Plan::Starter, "status", 30, None),
        (Plan::Starter, "status", 15, Some("must be at least 30 on the starter plan")),
        (Plan::Starter, "dns", 5, Some("must be at least 30 on the starter plan")),
        (Plan::Growth, "ssl", 5, None),
        (Plan::Growth, "ssl", 1, Some("must be at least 5 on the growth plan")),
        (Plan::Agency, "status", 1, None),
        (Plan::Agency, "broken-links", 720, None),
        (Plan::Agency, "broken-links", 360, Some("must be at least 720 for broken-links checks")),
    ] {
        let owner = new_team(&service.test, plan).await;
        let said = json!({ "enabled": false, "cadence_minutes": minutes });
        let answer = patch_tool(&service, &owner, tool, &said).await;
        let path = format!("monitoring_settings.tools.{tool}.cadence_minutes");
        match complaint {
            None => assert_eq!(answer.status, 200, "{plan} {tool} {minutes}"),
            Some(complaint) => {
                assert_invalid(&answer, &path, &format!("The {path} field {complaint}."));
            }
        }
    }
}

#[tokio::test]
async fn headers_within_the_limits_are_kept() {
    let (service, owner) = Service::with_team().await;
    for (name, value) in
        [("n".repeat(255), "v".repeat(2000)), ("X-Watch".to_owned(), "a b".to_owned())]
    {
        let header = json!({ "name": name, "value": value });
        let answer = patch_settings(&service, &owner, &json!({ "request_header": header })).await;
        assert_eq!((answer.status, setting(&answer, "request_header")), (200, &header));
    }
}

#[tokio::test]
async fn a_team_has_no_page_to_audit() {
    let (service, owner) = Service::with_team().await;
    let page = json!({ "settings": { "url": "https://example.com/" } });
    let refused = patch_tool(&service, &owner, "performance", &page).await;
    let path = "monitoring_settings.tools.performance.settings.url";
    assert_invalid(&refused, path, &format!("The {path} field can be set at site level only."));
}

#[tokio::test]
async fn the_two_names_of_one_limit_read_back_equal() {
    let (service, owner) = Service::with_team().await;
    for (sent, kept) in [
        (json!({ "max_response_time_ms": 900 }), json!(900)),
        (json!({ "max_response_time_ms": 900, "max_ttfb_ms": 800 }), json!(800)),
        (json!({ "min_score": 51 }), json!(800)),
        (json!({ "max_response_time_ms": 900, "max_ttfb_ms": null }), json!(null)),
    ] {
        let answer =
            patch_tool(&service, &owner, "performance", &json!({ "settings": sent })).await;
        for name in ["max_response_time_ms", "max_ttfb_ms"] {
            let path = format!("tools.performance.settings.{name}");
            assert_eq!((answer.status, setting(&answer, &path)), (200, &kept), "{sent} {name}");
        }
    }
}

#[tokio::test]
async fn quiet_time_is_a_window_of_the_day() {
    let (service, owner) = Service::with_team().await;
    for (sent, kept) in [
        (
            json!({ "enabled": true, "starts_at": "22:00", "ends_at": "07:00" }),
            json!({ "enabled": true, "starts_at": "22:00", "ends_at": "07:00" }),
        ),
        (
            json!({ "enabled": false, "starts_at": "00:00", "ends_at": "23:59" }),
            json!({ "enabled": false, "starts_at": "00:00", "ends_at": "23:59" }),
        ),
        (
            json!({ "enabled": true }),
            json!({ "enabled": true, "starts_at": "00:00", "ends_at": "23:59" }),
        ),
    ] {
        let answer = patch_settings(&service, &owner, &json!({ "quiet_time": sent })).await;
        assert_eq!((answer.status, setting(&answer, "quiet_time")), (200, &kept), "{sent}");
    }
    let time = "must be a time written HH:MM, from 00:00 to 23:59";
    for (sent, at, complaint) in [
        (json!(null), "", "must not be empty"),
        (json!({}), ".enabled", "is required"),
        (json!({ "starts_at": "10:00" }), ".enabled", "is required"),
        (json!({ "enabled": 1 }), ".enabled", "must be true or false"),
        (json!({ "enabled": true, "starts_at": "9:00" }), ".starts_at", time),
        (json!({ "enabled": true, "starts_at": "24:00" }), ".starts_at", time),
        (json!({ "enabled": true, "ends_at": "07:60" }), ".ends_at", time),
        (json!({ "enabled": true, "ends_at": "07:00:00" }), ".ends_at", time),
        (json!({ "enabled": true, "ends_at": null }), ".ends_at", "must not be empty"),
        (json!({ "enabled": true, "ends_at": 700 }), ".ends_at", "must be a string"),
        // The team's current settings count, too: its quiet time starts at 00:00.
        (json!({ "enabled": true, "ends_at": "00:00" }), ".ends_at", "must differ from starts_at"),
        (
            json!({ "enabled": false, "starts_at": "08:00", "ends_at": "08:00" }),
            ".ends_at",
            "must differ from starts_at",
        ),
        (json!({ "enabled": true, "timezone": "UTC" }), ".timezone", "is not known"),
    ] {
        let refused = patch_settings(&service, &owner, &json!({ "quiet_time": sent })).await;
        let path = format!("monitoring_settings.quiet_time{at}");
        assert_invalid(&refused, &path, &format!("The {path} field {complaint}."));
    }
}

#[tokio::test]
async fn escalation_intervals_are_presets() {
    let (service, owner) = Service::with_team().await;
    for (sent, kept) in [
        (json!({ "enabled": true, "intervals": [0] }), json!([0])),
        (json!({ "enabled": true, "intervals": [1440, 0, 15, 15] }), json!([0, 15, 1440])),
        (json!({ "enabled": false }), json!([0, 15, 1440])),
        (json!({ "enabled": true, "intervals": [] }), json!([])),
    ] {
        let answer = patch_settings(&service, &owner, &json!({ "escalation": sent })).await;
        assert_eq!(
            (answer.status, setting(&answer, "escalation.intervals")),
            (200, &kept),
            "{sent}"
        );
    }
    for (sent, at, complaint) in [
        (json!(null), "", "must not be empty"),
        (json!({ "intervals": [0] }), ".enabled", "is required"),
        (
            json!({ "enabled": true, "intervals": [45] }),
            ".intervals.0",
            "must be one of 0, 15, 30, 60, 360, 1440",
        ),
        (json!({ "enabled": true, "intervals": [0, "15"] }), ".intervals.1", "must be an integer"),
        (json!({ "enabled": true, "intervals": 15 }), ".intervals", "must be an array"),
        (json!({ "enabled": true, "intervals": null }), ".intervals", "must not be empty"),
        (json!({ "enabled": true, "after": 5 }), ".after", "is not known"),
    ] {
        let refused = patch_settings(&service, &owner, &json!({ "escalation": sent })).await;
        let path = format!("monitoring_settings.escalation{at}");
        assert_invalid(&refused, &path, &format!("The {path} field {complaint}."));
    }
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

#[tokio::test]
async fn a_body_is_a_json_object() {
    let (service, owner) = Service::with_team().await;
    let client = service.client(&owner);
    let path = format!("/teams/{}/monitoring", owner.team);
    for (body, field, message) in [
        ("", "monitoring_settings", "The monitoring_settings field is required."),
        ("{", "body", "The request body must be valid JSON."),
        ("[]", "body", "The request body must be a JSON object."),
    ] {
        assert_invalid(&client.send("PATCH", &path, body.into()).await, field, message);
    }
}
