//! The shape of settings in the API and in stored items.

use std::collections::BTreeMap;

use super::*;
use crate::accounts::plan::ESCALATION_PRESETS;

#[test]
fn a_new_team_starts_from_these_settings() {
    let settings = serde_json::to_value(Settings::defaults(Plan::Agency)).expect("serialize");
    assert_eq!(
        settings,
        json!({
            "tools": {
                "status": {
                    "enabled": true,
                    "cadence_minutes": 5,
                    "settings": {
                        "incident_status_codes": [
                            400, 401, 403, 404, 405, 408, 410, 429,
                            500, 501, 502, 503, 504, 521, 522, 523, 524,
                        ],
                        "failures_to_open": 2,
                        "successes_to_resolve": 1,
                        "confirmation_retry_minutes": 2,
                        "incident_follow_up_minutes": 5,
                    },
                },
                "ssl": {
                    "enabled": true,
                    "cadence_minutes": 1440,
                    "settings": {
                        "expiry_days": 14,
                        "failures_to_open": 2,
                        "confirmation_retry_minutes": 2,
                    },
                },
                "dns": {
                    "enabled": true,
                    "cadence_minutes": 60,
                    "settings": {
                        "hard_failures_only": false,
                        "failures_to_open": 2,
                        "confirmation_retry_minutes": 2,
                        "monitored_record_types": ["A", "AAAA", "CNAME", "MX", "NS", "TXT"],
                    },
                },
                "broken-links": {
                    "enabled": true,
                    "cadence_minutes": 10080,
                    "settings": {
                        "min_broken_count": 5,
                        "consecutive_breaches_to_open": 1,
                        "ignore_paths": [],
                        "ignore_external_links": false,
                        "ignore_redirects": false,
                    },
                },
                "performance": {
                    "enabled": true,
                    "cadence_minutes": 1440,
                    "settings": {
                        "url": null,
                        "min_score": 50,
                        "max_response_time_ms": null,
                        "max_ttfb_ms": null,
                        "max_load_time_seconds": null,
                        "consecutive_breaches_to_open": 2,
                    },
                },
            },
            "request_header": {"name": null, "value": null},
            "quiet_time": {"enabled": false, "starts_at": "22:00", "ends_at": "07:00"},
            "escalation": {"enabled": false, "intervals": []},
        })
    );
}

#[test]
fn only_the_status_cadence_of_a_new_team_depends_on_the_plan() {
    for (plan, status) in [(Plan::Starter, 30), (Plan::Growth, 5), (Plan::Agency, 5)] {
        let tools = Settings::defaults(plan).tools;
        assert_eq!(
            Tool::ALL.map(|tool| tools.cadence_minutes(tool)),
            [status, 1440, 60, 10080, 1440],
            "{plan}"
        );
    }
}

#[test]
fn missing_stored_settings_take_their_defaults() {
    for (stored, expected) in [
        (json!({}), Settings::default()),
        (json!({"tools": {"ssl": {}}, "quiet_time": {}}), Settings::default()),
        (json!({"tools": {"ssl": {"settings": {}}}, "added_later": 1}), Settings::default()),
        (
            json!({
                "tools": {"broken-links": {"enabled": false, "settings": {"min_broken_count": 9}}},
                "quiet_time": {"ends_at": "08:30"},
            }),
            {
                let mut settings = Settings::default();
                settings.tools.broken_links.enabled = false;
                settings.tools.broken_links.settings.min_broken_count = count(9);
                settings.quiet_time.ends_at = time("08:30");
                settings
            },
        ),
    ] {
        assert_eq!(serde_json::from_value::<Settings>(stored).expect("settings"), expected);
    }
}

#[test]
fn overrides_keep_only_what_was_said() {
    for stored in [
        json!({}),
        json!({"tools": {"status": {"enabled": false}}}),
        json!({"tools": {"broken-links": {"settings": {"ignore_paths": []}}}}),
        // An explicit null differs from a missing setting.
        json!({"tools": {"performance": {"settings": {"max_ttfb_ms": null}}}}),
        json!({"tools": {"performance": {"settings": {
            "url": null, "max_ttfb_ms": 800, "max_load_time_seconds": null,
        }}}}),
        json!({"request_header": {"name": "X-Key", "value": "abc"}}),
    ] {
        let parsed = overrides(stored.clone());
        assert_eq!(serde_json::to_value(&parsed).expect("serialize"), stored);
    }
    let noise = overrides(json!({"tools": {"ssl": {"settings": {}}}, "added_later": true}));
    assert_eq!(noise, SiteOverrides::default());
}

#[test]
fn issue_settings_have_the_shape_of_the_api() {
    let mut settings = Settings::default();
    settings.tools.performance.settings.max_ttfb_ms = Some(count(800));
    settings.tools.ssl.enabled = false;
    settings.escalation.intervals = ESCALATION_PRESETS.iter().map(|p| p.minutes).collect();
    let expected = ExpectedRecords::from([
        (DnsRecordType::Mx, vec!["10 mail.example.com".to_owned()]),
        (DnsRecordType::A, vec!["203.0.113.7".to_owned()]),
    ]);
    let view = IssueSettings::new(&settings, &expected, Plan::Growth);
    assert_eq!(
        serde_json::to_value(&view).expect("serialize"),
        json!({
            "enabled_tools": ["status", "dns", "broken-links", "performance"],
            "status": {
                "failures_to_open": 2,
                "incident_status_codes": [
                    400, 401, 403, 404, 405, 408, 410, 429,
                    500, 501, 502, 503, 504, 521, 522, 523, 524,
                ],
                "successes_to_resolve": 1,
                "confirmation_retry_minutes": 2,
                "incident_follow_up_minutes": 5,
            },
            "ssl": {"expiry_days": 14, "failures_to_open": 2, "confirmation_retry_minutes": 2},
            "links": {
                "min_broken_count": 5,
                "consecutive_breaches_to_open": 1,
                "ignore_paths": [],
                "ignore_external_links": false,
                "ignore_redirects": false,
            },
            "performance": {
                "url": null,
                "min_score": 50,
                "max_response_time_ms": 800,
                "max_ttfb_ms": 800,
                "max_load_time_seconds": null,
                "consecutive_breaches_to_open": 2,
            },
            "dns": {
                "hard_failures_only": false,
                "failures_to_open": 2,
                "confirmation_retry_minutes": 2,
                "monitored_record_types": ["A", "AAAA", "CNAME", "MX", "NS", "TXT"],
                "expected_records": {"A": ["203.0.113.7"], "MX": ["10 mail.example.com"]},
            },
            "quiet_time": {"enabled": false, "starts_at": "22:00", "ends_at": "07:00"},
            "escalation": {"enabled": false, "intervals": [0, 15, 30, 60, 360, 1440]},
        })
    );
    let none = BTreeMap::new();
    let view = serde_json::to_value(IssueSettings::new(&settings, &none, Plan::Growth));
    assert_eq!(view.expect("serialize")["dns"]["expected_records"], json!({}));
}

#[test]
fn a_port_is_omitted_until_it_is_set() {
    for (port, shown, used) in
        [(None, None, 443), (Some(443), Some(443), 443), (Some(8443), Some(8443), 8443)]
    {
        let settings =
            SslSettings { port: port.and_then(NonZeroU16::new), ..SslSettings::default() };
        let json = serde_json::to_value(&settings).expect("serialize");
        assert_eq!((json.get("port"), settings.port()), (shown.map(Value::from).as_ref(), used));
        assert_eq!(serde_json::from_value::<SslSettings>(json).expect("readable"), settings);
    }
}

#[test]
fn the_selectable_codes_are_grouped_and_ascending() {
    let of = |group| -> Vec<u16> {
        STATUS_INCIDENT_CODES.iter().filter(|o| o.group == group).map(|o| o.code).collect()
    };
    assert_eq!(of(CodeGroup::Client), [400, 401, 403, 404, 405, 408, 410, 429]);
    assert_eq!(of(CodeGroup::Server), [500, 501, 502, 503, 504, 521, 522, 523, 524]);
    assert!(STATUS_INCIDENT_CODES.is_sorted_by_key(|option| option.code));
    assert_eq!(
        serde_json::to_value(STATUS_INCIDENT_CODES[13]).expect("serialize"),
        json!({"code": 521, "label": "Web Server Is Down", "group": "server"})
    );
}

#[test]
fn record_types_are_the_wire_values_in_order() {
    assert_eq!(
        DnsRecordType::ALL.map(DnsRecordType::as_str),
        ["A", "AAAA", "CNAME", "MX", "NS", "TXT"]
    );
    assert!(DnsRecordType::ALL.is_sorted());
    for kind in DnsRecordType::ALL {
        assert_eq!(DnsRecordType::parse(kind.as_str()), Some(kind));
        assert_eq!(serde_json::to_value(kind).expect("serialize"), kind.to_string());
    }
    for unknown in ["SOA", "a", ""] {
        assert_eq!(DnsRecordType::parse(unknown), None);
    }
}
