//! Every limit of the settings that teams and sites share, with a request that breaks it.

use serde_json::{Value, json};

/// An invalid value of one setting.
pub(crate) struct Broken {
    /// The tool.
    pub(crate) tool: &'static str,
    /// The setting below the tool, by its dotted path.
    pub(crate) setting: &'static str,
    /// The value sent.
    pub(crate) value: Value,
    /// What follows the setting's path if one item is invalid: `.0`.
    pub(crate) at: &'static str,
    /// The error message.
    pub(crate) complaint: &'static str,
}

impl Broken {
    /// The tool's object, with the fields that a team must send for every tool.
    pub(crate) fn tool_settings(&self) -> Value {
        let mut tool = json!({ "enabled": true, "cadence_minutes": 1440 });
        let field = self.setting.split('.').fold(&mut tool, |fields, name| &mut fields[name]);
        *field = self.value.clone();
        tool
    }

    /// The key in the errors, and its message.
    pub(crate) fn error(&self) -> (String, String) {
        let path = format!("monitoring_settings.tools.{}.{}{}", self.tool, self.setting, self.at);
        let message = format!("The {path} field {}.", self.complaint);
        (path, message)
    }
}

const PRESETS: &str = "must be one of 1, 5, 10, 15, 30, 60, 120, 360, 720, 1440, 10080";
const CODES: &str = "must be one of 400, 401, 403, 404, 405, 408, 410, 429, 500, 501, 502, 503, \
                     504, 521, 522, 523, 524";
const TYPES: &str = "must be one of A, AAAA, CNAME, MX, NS, TXT";
const INTEGER: &str = "must be an integer";
const BOOLEAN: &str = "must be true or false";
const EMPTY: &str = "must not be empty";
const FRAMING: &str =
    "must not be a header that belongs to the connection or the body, such as Content-Length";
const TOO_SMALL: &str = "must be at least 1";
const TOO_LARGE: &str = "must not be greater than 2147483647";

/// Values that break the limits of the tools' settings on the agency plan.
pub(crate) fn broken_settings() -> Vec<Broken> {
    let long = "p".repeat(256);
    let rows: Vec<(&str, &str, Value, &str, &str)> = vec![
        ("status", "enabled", json!(1), "", BOOLEAN),
        ("ssl", "enabled", json!("true"), "", BOOLEAN),
        ("status", "cadence_minutes", json!(7), "", PRESETS),
        ("status", "cadence_minutes", json!(0), "", TOO_SMALL),
        ("ssl", "cadence_minutes", json!("5"), "", INTEGER),
        ("dns", "cadence_minutes", json!(1.5), "", INTEGER),
        (
            "broken-links",
            "cadence_minutes",
            json!(360),
            "",
            "must be at least 720 for broken-links checks",
        ),
        (
            "performance",
            "cadence_minutes",
            json!(360),
            "",
            "must be at least 720 for performance checks",
        ),
        ("status", "settings", json!(null), "", EMPTY),
        ("status", "settings", json!([]), "", "must be an object"),
        ("status", "settings.incident_status_codes", json!([418]), ".0", CODES),
        ("status", "settings.incident_status_codes", json!([500, 200]), ".1", CODES),
        ("status", "settings.incident_status_codes", json!(["500"]), ".0", INTEGER),
        ("status", "settings.incident_status_codes", json!(500), "", "must be an array"),
        ("status", "settings.incident_status_codes", json!(null), "", EMPTY),
        ("status", "settings.failures_to_open", json!(0), "", TOO_SMALL),
        ("status", "settings.failures_to_open", json!(2_147_483_648_u64), "", TOO_LARGE),
        ("status", "settings.failures_to_open", json!(null), "", EMPTY),
        ("status", "settings.successes_to_resolve", json!(0), "", TOO_SMALL),
        ("status", "settings.confirmation_retry_minutes", json!(0), "", TOO_SMALL),
        (
            "status",
            "settings.confirmation_retry_minutes",
            json!(6),
            "",
            "must not be greater than 5",
        ),
        ("status", "settings.incident_follow_up_minutes", json!(0), "", TOO_SMALL),
        (
            "status",
            "settings.incident_follow_up_minutes",
            json!(61),
            "",
            "must not be greater than 60",
        ),
        ("ssl", "settings.expiry_days", json!(0), "", TOO_SMALL),
        ("ssl", "settings.failures_to_open", json!(-1), "", TOO_SMALL),
        ("ssl", "settings.confirmation_retry_minutes", json!(6), "", "must not be greater than 5"),
        ("dns", "settings.hard_failures_only", json!(0), "", BOOLEAN),
        ("dns", "settings.failures_to_open", json!(0), "", TOO_SMALL),
        ("dns", "settings.confirmation_retry_minutes", json!(0), "", TOO_SMALL),
        ("dns", "settings.monitored_record_types", json!(["A", "SOA"]), ".1", TYPES),
        ("dns", "settings.monitored_record_types", json!(["a"]), ".0", TYPES),
        ("dns", "settings.monitored_record_types", json!("A"), "", "must be an array"),
        ("dns", "settings.expected_records", json!({ "A": [] }), "", "is not known"),
        ("broken-links", "settings.min_broken_count", json!(0), "", TOO_SMALL),
        ("broken-links", "settings.consecutive_breaches_to_open", json!(0), "", TOO_SMALL),
        ("broken-links", "settings.ignore_paths", json!(["/a", ""]), ".1", EMPTY),
        (
            "broken-links",
            "settings.ignore_paths",
            json!([long]),
            ".0",
            "must not be longer than 255 characters",
        ),
        (
            "broken-links",
            "settings.ignore_paths",
            json!(vec!["/a"; 101]),
            "",
            "must not have more than 100 items",
        ),
        (
            "broken-links",
            "settings.ignore_paths",
            (100..200).map(|n| "p".repeat(80) + &n.to_string()).collect(),
            "",
            "must not hold more than 8192 bytes",
        ),
        ("broken-links", "settings.ignore_external_links", json!(1), "", BOOLEAN),
        ("broken-links", "settings.ignore_redirects", json!("no"), "", BOOLEAN),
        ("performance", "settings.min_score", json!(0), "", TOO_SMALL),
        ("performance", "settings.min_score", json!(101), "", "must not be greater than 100"),
        ("performance", "settings.max_response_time_ms", json!(0), "", TOO_SMALL),
        ("performance", "settings.max_ttfb_ms", json!(0), "", TOO_SMALL),
        ("performance", "settings.max_load_time_seconds", json!(0), "", TOO_SMALL),
        ("performance", "settings.consecutive_breaches_to_open", json!(0), "", TOO_SMALL),
        ("performance", "settings.max_ttfb", json!(1), "", "is not known"),
        ("ssl", "every", json!(1), "", "is not known"),
    ];
    let broken =
        |(tool, setting, value, at, complaint)| Broken { tool, setting, value, at, complaint };
    rows.into_iter().map(broken).collect()
}

/// Rejected headers: the value sent, the invalid part, and the message.
pub(crate) fn broken_headers() -> Vec<(Value, &'static str, &'static str)> {
    let header = |name: Value, value: Value| json!({ "name": name, "value": value });
    vec![
        (json!(null), "", "must not be empty"),
        (json!("X-Watch: a"), "", "must be an object"),
        (
            json!({ "name": "X-Watch" }),
            ".value",
            "is required with monitoring_settings.request_header.name",
        ),
        (
            json!({ "value": "a" }),
            ".name",
            "is required with monitoring_settings.request_header.value",
        ),
        (
            header(json!("n".repeat(256)), json!("a")),
            ".name",
            "must not be longer than 255 characters",
        ),
        (header(json!("X Watch"), json!("a")), ".name", "must be a valid HTTP header name"),
        (header(json!(1), json!("a")), ".name", "must be a string"),
        (header(json!("Content-Length"), json!("5")), ".name", FRAMING),
        (header(json!("transfer-encoding"), json!("chunked")), ".name", FRAMING),
        (header(json!("Connection"), json!("close")), ".name", FRAMING),
        (header(json!("Expect"), json!("100-continue")), ".name", FRAMING),
        (header(json!("UPGRADE"), json!("h2c")), ".name", FRAMING),
        (header(json!("Keep-Alive"), json!("timeout=5")), ".name", FRAMING),
        (header(json!("TE"), json!("trailers")), ".name", FRAMING),
        (header(json!("Trailer"), json!("X")), ".name", FRAMING),
        (header(json!("Proxy-Authorization"), json!("a")), ".name", FRAMING),
        (
            header(json!("X-Watch"), json!("v".repeat(2001))),
            ".value",
            "must not be longer than 2000 characters",
        ),
        (header(json!("X-Watch"), json!("a\r\nb")), ".value", "must not contain line breaks"),
        (header(json!("X-Watch"), json!("a\n")), ".value", "must not contain line breaks"),
        (header(json!("X-Watch"), json!(1)), ".value", "must be a string"),
    ]
}
