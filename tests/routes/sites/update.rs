//! `PATCH /sites/{site}`: what a client can change. `moving` is about the URL, and `watching` about the monitoring.

mod moving;
mod tags;
mod watching;

use futures::future::join_all;
use serde_json::{Value, json};
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::SiteId;
use vedette_domain::message::Message;
use vedette_domain::sites::site::{LISTED_TEXTS_MAX, Site};
use vedette_store::{Audit, DirectoryRow, SiteUpdate};
use vedette_testkit::{ApiResponse, Member, WebServer};
use vedette_tests::Service;

use crate::support::{assert_invalid, assert_not_found, masked, new_site, new_site_with};

const URL: &str = "https://example.com";

/// A site, and the client that changes it.
struct Scene {
    service: Service,
    owner: Member,
    site: SiteId,
}

impl Scene {
    /// A site at [`URL`] with these overrides, known to the reconciler.
    async fn with(settings: &Value) -> Self {
        let (service, owner) = Service::with_team().await;
        let site = new_site_with(&service, &owner, URL, settings).await;
        let scene = Self { service, owner, site };
        scene.keep().await;
        scene
    }

    async fn start() -> Self {
        Self::with(&json!({})).await
    }

    /// Has the reconciler consume what waits for it; runs of checks are left out.
    async fn keep(&self) {
        for (message, _) in self.service.waiting() {
            if let Message::Reconcile(_) = message {
                self.service.deliver(&message).await;
            }
        }
        self.service.waiting();
    }

    async fn patch(&self, body: &Value) -> ApiResponse {
        self.service.client(&self.owner).patch(&format!("/sites/{}", self.site), body).await
    }

    /// Has the team's owner change its settings.
    async fn patch_team(&self, settings: &Value) {
        let path = format!("/teams/{}/monitoring", self.owner.team);
        let body = json!({ "monitoring_settings": settings });
        let answer = self.service.client(&self.owner).patch(&path, &body).await;
        assert_eq!(answer.status, 200, "{answer:?}");
    }

    /// PATCHes one field, together with the site's own URL.
    async fn patch_with(&self, field: &str, value: &Value) -> ApiResponse {
        self.patch(&json!({ "url": URL, field: value })).await
    }

    async fn get(&self) -> ApiResponse {
        self.service.client(&self.owner).get(&format!("/sites/{}", self.site)).await
    }

    /// The versions of the site and of its tools.
    async fn versions(&self) -> (u64, Vec<u64>) {
        let stored = self.service.test.app.store.site(self.site.partition()).await.expect("read");
        let stored = stored.expect("a site");
        (stored.site.cfg, stored.tools.values().map(|state| state.cfg).collect())
    }

    /// The team's only directory row.
    async fn listed(&self) -> DirectoryRow {
        let store = &self.service.test.app.store;
        let rows = store.directory_with_newest(self.owner.team, 1).await.expect("rows");
        <[_; 1]>::try_from(rows).expect("one row a site").into_iter().next().expect("a row")
    }
}

#[tokio::test]
async fn a_change_answers_with_the_site_as_it_reads_from_then_on() {
    let (service, owner) = Service::with_team().await;
    let target = WebServer::start().await;
    let site = new_site(&service, &owner, &target.url).await;
    service.consume().await;
    service.advance_minutes(60);
    let body = json!({
        "url": format!("{}/shop", target.url),
        "name": " Shop ",
        "notes": "Ask first.",
        "js_rendered": true,
        "pinned": true,
        "monitoring_settings": {
            "tools": {
                "status": { "cadence_minutes": 1, "settings": { "failures_to_open": 1 } },
                "dns": { "enabled": false },
            },
            "request_header": { "name": "X-Watch", "value": "a" },
        },
        "dns_expected_records": { "MX": ["10 mail.example.com"] },
    });
    let client = service.client(&owner);
    let answer = client.patch(&format!("/sites/{site}"), &body).await;
    insta::assert_snapshot!(masked(&answer, &target), @r#"
    200 {
      "data": {
        "created_at": "2026-11-20T09:54:00+00:00",
        "domain": "127.0.0.1",
        "enabled_checks": ["status", "ssl", "broken-links", "performance"],
        "is_pinned": true,
        "issue_settings": {
          "<all else>": "<the defaults>",
          "dns": { "expected_records": { "MX": ["10 mail.example.com"] } },
          "enabled_tools": ["status", "ssl", "broken-links", "performance"],
          "status": { "failures_to_open": 1 }
        },
        "js_rendered": true,
        "latest_checks": {
          "broken-links": null,
          "dns": null,
          "performance": null,
          "ssl": null,
          "status": {
            "automatic": true,
            "completed_at": "2026-11-20T09:54:00+00:00",
            "created_at": "2026-11-20T09:54:00+00:00",
            "result": {
              "code": 200,
              "effective_url": "http://127.0.0.1:PORT",
              "phases": { "connect": "<ms>", "lookup": "<ms>" },
              "redirect_count": 0,
              "redirected": false,
              "response_time": "<ms>",
              "up": true,
              "url": "http://127.0.0.1:PORT"
            },
            "run_reason": "scheduled",
            "site": {
              "domain": "127.0.0.1",
              "name": "Shop",
              "url": "http://127.0.0.1:PORT/shop",
              "uuid": "00000000-0000-4000-8000-000000000004"
            },
            "status": "completed",
            "type": "status",
            "updated_at": "2026-11-20T09:54:00+00:00",
            "uuid": "01a1f860-8ec0-8080-8000-000000000004"
          }
        },
        "monitoring": {
          "<all else>": "<the defaults>",
          "settings": {
            "request_header": { "name": "X-Watch", "value": "a" },
            "tools": {
              "dns": { "enabled": false },
              "status": { "cadence_minutes": 1, "settings": { "failures_to_open": 1 } }
            }
          }
        },
        "name": "Shop",
        "notes": "Ask first.",
        "reports": "<its own>",
        "team_uuid": "00000000-0000-4000-8000-000000000001",
        "updated_at": "2026-11-20T10:54:00+00:00",
        "url": "http://127.0.0.1:PORT/shop",
        "uuid": "00000000-0000-4000-8000-000000000004"
      }
    }
    "#);
    let read = client.get(&format!("/sites/{site}")).await;
    assert_eq!((read.status, read.body), (200, answer.body));
}

#[tokio::test]
async fn its_own_url_changes_nothing_however_it_is_spelt() {
    let scene = Scene::start().await;
    scene.service.advance_minutes(60);
    let before = scene.get().await;
    for url in [URL, "HTTPS://EXAMPLE.com:443/", " https://example.com/#top "] {
        let writes = scene.service.test.faults().writes();
        let answer = scene.patch(&json!({ "url": url })).await;
        assert_eq!((answer.status, &answer.body), (200, &before.body), "{url}");
        assert_eq!(scene.service.test.faults().writes(), writes, "nothing is written");
    }
    assert_eq!(scene.service.waiting(), [], "no message is sent");
}

#[tokio::test]
async fn what_was_read_can_be_sent_back_and_changes_nothing() {
    let scene = Scene::with(&json!({
        "tools": {
            "status": { "cadence_minutes": 1 },
            "performance": { "settings": { "url": "https://example.com/a", "max_ttfb_ms": null } },
        },
    }))
    .await;
    let team = json!({
        "tools": { "ssl": { "enabled": true, "cadence_minutes": 720 } },
        "request_header": { "name": "X-Team", "value": "a" },
        "quiet_time": { "enabled": true, "starts_at": "23:00", "ends_at": "06:00" },
        "escalation": { "enabled": true, "intervals": [0, 60] },
    });
    scene.patch_team(&team).await;
    scene.service.advance_minutes(60);
    let read = scene.get().await;
    let data = &read.body["data"];
    let body = json!({
        "url": data["url"],
        "name": data["name"],
        "notes": data["notes"],
        "js_rendered": data["js_rendered"],
        "pinned": data["is_pinned"],
        "monitoring_settings": data["monitoring"]["settings"],
        "dns_expected_records": data["issue_settings"]["dns"]["expected_records"],
    });
    let writes = scene.service.test.faults().writes();
    let answer = scene.patch(&body).await;
    assert_eq!((answer.status, &answer.body), (200, &read.body));
    assert_eq!(scene.service.test.faults().writes(), writes, "nothing is written");

    // Inherited values are still inherited, and overridden values are still overridden.
    let team = json!({
        "tools": {
            "status": {
                "enabled": true, "cadence_minutes": 10, "settings": { "failures_to_open": 7 },
            },
            "performance": {
                "enabled": true, "cadence_minutes": 1440, "settings": { "max_ttfb_ms": 900 },
            },
        },
        "request_header": { "name": "X-Other", "value": "b" },
        "quiet_time": { "enabled": false },
        "escalation": { "enabled": false },
    });
    scene.patch_team(&team).await;
    let settings = &scene.get().await.body["data"]["monitoring"]["settings"];
    insta::assert_json_snapshot!(
        json!({
            "status": settings["tools"]["status"]["cadence_minutes"],
            "failures_to_open": settings["tools"]["status"]["settings"]["failures_to_open"],
            "performance": settings["tools"]["performance"]["settings"],
            "request_header": settings["request_header"],
            "quiet_time": settings["quiet_time"],
            "escalation": settings["escalation"],
        }),
        @r#"
        {
          "escalation": {
            "enabled": false,
            "intervals": [
              0,
              60
            ]
          },
          "failures_to_open": 7,
          "performance": {
            "consecutive_breaches_to_open": 2,
            "max_load_time_seconds": null,
            "max_response_time_ms": null,
            "max_ttfb_ms": null,
            "min_score": 50,
            "url": "https://example.com/a"
          },
          "quiet_time": {
            "enabled": false,
            "ends_at": "06:00",
            "starts_at": "23:00"
          },
          "request_header": {
            "name": "X-Other",
            "value": "b"
          },
          "status": 1
        }
        "#
    );
    // In the meantime, the team's value has changed.
    let refused = scene.patch(&body).await;
    let [quiet_time, escalation] = ["quiet_time", "escalation"].map(|section| {
        format!("The monitoring_settings.{section} field can be set at team level only.")
    });
    let expected = json!({
        "message": format!("{quiet_time} (and 1 more error)"),
        "errors": {
            "monitoring_settings.quiet_time": [quiet_time],
            "monitoring_settings.escalation": [escalation],
        },
    });
    assert_eq!((refused.status, refused.body), (422, expected));
}

#[tokio::test]
async fn omitted_fields_are_unchanged() {
    let scene = Scene::start().await;
    let all = json!({
        "url": URL,
        "name": "Shop",
        "notes": "Ask first.",
        "js_rendered": true,
        "pinned": true,
        "monitoring_settings": { "tools": { "ssl": { "enabled": false } } },
        "dns_expected_records": { "A": ["192.0.2.1"] },
    });
    let changed = scene.patch(&all).await;
    for (body, field, value) in [
        (json!({ "url": URL }), "name", json!("Shop")),
        (json!({ "url": URL, "name": "Store" }), "name", json!("Store")),
        (json!({ "url": URL, "notes": null }), "notes", json!(null)),
        (json!({ "url": URL, "js_rendered": false }), "js_rendered", json!(false)),
        (json!({ "url": URL, "pinned": false }), "is_pinned", json!(false)),
    ] {
        let answer = scene.patch(&body).await;
        assert_eq!((answer.status, &answer.body["data"][field]), (200, &value), "{body}");
        for same in ["monitoring", "issue_settings", "enabled_checks", "url"] {
            assert_eq!(answer.body["data"][same], changed.body["data"][same], "{same}");
        }
    }
}

#[tokio::test]
async fn everything_wrong_is_told_at_once_in_the_order_of_the_fields() {
    let scene = Scene::start().await;
    let body = json!({
        "pinned": 1,
        "dns_expected_records": { "SOA": ["x"] },
        "monitoring_settings": { "tools": { "ssl": { "cadence_minutes": 7 } } },
        "js_rendered": 1,
        "notes": 1,
        "name": 1,
    });
    insta::assert_snapshot!(scene.patch(&body).await.shown(), @r#"
    422 {
      "errors": {
        "dns_expected_records.SOA": ["The dns_expected_records.SOA field is not known."],
        "js_rendered": ["The js_rendered field must be true or false."],
        "monitoring_settings.tools.ssl.cadence_minutes": [
          "The monitoring_settings.tools.ssl.cadence_minutes field must be one of 1, 5, 10, 15, 30, 60, 120, 360, 720, 1440, 10080."
        ],
        "name": ["The name field must be a string."],
        "notes": ["The notes field must be a string."],
        "pinned": ["The pinned field must be true or false."],
        "url": ["The url field is required."]
      },
      "message": "The url field is required. (and 6 more errors)"
    }
    "#);
    // The response's name of a field is not the request's.
    let two = scene.patch(&json!({ "url": URL, "name": "", "pinned": 0, "is_pinned": 0 })).await;
    assert_eq!(two.body["message"], "The name field must not be empty. (and 1 more error)");
}

#[tokio::test]
async fn changes_at_once_are_all_kept() {
    let scene = Scene::start().await;
    let bodies = [
        json!({ "url": URL, "name": "Shop" }),
        json!({ "url": URL, "notes": "Ask first." }),
        json!({ "url": URL, "js_rendered": true }),
        json!({ "url": URL, "pinned": true }),
        json!({ "url": URL, "dns_expected_records": { "A": ["192.0.2.1"] } }),
        json!({ "url": URL, "monitoring_settings": { "tools": { "ssl": { "enabled": false } } } }),
    ];
    let answers = join_all(bodies.iter().map(|body| scene.patch(body))).await;
    assert!(answers.iter().all(|answer| answer.status == 200), "{answers:?}");
    let read = scene.get().await;
    let data = &read.body["data"];
    for (field, value) in [
        ("name", json!("Shop")),
        ("notes", json!("Ask first.")),
        ("js_rendered", json!(true)),
        ("is_pinned", json!(true)),
        ("enabled_checks", json!(["status", "dns", "broken-links", "performance"])),
    ] {
        assert_eq!(data[field], value, "{field}");
    }
    assert_eq!(data["issue_settings"]["dns"]["expected_records"], json!({ "A": ["192.0.2.1"] }));
    let listed = scene.listed().await;
    assert_eq!(
        (listed.name.as_str(), listed.pinned, listed.enabled),
        ("Shop", true, [(Tool::Ssl, false)].into())
    );
}

#[tokio::test]
async fn a_site_says_when_it_was_changed() {
    let scene = Scene::start().await;
    scene.service.advance_minutes(60);
    scene.patch_with("pinned", &json!(true)).await;
    scene.service.advance_minutes(60);
    let answer = scene.patch_with("pinned", &json!(true)).await;
    let shown = ["created_at", "updated_at"].map(|field| answer.data(field));
    assert_eq!(shown, ["2026-11-20T09:54:00+00:00", "2026-11-20T10:54:00+00:00"]);
}

#[tokio::test]
async fn a_deleted_site_cannot_be_changed() {
    let scene = Scene::start().await;
    let body = json!({ "url": URL });
    scene.service.client(&scene.owner).delete(&format!("/sites/{}", scene.site)).await;
    assert_not_found(&scene.patch(&body).await);
}

#[tokio::test]
async fn a_site_whose_texts_are_too_long_already_changes_otherwise() {
    let scene = Scene::start().await;
    let store = &scene.service.test.app.store;
    let stored = store.site(scene.site.partition()).await.expect("read").expect("a site");
    let notes = Some("x".repeat(LISTED_TEXTS_MAX));
    let long = Site { notes, rev: stored.site.rev + 1, ..stored.site.clone() };
    let update = SiteUpdate { next: &long, tags: None, outbox: &[], pages: &[] };
    store
        .update_site(&stored, update, scene.service.test.now(), Audit::None)
        .await
        .expect("written");
    let pinned = scene.patch_with("pinned", &json!(true)).await;
    assert_eq!((pinned.status, &pinned.body["data"]["is_pinned"]), (200, &json!(true)));
    let longer = scene.patch_with("name", &json!("A longer name than it has")).await;
    assert_eq!(longer.status, 422, "{longer:?}");
    assert_eq!(scene.patch_with("notes", &json!("Short.")).await.status, 200);
}

#[tokio::test]
async fn an_objective_that_checks_cannot_tell_is_refused_when_it_or_the_monitoring_changes() {
    let scene = Scene::start().await;
    let of = |percentage: f64, period: &str| json!({ "percentage": percentage, "period": period });
    let patch = |body: Value| {
        let mut sent = json!({ "url": URL });
        sent.as_object_mut()
            .expect("an object")
            .extend(body.as_object().cloned().expect("an object"));
        sent
    };
    let every = |minutes: u32| json!({ "tools": { "status": { "enabled": true, "cadence_minutes": minutes } } });
    const FIELD: &str = "objective.percentage";
    let cannot =
        |reason: &str| format!("The {FIELD} field must be one that checks can tell: {reason}.");
    let fine = patch(json!({ "objective": of(99.99, "7_days") }));
    let refused = scene.patch(&fine).await;
    assert_invalid(
        &refused,
        FIELD,
        &cannot("checks every 5 minutes cannot tell 99.99 % of 7 days"),
    );
    assert_eq!(scene.patch(&patch(json!({ "objective": of(99.9, "7_days") }))).await.status, 200);
    let rare = patch(json!({ "monitoring_settings": every(30) }));
    let refused = scene.patch(&rare).await;
    assert_invalid(
        &refused,
        FIELD,
        &cannot("checks every 30 minutes cannot tell 99.9 % of 7 days"),
    );

    // The team's own settings do not ask its sites.
    scene.patch_team(&every(30)).await;
    assert_eq!(scene.patch(&patch(json!({ "name": "Shop" }))).await.status, 200);
    let both = json!({ "objective": of(99.9, "7_days"), "monitoring_settings": every(5) });
    assert_eq!(scene.patch(&patch(both)).await.status, 200);
    for (objective, field, message) in [
        (json!(99.9), "objective", "The objective field must be an object."),
        (
            json!({ "percentage": 99 }),
            "objective.period",
            "The objective.period field is required.",
        ),
        (
            of(99.0, "31_days"),
            "objective.period",
            "The objective.period field must be one of month, 7_days, 28_days, 30_days, 90_days.",
        ),
        (
            json!({ "percentage": 99, "period": "month", "scope": 1 }),
            "objective.scope",
            "The objective.scope field is not known.",
        ),
    ] {
        assert_invalid(
            &scene.patch(&patch(json!({ "objective": objective }))).await,
            field,
            message,
        );
    }
}
