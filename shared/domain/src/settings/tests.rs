use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::plan::{CADENCE_MINUTES, ESCALATION_PRESETS};

fn overrides(value: serde_json::Value) -> SiteOverrides {
    serde_json::from_value(value).expect("overrides")
}

fn time(text: &str) -> TimeOfDay {
    TimeOfDay::parse(text).expect("a time")
}

fn count(n: u32) -> NonZeroU32 {
    NonZeroU32::new(n).expect("not zero")
}

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
fn what_a_stored_item_lacks_takes_its_default() {
    for (stored, expected) in [
        (json!({}), Settings::default()),
        (
            json!({"tools": {"ssl": {}}, "quiet_time": {}}),
            Settings::default(),
        ),
        (
            json!({"tools": {"ssl": {"settings": {}}}, "added_later": 1}),
            Settings::default(),
        ),
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
        assert_eq!(
            serde_json::from_value::<Settings>(stored).expect("settings"),
            expected
        );
    }
}

#[test]
fn overrides_keep_only_what_was_said() {
    for stored in [
        json!({}),
        json!({"tools": {"status": {"enabled": false}}}),
        json!({"tools": {"broken-links": {"settings": {"ignore_paths": []}}}}),
        // A null that was said is not the same as nothing said.
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
fn a_site_inherits_what_it_does_not_override() {
    let mut team = Settings::defaults(Plan::Agency);
    team.request_header = RequestHeader {
        name: Some("X-Team".to_owned()),
        value: Some("t".to_owned()),
    };
    team.tools.performance.settings.max_ttfb_ms = Some(count(900));
    team.tools.performance.settings.max_load_time_seconds = Some(count(7));
    team.quiet_time.enabled = true;

    assert_eq!(
        Settings::resolve(&team, &SiteOverrides::default(), Plan::Agency),
        team
    );

    let site = overrides(json!({
        "tools": {
            "status": {
                "enabled": false,
                "cadence_minutes": 1,
                "settings": {
                    "incident_status_codes": [503],
                    "failures_to_open": 1000,
                    "successes_to_resolve": 4,
                    "confirmation_retry_minutes": 5,
                    "incident_follow_up_minutes": 60,
                },
            },
            "ssl": {"settings": {
                "expiry_days": 30, "failures_to_open": 1, "confirmation_retry_minutes": 1,
            }},
            "dns": {"settings": {
                "hard_failures_only": true,
                "failures_to_open": 3,
                "confirmation_retry_minutes": 4,
                "monitored_record_types": ["MX"],
            }},
            "broken-links": {"settings": {
                "min_broken_count": 1,
                "consecutive_breaches_to_open": 2,
                "ignore_paths": ["/private/*"],
                "ignore_external_links": true,
                "ignore_redirects": true,
            }},
            "performance": {"settings": {
                "url": "https://example.com/pricing",
                "min_score": 90,
                "max_ttfb_ms": null,
                "consecutive_breaches_to_open": 1,
            }},
        },
        "request_header": {"name": "X-Site", "value": "s"},
    }));
    let mut expected = team.clone();
    expected.tools.status = ToolSettings {
        enabled: false,
        cadence_minutes: 1,
        settings: StatusSettings {
            incident_status_codes: BTreeSet::from([503]),
            failures_to_open: count(1000),
            successes_to_resolve: count(4),
            confirmation_retry_minutes: 5,
            incident_follow_up_minutes: 60,
        },
    };
    expected.tools.ssl.settings = SslSettings {
        expiry_days: count(30),
        failures_to_open: count(1),
        confirmation_retry_minutes: 1,
    };
    expected.tools.dns.settings = DnsSettings {
        hard_failures_only: true,
        failures_to_open: count(3),
        confirmation_retry_minutes: 4,
        monitored_record_types: BTreeSet::from([DnsRecordType::Mx]),
    };
    expected.tools.broken_links.settings = LinksSettings {
        min_broken_count: count(1),
        consecutive_breaches_to_open: count(2),
        ignore_paths: BTreeSet::from(["/private/*".to_owned()]),
        ignore_external_links: true,
        ignore_redirects: true,
    };
    expected.tools.performance.settings = PerformanceSettings {
        url: Some("https://example.com/pricing".to_owned()),
        min_score: 90,
        // The site's null overrides; the load time it does not mention is inherited.
        max_ttfb_ms: None,
        max_load_time_seconds: Some(count(7)),
        consecutive_breaches_to_open: count(1),
    };
    expected.request_header = RequestHeader {
        name: Some("X-Site".to_owned()),
        value: Some("s".to_owned()),
    };
    assert_eq!(Settings::resolve(&team, &site, Plan::Agency), expected);
    assert_eq!(expected.request_header.pair(), Some(("X-Site", "s")));
}

#[test]
fn a_downgrade_raises_cadences_without_rewriting_them() {
    let mut team = Settings::defaults(Plan::Agency);
    team.tools.status.cadence_minutes = 1;
    let site = overrides(json!({"tools": {"dns": {"cadence_minutes": 5}}}));
    for (plan, status, dns) in [
        (Plan::Agency, 1, 5),
        (Plan::Growth, 5, 5),
        (Plan::Starter, 30, 30),
    ] {
        let resolved = Settings::resolve(&team, &site, plan);
        assert_eq!(resolved.tools.status.cadence_minutes, status, "{plan}");
        assert_eq!(resolved.tools.dns.cadence_minutes, dns, "{plan}");
        assert_eq!(
            team.clone().on_plan(plan).tools.status.cadence_minutes,
            status,
            "{plan}"
        );
    }
    // Stored by hand or by an earlier version: the floor holds on every plan.
    team.tools.broken_links.cadence_minutes = 60;
    assert_eq!(
        team.on_plan(Plan::Agency)
            .tools
            .broken_links
            .cadence_minutes,
        720
    );
}

#[test]
fn an_update_changes_only_what_it_says() {
    let header = RequestHeader {
        name: Some("X-A".to_owned()),
        value: Some("1".to_owned()),
    };
    let mut current = Settings::defaults(Plan::Growth);
    current.request_header = header.clone();
    current.escalation.intervals = BTreeSet::from([15]);
    assert_eq!(current.merge(&TeamUpdate::default()), current);

    let mut update = TeamUpdate::default();
    update.tools.ssl.enabled = Some(false);
    update.tools.ssl.settings.expiry_days = Some(count(3));
    update.quiet_time = Some(QuietTimeUpdate {
        enabled: true,
        starts_at: None,
        ends_at: Some(time("06:15")),
    });
    update.escalation = Some(EscalationUpdate {
        enabled: true,
        intervals: None,
    });
    let mut expected = current.clone();
    expected.tools.ssl.enabled = false;
    expected.tools.ssl.settings.expiry_days = count(3);
    expected.quiet_time = QuietTime {
        enabled: true,
        starts_at: time("22:00"),
        ends_at: time("06:15"),
    };
    expected.escalation.enabled = true;
    assert_eq!(current.merge(&update), expected);

    let cleared = TeamUpdate {
        request_header: Some(RequestHeader::default()),
        escalation: Some(EscalationUpdate {
            enabled: false,
            intervals: Some([60, 0].into()),
        }),
        ..TeamUpdate::default()
    };
    let merged = current.merge(&cleared);
    assert_eq!(merged.request_header.pair(), None);
    assert_eq!(merged.escalation.intervals, BTreeSet::from([0, 60]));
}

#[test]
fn enabled_tools_are_listed_in_enumeration_order() {
    let mut settings = Settings::default();
    assert_eq!(settings.enabled_tools(Plan::Starter), Tool::ALL);
    settings.tools.status.enabled = false;
    settings.tools.broken_links.enabled = false;
    assert_eq!(
        settings.enabled_tools(Plan::Agency),
        [Tool::Ssl, Tool::Dns, Tool::Performance]
    );
}

#[test]
fn moving_a_site_forgets_only_a_page_left_behind() {
    let stored = json!({"tools": {"performance": {
        "enabled": true, "settings": {"url": "https://old.example/a", "min_score": 70},
    }}});
    assert_eq!(
        overrides(stored.clone()).moved_to("old.example"),
        overrides(stored.clone())
    );
    assert_eq!(
        overrides(stored).moved_to("new.example"),
        overrides(json!({"tools": {"performance": {
            "enabled": true, "settings": {"min_score": 70},
        }}}))
    );
    let root = overrides(json!({"tools": {"performance": {"settings": {"url": null}}}}));
    assert_eq!(root.clone().moved_to("new.example"), root);
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
    assert_eq!(
        view.expect("serialize")["dns"]["expected_records"],
        json!({})
    );
}

#[test]
fn the_selectable_codes_are_grouped_and_ascending() {
    let of = |group| -> Vec<u16> {
        STATUS_INCIDENT_CODES
            .iter()
            .filter(|o| o.group == group)
            .map(|o| o.code)
            .collect()
    };
    assert_eq!(
        of(CodeGroup::Client),
        [400, 401, 403, 404, 405, 408, 410, 429]
    );
    assert_eq!(
        of(CodeGroup::Server),
        [500, 501, 502, 503, 504, 521, 522, 523, 524]
    );
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
        assert_eq!(
            serde_json::to_value(kind).expect("serialize"),
            kind.to_string()
        );
    }
    for unknown in ["SOA", "a", ""] {
        assert_eq!(DnsRecordType::parse(unknown), None);
    }
}

prop_compose! {
    fn any_overrides()(
        enabled in prop::array::uniform5(prop::option::of(any::<bool>())),
        cadence in prop::array::uniform5(prop::option::of(prop::sample::select(&CADENCE_MINUTES[..]))),
        codes in prop::option::of(prop::collection::btree_set(400_u16..=524, 0..4)),
        failures in prop::option::of(1..=INTEGER_MAX),
        ttfb in prop::option::of(prop::option::of(1..=INTEGER_MAX)),
        url in prop::option::of(prop::option::of("https://example\\.com/[a-z]{0,8}")),
        paths in prop::option::of(prop::collection::btree_set("/[a-z*]{0,8}", 0..4)),
        header in prop::option::of(("[A-Za-z-]{1,12}", "[ -~]{1,12}")),
    ) -> SiteOverrides {
        let mut site = SiteOverrides::default();
        let tools = &mut site.tools;
        [tools.status.enabled, tools.ssl.enabled, tools.dns.enabled, tools.broken_links.enabled,
            tools.performance.enabled] = enabled;
        [tools.status.cadence_minutes, tools.ssl.cadence_minutes, tools.dns.cadence_minutes,
            tools.broken_links.cadence_minutes, tools.performance.cadence_minutes] = cadence;
        tools.status.settings.incident_status_codes = codes;
        tools.status.settings.failures_to_open = failures.and_then(NonZeroU32::new);
        tools.performance.settings.max_ttfb_ms = ttfb.map(|limit| limit.and_then(NonZeroU32::new));
        tools.performance.settings.url = url;
        tools.broken_links.settings.ignore_paths = paths;
        site.request_header = header.map(|(name, value)| HeaderOverride { name, value });
        site
    }
}

proptest! {
    #[test]
    fn resolving_is_idempotent_and_respects_every_floor(
        team in any_overrides(),
        site in any_overrides(),
        plan in prop::sample::select(&Plan::ALL[..]),
    ) {
        // Any team is reached from the defaults by some overrides.
        let team = Settings::resolve(&Settings::default(), &team, Plan::Agency);
        let once = Settings::resolve(&team, &site, plan);
        prop_assert_eq!(&Settings::resolve(&once, &site, plan), &once);
        prop_assert_eq!(&Settings::resolve(&once, &SiteOverrides::default(), plan), &once);
        for tool in Tool::ALL {
            let cadence = once.tools.cadence_minutes(tool);
            prop_assert!(cadence >= plan.minimum_cadence_minutes(tool));
            prop_assert!(CADENCE_MINUTES.contains(&cadence));
        }
    }

    #[test]
    fn storing_changes_nothing(site in any_overrides(), plan in prop::sample::select(&Plan::ALL[..])) {
        let stored = serde_json::to_value(&site).expect("serialize");
        prop_assert_eq!(&serde_json::from_value::<SiteOverrides>(stored).expect("overrides"), &site);
        let settings = Settings::resolve(&Settings::default(), &site, plan);
        let stored = serde_json::to_value(&settings).expect("serialize");
        prop_assert_eq!(serde_json::from_value::<Settings>(stored).expect("settings"), settings);
    }
}
