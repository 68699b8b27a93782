//! `POST /teams/{team}/sites`: settings that differ from those of the team.

use serde_json::{Value, json};
use vedette_domain::accounts::plan::Plan;
use vedette_domain::sites::settings::{RequestHeader, Settings};
use vedette_testkit::ApiResponse;
use vedette_tests::Service;

use super::{Creator, nested, setting, team_on, team_with};
use crate::support::{assert_invalid, set_plan};

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
    // A long text from the client is cut in the response.
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
        // A cadence is validated even if the tool does not run.
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

/// The numeric settings, with their bounds.
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
) -> ApiResponse {
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
    // An explicit null overrides the team's value. Only a missing value inherits it.
    assert_eq!(setting(&replaces, "tools.performance.settings.max_ttfb_ms"), &json!(null));
}
