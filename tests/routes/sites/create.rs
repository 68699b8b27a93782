use std::time::Duration;

use futures::future::join_all;
use lambda_http::Body;
use serde_json::{Value, json};
use vedette_domain::account::{Membership, Role};
use vedette_domain::id::SiteId;
use vedette_domain::message::{Message, Upkeep};
use vedette_domain::plan::Plan;
use vedette_domain::settings::{RequestHeader, Settings};
use vedette_testkit::{Fault, Member, new_team};
use vedette_tests::{Answer, Client, Service};

use crate::support::{
    assert_invalid, assert_not_found, assert_plan_required, assert_role_required, colleague,
    new_site, odd_spellings, set_plan, suspend,
};

/// A client that creates sites in its team.
struct Creator<'a> {
    client: Client<'a>,
    path: String,
}

impl<'a> Creator<'a> {
    fn new(service: &'a Service, owner: &Member) -> Self {
        Self { client: service.client(owner), path: format!("/teams/{}/sites", owner.team) }
    }

    async fn post(&self, body: &Value) -> Answer {
        self.client.post(&self.path, body).await
    }

    async fn send(&self, body: impl Into<Body>) -> Answer {
        self.client.send("POST", &self.path, body.into()).await
    }

    /// Creates a site with one field beside a URL of its own, which `n` makes different.
    async fn post_with(&self, n: usize, field: &str, value: &Value) -> Answer {
        self.post(&json!({ "url": format!("https://example.com/{n}"), field: value })).await
    }

    /// Creates a site with one monitoring setting, given by its dotted path.
    async fn post_setting(&self, n: usize, path: &str, value: &Value) -> Answer {
        self.post_with(n, "monitoring_settings", &nested(path, value)).await
    }
}

/// `a.b` and 1 is `{"a": {"b": 1}}`.
fn nested(path: &str, value: &Value) -> Value {
    path.rsplit('.').fold(value.clone(), |inner, name| json!({ name: inner }))
}

/// What a site reads back under the settings at a dotted path.
fn setting<'a>(created: &'a Answer, path: &str) -> &'a Value {
    let settings = &created.body["data"]["monitoring"]["settings"];
    path.split('.').fold(settings, |value, name| &value[name])
}

/// A team on a plan, with a client of its owner.
async fn team_on(plan: Plan) -> (Service, Member) {
    let service = Service::start().await;
    let owner = new_team(&service.test, plan).await;
    (service, owner)
}

/// One more team of a user, with these settings.
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
    insta::assert_snapshot!(created.shown(), @r#"
    201 {
      "data": {
        "created_at": "2026-11-20T09:54:00+00:00",
        "domain": "www.example.com",
        "enabled_checks": [
          "status",
          "ssl",
          "dns",
          "broken-links",
          "performance"
        ],
        "is_pinned": false,
        "issue_settings": {
          "dns": {
            "confirmation_retry_minutes": 2,
            "expected_records": {},
            "failures_to_open": 2,
            "hard_failures_only": false,
            "monitored_record_types": [
              "A",
              "AAAA",
              "CNAME",
              "MX",
              "NS",
              "TXT"
            ]
          },
          "enabled_tools": [
            "status",
            "ssl",
            "dns",
            "broken-links",
            "performance"
          ],
          "escalation": {
            "enabled": false,
            "intervals": []
          },
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
          "quiet_time": {
            "enabled": false,
            "ends_at": "07:00",
            "starts_at": "22:00"
          },
          "ssl": {
            "confirmation_retry_minutes": 2,
            "expiry_days": 14,
            "failures_to_open": 2
          },
          "status": {
            "confirmation_retry_minutes": 2,
            "failures_to_open": 2,
            "incident_follow_up_minutes": 5,
            "incident_status_codes": [
              400,
              401,
              403,
              404,
              405,
              408,
              410,
              429,
              500,
              501,
              502,
              503,
              504,
              521,
              522,
              523,
              524
            ],
            "successes_to_resolve": 1
          }
        },
        "js_rendered": false,
        "latest_checks": {
          "broken-links": null,
          "dns": null,
          "performance": null,
          "ssl": null,
          "status": null
        },
        "monitoring": {
          "settings": {
            "escalation": {
              "enabled": false,
              "intervals": []
            },
            "quiet_time": {
              "enabled": false,
              "ends_at": "07:00",
              "starts_at": "22:00"
            },
            "request_header": {
              "name": null,
              "value": null
            },
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
                  "monitored_record_types": [
                    "A",
                    "AAAA",
                    "CNAME",
                    "MX",
                    "NS",
                    "TXT"
                  ]
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
                "settings": {
                  "confirmation_retry_minutes": 2,
                  "expiry_days": 14,
                  "failures_to_open": 2
                }
              },
              "status": {
                "cadence_minutes": 5,
                "enabled": true,
                "settings": {
                  "confirmation_retry_minutes": 2,
                  "failures_to_open": 2,
                  "incident_follow_up_minutes": 5,
                  "incident_status_codes": [
                    400,
                    401,
                    403,
                    404,
                    405,
                    408,
                    410,
                    429,
                    500,
                    501,
                    502,
                    503,
                    504,
                    521,
                    522,
                    523,
                    524
                  ],
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
        "enabled_checks": [
          "status",
          "dns",
          "broken-links"
        ],
        "is_pinned": false,
        "issue_settings": {
          "dns": {
            "confirmation_retry_minutes": 3,
            "expected_records": {
              "A": [
                "192.0.2.1",
                "192.0.2.2"
              ],
              "MX": [
                "10 mail.example.com"
              ]
            },
            "failures_to_open": 5,
            "hard_failures_only": true,
            "monitored_record_types": [
              "A",
              "MX"
            ]
          },
          "enabled_tools": [
            "status",
            "dns",
            "broken-links"
          ],
          "escalation": {
            "enabled": false,
            "intervals": []
          },
          "links": {
            "consecutive_breaches_to_open": 6,
            "ignore_external_links": true,
            "ignore_paths": [
              "/a/*",
              "/z/*"
            ],
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
          "quiet_time": {
            "enabled": false,
            "ends_at": "07:00",
            "starts_at": "22:00"
          },
          "ssl": {
            "confirmation_retry_minutes": 1,
            "expiry_days": 30,
            "failures_to_open": 4
          },
          "status": {
            "confirmation_retry_minutes": 5,
            "failures_to_open": 1,
            "incident_follow_up_minutes": 60,
            "incident_status_codes": [
              404,
              500
            ],
            "successes_to_resolve": 3
          }
        },
        "js_rendered": true,
        "latest_checks": {
          "broken-links": null,
          "dns": null,
          "performance": null,
          "ssl": null,
          "status": null
        },
        "monitoring": {
          "settings": {
            "escalation": {
              "enabled": false,
              "intervals": []
            },
            "quiet_time": {
              "enabled": false,
              "ends_at": "07:00",
              "starts_at": "22:00"
            },
            "request_header": {
              "name": "X-Watch",
              "value": "a b"
            },
            "tools": {
              "broken-links": {
                "cadence_minutes": 720,
                "enabled": true,
                "settings": {
                  "consecutive_breaches_to_open": 6,
                  "ignore_external_links": true,
                  "ignore_paths": [
                    "/a/*",
                    "/z/*"
                  ],
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
                  "monitored_record_types": [
                    "A",
                    "MX"
                  ]
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
                  "url": "https://example.com/shop/cart?full=1"
                }
              },
              "ssl": {
                "cadence_minutes": 10080,
                "enabled": false,
                "settings": {
                  "confirmation_retry_minutes": 1,
                  "expiry_days": 30,
                  "failures_to_open": 4
                }
              },
              "status": {
                "cadence_minutes": 1,
                "enabled": true,
                "settings": {
                  "confirmation_retry_minutes": 5,
                  "failures_to_open": 1,
                  "incident_follow_up_minutes": 60,
                  "incident_status_codes": [
                    404,
                    500
                  ],
                  "successes_to_resolve": 3
                }
              }
            }
          }
        },
        "name": "Shop",
        "notes": "Ask Ada first.",
        "reports": {
          "performance": "https://monitor.test/api/v1/sites/00000000-0000-4000-8000-000000000004/reports/performance",
          "uptime": "https://monitor.test/api/v1/sites/00000000-0000-4000-8000-000000000004/reports/uptime"
        },
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
async fn the_keeper_is_told_of_a_new_site_and_of_no_refused_one() {
    let (service, owner) = Service::with_team().await;
    let creator = Creator::new(&service, &owner);
    creator.post(&json!({ "url": "no URL" })).await;
    assert_eq!(service.waiting(), []);
    let created = creator.post(&json!({ "url": "https://example.com" })).await;
    let site = SiteId::parse(&created.data("uuid")).expect("an id");
    assert_eq!(
        service.waiting(),
        [(Message::Upkeep(Upkeep::Sync { team: owner.team, site }), Duration::ZERO)]
    );
    creator.post(&json!({ "url": "https://example.com" })).await;
    assert_eq!(service.waiting(), []);
}

#[tokio::test]
async fn urls_are_kept_in_their_canonical_form() {
    let (service, owner) = Service::with_team().await;
    let creator = Creator::new(&service, &owner);
    for (sent, url, domain, name) in [
        ("https://Example.COM/", "https://example.com", "example.com", "example.com"),
        ("  https://a.test/b \n", "https://a.test/b", "a.test", "a.test"),
        ("HTTPS://a.test:443/c", "https://a.test/c", "a.test", "a.test"),
        ("http://a.test:80/d/", "http://a.test/d/", "a.test", "a.test"),
        ("http://a.test:443", "http://a.test:443", "a.test", "a.test"),
        ("https://a.test/?b=1#c", "https://a.test/?b=1", "a.test", "a.test"),
        ("https://a.test/E/%7e?G=h&", "https://a.test/E/%7e?G=h&", "a.test", "a.test"),
        (
            "https://bücher.example/ä",
            "https://xn--bcher-kva.example/%C3%A4",
            "xn--bcher-kva.example",
            "xn--bcher-kva.example",
        ),
        (
            "https://WWW.Example.org:8443",
            "https://www.example.org:8443",
            "www.example.org",
            "example.org",
        ),
        ("https://b.test./?", "https://b.test", "b.test", "b.test"),
        (
            "https://www.my_shop.test./",
            "https://www.my_shop.test",
            "www.my_shop.test",
            "my_shop.test",
        ),
        ("http://0x7f.1/", "http://127.0.0.1", "127.0.0.1", "127.0.0.1"),
        ("http://[2001:DB8::1]/", "http://[2001:db8::1]", "[2001:db8::1]", "[2001:db8::1]"),
    ] {
        let created = creator.post(&json!({ "url": sent })).await;
        assert_eq!(created.status, 201, "{sent}: {created:?}");
        let shown = ["url", "domain", "name"].map(|field| created.data(field));
        assert_eq!(shown, [url, domain, name], "{sent}");
    }
    let longest = format!("https://example.com/{}", "a".repeat(2048 - 20));
    assert_eq!(creator.post(&json!({ "url": longest })).await.data("url"), longest);
}

#[tokio::test]
async fn what_is_no_url_of_a_site_is_refused() {
    let (service, owner) = Service::with_team().await;
    let creator = Creator::new(&service, &owner);
    let long = format!("https://example.com/{}", "a".repeat(2048 - 19));
    for (sent, message) in [
        (json!(null), "The url field is required."),
        (json!(" "), "The url field is required."),
        (json!(5), "The url field must be a string."),
        (json!(["https://example.com"]), "The url field must be a string."),
        (json!("example.com"), "The url must start with http:// or https://."),
        (json!("ftp://example.com"), "The url must start with http:// or https://."),
        (json!("https:example.com"), "The url must start with http:// or https://."),
        (json!("https://"), "The url must have a host."),
        (json!("https:///path"), "The url must have a host."),
        (json!("https://ada@example.com"), "The url must not contain a user name or password."),
        (
            json!("https://ada:secret@example.com"),
            "The url must not contain a user name or password.",
        ),
        (json!("https://exa mple.com"), "The url must have a valid domain name as its host."),
        (json!("https://.."), "The url must have a valid domain name as its host."),
        (json!("https://-"), "The url must have a valid domain name as its host."),
        (json!("https://ok..test"), "The url must have a valid domain name as its host."),
        (json!("https://-ok.test"), "The url must have a valid domain name as its host."),
        (
            json!(format!("https://{}.test", "a".repeat(64))),
            "The url must have a valid domain name as its host.",
        ),
        (json!("https://example.com:0"), "The url must not have the port 0."),
        (json!("https://example.com/a\nb"), "The url must not contain control characters."),
        (json!("https://example.com:99999"), "The url is not a valid URL: invalid port number."),
        (json!(long), "The url must not be longer than 2048 characters."),
    ] {
        assert_invalid(&creator.post(&json!({ "url": sent })).await, "url", message);
    }
    let omitted = creator.post(&json!({ "name": "Shop" })).await;
    assert_invalid(&omitted, "url", "The url field is required.");
}

#[tokio::test]
async fn names_are_trimmed_strings_of_at_most_255_characters() {
    let (service, owner) = Service::with_team().await;
    let creator = Creator::new(&service, &owner);
    let longest = "ü".repeat(255);
    for (n, sent, kept) in [(1, "  Shop\n", "Shop"), (2, &longest, &longest), (3, "0", "0")] {
        let created = creator.post_with(n, "name", &json!(sent)).await;
        assert_eq!((created.status, created.data("name")), (201, kept.to_owned()));
    }
    for (sent, message) in [
        (json!("n".repeat(256)), "The name field must not be longer than 255 characters."),
        (json!(null), "The name field must not be empty."),
        (json!(""), "The name field must not be empty."),
        (json!(" \t"), "The name field must not be empty."),
        (json!("Shop\u{1b}[31m"), "The name field must not contain control characters."),
        (json!("Sh\nop"), "The name field must not contain control characters."),
        (json!("\u{200b}\u{2060}"), "The name field must contain a visible character."),
        (json!(5), "The name field must be a string."),
        (json!({}), "The name field must be a string."),
    ] {
        assert_invalid(&creator.post_with(9, "name", &sent).await, "name", message);
    }
}

#[tokio::test]
async fn notes_are_trimmed_strings_of_at_most_5000_characters_or_null() {
    let (service, owner) = Service::with_team().await;
    let creator = Creator::new(&service, &owner);
    let longest = "ü".repeat(5000);
    for (n, sent, kept) in [
        (1, json!(" a\nb "), json!("a\nb")),
        (2, json!(longest), json!(longest)),
        (3, json!(null), json!(null)),
        (4, json!(""), json!(null)),
        (5, json!("  "), json!(null)),
    ] {
        let created = creator.post_with(n, "notes", &sent).await;
        assert_eq!((created.status, &created.body["data"]["notes"]), (201, &kept));
    }
    for (sent, message) in [
        (json!("n".repeat(5001)), "The notes field must not be longer than 5000 characters."),
        (json!(5), "The notes field must be a string."),
        (json!(false), "The notes field must be a string."),
    ] {
        assert_invalid(&creator.post_with(9, "notes", &sent).await, "notes", message);
    }
}

#[tokio::test]
async fn js_rendered_is_true_or_false_and_nothing_like_it() {
    let (service, owner) = Service::with_team().await;
    let creator = Creator::new(&service, &owner);
    for (n, value) in [(1, true), (2, false)] {
        let created = creator.post_with(n, "js_rendered", &json!(value)).await;
        assert_eq!((created.status, &created.body["data"]["js_rendered"]), (201, &json!(value)));
    }
    for (sent, message) in [
        (json!(1), "The js_rendered field must be true or false."),
        (json!("true"), "The js_rendered field must be true or false."),
        (json!([]), "The js_rendered field must be true or false."),
        (json!(null), "The js_rendered field must not be empty."),
        (json!(""), "The js_rendered field must not be empty."),
    ] {
        assert_invalid(&creator.post_with(9, "js_rendered", &sent).await, "js_rendered", message);
    }
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
async fn unknown_keys_inside_the_settings_are_refused_at_their_path() {
    let (service, owner) = Service::with_team().await;
    let creator = Creator::new(&service, &owner);
    for path in [
        "cadence_minutes",
        "tools.links",
        "tools.uptime",
        "tools.status.failures_to_open",
        "tools.status.settings.expiry_days",
        "tools.ssl.settings.successes_to_resolve",
        "tools.dns.settings.expected_records",
        "tools.broken-links.settings.failures_to_open",
        "tools.performance.settings.max_ttfb",
        "request_header.header",
    ] {
        let refused = creator.post_setting(1, path, &json!(1)).await;
        let path = format!("monitoring_settings.{path}");
        assert_invalid(&refused, &path, &format!("The {path} field is not known."));
    }
    // What a client made up is not sent back whole.
    let refused = creator.post_setting(1, &"x".repeat(100_000), &json!(1)).await;
    let path = format!("monitoring_settings.{}…", "x".repeat(100));
    assert_invalid(&refused, &path, &format!("The {path} field is not known."));
}

#[tokio::test]
async fn quiet_time_and_escalation_belong_to_the_team() {
    let (service, owner) = Service::with_team().await;
    let creator = Creator::new(&service, &owner);
    for (section, value) in [
        ("quiet_time", json!({ "enabled": true })),
        ("quiet_time", json!({})),
        ("escalation", json!({ "enabled": false, "intervals": [15] })),
        ("escalation", json!(null)),
    ] {
        let refused = creator.post_setting(1, section, &value).await;
        let path = format!("monitoring_settings.{section}");
        assert_invalid(
            &refused,
            &path,
            &format!("The {path} field can be set at team level only."),
        );
    }
}

#[tokio::test]
async fn what_a_new_site_says_is_its_own_although_the_team_says_so_too() {
    let (service, owner) = Service::with_team().await;
    let creator = Creator::new(&service, &owner);
    let first = creator.post(&json!({ "url": "https://example.com" })).await;
    // As one site reads, with what only its team sets, another one can begin.
    let read = &first.body["data"]["monitoring"]["settings"];
    let second = creator.post_with(2, "monitoring_settings", read).await;
    assert_eq!((second.status, &second.body["data"]["monitoring"]["settings"]), (201, read));

    let off = json!({ "tools": { "dns": { "enabled": false, "cadence_minutes": 60 } } });
    let path = format!("/teams/{}/monitoring", owner.team);
    let body = json!({ "monitoring_settings": off });
    assert_eq!(service.client(&owner).patch(&path, &body).await.status, 200);
    for (site, is_enabled) in [(first, false), (second, true)] {
        let path = format!("/sites/{}", site.data("uuid"));
        let now = service.client(&owner).get(&path).await;
        assert_eq!(setting(&now, "tools.dns.enabled"), &json!(is_enabled));
    }
}

#[tokio::test]
async fn sections_of_the_settings_are_objects_and_never_null() {
    let (service, owner) = Service::with_team().await;
    let creator = Creator::new(&service, &owner);
    for path in [
        "monitoring_settings",
        "monitoring_settings.tools",
        "monitoring_settings.tools.status",
        "monitoring_settings.tools.broken-links.settings",
        "monitoring_settings.request_header",
    ] {
        for (value, complaint) in [
            (json!(null), "must not be empty"),
            (json!([]), "must be an object"),
            (json!("x"), "must be an object"),
        ] {
            let mut body = nested(path, &value);
            body["url"] = json!("https://example.com");
            let message = format!("The {path} field {complaint}.");
            assert_invalid(&creator.post(&body).await, path, &message);
        }
    }
}

#[tokio::test]
async fn empty_sections_inherit() {
    let (service, owner) = Service::with_team().await;
    let creator = Creator::new(&service, &owner);
    let plain = creator.post(&json!({ "url": "https://example.com" })).await;
    for (n, settings) in [
        json!({}),
        json!({ "tools": {}, "request_header": {} }),
        json!({ "tools": { "status": {}, "dns": { "settings": {} } } }),
        json!({ "request_header": { "name": null, "value": null } }),
        json!({ "request_header": { "name": "", "value": " " } }),
        json!({ "request_header": { "name": null } }),
    ]
    .iter()
    .enumerate()
    {
        let created = creator.post_with(n, "monitoring_settings", settings).await;
        assert_eq!(created.status, 201, "{settings}: {created:?}");
        for field in ["monitoring", "issue_settings", "enabled_checks"] {
            assert_eq!(created.body["data"][field], plain.body["data"][field], "{settings}");
        }
    }
}

#[tokio::test]
async fn cadences_are_presets_that_the_plan_allows() {
    let allowed = [
        (Plan::Starter, "status", [30, 60, 120, 360].as_slice()),
        (Plan::Growth, "dns", &[5, 10, 15]),
        (Plan::Agency, "ssl", &[1]),
        (Plan::Starter, "performance", &[720, 1440, 10080]),
    ];
    for (plan, tool, cadences) in allowed {
        let (service, owner) = team_on(plan).await;
        let path = format!("tools.{tool}.cadence_minutes");
        for &minutes in cadences {
            let creator = Creator::new(&service, &owner);
            let n = usize::try_from(minutes).expect("small");
            let created = creator.post_setting(n, &path, &json!(minutes)).await;
            assert_eq!(created.status, 201, "{plan} {tool} {minutes}: {created:?}");
            assert_eq!(setting(&created, &path), minutes);
        }
    }
    let (service, owner) = Service::with_team().await;
    let presets = "must be one of 1, 5, 10, 15, 30, 60, 120, 360, 720, 1440, 10080";
    for (plan, tool, minutes, complaint) in [
        (Plan::Starter, "status", json!(15), "must be at least 30 on the starter plan"),
        (Plan::Starter, "status", json!(5), "must be at least 30 on the starter plan"),
        (Plan::Growth, "dns", json!(1), "must be at least 5 on the growth plan"),
        (Plan::Agency, "broken-links", json!(360), "must be at least 720 for broken-links checks"),
        (Plan::Agency, "performance", json!(1), "must be at least 720 for performance checks"),
        (Plan::Agency, "status", json!(7), presets),
        (Plan::Starter, "status", json!(7), presets),
        (Plan::Agency, "broken-links", json!(721), presets),
        (Plan::Agency, "status", json!(0), "must be at least 1"),
        (Plan::Agency, "status", json!(-5), "must be at least 1"),
        (Plan::Agency, "status", json!("5"), "must be an integer"),
        (Plan::Agency, "status", json!(5.5), "must be an integer"),
        (Plan::Agency, "status", json!(null), "must not be empty"),
    ] {
        set_plan(&service, owner.team, plan, true).await;
        // A cadence is judged even where the tool does not run.
        let tool_settings = json!({ "enabled": false, "cadence_minutes": minutes });
        let path = format!("tools.{tool}");
        let refused = Creator::new(&service, &owner).post_setting(1, &path, &tool_settings).await;
        let path = format!("monitoring_settings.{path}.cadence_minutes");
        assert_invalid(&refused, &path, &format!("The {path} field {complaint}."));
    }
}

#[tokio::test]
async fn without_a_cadence_the_smallest_plan_slows_the_defaults_down() {
    let (service, owner) = team_on(Plan::Starter).await;
    let created =
        Creator::new(&service, &owner).post(&json!({ "url": "https://example.com" })).await;
    for (tool, minutes) in
        [("status", 30), ("ssl", 1440), ("dns", 60), ("broken-links", 10080), ("performance", 1440)]
    {
        assert_eq!(setting(&created, &format!("tools.{tool}.cadence_minutes")), minutes, "{tool}");
    }
}

/// The settings that are numbers, with their bounds.
const NUMBERS: [(&str, u32, u32); 16] = {
    const MOST: u32 = 2_147_483_647;
    [
        ("status.settings.failures_to_open", 1, MOST),
        ("status.settings.successes_to_resolve", 1, MOST),
        ("status.settings.confirmation_retry_minutes", 1, 5),
        ("status.settings.incident_follow_up_minutes", 1, 60),
        ("ssl.settings.expiry_days", 1, MOST),
        ("ssl.settings.failures_to_open", 1, MOST),
        ("ssl.settings.confirmation_retry_minutes", 1, 5),
        ("dns.settings.failures_to_open", 1, MOST),
        ("dns.settings.confirmation_retry_minutes", 1, 5),
        ("broken-links.settings.min_broken_count", 1, MOST),
        ("broken-links.settings.consecutive_breaches_to_open", 1, MOST),
        ("performance.settings.min_score", 1, 100),
        ("performance.settings.max_response_time_ms", 1, MOST),
        ("performance.settings.max_ttfb_ms", 1, MOST),
        ("performance.settings.max_load_time_seconds", 1, MOST),
        ("performance.settings.consecutive_breaches_to_open", 1, MOST),
    ]
};

/// Creates a site with all numbers at once, each made from its bounds.
async fn post_numbers(
    creator: &Creator<'_>,
    n: usize,
    value: impl Fn(u32, u32) -> Value,
) -> Answer {
    let mut tools = json!({});
    for (path, min, max) in NUMBERS {
        path.split('.')
            .fold(&mut tools, |fields, name| &mut fields[name])
            .clone_from(&value(min, max));
    }
    creator.post_setting(n, "tools", &tools).await
}

#[tokio::test]
async fn numbers_keep_to_their_bounds() {
    let (service, owner) = Service::with_team().await;
    let creator = Creator::new(&service, &owner);
    type Pick = fn(u32, u32) -> u32;
    let bounds: [Pick; 2] = [|min, _| min, |_, max| max];
    for (n, bound) in bounds.into_iter().enumerate() {
        let created = post_numbers(&creator, n, |min, max| json!(bound(min, max))).await;
        assert_eq!(created.status, 201, "{created:?}");
        for (path, min, max) in NUMBERS {
            assert_eq!(setting(&created, &format!("tools.{path}")), bound(min, max), "{path}");
        }
    }
    type Wrong = fn(u32, u32) -> (Value, String);
    let wrong: [Wrong; 5] = [
        |min, _| (json!(min - 1), format!("must be at least {min}")),
        |_, max| (json!(u64::from(max) + 1), format!("must not be greater than {max}")),
        |min, _| (json!(min.to_string()), "must be an integer".to_owned()),
        |_, _| (json!(1.5), "must be an integer".to_owned()),
        |_, _| (json!(true), "must be an integer".to_owned()),
    ];
    for wrong in wrong {
        let refused = post_numbers(&creator, 9, |min, max| wrong(min, max).0).await;
        let errors = NUMBERS.map(|(path, min, max)| {
            let field = format!("monitoring_settings.tools.{path}");
            let message = format!("The {field} field {}.", wrong(min, max).1);
            (field, json!([message]))
        });
        assert_eq!(refused.status, 422);
        assert_eq!(refused.body["errors"], Value::Object(errors.into_iter().collect()));
    }
    let path = "tools.status.settings.failures_to_open";
    let whole = creator.post_setting(3, path, &json!(5.0)).await;
    assert_eq!((whole.status, setting(&whole, path)), (201, &json!(5)));
    let thousand = creator.post_setting(4, path, &json!(1000)).await;
    assert_eq!((thousand.status, setting(&thousand, path)), (201, &json!(1000)));
}

#[tokio::test]
async fn only_limits_that_may_be_absent_may_be_null() {
    let (service, owner) = Service::with_team().await;
    let creator = Creator::new(&service, &owner);
    for (n, name) in ["url", "max_response_time_ms", "max_ttfb_ms", "max_load_time_seconds"]
        .into_iter()
        .enumerate()
    {
        let path = format!("tools.performance.settings.{name}");
        let created = creator.post_setting(n, &path, &json!(null)).await;
        assert_eq!((created.status, setting(&created, &path)), (201, &json!(null)), "{path}");
    }
    for path in [
        "status.enabled",
        "status.settings.incident_status_codes",
        "status.settings.failures_to_open",
        "dns.settings.hard_failures_only",
        "dns.settings.monitored_record_types",
        "broken-links.settings.ignore_paths",
        "broken-links.settings.ignore_redirects",
        "performance.settings.min_score",
        "performance.settings.consecutive_breaches_to_open",
    ] {
        let refused = creator.post_setting(9, &format!("tools.{path}"), &json!(null)).await;
        let path = format!("monitoring_settings.tools.{path}");
        assert_invalid(&refused, &path, &format!("The {path} field must not be empty."));
    }
}

#[tokio::test]
async fn switches_are_true_or_false() {
    let (service, owner) = Service::with_team().await;
    let creator = Creator::new(&service, &owner);
    for path in [
        "status.enabled",
        "performance.enabled",
        "dns.settings.hard_failures_only",
        "broken-links.settings.ignore_external_links",
        "broken-links.settings.ignore_redirects",
    ] {
        let refused = creator.post_setting(9, &format!("tools.{path}"), &json!(1)).await;
        let path = format!("monitoring_settings.tools.{path}");
        assert_invalid(&refused, &path, &format!("The {path} field must be true or false."));
    }
}

#[tokio::test]
async fn lists_are_ordered_once_each_and_may_be_empty() {
    let (service, owner) = Service::with_team().await;
    let creator = Creator::new(&service, &owner);
    let longest = format!("/{}", "ü".repeat(254));
    for (n, (path, sent, kept)) in [
        ("status.settings.incident_status_codes", json!([503, 400, 503]), json!([400, 503])),
        ("status.settings.incident_status_codes", json!([]), json!([])),
        ("dns.settings.monitored_record_types", json!(["TXT", "A", "TXT"]), json!(["A", "TXT"])),
        ("dns.settings.monitored_record_types", json!([]), json!([])),
        ("broken-links.settings.ignore_paths", json!(["/b", " /a ", "/b"]), json!(["/a", "/b"])),
        ("broken-links.settings.ignore_paths", json!([longest]), json!([longest])),
        ("broken-links.settings.ignore_paths", json!([]), json!([])),
    ]
    .into_iter()
    .enumerate()
    {
        let path = format!("tools.{path}");
        let created = creator.post_setting(n, &path, &sent).await;
        assert_eq!((created.status, setting(&created, &path)), (201, &kept), "{path} {sent}");
    }
    let codes = "must be one of 400, 401, 403, 404, 405, 408, 410, 429, 500, 501, 502, 503, 504, \
                 521, 522, 523, 524";
    let types = "must be one of A, AAAA, CNAME, MX, NS, TXT";
    for (path, sent, at, complaint) in [
        ("status.settings.incident_status_codes", json!([418]), ".0", codes),
        ("status.settings.incident_status_codes", json!([500, "503"]), ".1", "must be an integer"),
        ("status.settings.incident_status_codes", json!(500), "", "must be an array"),
        ("dns.settings.monitored_record_types", json!(["A", "SOA"]), ".1", types),
        ("dns.settings.monitored_record_types", json!(["a"]), ".0", types),
        ("dns.settings.monitored_record_types", json!([null]), ".0", "must not be empty"),
        (
            "broken-links.settings.ignore_paths",
            json!(["p".repeat(256)]),
            ".0",
            "must not be longer than 255 characters",
        ),
        ("broken-links.settings.ignore_paths", json!(["/a", ""]), ".1", "must not be empty"),
        ("broken-links.settings.ignore_paths", json!([7]), ".0", "must be a string"),
        ("broken-links.settings.ignore_paths", json!({}), "", "must be an array"),
    ] {
        let refused = creator.post_setting(9, &format!("tools.{path}"), &sent).await;
        let path = format!("monitoring_settings.tools.{path}{at}");
        assert_invalid(&refused, &path, &format!("The {path} field {complaint}."));
    }
}

#[tokio::test]
async fn the_audited_page_is_on_the_sites_own_domain() {
    let (service, owner) = Service::with_team().await;
    let creator = Creator::new(&service, &owner);
    let path = "tools.performance.settings.url";
    for (n, page) in
        ["https://example.com/a?b#c", "http://example.com:8080"].into_iter().enumerate()
    {
        let created = creator.post_setting(n, path, &json!(page)).await;
        assert_eq!((created.status, setting(&created, path)), (201, &json!(page)));
        assert_eq!(created.body["data"]["issue_settings"]["performance"]["url"], page);
    }
    for (page, complaint) in [
        (json!("https://www.example.com/a"), "must be on the site's domain example.com"),
        (json!("https://example.org"), "must be on the site's domain example.com"),
        (json!("/a"), "must be a valid http or https URL"),
        (json!("ftp://example.com"), "must be a valid http or https URL"),
        (json!("https://a:b@example.com"), "must not contain a user name or password"),
        (json!(7), "must be a string"),
    ] {
        let refused = creator.post_setting(9, path, &page).await;
        let path = format!("monitoring_settings.{path}");
        assert_invalid(&refused, &path, &format!("The {path} field {complaint}."));
    }
}

#[tokio::test]
async fn a_page_is_not_held_against_a_url_that_cannot_be_read() {
    let (service, owner) = Service::with_team().await;
    let page = nested("tools.performance.settings.url", &json!("https://example.com/a"));
    let body = json!({ "url": "example.com", "monitoring_settings": page });
    let refused = Creator::new(&service, &owner).post(&body).await;
    assert_invalid(&refused, "url", "The url must start with http:// or https://.");
}

#[tokio::test]
async fn the_two_names_of_one_limit_read_back_equal() {
    let (service, owner) = Service::with_team().await;
    let creator = Creator::new(&service, &owner);
    for (n, (sent, kept)) in [
        (json!({ "max_response_time_ms": 500 }), json!(500)),
        (json!({ "max_ttfb_ms": 800 }), json!(800)),
        (json!({ "max_response_time_ms": 500, "max_ttfb_ms": 800 }), json!(800)),
        (json!({ "max_response_time_ms": 500, "max_ttfb_ms": null }), json!(null)),
    ]
    .into_iter()
    .enumerate()
    {
        let created = creator.post_setting(n, "tools.performance.settings", &sent).await;
        assert_eq!(created.status, 201, "{created:?}");
        let issue_settings = &created.body["data"]["issue_settings"]["performance"];
        for name in ["max_response_time_ms", "max_ttfb_ms"] {
            let path = format!("tools.performance.settings.{name}");
            assert_eq!(setting(&created, &path), &kept, "{sent}");
            assert_eq!(issue_settings[name], kept, "{sent}");
        }
    }
}

#[tokio::test]
async fn a_header_has_both_parts_or_none() {
    let (service, owner) = Service::with_team().await;
    let creator = Creator::new(&service, &owner);
    let (name, value) = ("n".repeat(255), "v".repeat(2000));
    for (n, (sent, kept)) in [
        (json!({ "name": name, "value": value }), json!({ "name": name, "value": value })),
        (json!({ "name": " X ", "value": " a\tb " }), json!({ "name": "X", "value": "a\tb" })),
    ]
    .into_iter()
    .enumerate()
    {
        let created = creator.post_setting(n, "request_header", &sent).await;
        assert_eq!((created.status, setting(&created, "request_header")), (201, &kept));
    }
    let with_value = "is required with monitoring_settings.request_header.name";
    let with_name = "is required with monitoring_settings.request_header.value";
    for (sent, part, complaint) in [
        (json!({ "name": "X" }), "value", with_value),
        (json!({ "name": "X", "value": null }), "value", with_value),
        (json!({ "name": "X", "value": "" }), "value", with_value),
        (json!({ "value": "v" }), "name", with_name),
        (json!({ "name": null, "value": "v" }), "name", with_name),
        (
            json!({ "name": "n".repeat(256), "value": "v" }),
            "name",
            "must not be longer than 255 characters",
        ),
        (
            json!({ "name": "X", "value": "v".repeat(2001) }),
            "value",
            "must not be longer than 2000 characters",
        ),
        (json!({ "name": "X Y", "value": "v" }), "name", "must be a valid HTTP header name"),
        (json!({ "name": "X:", "value": "v" }), "name", "must be a valid HTTP header name"),
        (json!({ "name": "X", "value": "a\r\nY: b" }), "value", "must not contain line breaks"),
        (json!({ "name": "X", "value": "a\n" }), "value", "must not contain line breaks"),
        (json!({ "name": "X", "value": 1 }), "value", "must be a string"),
    ] {
        let refused = creator.post_setting(9, "request_header", &sent).await;
        let path = format!("monitoring_settings.request_header.{part}");
        assert_invalid(&refused, &path, &format!("The {path} field {complaint}."));
    }
}

#[tokio::test]
async fn a_site_may_replace_what_its_team_says_but_not_switch_its_header_off() {
    let (service, owner) = Service::with_team().await;
    let mut settings = Settings::defaults(Plan::Agency);
    let team_header = json!({ "name": "X-Team", "value": "t" });
    settings.request_header =
        RequestHeader { name: Some("X-Team".to_owned()), value: Some("t".to_owned()) };
    settings.tools.status.enabled = false;
    settings.tools.ssl.settings.expiry_days = 30.try_into().expect("not zero");
    settings.tools.performance.settings.max_ttfb_ms = Some(500.try_into().expect("not zero"));
    settings.quiet_time.enabled = true;
    settings.escalation.intervals = [0, 1440].into();
    let owner = team_with(&service, &owner, &settings).await;
    let creator = Creator::new(&service, &owner);

    let inherits = creator.post(&json!({ "url": "https://example.com" })).await;
    insta::assert_snapshot!(
        json!({
            "enabled_checks": inherits.body["data"]["enabled_checks"],
            "request_header": setting(&inherits, "request_header"),
            "expiry_days": setting(&inherits, "tools.ssl.settings.expiry_days"),
            "max_ttfb_ms": setting(&inherits, "tools.performance.settings.max_ttfb_ms"),
            "quiet_time": setting(&inherits, "quiet_time"),
            "escalation": setting(&inherits, "escalation"),
        }),
        @r#"{"enabled_checks":["ssl","dns","broken-links","performance"],"escalation":{"enabled":false,"intervals":[0,1440]},"expiry_days":30,"max_ttfb_ms":500,"quiet_time":{"enabled":true,"ends_at":"07:00","starts_at":"22:00"},"request_header":{"name":"X-Team","value":"t"}}"#
    );
    for (n, sent) in [json!({}), json!({ "name": null, "value": null })].iter().enumerate() {
        let created = creator.post_setting(n, "request_header", sent).await;
        assert_eq!(setting(&created, "request_header"), &team_header, "{sent}");
    }

    let replaces = creator
        .post_with(
            9,
            "monitoring_settings",
            &json!({
                "request_header": { "name": "X-Site", "value": "s" },
                "tools": {
                    "status": { "enabled": true },
                    "ssl": { "settings": { "expiry_days": 7 } },
                    "performance": { "settings": { "max_ttfb_ms": null } },
                },
            }),
        )
        .await;
    assert_eq!(replaces.body["data"]["enabled_checks"][0], "status");
    let header = json!({ "name": "X-Site", "value": "s" });
    assert_eq!(setting(&replaces, "request_header"), &header);
    assert_eq!(setting(&replaces, "tools.ssl.settings.expiry_days"), 7);
    // A null that was said overrides; only omission inherits.
    assert_eq!(setting(&replaces, "tools.performance.settings.max_ttfb_ms"), &json!(null));
}

#[tokio::test]
async fn expected_records_are_lists_by_type() {
    let (service, owner) = Service::with_team().await;
    let creator = Creator::new(&service, &owner);
    for (n, (sent, kept)) in [
        (json!(null), json!({})),
        (json!({}), json!({})),
        (json!({ "A": [] }), json!({})),
        (
            json!({ "TXT": ["b", " a ", "b"], "A": ["192.0.2.1"] }),
            json!({ "A": ["192.0.2.1"], "TXT": ["a", "b"] }),
        ),
        (
            json!({
                "AAAA": ["2001:DB8::0:1", "2001:db8::1"],
                "CNAME": ["Shop.example."],
                "MX": ["010 mail.example", "backup.example"],
                "NS": ["ns.example"],
                "TXT": ["\"v=spf1 \" \"-all\"", "v=spf1 -all"],
            }),
            json!({
                "AAAA": ["2001:db8::1"],
                "CNAME": ["shop.example"],
                "MX": ["10 mail.example", "backup.example"],
                "NS": ["ns.example"],
                "TXT": ["v=spf1 -all"],
            }),
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let created = creator.post_with(n, "dns_expected_records", &sent).await;
        assert_eq!(created.status, 201, "{created:?}");
        let shown = &created.body["data"]["issue_settings"]["dns"]["expected_records"];
        assert_eq!(shown, &kept, "{sent}");
    }
    let large = ["a", "b", "c"].map(|text| text.repeat(4096));
    for (sent, at, complaint) in [
        (json!({ "SOA": ["x"] }), ".SOA", "is not known"),
        (json!({ "mx": ["x"] }), ".mx", "is not known"),
        (json!([]), "", "must be an object"),
        (json!({ "A": "192.0.2.1" }), ".A", "must be an array"),
        (json!({ "A": null }), ".A", "must not be empty"),
        (json!({ "A": ["192.0.2.1", 1] }), ".A.1", "must be a string"),
        (json!({ "A": [""] }), ".A.0", "must not be empty"),
        (json!({ "A": ["2001:db8::1"] }), ".A.0", "must be an IPv4 address"),
        (json!({ "AAAA": ["192.0.2.1"] }), ".AAAA.0", "must be an IPv6 address"),
        (json!({ "CNAME": ["https://a.test"] }), ".CNAME.0", "must be a host name"),
        (json!({ "NS": ["a.test", "a b"] }), ".NS.1", "must be a host name"),
        (
            json!({ "MX": ["ten a.test"] }),
            ".MX.0",
            "must be a host name, or a priority and a host name",
        ),
        (json!({ "TXT": vec!["x"; 51] }), ".TXT", "must not have more than 50 items"),
        (json!({ "TXT": large }), "", "must not hold more than 8192 bytes"),
    ] {
        let refused = creator.post_with(9, "dns_expected_records", &sent).await;
        let path = format!("dns_expected_records{at}");
        assert_invalid(&refused, &path, &format!("The {path} field {complaint}."));
    }
}

#[tokio::test]
async fn everything_wrong_is_told_at_once_in_the_order_of_the_fields() {
    let (service, owner) = Service::with_team().await;
    let creator = Creator::new(&service, &owner);
    let two = creator.post(&json!({ "notes": 1, "name": 2, "url": "https://example.com" })).await;
    insta::assert_snapshot!(two.shown(), @r#"
    422 {
      "errors": {
        "name": [
          "The name field must be a string."
        ],
        "notes": [
          "The notes field must be a string."
        ]
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
        "dns_expected_records.SOA": [
          "The dns_expected_records.SOA field is not known."
        ],
        "js_rendered": [
          "The js_rendered field must be true or false."
        ],
        "monitoring_settings.escalation": [
          "The monitoring_settings.escalation field can be set at team level only."
        ],
        "monitoring_settings.request_header.value": [
          "The monitoring_settings.request_header.value field is required with monitoring_settings.request_header.name."
        ],
        "monitoring_settings.tools.ssl.cadence_minutes": [
          "The monitoring_settings.tools.ssl.cadence_minutes field must be one of 1, 5, 10, 15, 30, 60, 120, 360, 720, 1440, 10080."
        ],
        "monitoring_settings.tools.ssl.enabled": [
          "The monitoring_settings.tools.ssl.enabled field must be true or false."
        ],
        "monitoring_settings.tools.status.settings.incident_status_codes.0": [
          "The monitoring_settings.tools.status.settings.incident_status_codes.0 field must be one of 400, 401, 403, 404, 405, 408, 410, 429, 500, 501, 502, 503, 504, 521, 522, 523, 524."
        ],
        "monitoring_settings.tools.status.settings.incident_status_codes.2": [
          "The monitoring_settings.tools.status.settings.incident_status_codes.2 field must be one of 400, 401, 403, 404, 405, 408, 410, 429, 500, 501, 502, 503, 504, 521, 522, 523, 524."
        ],
        "monitoring_settings.tools.uptime": [
          "The monitoring_settings.tools.uptime field is not known."
        ],
        "url": [
          "The url field is required."
        ]
      },
      "message": "The url field is required. (and 9 more errors)"
    }
    "#);
}

#[tokio::test]
async fn a_url_is_watched_once_in_a_team() {
    let (service, owner) = Service::with_team().await;
    let creator = Creator::new(&service, &owner);
    new_site(&service, &owner, "https://example.com/a").await;
    for again in [
        "https://example.com/a",
        "HTTPS://EXAMPLE.COM:443/a#top",
        " https://example.com/a ",
        "https://example.com/a?",
        "https://example.com./a",
    ] {
        let refused = creator.post(&json!({ "url": again, "name": "Again" })).await;
        assert_invalid(&refused, "url", "This URL is already monitored by the team.");
    }
    for other in [
        "http://example.com/a",
        "https://www.example.com/a",
        "https://example.com/a/",
        "https://example.com/A",
        "https://example.com:8443/a",
        "https://example.com",
    ] {
        new_site(&service, &owner, other).await;
    }
    let stranger = new_team(&service.test, Plan::Starter).await;
    new_site(&service, &stranger, "https://example.com/a").await;
}

#[tokio::test]
async fn a_team_has_as_many_sites_as_its_plan_allows() {
    let (service, owner) = team_on(Plan::Starter).await;
    let creator = Creator::new(&service, &owner);
    let mut last = None;
    for n in 1..=5 {
        last = Some(new_site(&service, &owner, &format!("https://example.com/{n}")).await);
    }
    let sixth = json!({ "url": "https://example.com/6" });
    let message = "Your current plan has reached its site limit.";
    assert_invalid(&creator.post(&sixth).await, "url", message);
    creator.client.delete(&format!("/sites/{}", last.expect("a site"))).await;
    assert_eq!(creator.post(&sixth).await.status, 201);
    assert_invalid(&creator.post(&json!({ "url": "https://example.com/7" })).await, "url", message);
}

#[tokio::test]
async fn of_many_creations_at_once_as_many_succeed_as_the_plan_allows() {
    let (service, owner) = team_on(Plan::Starter).await;
    let creator = Creator::new(&service, &owner);
    let bodies: Vec<_> =
        (0..50).map(|n| json!({ "url": format!("https://example.com/{n}") })).collect();
    let answers = join_all(bodies.iter().map(|body| creator.post(body))).await;
    let (created, refused): (Vec<_>, Vec<_>) =
        answers.into_iter().partition(|answer| answer.status == 201);
    assert_eq!(created.len(), 5);
    for answer in refused {
        assert_invalid(&answer, "url", "Your current plan has reached its site limit.");
    }
    let team = creator.client.get(&format!("/teams/{}", owner.team)).await;
    assert_eq!(team.body["data"]["sites_count"], 5);
}

#[tokio::test]
async fn of_many_creations_of_one_url_at_once_one_succeeds() {
    let (service, owner) = Service::with_team().await;
    let creator = Creator::new(&service, &owner);
    let body = json!({ "url": "https://example.com" });
    let answers = join_all((0..200).map(|_| creator.post(&body))).await;
    let (created, refused): (Vec<_>, Vec<_>) =
        answers.into_iter().partition(|answer| answer.status == 201);
    assert_eq!(created.len(), 1);
    for answer in refused {
        assert_invalid(&answer, "url", "This URL is already monitored by the team.");
    }
    let team = creator.client.get(&format!("/teams/{}", owner.team)).await;
    assert_eq!(team.body["data"]["sites_count"], 1);
    assert_eq!(service.waiting().len(), 1, "one site is to be synced");
}

#[tokio::test]
async fn a_creation_survives_what_goes_wrong_on_the_way_to_the_table() {
    let (service, owner) = Service::with_team().await;
    let creator = Creator::new(&service, &owner);
    // Notes the use of the token.
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

#[tokio::test]
async fn what_the_client_may_not_see_is_not_found() {
    let (service, owner) = Service::with_team().await;
    let stranger = new_team(&service.test, Plan::Agency).await;
    let client = service.client(&owner);
    let body = json!({ "url": "https://example.com" });
    let elsewhere = client.post(&format!("/teams/{}/sites", stranger.team), &body).await;
    assert_not_found(&elsewhere);
    for spelling in odd_spellings(&owner.team) {
        assert_not_found(&client.post(&format!("/teams/{spelling}/sites"), &body).await);
    }
}

#[tokio::test]
async fn without_an_active_plan_nothing_is_created() {
    let (service, owner) = Service::with_team().await;
    suspend(&service, &owner).await;
    let creator = Creator::new(&service, &owner);
    assert_plan_required(&creator.post(&json!({ "url": "https://example.com" })).await);
}

#[tokio::test]
async fn members_create_sites_and_viewers_do_not() {
    let (service, owner) = Service::with_team().await;
    for (n, role) in Role::ALL.into_iter().enumerate() {
        let member = colleague(&service, &owner, role).await;
        let creator = Creator::new(&service, &member);
        let answer = creator.post(&json!({ "url": format!("https://example.com/{n}") })).await;
        match role {
            Role::Viewer => assert_role_required(&answer),
            Role::Member | Role::Admin | Role::Owner => assert_eq!(answer.status, 201),
        }
    }
}
