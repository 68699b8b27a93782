//! `POST /teams/{team}/sites`: a site is created or rejected. `settings` tests its monitoring, and
//! `limits` how many sites are possible.

mod limits;
mod settings;

use std::time::Duration;

use lambda_http::Body;
use serde_json::{Value, json};
use vedette_domain::accounts::account::{Membership, Role};
use vedette_domain::accounts::plan::Plan;
use vedette_domain::id::SiteId;
use vedette_domain::message::{Message, ReconcileMessage};
use vedette_domain::sites::settings::Settings;
use vedette_testkit::{ApiResponse, Client, Fault, Member, new_team};
use vedette_tests::Service;

use crate::support::assert_invalid;

/// A client that creates sites in its team.
struct Creator<'a> {
    client: Client<'a>,
    path: String,
}

impl<'a> Creator<'a> {
    fn new(service: &'a Service, owner: &Member) -> Self {
        Self { client: service.client(owner), path: format!("/teams/{}/sites", owner.team) }
    }

    async fn post(&self, body: &Value) -> ApiResponse {
        self.client.post(&self.path, body).await
    }

    async fn send(&self, body: impl Into<Body>) -> ApiResponse {
        self.client.send("POST", &self.path, body.into()).await
    }

    /// Creates a site with one additional field; `n` makes its URL unique.
    async fn post_with(&self, n: usize, field: &str, value: &Value) -> ApiResponse {
        self.post(&json!({ "url": format!("https://example.com/{n}"), field: value })).await
    }

    /// Creates a site with one monitoring setting, given by its dotted path.
    async fn post_setting(&self, n: usize, path: &str, value: &Value) -> ApiResponse {
        self.post_with(n, "monitoring_settings", &nested(path, value)).await
    }
}

/// `a.b` and 1 is `{"a": {"b": 1}}`.
fn nested(path: &str, value: &Value) -> Value {
    path.rsplit('.').fold(value.clone(), |inner, name| json!({ name: inner }))
}

/// What a site reads back under the settings at a dotted path.
fn setting<'a>(created: &'a ApiResponse, path: &str) -> &'a Value {
    let settings = &created.body["data"]["monitoring"]["settings"];
    path.split('.').fold(settings, |value, name| &value[name])
}

/// A team on a plan, with a client of its owner.
async fn team_on(plan: Plan) -> (Service, Member) {
    let service = Service::start().await;
    let owner = new_team(&service.test, plan).await;
    (service, owner)
}

/// Another team of a user, with these settings.
async fn team_with(service: &Service, owner: &Member, settings: &Settings) -> Member {
    let store = &service.test.app.store;
    let team = store.team(owner.team, service.test.now()).await.expect("read").expect("a team");
    let mut team = team.team;
    team.id = service.test.app.entropy.team_id().expect("an id");
    let membership = Membership { team: team.id, user: owner.user, role: Role::Owner };
    store.create_team(&team, settings, &membership).await.expect("a team");
    Member { team: team.id, ..owner.clone() }
}

#[tokio::test]
async fn a_url_alone_takes_everything_else_from_the_team() {
    let (service, owner) = Service::with_team().await;
    let creator = Creator::new(&service, &owner);
    let created = creator.post(&json!({ "url": "https://www.example.com" })).await;
    insta::assert_snapshot!(created.shown_whole(), @r#"
    201 {
      "data": {
        "created_at": "2026-11-20T09:54:00+00:00",
        "domain": "www.example.com",
        "enabled_checks": ["status", "ssl", "dns", "broken-links", "performance"],
        "is_pinned": false,
        "issue_settings": {
          "dns": {
            "confirmation_retry_minutes": 2,
            "expected_records": {},
            "failures_to_open": 2,
            "hard_failures_only": false,
            "monitored_record_types": ["A", "AAAA", "CNAME", "MX", "NS", "TXT"]
          },
          "enabled_tools": ["status", "ssl", "dns", "broken-links", "performance"],
          "escalation": { "enabled": false, "intervals": [] },
          "links": {
            "consecutive_breaches_to_open": 1,
            "ignore_external_links": false,
            "ignore_paths": [],
            "ignore_redirects": false,
            "min_broken_count": 5
          },
          "performance": {
            "consecutive_breaches_to_open": 2,
            "max_load_time_seconds": null,
            "max_response_time_ms": null,
            "max_ttfb_ms": null,
            "min_score": 50,
            "url": null
          },
          "quiet_time": { "enabled": false, "ends_at": "07:00", "starts_at": "22:00" },
          "ssl": { "confirmation_retry_minutes": 2, "expiry_days": 14, "failures_to_open": 2 },
          "status": {
            "confirmation_retry_minutes": 2,
            "failures_to_open": 2,
            "incident_follow_up_minutes": 5,
            "incident_status_codes": [400, 401, 403, 404, 405, 408, 410, 429, 500, 501, 502, 503, 504, 521, 522, 523, 524],
            "successes_to_resolve": 1
          }
        },
        "js_rendered": false,
        "latest_checks": { "broken-links": null, "dns": null, "performance": null, "ssl": null, "status": null },
        "monitoring": {
          "settings": {
            "escalation": { "enabled": false, "intervals": [] },
            "quiet_time": { "enabled": false, "ends_at": "07:00", "starts_at": "22:00" },
            "request_header": { "name": null, "value": null },
            "tools": {
              "broken-links": {
                "cadence_minutes": 10080,
                "enabled": true,
                "settings": {
                  "consecutive_breaches_to_open": 1,
                  "ignore_external_links": false,
                  "ignore_paths": [],
                  "ignore_redirects": false,
                  "min_broken_count": 5
                }
              },
              "dns": {
                "cadence_minutes": 60,
                "enabled": true,
                "settings": {
                  "confirmation_retry_minutes": 2,
                  "failures_to_open": 2,
                  "hard_failures_only": false,
                  "monitored_record_types": ["A", "AAAA", "CNAME", "MX", "NS", "TXT"]
                }
              },
              "performance": {
                "cadence_minutes": 1440,
                "enabled": true,
                "settings": {
                  "consecutive_breaches_to_open": 2,
                  "max_load_time_seconds": null,
                  "max_response_time_ms": null,
                  "max_ttfb_ms": null,
                  "min_score": 50,
                  "url": null
                }
              },
              "ssl": {
                "cadence_minutes": 1440,
                "enabled": true,
                "settings": { "confirmation_retry_minutes": 2, "expiry_days": 14, "failures_to_open": 2 }
              },
              "status": {
                "cadence_minutes": 5,
                "enabled": true,
                "settings": {
                  "confirmation_retry_minutes": 2,
                  "failures_to_open": 2,
                  "incident_follow_up_minutes": 5,
                  "incident_status_codes": [400, 401, 403, 404, 405, 408, 410, 429, 500, 501, 502, 503, 504, 521, 522, 523, 524],
                  "successes_to_resolve": 1
                }
              }
            }
          }
        },
        "name": "example.com",
        "notes": null,
        "reports": {
          "performance": "https://monitor.test/api/v1/sites/00000000-0000-4000-8000-000000000004/reports/performance",
          "uptime": "https://monitor.test/api/v1/sites/00000000-0000-4000-8000-000000000004/reports/uptime"
        },
        "team_uuid": "00000000-0000-4000-8000-000000000001",
        "updated_at": "2026-11-20T09:54:00+00:00",
        "url": "https://www.example.com",
        "uuid": "00000000-0000-4000-8000-000000000004"
      }
    }
    "#);
    let path = "/sites/00000000-0000-4000-8000-000000000004";
    assert_eq!(created.header("location"), format!("https://monitor.test/api/v1{path}"));
    assert_eq!(service.client(&owner).get(path).await.body, created.body);
}

#[tokio::test]
async fn every_field_is_kept() {
    let (service, owner) = Service::with_team().await;
    let body = json!({
        "url": "https://example.com/shop",
        "name": "Shop",
        "notes": "Ask Ada first.",
        "js_rendered": true,
        "monitoring_settings": {
            "tools": {
                "status": {
                    "enabled": true,
                    "cadence_minutes": 1,
                    "settings": {
                        "incident_status_codes": [500, 404],
                        "failures_to_open": 1,
                        "successes_to_resolve": 3,
                        "confirmation_retry_minutes": 5,
                        "incident_follow_up_minutes": 60,
                    },
                },
                "ssl": {
                    "enabled": false,
                    "cadence_minutes": 10080,
                    "settings": {
                        "expiry_days": 30,
                        "failures_to_open": 4,
                        "confirmation_retry_minutes": 1,
                    },
                },
                "dns": {
                    "enabled": true,
                    "cadence_minutes": 15,
                    "settings": {
                        "hard_failures_only": true,
                        "failures_to_open": 5,
                        "confirmation_retry_minutes": 3,
                        "monitored_record_types": ["MX", "A"],
                    },
                },
                "broken-links": {
                    "enabled": true,
                    "cadence_minutes": 720,
                    "settings": {
                        "min_broken_count": 2,
                        "consecutive_breaches_to_open": 6,
                        "ignore_paths": ["/z/*", "/a/*"],
                        "ignore_external_links": true,
                        "ignore_redirects": true,
                    },
                },
                "performance": {
                    "enabled": false,
                    "cadence_minutes": 1440,
                    "settings": {
                        "url": "https://example.com/shop/cart?full=1",
                        "min_score": 90,
                        "max_ttfb_ms": 800,
                        "max_load_time_seconds": 4,
                        "consecutive_breaches_to_open": 7,
                    },
                },
            },
            "request_header": { "name": "X-Watch", "value": "a b" },
        },
        "dns_expected_records": { "MX": ["10 mail.example.com"], "A": ["192.0.2.2", "192.0.2.1"] },
    });
    let created = Creator::new(&service, &owner).post(&body).await;
    insta::assert_snapshot!(created.shown(), @r#"
    201 {
      "data": {
        "created_at": "2026-11-20T09:54:00+00:00",
        "domain": "example.com",
        "enabled_checks": ["status", "dns", "broken-links"],
        "is_pinned": false,
        "issue_settings": {
          "<all else>": "<the defaults>",
          "dns": {
            "confirmation_retry_minutes": 3,
            "expected_records": { "A": ["192.0.2.1", "192.0.2.2"], "MX": ["10 mail.example.com"] },
            "failures_to_open": 5,
            "hard_failures_only": true,
            "monitored_record_types": ["A", "MX"]
          },
          "enabled_tools": ["status", "dns", "broken-links"],
          "links": {
            "consecutive_breaches_to_open": 6,
            "ignore_external_links": true,
            "ignore_paths": ["/a/*", "/z/*"],
            "ignore_redirects": true,
            "min_broken_count": 2
          },
          "performance": {
            "consecutive_breaches_to_open": 7,
            "max_load_time_seconds": 4,
            "max_response_time_ms": 800,
            "max_ttfb_ms": 800,
            "min_score": 90,
            "url": "https://example.com/shop/cart?full=1"
          },
          "ssl": { "confirmation_retry_minutes": 1, "expiry_days": 30, "failures_to_open": 4 },
          "status": {
            "confirmation_retry_minutes": 5,
            "failures_to_open": 1,
            "incident_follow_up_minutes": 60,
            "incident_status_codes": [404, 500],
            "successes_to_resolve": 3
          }
        },
        "js_rendered": true,
        "latest_checks": { "broken-links": null, "dns": null, "performance": null, "ssl": null, "status": null },
        "monitoring": {
          "<all else>": "<the defaults>",
          "settings": {
            "request_header": { "name": "X-Watch", "value": "a b" },
            "tools": {
              "broken-links": {
                "cadence_minutes": 720,
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
                "settings": {
                  "confirmation_retry_minutes": 3,
                  "failures_to_open": 5,
                  "hard_failures_only": true,
                  "monitored_record_types": ["A", "MX"]
                }
              },
              "performance": {
                "enabled": false,
                "settings": {
                  "consecutive_breaches_to_open": 7,
                  "max_load_time_seconds": 4,
                  "max_response_time_ms": 800,
                  "max_ttfb_ms": 800,
                  "min_score": 90,
                  "url": "https://example.com/shop/cart?full=1"
                }
              },
              "ssl": {
                "cadence_minutes": 10080,
                "enabled": false,
                "settings": { "confirmation_retry_minutes": 1, "expiry_days": 30, "failures_to_open": 4 }
              },
              "status": {
                "cadence_minutes": 1,
                "settings": {
                  "confirmation_retry_minutes": 5,
                  "failures_to_open": 1,
                  "incident_follow_up_minutes": 60,
                  "incident_status_codes": [404, 500],
                  "successes_to_resolve": 3
                }
              }
            }
          }
        },
        "name": "Shop",
        "notes": "Ask Ada first.",
        "reports": "<its own>",
        "team_uuid": "00000000-0000-4000-8000-000000000001",
        "updated_at": "2026-11-20T09:54:00+00:00",
        "url": "https://example.com/shop",
        "uuid": "00000000-0000-4000-8000-000000000004"
      }
    }
    "#);
}

#[tokio::test]
async fn what_was_created_reads_back_the_same() {
    let (service, owner) = Service::with_team().await;
    let creator = Creator::new(&service, &owner);
    let created = creator.post(&json!({ "url": "https://example.com", "notes": "x" })).await;
    let read = creator.client.get(&format!("/sites/{}", created.data("uuid"))).await;
    assert_eq!((read.status, read.body), (200, created.body));
}

#[tokio::test]
async fn the_reconciler_is_told_of_a_new_site_and_of_no_refused_one() {
    let (service, owner) = Service::with_team().await;
    let creator = Creator::new(&service, &owner);
    creator.post(&json!({ "url": "no URL" })).await;
    assert_eq!(service.waiting(), []);
    let created = creator.post(&json!({ "url": "https://example.com" })).await;
    let site = SiteId::parse(&created.data("uuid")).expect("an id");
    assert_eq!(
        service.waiting(),
        [(Message::Reconcile(ReconcileMessage::Sync { team: owner.team, site }), Duration::ZERO)]
    );
    creator.post(&json!({ "url": "https://example.com" })).await;
    assert_eq!(service.waiting(), []);
}

#[tokio::test]
async fn everything_wrong_is_told_at_once_in_the_order_of_the_fields() {
    let (service, owner) = Service::with_team().await;
    let creator = Creator::new(&service, &owner);
    let two = creator.post(&json!({ "notes": 1, "name": 2, "url": "https://example.com" })).await;
    insta::assert_snapshot!(two.shown(), @r#"
    422 {
      "errors": {
        "name": ["The name field must be a string."],
        "notes": ["The notes field must be a string."]
      },
      "message": "The name field must be a string. (and 1 more error)"
    }
    "#);

    let all = creator
        .post(&json!({
            "dns_expected_records": { "SOA": [] },
            "monitoring_settings": {
                "escalation": {},
                "request_header": { "name": "X" },
                "tools": {
                    "uptime": {},
                    "ssl": { "cadence_minutes": 7, "enabled": 1 },
                    "status": { "settings": { "incident_status_codes": [418, 500, 419] } },
                },
            },
            "js_rendered": "no",
        }))
        .await;
    assert_eq!(all.body["message"], "The url field is required. (and 9 more errors)");
    insta::assert_snapshot!(all.shown(), @r#"
    422 {
      "errors": {
        "dns_expected_records.SOA": ["The dns_expected_records.SOA field is not known."],
        "js_rendered": ["The js_rendered field must be true or false."],
        "monitoring_settings.escalation": ["The monitoring_settings.escalation field can be set at team level only."],
        "monitoring_settings.request_header.value": [
          "The monitoring_settings.request_header.value field is required with monitoring_settings.request_header.name."
        ],
        "monitoring_settings.tools.ssl.cadence_minutes": [
          "The monitoring_settings.tools.ssl.cadence_minutes field must be one of 1, 5, 10, 15, 30, 60, 120, 360, 720, 1440, 10080."
        ],
        "monitoring_settings.tools.ssl.enabled": ["The monitoring_settings.tools.ssl.enabled field must be true or false."],
        "monitoring_settings.tools.status.settings.incident_status_codes.0": [
          "The monitoring_settings.tools.status.settings.incident_status_codes.0 field must be one of 400, 401, 403, 404, 405, 408, 410, 429, 500, 501, 502, 503, 504, 521, 522, 523, 524."
        ],
        "monitoring_settings.tools.status.settings.incident_status_codes.2": [
          "The monitoring_settings.tools.status.settings.incident_status_codes.2 field must be one of 400, 401, 403, 404, 405, 408, 410, 429, 500, 501, 502, 503, 504, 521, 522, 523, 524."
        ],
        "monitoring_settings.tools.uptime": ["The monitoring_settings.tools.uptime field is not known."],
        "url": ["The url field is required."]
      },
      "message": "The url field is required. (and 9 more errors)"
    }
    "#);
}

#[tokio::test]
async fn unknown_fields_are_ignored_and_pinned_is_one_of_them() {
    let (service, owner) = Service::with_team().await;
    let body = json!({
        "url": "https://example.com",
        "pinned": true,
        "is_pinned": true,
        "uuid": 5,
        "monitoring": { "settings": [] },
        "quiet_time": { "enabled": "yes" },
    });
    let created = Creator::new(&service, &owner).post(&body).await;
    assert_eq!(created.status, 201, "{created:?}");
    assert_eq!(created.body["data"]["is_pinned"], false);
}

#[tokio::test]
async fn a_creation_survives_what_goes_wrong_on_the_way_to_the_table() {
    let (service, owner) = Service::with_team().await;
    let creator = Creator::new(&service, &owner);
    // Records the use of the token.
    creator.client.get("/me").await;
    for (n, fault) in [Fault::Throttle, Fault::Conflict, Fault::LoseAnswer].into_iter().enumerate()
    {
        service.test.faults().on_write(1, fault);
        let created = creator.post(&json!({ "url": format!("https://example.com/{n}") })).await;
        assert_eq!(created.status, 201, "{fault:?}: {created:?}");
    }
    let team = creator.client.get(&format!("/teams/{}", owner.team)).await;
    assert_eq!(team.body["data"]["sites_count"], 3);
}

#[tokio::test]
async fn a_body_is_a_json_object_or_nothing() {
    let (service, owner) = Service::with_team().await;
    let creator = Creator::new(&service, &owner);
    assert_invalid(&creator.send(Body::Empty).await, "url", "The url field is required.");
    assert_invalid(&creator.send("{}").await, "url", "The url field is required.");
    for body in ["[]", "null", "5", "\"https://example.com\"", r#"[{"url":"https://example.com"}]"#]
    {
        let refused = creator.send(body).await;
        assert_invalid(&refused, "body", "The request body must be a JSON object.");
    }
    for body in ["{", "url=https://example.com", "{'url': 'https://example.com'}", " "] {
        let refused = creator.send(body).await;
        assert_invalid(&refused, "body", "The request body must be valid JSON.");
    }
    let binary = creator.send(br#"{"url":"https://example.com"}"#.to_vec()).await;
    assert_eq!(binary.status, 201, "{binary:?}");
}

#[tokio::test]
async fn a_body_is_json_whatever_its_content_type_says() {
    let (service, owner) = Service::with_team().await;
    for (n, kind) in ["text/plain", "application/x-www-form-urlencoded", "application/json; x"]
        .into_iter()
        .enumerate()
    {
        let mut creator = Creator::new(&service, &owner);
        creator.client = creator.client.with_header("content-type", kind);
        let created = creator.post(&json!({ "url": format!("https://example.com/{n}") })).await;
        assert_eq!(created.status, 201, "{kind}");
    }
}
