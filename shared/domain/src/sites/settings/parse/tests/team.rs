//! A team's update: what is required of it, and what only a team has.

use super::*;

/// The smallest update there is, with one more section.
fn with(section: &str, value: &Value) -> Value {
    json!({"tools": {"ssl": {"enabled": true, "cadence_minutes": 1440}}, section: value})
}

fn growth(sent: &Value) -> Result<Settings, Value> {
    team(Plan::Growth, &Settings::defaults(Plan::Growth), sent)
}

#[test]
fn omitted_settings_are_unchanged() {
    let current = Settings::defaults(Plan::Growth);
    let sent = json!({"tools": {"dns": {
        "enabled": false, "cadence_minutes": 30, "settings": {"failures_to_open": 4},
    }}});
    let changed = growth(&sent).expect("accepted");
    let mut expected = serde_json::to_value(&current).expect("serialize");
    expected["tools"]["dns"]["enabled"] = json!(false);
    expected["tools"]["dns"]["cadence_minutes"] = json!(30);
    expected["tools"]["dns"]["settings"]["failures_to_open"] = json!(4);
    assert_eq!(serde_json::to_value(&changed).expect("serialize"), expected);
}

#[test]
fn tools_are_required_and_each_says_enabled_and_cadence() {
    let required = |path: &str| refusal(path, "is required");
    for (sent, expected) in [
        (json!({}), required("tools")),
        (json!({"tools": null}), required("tools")),
        (json!({"tools": {}}), required("tools")),
        (json!({"tools": []}), refusal("tools", "must be an object")),
        (at("tools.ssl", &json!({"cadence_minutes": 60})), required("tools.ssl.enabled")),
        (at("tools.ssl", &json!({"enabled": true})), required("tools.ssl.cadence_minutes")),
        (
            at("tools.ssl", &json!({"enabled": true, "cadence_minutes": null})),
            required("tools.ssl.cadence_minutes"),
        ),
        // Validated even when the tool is disabled.
        (
            at("tools.ssl", &json!({"enabled": false, "cadence_minutes": 1})),
            refusal("tools.ssl.cadence_minutes", "must be at least 5 on the growth plan"),
        ),
        (with("webhooks", &json!({})), refusal("webhooks", "is not known")),
    ] {
        assert_eq!(growth(&sent), Err(expected), "{sent}");
    }
    let both = growth(&at("tools.ssl", &json!({}))).expect_err("both are missing");
    assert_eq!(both.as_object().map(serde_json::Map::len), Some(2));
    let wrong = growth(&json!([])).expect_err("no object");
    assert!(wrong.get("monitoring_settings").is_some());
}

#[test]
fn a_team_has_no_page_to_audit() {
    let url = |value: Value| {
        growth(&at(
            "tools.performance",
            &json!({"enabled": true, "cadence_minutes": 720, "settings": {"url": value}}),
        ))
    };
    assert_eq!(url(json!(null)).expect("accepted").tools.performance.settings.url, None);
    assert_eq!(
        url(json!("https://example.com/")),
        Err(refusal("tools.performance.settings.url", "can be set at site level only"))
    );
}

#[test]
fn a_header_is_set_kept_or_cleared() {
    let mut current = Settings::defaults(Plan::Growth);
    current.request_header =
        RequestHeader { name: Some("X-Old".to_owned()), value: Some("old".to_owned()) };
    for (sent, expected) in [
        (json!({}), Some(("X-Old", "old"))),
        (json!({"name": "X-New", "value": "new"}), Some(("X-New", "new"))),
        (json!({"name": null, "value": null}), None),
        (json!({"name": "", "value": ""}), None),
        (json!({"name": null}), None),
    ] {
        let changed =
            team(Plan::Growth, &current, &with("request_header", &sent)).expect("accepted");
        assert_eq!(changed.request_header.pair(), expected, "{sent}");
    }
    assert_eq!(
        growth(&with("request_header", &json!({"name": "X"}))),
        Err(refusal(
            "request_header.value",
            "is required with monitoring_settings.request_header.name"
        ))
    );
    let null = growth(&with("request_header", &json!(null)));
    assert_eq!(null, Err(refusal("request_header", "must not be empty")));
}

#[test]
fn quiet_time_is_a_window() {
    let window = |value: &Value| growth(&with("quiet_time", value));
    for (sent, enabled, starts_at, ends_at) in [
        (json!({"enabled": true}), true, "22:00", "07:00"),
        (
            json!({"enabled": false, "starts_at": "00:00", "ends_at": "23:59"}),
            false,
            "00:00",
            "23:59",
        ),
        (
            json!({"enabled": true, "starts_at": "22:00", "ends_at": "07:00"}),
            true,
            "22:00",
            "07:00",
        ),
        (json!({"enabled": true, "starts_at": "06:59"}), true, "06:59", "07:00"),
    ] {
        let found = window(&sent).expect("accepted").quiet_time;
        assert_eq!(found.enabled, enabled);
        assert_eq!(found.starts_at.to_string(), starts_at);
        assert_eq!(found.ends_at.to_string(), ends_at);
    }
    let time = "must be a time written HH:MM, from 00:00 to 23:59";
    let same = "must differ from starts_at";
    for (sent, path, message) in [
        (json!({}), "quiet_time.enabled", "is required"),
        (json!({"starts_at": "21:00"}), "quiet_time.enabled", "is required"),
        (json!({"enabled": 1}), "quiet_time.enabled", "must be true or false"),
        (json!({"enabled": true, "starts_at": "9:00"}), "quiet_time.starts_at", time),
        (json!({"enabled": true, "starts_at": "24:00"}), "quiet_time.starts_at", time),
        (json!({"enabled": true, "ends_at": "23:60"}), "quiet_time.ends_at", time),
        (json!({"enabled": true, "ends_at": 7}), "quiet_time.ends_at", "must be a string"),
        (json!({"enabled": true, "ends_at": null}), "quiet_time.ends_at", "must not be empty"),
        (
            json!({"enabled": true, "starts_at": "08:00", "ends_at": "08:00"}),
            "quiet_time.ends_at",
            same,
        ),
        // Compared after merging with 22:00 to 07:00, and even when switched off.
        (json!({"enabled": true, "ends_at": "22:00"}), "quiet_time.ends_at", same),
        (json!({"enabled": false, "starts_at": "07:00"}), "quiet_time.ends_at", same),
        (json!({"enabled": true, "zone": "UTC"}), "quiet_time.zone", "is not known"),
        (json!(null), "quiet_time", "must not be empty"),
    ] {
        assert_eq!(window(&sent), Err(refusal(path, message)), "{sent}");
    }
}

#[test]
fn escalation_intervals_are_presets() {
    let escalation = |value: &Value| growth(&with("escalation", value));
    for (sent, intervals) in [
        (json!({"enabled": true}), vec![]),
        (json!({"enabled": true, "intervals": []}), vec![]),
        (json!({"enabled": true, "intervals": [0]}), vec![0]),
        (
            json!({"enabled": false, "intervals": [1440, 0, 15, 30, 60, 360, 15]}),
            vec![0, 15, 30, 60, 360, 1440],
        ),
    ] {
        let found = escalation(&sent).expect("accepted").escalation;
        assert_eq!(found.intervals.into_iter().collect::<Vec<_>>(), intervals, "{sent}");
    }
    let presets = "must be one of 0, 15, 30, 60, 360, 1440";
    for (sent, path, message) in [
        (json!({"intervals": [0]}), "escalation.enabled", "is required"),
        (json!({"enabled": true, "intervals": [45]}), "escalation.intervals.0", presets),
        (json!({"enabled": true, "intervals": [0, -1]}), "escalation.intervals.1", presets),
        (json!({"enabled": true, "intervals": 15}), "escalation.intervals", "must be an array"),
        (
            json!({"enabled": true, "intervals": ["15"]}),
            "escalation.intervals.0",
            "must be an integer",
        ),
        (json!({"enabled": true, "intervals": null}), "escalation.intervals", "must not be empty"),
        (json!({"enabled": true, "channel": "a"}), "escalation.channel", "is not known"),
        (json!(null), "escalation", "must not be empty"),
    ] {
        assert_eq!(escalation(&sent), Err(refusal(path, message)), "{sent}");
    }
}

#[test]
fn the_defaults_of_every_plan_are_accepted_unchanged() {
    for plan in Plan::ALL {
        let current = Settings::defaults(plan);
        let sent = serde_json::to_value(&current).expect("serialize");
        assert_eq!(team(plan, &current, &sent), Ok(current.clone()), "{plan}");
        // Sent whole, the settings do not depend on what was there before.
        let other = Settings::defaults(Plan::Agency);
        assert_eq!(team(plan, &other, &sent), Ok(current), "{plan}");
    }
}

prop_compose! {
    /// Settings that a team can have: defaults, changed within the limits.
    fn any_settings()(
        plan in prop::sample::select(&Plan::ALL[..]),
        enabled in prop::array::uniform5(any::<bool>()),
        status_cadence in prop::sample::select(&[1_u32, 5, 30, 1440][..]),
        codes in prop::sample::subsequence(&[400_u16, 429, 500, 524][..], 0..=4),
        failures in 1..=INTEGER_MAX,
        ttfb in prop::option::of(1..=INTEGER_MAX),
        load_time in prop::option::of(1_u32..100),
        paths in prop::collection::btree_set("/[a-zß*]{0,20}", 0..5),
        header in prop::option::of(("[A-Za-z0-9-]{1,20}", "[!-~]{1,20}")),
        quiet in (any::<bool>(), 0_u16..24, 0_u16..60),
        intervals in prop::sample::subsequence(&[0_u32, 15, 30, 60, 360, 1440][..], 0..=6),
    ) -> (Plan, Settings) {
        let mut sent = serde_json::to_value(Settings::defaults(plan)).expect("serialize");
        for (tool, enabled) in Tool::ALL.into_iter().zip(enabled) {
            sent["tools"][tool.as_str()]["enabled"] = json!(enabled);
        }
        let tools = &mut sent["tools"];
        tools["status"]["cadence_minutes"] = json!(status_cadence);
        tools["status"]["settings"]["incident_status_codes"] = json!(codes);
        tools["ssl"]["settings"]["failures_to_open"] = json!(failures);
        tools["performance"]["settings"]["max_ttfb_ms"] = json!(ttfb);
        tools["performance"]["settings"]["max_load_time_seconds"] = json!(load_time);
        tools["broken-links"]["settings"]["ignore_paths"] = json!(paths);
        let (name, value) = header.unzip();
        sent["request_header"] = json!({"name": name, "value": value});
        let (on, hour, minute) = quiet;
        // A window of one minute ends on the next, never when it starts.
        let next = (hour * 60 + minute + 1) % 1440;
        sent["quiet_time"] = json!({
            "enabled": on,
            "starts_at": format!("{hour:02}:{minute:02}"),
            "ends_at": format!("{:02}:{:02}", next / 60, next % 60),
        });
        sent["escalation"] = json!({"enabled": on, "intervals": intervals});
        let settings: Settings = serde_json::from_value(sent).expect("settings");
        (plan, settings.on_plan(plan))
    }
}

proptest! {
    #[test]
    fn what_was_read_can_be_sent_back_unchanged((plan, settings) in any_settings()) {
        let read = serde_json::to_value(&settings).expect("serialize");
        prop_assert_eq!(team(plan, &settings, &read), Ok(settings.clone()));
        prop_assert_eq!(team(plan, &Settings::defaults(plan), &read), Ok(settings));
    }
}
