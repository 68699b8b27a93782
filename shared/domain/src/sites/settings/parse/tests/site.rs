//! A site's overrides: what is accepted, and how the rest is refused.

use super::*;

#[test]
fn overrides_of_a_site_are_stored_as_sent() {
    for sent in [
        json!({}),
        at("tools.status.enabled", &json!(false)),
        at("tools.performance.settings.max_ttfb_ms", &json!(null)),
        at("tools.performance.settings.url", &json!(null)),
        at("tools.broken-links.settings.ignore_paths", &json!([])),
        at("request_header", &json!({"name": "X-Key", "value": "abc"})),
    ] {
        assert_eq!(site(&sent), Ok(sent.clone()), "{sent}");
    }
    for (sent, kept) in [
        (json!({"tools": {}}), json!({})),
        (at("tools.ssl.settings", &json!({})), json!({})),
        (at("request_header", &json!({})), json!({})),
        // Even if the team sets another port.
        (at("tools.ssl.settings.port", &json!(null)), at("tools.ssl.settings.port", &json!(443))),
        (at("request_header", &json!({"name": null, "value": null})), json!({})),
        (at("request_header", &json!({"name": "", "value": " "})), json!({})),
        (at("request_header.name", &json!(null)), json!({})),
        (
            at("request_header", &json!({"name": " X-Key ", "value": " a b "})),
            at("request_header", &json!({"name": "X-Key", "value": "a b"})),
        ),
    ] {
        assert_eq!(site(&sent), Ok(kept), "{sent}");
    }
}

#[test]
fn a_header_has_both_parts() {
    let header = |name: &Value, value: &Value| {
        site(&json!({"request_header": {"name": name, "value": value}}))
    };
    let name = |message| Err(refusal("request_header.name", message));
    let value = |message| Err(refusal("request_header.value", message));
    let framing =
        "must not be a header that belongs to the connection or the body, such as Content-Length";
    let long_name = "n".repeat(255);
    let long_value = "v".repeat(2000);
    let kept = json!({"request_header": {"name": long_name, "value": long_value}});
    assert_eq!(header(&json!(long_name), &json!(long_value)), Ok(kept));
    assert!(header(&json!("X"), &json!("a\tbä")).is_ok());
    for (n, v, expected) in [
        (json!("n".repeat(256)), json!("v"), name("must not be longer than 255 characters")),
        (json!("X Key"), json!("v"), name("must be a valid HTTP header name")),
        (json!("X:Key"), json!("v"), name("must be a valid HTTP header name")),
        (json!("X-Käse"), json!("v"), name("must be a valid HTTP header name")),
        (json!("X-Key\r\n"), json!("v"), name("must not contain line breaks")),
        (json!("content-LENGTH"), json!("5"), name(framing)),
        (json!("Proxy-Authorization"), json!("x"), name(framing)),
        (json!(1), json!("v"), name("must be a string")),
        (json!("X"), json!("v".repeat(2001)), value("must not be longer than 2000 characters")),
        (json!("X"), json!("a\r\nB: c"), value("must not contain line breaks")),
        (json!("X"), json!("a\n"), value("must not contain line breaks")),
        (json!("X"), json!("a\rb"), value("must not contain line breaks")),
        (json!("X"), json!("a\0b"), value("must be a valid HTTP header value")),
        (json!("X"), json!(["v"]), value("must be a string")),
        (
            json!("X"),
            json!(null),
            value("is required with monitoring_settings.request_header.name"),
        ),
        (json!("X"), json!(""), value("is required with monitoring_settings.request_header.name")),
        (
            json!(null),
            json!("v"),
            name("is required with monitoring_settings.request_header.value"),
        ),
    ] {
        assert_eq!(header(&n, &v), expected, "{n} {v}");
    }
    assert_eq!(
        site(&at("request_header.name", &json!("X"))),
        value("is required with monitoring_settings.request_header.name")
    );
    assert_eq!(
        site(&at("request_header.value", &json!("v"))),
        name("is required with monitoring_settings.request_header.value")
    );
}

#[test]
fn the_audited_page_is_on_the_sites_own_domain() {
    let path = "tools.performance.settings.url";
    for (url, message) in [
        (json!("https://www.example.com/"), "must be on the site's domain example.com"),
        (json!("https://other.test/"), "must be on the site's domain example.com"),
        (json!("/pricing"), "must be a valid http or https URL"),
        (json!("ftp://example.com/"), "must be a valid http or https URL"),
        (json!("https://a:b@example.com/"), "must not contain a user name or password"),
        (json!(7), "must be a string"),
        (
            json!(format!("https://example.com/{}", "a".repeat(2048))),
            "must not be longer than 2048 characters",
        ),
    ] {
        assert_eq!(site(&at(path, &url)), Err(refusal(path, message)), "{url}");
    }
}

#[test]
fn the_legacy_name_gives_way_to_the_present_one() {
    for (sent, kept) in [
        (json!({"max_response_time_ms": 500}), json!({"max_ttfb_ms": 500})),
        (json!({"max_response_time_ms": null}), json!({"max_ttfb_ms": null})),
        (json!({"max_response_time_ms": 500, "max_ttfb_ms": 800}), json!({"max_ttfb_ms": 800})),
        (json!({"max_response_time_ms": 500, "max_ttfb_ms": null}), json!({"max_ttfb_ms": null})),
    ] {
        let path = "tools.performance.settings";
        assert_eq!(site(&at(path, &sent)), Ok(at(path, &kept)), "{sent}");
    }
}

#[test]
fn unknown_keys_are_refused_at_their_path() {
    let mut paths = vec![
        "cadence".to_owned(),
        "tools.links".to_owned(),
        "tools.uptime".to_owned(),
        "tools.dns.settings.expected_records".to_owned(),
        "request_header.nmae".to_owned(),
    ];
    for tool in Tool::ALL {
        paths.push(format!("tools.{tool}.cadence"));
        paths.push(format!("tools.{tool}.settings.threshold"));
    }
    for path in paths {
        assert_eq!(site(&at(&path, &json!(1))), Err(refusal(&path, "is not known")), "{path}");
    }
    // A long text from the client is cut in the response.
    let long = format!("{}\u{2026}", "x".repeat(100));
    let refused = site(&at(&"x".repeat(100_000), &json!(1)));
    assert_eq!(refused, Err(refusal(&long, "is not known")));
}

#[test]
fn quiet_time_and_escalation_belong_to_the_team() {
    // They may be sent if they equal the team's, which are those of a new team here.
    for (name, value) in [
        ("quiet_time", json!({"enabled": false, "starts_at": "22:00", "ends_at": "07:00"})),
        ("quiet_time", json!({"enabled": false})),
        ("escalation", json!({"enabled": false, "intervals": []})),
    ] {
        assert_eq!(site(&at(name, &value)), Ok(json!({})), "{name} {value}");
    }
    for (name, value) in [
        ("quiet_time", json!({})),
        ("quiet_time", json!(null)),
        ("quiet_time", json!({"enabled": true})),
        ("quiet_time", json!({"enabled": false, "starts_at": "22:01", "ends_at": "07:00"})),
        ("quiet_time", json!({"enabled": false, "starts_at": "24:00"})),
        ("quiet_time", json!({"enabled": false, "zone": "UTC"})),
        ("escalation", json!({})),
        ("escalation", json!([])),
        ("escalation", json!({"enabled": true, "intervals": []})),
        ("escalation", json!({"enabled": false, "intervals": [0]})),
    ] {
        let expected = Err(refusal(name, "can be set at team level only"));
        assert_eq!(site(&at(name, &value)), expected, "{name} {value}");
    }
}

/// Settings of a site by their paths, each with a value that is not the default.
fn said() -> impl Strategy<Value = SiteOverrides> {
    let values = vec![
        ("tools.status.enabled", json!(false)),
        ("tools.status.cadence_minutes", json!(1)),
        ("tools.status.settings.incident_status_codes", json!([404, 503])),
        ("tools.status.settings.failures_to_open", json!(9)),
        ("tools.status.settings.successes_to_resolve", json!(9)),
        ("tools.status.settings.confirmation_retry_minutes", json!(5)),
        ("tools.status.settings.incident_follow_up_minutes", json!(60)),
        ("tools.ssl.enabled", json!(false)),
        ("tools.ssl.cadence_minutes", json!(5)),
        ("tools.ssl.settings.expiry_days", json!(30)),
        ("tools.ssl.settings.port", json!(8443)),
        ("tools.dns.cadence_minutes", json!(1)),
        ("tools.dns.settings.hard_failures_only", json!(true)),
        ("tools.dns.settings.monitored_record_types", json!(["A", "TXT"])),
        ("tools.broken-links.cadence_minutes", json!(720)),
        ("tools.broken-links.settings.ignore_paths", json!(["/a", "/b*"])),
        ("tools.broken-links.settings.ignore_redirects", json!(true)),
        ("tools.performance.enabled", json!(false)),
        ("tools.performance.settings.url", json!("https://example.com/a")),
        ("tools.performance.settings.min_score", json!(90)),
        ("tools.performance.settings.max_ttfb_ms", json!(800)),
        ("tools.performance.settings.max_load_time_seconds", json!(null)),
        ("request_header", json!({"name": "X-Key", "value": "a b"})),
    ];
    let count = values.len();
    prop::sample::subsequence(values, 0..=count).prop_map(|said| {
        let mut site = json!({});
        for (path, value) in said {
            *path.split('.').fold(&mut site, |fields, name| &mut fields[name]) = value;
        }
        serde_json::from_value(site).expect("overrides")
    })
}

proptest! {
    /// For any settings of the team, any overrides of the site and any plan.
    #[test]
    fn settings_can_be_written_back_as_they_were_read(
        team in said(),
        stored in said(),
        plan in prop::sample::select(&Plan::ALL[..]),
    ) {
        let mut team = Settings::resolve(&Settings::default(), &team, Plan::Agency);
        team.tools.performance.settings.url = None;
        team.quiet_time.enabled = true;
        team.escalation.intervals = [0, 1440].into();
        let read = Settings::resolve(&team, &stored, plan);
        let sent = serde_json::to_value(&read).expect("serialize");
        let mut errors = Errors::new();
        let domain = Some("example.com");
        let said = parse_site_overrides(&Field::at(TEAM_PATH, &sent), &team, plan, domain, &mut errors);
        prop_assert_eq!(errors.finish(Some(said)).map(|said| stored.replaced_by(said, &read)), Ok(stored));
    }
}

#[test]
fn what_should_be_an_object_is_one() {
    for path in ["tools", "tools.status", "tools.dns.settings", "request_header"] {
        for wrong in [json!([]), json!("x"), json!(true)] {
            let expected = Err(refusal(path, "must be an object"));
            assert_eq!(site(&at(path, &wrong)), expected, "{path} {wrong}");
        }
        let expected = Err(refusal(path, "must not be empty"));
        assert_eq!(site(&at(path, &json!(null))), expected, "{path}");
    }
    let message = "The monitoring_settings field must be an object.";
    assert_eq!(site(&json!([])), Err(json!({"monitoring_settings": [message]})));
}

#[test]
fn everything_wrong_is_told_in_the_order_of_the_tables() {
    let sent = json!({
        "escalation": {},
        "request_header": {"name": "X"},
        "surprise": 1,
        "tools": {
            "ssl": {"settings": {"failures_to_open": 0, "expiry_days": 0}},
            "status": {"cadence_minutes": 7, "enabled": 1},
        },
    });
    let mut errors = Errors::new();
    let team = Settings::default();
    parse_site_overrides(
        &Field::at(TEAM_PATH, &sent),
        &team,
        Plan::Agency,
        Some("example.com"),
        &mut errors,
    );
    let error = errors.finish(Some(())).expect_err("much is wrong");
    assert_eq!(
        error.message(),
        "The monitoring_settings.tools.status.enabled field must be true or false. \
         (and 6 more errors)"
    );
    let body = serde_json::to_string(&error).expect("serialize");
    let places: Vec<_> = [
        "tools.status.enabled\":",
        "tools.status.cadence_minutes\":",
        "tools.ssl.settings.expiry_days\":",
        "tools.ssl.settings.failures_to_open\":",
        "request_header.value\":",
        "escalation\":",
        "surprise\":",
    ]
    .into_iter()
    .map(|key| body.find(key).expect(key))
    .collect();
    assert!(places.is_sorted(), "{body}");
}
