//! `PATCH /sites/{site}`: a site that is monitored differently from then on.

use std::time::Duration;

use serde_json::json;
use vedette_domain::accounts::plan::Plan;
use vedette_domain::message::{Message, ReconcileMessage};

use vedette_testkit::ApiResponse;

use super::{Scene, URL};
use crate::support::{assert_invalid, set_plan};

#[tokio::test]
async fn settings_beyond_a_limit_are_refused_at_their_path_and_change_nothing() {
    let scene = Scene::start().await;
    let before = scene.get().await;
    for (settings, path, complaint) in [
        (
            json!({ "tools": { "status": { "cadence_minutes": 7 } } }),
            "tools.status.cadence_minutes",
            "must be one of 1, 5, 10, 15, 30, 60, 120, 360, 720, 1440, 10080",
        ),
        (
            json!({ "request_header": { "name": "TE", "value": "a" } }),
            "request_header.name",
            "must not be a header that belongs to the connection or the body, such as Content-Length",
        ),
        (
            json!({ "quiet_time": { "enabled": true } }),
            "quiet_time",
            "can be set at team level only",
        ),
    ] {
        let refused = scene.patch_with("monitoring_settings", &settings).await;
        let path = format!("monitoring_settings.{path}");
        assert_invalid(&refused, &path, &format!("The {path} field {complaint}."));
    }
    assert_eq!(scene.get().await.body, before.body);
}

#[tokio::test]
async fn settings_that_are_sent_replace_all_overrides() {
    let scene = Scene::with(&json!({
        "tools": {
            "status": { "cadence_minutes": 60, "settings": { "failures_to_open": 9 } },
            "dns": { "enabled": false },
        },
        "request_header": { "name": "X-Watch", "value": "a" },
    }))
    .await;
    let setting = |answer: &ApiResponse, path: &str| {
        let settings = &answer.body["data"]["monitoring"]["settings"];
        path.split('.').fold(settings.clone(), |value, name| value[name].clone())
    };
    let other = json!({ "tools": { "status": { "settings": { "successes_to_resolve": 4 } } } });
    let answer = scene.patch_with("monitoring_settings", &other).await;
    for (path, value) in [
        ("tools.status.cadence_minutes", json!(5)),
        ("tools.status.settings.failures_to_open", json!(2)),
        ("tools.status.settings.successes_to_resolve", json!(4)),
        ("tools.dns.enabled", json!(true)),
        ("request_header", json!({ "name": null, "value": null })),
    ] {
        assert_eq!(setting(&answer, path), value, "{path}");
    }
    let cleared = scene.patch_with("monitoring_settings", &json!({})).await;
    assert_eq!(setting(&cleared, "tools.status.settings.successes_to_resolve"), 1);
}

#[tokio::test]
async fn a_setting_that_is_sent_otherwise_than_it_reads_is_the_sites_own_from_then_on() {
    let scene = Scene::start().await;
    let dns = |enabled: bool| json!({ "tools": { "dns": { "enabled": enabled } } });
    let team = |enabled: bool| json!({ "tools": { "dns": { "enabled": enabled, "cadence_minutes": 60 } } });
    // The site's own value, the team's value, and what the site then shows.
    for (sent, of_team, read) in [
        // If a value is sent as it is shown, it is inherited.
        (dns(true), false, false),
        (dns(false), true, true),
        // Otherwise, it is the site's own, even if the team later has the same value and it is sent again.
        (dns(false), false, false),
        (dns(false), true, false),
        (dns(true), true, true),
        (dns(true), false, true),
        (json!({}), false, false),
    ] {
        assert_eq!(scene.patch_with("monitoring_settings", &sent).await.status, 200, "{sent}");
        scene.patch_team(&team(of_team)).await;
        let settings = &scene.get().await.body["data"]["monitoring"]["settings"];
        assert_eq!(settings["tools"]["dns"]["enabled"], json!(read), "{sent} {of_team}");
    }
}

#[tokio::test]
async fn a_cadence_that_a_downgrade_slows_down_can_be_written_back_and_is_not_lost() {
    let fast = json!({ "tools": { "status": { "cadence_minutes": 1 } } });
    let scene = Scene::with(&fast).await;
    let cadence = |answer: &ApiResponse| {
        let settings = &answer.body["data"]["monitoring"]["settings"];
        settings["tools"]["status"]["cadence_minutes"].clone()
    };
    set_plan(&scene.service, scene.owner.team, Plan::Starter, true).await;
    let slow = scene.get().await.body["data"]["monitoring"]["settings"].clone();
    let answer = scene.patch_with("monitoring_settings", &slow).await;
    assert_eq!((answer.status, cadence(&answer)), (200, json!(30)));
    set_plan(&scene.service, scene.owner.team, Plan::Agency, true).await;
    assert_eq!(cadence(&scene.get().await), 1);
}

#[tokio::test]
async fn empty_or_null_expected_records_expect_nothing() {
    let scene = Scene::start().await;
    let records = json!({ "A": ["192.0.2.2", "192.0.2.1"] });
    for nothing in [json!({}), json!(null), json!({ "A": [] })] {
        let set = scene.patch_with("dns_expected_records", &records).await;
        let expected = |answer: &ApiResponse| {
            answer.body["data"]["issue_settings"]["dns"]["expected_records"].clone()
        };
        assert_eq!(expected(&set), json!({ "A": ["192.0.2.1", "192.0.2.2"] }));
        let cleared = scene.patch_with("dns_expected_records", &nothing).await;
        assert_eq!((cleared.status, expected(&cleared)), (200, json!({})), "{nothing}");
    }
    let refused = scene.patch_with("dns_expected_records", &json!({ "SOA": ["x"] })).await;
    let message = "The dns_expected_records.SOA field is not known.";
    assert_invalid(&refused, "dns_expected_records.SOA", message);
}

#[tokio::test]
async fn only_url_and_monitoring_make_runs_begin_anew() {
    let scene = Scene::start().await;
    let team = scene.owner.team;
    let sync = || {
        vec![(
            Message::Reconcile(ReconcileMessage::Sync { team, site: scene.site }),
            Duration::ZERO,
        )]
    };
    let without_ssl = json!({ "tools": { "ssl": { "enabled": false } } });
    for (body, cfg) in [
        (json!({ "url": URL, "name": "Shop" }), 1),
        (json!({ "url": URL, "notes": "x", "pinned": true, "js_rendered": true }), 1),
        (json!({ "url": URL, "monitoring_settings": {} }), 1),
        (json!({ "url": URL, "monitoring_settings": without_ssl }), 2),
        (json!({ "url": URL, "monitoring_settings": without_ssl }), 2),
        (json!({ "url": URL, "dns_expected_records": { "A": ["192.0.2.1"] } }), 3),
        (json!({ "url": "https://example.com/shop" }), 4),
    ] {
        let (before, _) = scene.versions().await;
        assert_eq!(scene.patch(&body).await.status, 200);
        assert_eq!(scene.versions().await, (cfg, vec![cfg; 5]), "{body}");
        let notified = if cfg == before { Vec::new() } else { sync() };
        assert_eq!(scene.service.waiting(), notified, "{body}");
        for (message, _) in notified {
            scene.service.deliver(&message).await;
        }
    }
}

#[tokio::test]
async fn overrides_stay_through_a_downgrade_until_they_are_sent_again() {
    let fast = json!({ "tools": { "status": { "cadence_minutes": 1 } } });
    let scene = Scene::with(&fast).await;
    set_plan(&scene.service, scene.owner.team, Plan::Growth, true).await;
    let renamed = scene.patch_with("name", &json!("Shop")).await;
    let settings = &renamed.body["data"]["monitoring"]["settings"];
    assert_eq!((renamed.status, &settings["tools"]["status"]["cadence_minutes"]), (200, &json!(5)));
    let path = "monitoring_settings.tools.status.cadence_minutes";
    let message = format!("The {path} field must be at least 5 on the growth plan.");
    assert_invalid(&scene.patch_with("monitoring_settings", &fast).await, path, &message);
}
