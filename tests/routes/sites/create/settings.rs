//! `POST /teams/{team}/sites`: settings that differ from those of the team.

use serde_json::json;
use vedette_domain::accounts::plan::Plan;
use vedette_domain::sites::settings::{RequestHeader, Settings};
use vedette_tests::Service;

use super::{Creator, nested, setting, team_on, team_with};
use crate::support::assert_invalid;

#[tokio::test]
async fn a_setting_sent_for_a_new_site_is_an_override_even_if_it_equals_the_teams() {
    let (service, owner) = Service::with_team().await;
    let creator = Creator::new(&service, &owner);
    let first = creator.post(&json!({ "url": "https://example.com" })).await;
    // The settings that one site shows, including those that only its team sets, can be used to create another site.
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
async fn the_smallest_plan_slows_the_defaults_down_and_refuses_shorter_cadences() {
    let (service, owner) = team_on(Plan::Starter).await;
    let created =
        Creator::new(&service, &owner).post(&json!({ "url": "https://example.com" })).await;
    for (tool, minutes) in
        [("status", 30), ("ssl", 1440), ("dns", 60), ("broken-links", 10080), ("performance", 1440)]
    {
        assert_eq!(setting(&created, &format!("tools.{tool}.cadence_minutes")), minutes, "{tool}");
    }
    let path = "tools.status.cadence_minutes";
    let refused = Creator::new(&service, &owner).post_setting(1, path, &json!(15)).await;
    let path = format!("monitoring_settings.{path}");
    let message = format!("The {path} field must be at least 30 on the starter plan.");
    assert_invalid(&refused, &path, &message);
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
    // An explicit null overrides the team's value. Only a missing value inherits it.
    assert_eq!(setting(&replaces, "tools.performance.settings.max_ttfb_ms"), &json!(null));
}
