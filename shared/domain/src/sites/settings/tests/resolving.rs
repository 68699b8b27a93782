//! How a team's settings, a site's overrides, updates and plans combine.

use proptest::prelude::*;

use super::*;
use crate::accounts::plan::CADENCE_MINUTES;

#[test]
fn a_site_inherits_what_it_does_not_override() {
    let mut team = Settings::defaults(Plan::Agency);
    team.request_header =
        RequestHeader { name: Some("X-Team".to_owned()), value: Some("t".to_owned()) };
    team.tools.performance.settings.max_ttfb_ms = Some(count(900));
    team.tools.performance.settings.max_load_time_seconds = Some(count(7));
    team.quiet_time.enabled = true;

    assert_eq!(Settings::resolve(&team, &SiteOverrides::default(), Plan::Agency), team);

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
                "port": 8443,
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
        port: NonZeroU16::new(8443),
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
        // The site's null overrides the team's value; the load time that it does not mention is inherited.
        max_ttfb_ms: None,
        max_load_time_seconds: Some(count(7)),
        consecutive_breaches_to_open: count(1),
    };
    expected.request_header =
        RequestHeader { name: Some("X-Site".to_owned()), value: Some("s".to_owned()) };
    assert_eq!(Settings::resolve(&team, &site, Plan::Agency), expected);
    assert_eq!(expected.request_header.pair(), Some(("X-Site", "s")));
}

#[test]
fn a_downgrade_raises_cadences_without_rewriting_them() {
    let mut team = Settings::defaults(Plan::Agency);
    team.tools.status.cadence_minutes = 1;
    let site = overrides(json!({"tools": {"dns": {"cadence_minutes": 5}}}));
    for (plan, status, dns) in [(Plan::Agency, 1, 5), (Plan::Growth, 5, 5), (Plan::Starter, 30, 30)]
    {
        let resolved = Settings::resolve(&team, &site, plan);
        assert_eq!(resolved.tools.status.cadence_minutes, status, "{plan}");
        assert_eq!(resolved.tools.dns.cadence_minutes, dns, "{plan}");
        assert_eq!(team.clone().on_plan(plan).tools.status.cadence_minutes, status, "{plan}");
    }
    // Stored by hand or by an earlier version: the minimum applies on every plan.
    team.tools.broken_links.cadence_minutes = 60;
    assert_eq!(team.on_plan(Plan::Agency).tools.broken_links.cadence_minutes, 720);
}

/// Overrides that set every setting to its current value.
fn as_read(settings: &Settings) -> SiteOverrides {
    let header = &settings.request_header;
    let mut said = serde_json::to_value(settings).expect("serialize");
    if header.pair().is_none() {
        said["request_header"].take();
    }
    overrides(said)
}

#[test]
fn sent_settings_replace_all_overrides_except_unchanged_ones() {
    let mut team = Settings::defaults(Plan::Agency);
    team.request_header =
        RequestHeader { name: Some("X-Team".to_owned()), value: Some("t".to_owned()) };
    let site = overrides(json!({"tools": {
        "status": {"cadence_minutes": 1, "settings": {"failures_to_open": 9}},
        "dns": {"enabled": false},
        "performance": {"settings": {"max_ttfb_ms": null}},
    }}));
    let after = |sent: serde_json::Value| {
        let read = Settings::resolve(&team, &site, Plan::Growth);
        serde_json::to_value(site.replaced_by(overrides(sent), &read)).expect("serialize")
    };
    for (sent, stored) in [
        (json!({}), json!({})),
        // A value equal to the inherited one sets nothing. Any other value overrides it.
        (json!({"tools": {"ssl": {"enabled": true, "cadence_minutes": 1440}}}), json!({})),
        (
            json!({"tools": {"ssl": {"enabled": false, "cadence_minutes": 1440}}}),
            json!({"tools": {"ssl": {"enabled": false}}}),
        ),
        // Once overridden, it stays overridden, even if the team has the same value.
        (
            json!({"tools": {"dns": {"enabled": false}}}),
            json!({"tools": {"dns": {"enabled": false}}}),
        ),
        (
            json!({"tools": {"dns": {"enabled": true}}}),
            json!({"tools": {"dns": {"enabled": true}}}),
        ),
        (
            json!({"tools": {"status": {"settings": {"failures_to_open": 2}}}}),
            json!({"tools": {"status": {"settings": {"failures_to_open": 2}}}}),
        ),
        // The plan slows it down to five minutes, but the stored value is kept.
        (
            json!({"tools": {"status": {"cadence_minutes": 5}}}),
            json!({"tools": {"status": {"cadence_minutes": 1}}}),
        ),
        // The null overrides the team's value, and the other setting is the team's.
        (
            json!({"tools": {"performance": {
                "settings": {"max_ttfb_ms": null, "max_load_time_seconds": null, "url": null},
            }}}),
            json!({"tools": {"performance": {"settings": {"max_ttfb_ms": null}}}}),
        ),
        (json!({"request_header": {"name": "X-Team", "value": "t"}}), json!({})),
        (
            json!({"request_header": {"name": "X-Team", "value": "u"}}),
            json!({"request_header": {"name": "X-Team", "value": "u"}}),
        ),
    ] {
        assert_eq!(after(sent.clone()), stored, "{sent}");
    }
}

#[test]
fn an_update_changes_only_what_it_says() {
    let header = RequestHeader { name: Some("X-A".to_owned()), value: Some("1".to_owned()) };
    let mut current = Settings::defaults(Plan::Growth);
    current.request_header = header.clone();
    current.escalation.intervals = BTreeSet::from([15]);
    assert_eq!(current.merge(&TeamUpdate::default()), current);

    let mut update = TeamUpdate::default();
    update.tools.ssl.enabled = Some(false);
    update.tools.ssl.settings.expiry_days = Some(count(3));
    update.quiet_time =
        Some(QuietTimeUpdate { enabled: true, starts_at: None, ends_at: Some(time("06:15")) });
    update.escalation = Some(EscalationUpdate { enabled: true, intervals: None });
    let mut expected = current.clone();
    expected.tools.ssl.enabled = false;
    expected.tools.ssl.settings.expiry_days = count(3);
    expected.quiet_time =
        QuietTime { enabled: true, starts_at: time("22:00"), ends_at: time("06:15") };
    expected.escalation.enabled = true;
    assert_eq!(current.merge(&update), expected);

    let cleared = TeamUpdate {
        request_header: Some(RequestHeader::default()),
        escalation: Some(EscalationUpdate { enabled: false, intervals: Some([60, 0].into()) }),
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
    assert_eq!(settings.enabled_tools(Plan::Agency), [Tool::Ssl, Tool::Dns, Tool::Performance]);
}

#[test]
fn moving_a_site_forgets_only_a_page_left_behind() {
    let stored = json!({"tools": {"performance": {
        "enabled": true, "settings": {"url": "https://old.example/a", "min_score": 70},
    }}});
    assert_eq!(overrides(stored.clone()).moved_to("old.example"), overrides(stored.clone()));
    assert_eq!(
        overrides(stored).moved_to("new.example"),
        overrides(json!({"tools": {"performance": {
            "enabled": true, "settings": {"min_score": 70},
        }}}))
    );
    let root = overrides(json!({"tools": {"performance": {"settings": {"url": null}}}}));
    assert_eq!(root.clone().moved_to("new.example"), root);
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
        // Any team can be derived from the defaults with some overrides.
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
    fn settings_written_back_as_they_read_change_nothing(
        team in any_overrides(),
        site in any_overrides(),
        plan in prop::sample::select(&Plan::ALL[..]),
    ) {
        let team = Settings::resolve(&Settings::default(), &team, Plan::Agency);
        let read = Settings::resolve(&team, &site, plan);
        prop_assert_eq!(&site.replaced_by(as_read(&read), &read), &site);
        // Any value that is sent reads back the same.
        let other = as_read(&Settings::resolve(&Settings::default(), &site, plan));
        let replaced = site.replaced_by(other.clone(), &read);
        let expected = Settings::resolve(&team, &other, plan);
        prop_assert_eq!(Settings::resolve(&team, &replaced, plan), expected);
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
