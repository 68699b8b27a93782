//! Every limit of the settings table on the tools, tried at site level: a team's tools are read
//! by the same functions.

use super::*;

#[test]
fn values_within_the_limits_are_accepted() {
    let top = json!(INTEGER_MAX);
    for (path, values) in [
        ("request_header.value", vec![]),
        ("tools.status.enabled", vec![json!(true), json!(false)]),
        ("tools.status.cadence_minutes", vec![json!(1), json!(5), json!(10080)]),
        ("tools.status.settings.failures_to_open", vec![json!(1), json!(1000), top.clone()]),
        ("tools.status.settings.successes_to_resolve", vec![json!(1), top.clone()]),
        ("tools.status.settings.confirmation_retry_minutes", vec![json!(1), json!(5)]),
        ("tools.status.settings.incident_follow_up_minutes", vec![json!(1), json!(60)]),
        ("tools.ssl.settings.expiry_days", vec![json!(1), top.clone()]),
        ("tools.ssl.settings.failures_to_open", vec![json!(1), top.clone()]),
        ("tools.ssl.settings.confirmation_retry_minutes", vec![json!(1), json!(5)]),
        ("tools.ssl.settings.port", vec![json!(1), json!(443), json!(65535)]),
        ("tools.dns.settings.hard_failures_only", vec![json!(true)]),
        ("tools.dns.settings.failures_to_open", vec![json!(1), top.clone()]),
        ("tools.dns.settings.confirmation_retry_minutes", vec![json!(1), json!(5)]),
        ("tools.dns.settings.monitored_record_types", vec![json!([]), json!(["A", "TXT"])]),
        ("tools.broken-links.cadence_minutes", vec![json!(720), json!(1440)]),
        ("tools.broken-links.settings.min_broken_count", vec![json!(1), top.clone()]),
        ("tools.broken-links.settings.consecutive_breaches_to_open", vec![json!(1), top.clone()]),
        ("tools.broken-links.settings.ignore_paths", vec![json!(["p".repeat(255)])]),
        ("tools.broken-links.settings.ignore_external_links", vec![json!(true)]),
        ("tools.broken-links.settings.ignore_redirects", vec![json!(true)]),
        ("tools.performance.cadence_minutes", vec![json!(720), json!(10080)]),
        ("tools.performance.settings.url", vec![json!("http://example.com:81/a?b#c")]),
        ("tools.performance.settings.min_score", vec![json!(1), json!(100)]),
        ("tools.performance.settings.max_load_time_seconds", vec![json!(1), json!(null)]),
        ("tools.performance.settings.consecutive_breaches_to_open", vec![json!(1), top]),
    ] {
        for value in values {
            let sent = at(path, &value);
            assert_eq!(site(&sent), Ok(sent.clone()), "{path}");
        }
    }
}

#[test]
fn values_beyond_the_limits_are_refused_at_their_path() {
    let beyond = json!(u64::from(INTEGER_MAX) + 1);
    let too_large = "must not be greater than 2147483647";
    let presets = "must be one of 1, 5, 10, 15, 30, 60, 120, 360, 720, 1440, 10080";
    let at_least_1 = "must be at least 1";
    for (path, value, message) in [
        ("tools.status.enabled", json!(1), "must be true or false"),
        ("tools.status.enabled", json!("true"), "must be true or false"),
        ("tools.status.enabled", json!(null), "must not be empty"),
        ("tools.status.cadence_minutes", json!(7), presets),
        ("tools.status.cadence_minutes", json!(0), at_least_1),
        ("tools.status.cadence_minutes", json!("5"), "must be an integer"),
        ("tools.status.cadence_minutes", json!(null), "must not be empty"),
        ("tools.status.settings.incident_status_codes", json!(500), "must be an array"),
        ("tools.status.settings.failures_to_open", json!(0), at_least_1),
        ("tools.status.settings.failures_to_open", beyond.clone(), too_large),
        ("tools.status.settings.failures_to_open", json!(null), "must not be empty"),
        ("tools.status.settings.successes_to_resolve", json!(0), at_least_1),
        ("tools.status.settings.confirmation_retry_minutes", json!(0), at_least_1),
        (
            "tools.status.settings.confirmation_retry_minutes",
            json!(6),
            "must not be greater than 5",
        ),
        ("tools.status.settings.incident_follow_up_minutes", json!(0), at_least_1),
        (
            "tools.status.settings.incident_follow_up_minutes",
            json!(61),
            "must not be greater than 60",
        ),
        ("tools.ssl.cadence_minutes", json!(1.5), "must be an integer"),
        ("tools.ssl.settings.expiry_days", json!(0), at_least_1),
        ("tools.ssl.settings.expiry_days", beyond.clone(), too_large),
        ("tools.ssl.settings.failures_to_open", json!(-1), at_least_1),
        ("tools.ssl.settings.confirmation_retry_minutes", json!(6), "must not be greater than 5"),
        ("tools.ssl.settings.port", json!(0), at_least_1),
        ("tools.ssl.settings.port", json!(65536), "must not be greater than 65535"),
        ("tools.ssl.settings.port", json!("https"), "must be an integer"),
        ("tools.dns.settings.hard_failures_only", json!(0), "must be true or false"),
        ("tools.dns.settings.failures_to_open", json!(0), at_least_1),
        ("tools.dns.settings.confirmation_retry_minutes", json!(6), "must not be greater than 5"),
        ("tools.dns.settings.monitored_record_types", json!("A"), "must be an array"),
        ("tools.broken-links.cadence_minutes", json!(7), presets),
        (
            "tools.broken-links.cadence_minutes",
            json!(360),
            "must be at least 720 for broken-links checks",
        ),
        ("tools.broken-links.settings.min_broken_count", json!(0), at_least_1),
        ("tools.broken-links.settings.consecutive_breaches_to_open", json!(0), at_least_1),
        ("tools.broken-links.settings.ignore_paths", json!("/a"), "must be an array"),
        ("tools.broken-links.settings.ignore_external_links", json!(1), "must be true or false"),
        ("tools.broken-links.settings.ignore_redirects", json!("no"), "must be true or false"),
        (
            "tools.performance.cadence_minutes",
            json!(360),
            "must be at least 720 for performance checks",
        ),
        ("tools.performance.settings.min_score", json!(0), at_least_1),
        ("tools.performance.settings.min_score", json!(101), "must not be greater than 100"),
        ("tools.performance.settings.min_score", json!(null), "must not be empty"),
        ("tools.performance.settings.max_response_time_ms", json!(0), at_least_1),
        ("tools.performance.settings.max_ttfb_ms", json!(0), at_least_1),
        ("tools.performance.settings.max_ttfb_ms", beyond, too_large),
        ("tools.performance.settings.max_load_time_seconds", json!(0), at_least_1),
        ("tools.performance.settings.consecutive_breaches_to_open", json!(0), at_least_1),
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
