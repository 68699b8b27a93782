//! Every limit of the settings table on the tools, tried at site level: a team's tools are read
//! by the same functions.

use super::*;

/// The numeric settings of the tools, with the largest value. The smallest is 1.
const NUMBERS: [(&str, u32); 17] = [
    ("status.settings.failures_to_open", INTEGER_MAX),
    ("status.settings.successes_to_resolve", INTEGER_MAX),
    ("status.settings.confirmation_retry_minutes", 5),
    ("status.settings.incident_follow_up_minutes", 60),
    ("ssl.settings.expiry_days", INTEGER_MAX),
    ("ssl.settings.failures_to_open", INTEGER_MAX),
    ("ssl.settings.confirmation_retry_minutes", 5),
    ("ssl.settings.port", 65_535),
    ("dns.settings.failures_to_open", INTEGER_MAX),
    ("dns.settings.confirmation_retry_minutes", 5),
    ("broken-links.settings.min_broken_count", INTEGER_MAX),
    ("broken-links.settings.consecutive_breaches_to_open", INTEGER_MAX),
    ("performance.settings.min_score", 100),
    ("performance.settings.max_response_time_ms", INTEGER_MAX),
    ("performance.settings.max_ttfb_ms", INTEGER_MAX),
    ("performance.settings.max_load_time_seconds", INTEGER_MAX),
    ("performance.settings.consecutive_breaches_to_open", INTEGER_MAX),
];

#[test]
fn numbers_keep_to_their_bounds() {
    for (path, max) in NUMBERS {
        let path = format!("tools.{path}");
        for value in [1, max] {
            let kept = at(&path.replace("max_response_time_ms", "max_ttfb_ms"), &json!(value));
            assert_eq!(site(&at(&path, &json!(value))), Ok(kept), "{path}");
        }
        for (value, message) in [
            (json!(0), "must be at least 1".to_owned()),
            (json!(-1), "must be at least 1".to_owned()),
            (json!(u64::from(max) + 1), format!("must not be greater than {max}")),
            (json!("1"), "must be an integer".to_owned()),
            (json!(1.5), "must be an integer".to_owned()),
            (json!(true), "must be an integer".to_owned()),
        ] {
            assert_eq!(site(&at(&path, &value)), Err(refusal(&path, &message)), "{path} {value}");
        }
    }
}

#[test]
fn only_limits_that_may_be_absent_may_be_null() {
    let others = [
        "status.enabled",
        "status.cadence_minutes",
        "status.settings.incident_status_codes",
        "dns.settings.hard_failures_only",
        "dns.settings.monitored_record_types",
        "broken-links.settings.ignore_paths",
        "broken-links.settings.ignore_external_links",
        "broken-links.settings.ignore_redirects",
    ];
    for path in NUMBERS.into_iter().map(|(path, _)| path).chain(others) {
        let is_nullable = path == "ssl.settings.port" || path.contains(".max_");
        let path = format!("tools.{path}");
        let read = site(&at(&path, &json!(null)));
        match is_nullable {
            true => assert!(read.is_ok(), "{path}"),
            false => assert_eq!(read, Err(refusal(&path, "must not be empty"))),
        }
    }
}

#[test]
fn other_values_within_the_limits_are_accepted() {
    for (path, values) in [
        ("tools.status.enabled", vec![json!(true), json!(false)]),
        ("tools.status.cadence_minutes", vec![json!(1), json!(5), json!(10080)]),
        ("tools.dns.settings.hard_failures_only", vec![json!(true)]),
        ("tools.dns.settings.monitored_record_types", vec![json!([]), json!(["A", "TXT"])]),
        ("tools.broken-links.cadence_minutes", vec![json!(720), json!(1440)]),
        ("tools.broken-links.settings.ignore_paths", vec![json!(["\u{fc}".repeat(255)])]),
        ("tools.broken-links.settings.ignore_external_links", vec![json!(true)]),
        ("tools.broken-links.settings.ignore_redirects", vec![json!(true)]),
        ("tools.performance.cadence_minutes", vec![json!(720), json!(10080)]),
        ("tools.performance.settings.url", vec![json!("http://example.com:81/a?b#c")]),
    ] {
        for value in values {
            let sent = at(path, &value);
            assert_eq!(site(&sent), Ok(sent.clone()), "{path}");
        }
    }
}

#[test]
fn other_values_are_refused_at_their_path() {
    let presets = "must be one of 1, 5, 10, 15, 30, 60, 120, 360, 720, 1440, 10080";
    let switch = "must be true or false";
    for (path, value, message) in [
        ("tools.status.enabled", json!(1), switch),
        ("tools.status.enabled", json!("true"), switch),
        ("tools.status.cadence_minutes", json!(7), presets),
        ("tools.status.cadence_minutes", json!(0), "must be at least 1"),
        ("tools.status.cadence_minutes", json!("5"), "must be an integer"),
        ("tools.ssl.cadence_minutes", json!(1.5), "must be an integer"),
        ("tools.broken-links.cadence_minutes", json!(7), presets),
        (
            "tools.broken-links.cadence_minutes",
            json!(360),
            "must be at least 720 for broken-links checks",
        ),
        (
            "tools.performance.cadence_minutes",
            json!(360),
            "must be at least 720 for performance checks",
        ),
        ("tools.status.settings.incident_status_codes", json!(500), "must be an array"),
        ("tools.dns.settings.monitored_record_types", json!("A"), "must be an array"),
        ("tools.broken-links.settings.ignore_paths", json!("/a"), "must be an array"),
        ("tools.dns.settings.hard_failures_only", json!(0), switch),
        ("tools.broken-links.settings.ignore_external_links", json!(1), switch),
        ("tools.broken-links.settings.ignore_redirects", json!("no"), switch),
    ] {
        assert_eq!(site(&at(path, &value)), Err(refusal(path, message)), "{path} {value}");
    }
}

#[test]
fn a_cadence_is_at_least_the_plans_minimum() {
    for (plan, tool, minutes, message) in [
        (Plan::Starter, "status", 30, None),
        (Plan::Starter, "status", 15, Some("must be at least 30 on the starter plan")),
        (Plan::Starter, "status", 5, Some("must be at least 30 on the starter plan")),
        (Plan::Growth, "dns", 5, None),
        (Plan::Growth, "dns", 1, Some("must be at least 5 on the growth plan")),
        (Plan::Agency, "ssl", 1, None),
        (Plan::Starter, "performance", 720, None),
        // The tool's floor is named where it is the one that matters on every plan.
        (Plan::Starter, "performance", 30, Some("must be at least 720 for performance checks")),
    ] {
        let path = format!("tools.{tool}.cadence_minutes");
        let sent = at(&path, &json!(minutes));
        let expected = match message {
            None => Ok(sent.clone()),
            Some(message) => Err(refusal(&path, message)),
        };
        assert_eq!(site_on(plan, &sent), expected, "{plan} {tool} {minutes}");
    }
}

#[test]
fn lists_are_in_order_and_without_repetition() {
    for (path, sent, kept) in [
        (
            "tools.status.settings.incident_status_codes",
            json!([503, 404, 503.0]),
            json!([404, 503]),
        ),
        ("tools.status.settings.incident_status_codes", json!([]), json!([])),
        (
            "tools.dns.settings.monitored_record_types",
            json!(["TXT", "A", "MX", "A"]),
            json!(["A", "MX", "TXT"]),
        ),
        (
            "tools.broken-links.settings.ignore_paths",
            json!(["/b", " /a ", "/b"]),
            json!(["/a", "/b"]),
        ),
    ] {
        assert_eq!(site(&at(path, &sent)), Ok(at(path, &kept)), "{path}");
    }
}

#[test]
fn wrong_items_are_refused_at_their_index() {
    let codes = "must be one of 400, 401, 403, 404, 405, 408, 410, 429, 500, 501, 502, 503, 504, \
                 521, 522, 523, 524";
    let types = "must be one of A, AAAA, CNAME, MX, NS, TXT";
    for (path, value, index, message) in [
        ("tools.status.settings.incident_status_codes", json!([418]), 0, codes),
        ("tools.status.settings.incident_status_codes", json!([500, 200]), 1, codes),
        ("tools.status.settings.incident_status_codes", json!(["500"]), 0, "must be an integer"),
        ("tools.dns.settings.monitored_record_types", json!(["A", "SOA"]), 1, types),
        ("tools.dns.settings.monitored_record_types", json!(["a"]), 0, types),
        ("tools.broken-links.settings.ignore_paths", json!(["/a", ""]), 1, "must not be empty"),
        ("tools.broken-links.settings.ignore_paths", json!([1]), 0, "must be a string"),
        (
            "tools.broken-links.settings.ignore_paths",
            json!(["p".repeat(256)]),
            0,
            "must not be longer than 255 characters",
        ),
    ] {
        let error = refusal(&format!("{path}.{index}"), message);
        assert_eq!(site(&at(path, &value)), Err(error), "{path} {value}");
    }
}

#[test]
fn ignore_paths_fit_in_a_stored_site() {
    let path = "tools.broken-links.settings.ignore_paths";
    let paths = |count: usize, length: usize| -> Value {
        (0..count).map(|n| format!("{n:0length$}")).collect()
    };
    assert!(site(&at(path, &paths(100, 80))).is_ok());
    assert_eq!(
        site(&at(path, &paths(101, 3))),
        Err(refusal(path, "must not have more than 100 items"))
    );
    assert_eq!(
        site(&at(path, &paths(100, 82))),
        Err(refusal(path, "must not hold more than 8192 bytes"))
    );
}
