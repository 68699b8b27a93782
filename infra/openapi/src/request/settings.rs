//! `monitoring_settings`: of a team, and a site's overrides of it.

use std::ops::RangeInclusive;

use serde_json::{Map, Value, json};
use vedette_domain::plan::{CADENCE_MINUTES, ESCALATION_PRESETS};
use vedette_domain::schema::TIME_OF_DAY;
use vedette_domain::settings::{
    CONFIRMATION_RETRY_MINUTES, DnsRecordType, HEADER_NAME_MAX, HEADER_VALUE_MAX, IGNORE_PATH_MAX,
    INCIDENT_FOLLOW_UP_MINUTES, INTEGER_MAX, PAGE_URL_MAX, PERFORMANCE_SCORE, PROXY_HEADERS,
    STATUS_INCIDENT_CODES, UNSENDABLE_HEADERS,
};
use vedette_domain::tool::Tool;
use vedette_http::settings::{CHOICES_MAX, IGNORE_PATHS_BYTES_MAX, IGNORE_PATHS_MAX};

use super::NOT_BLANK;
use crate::schemas::Schemas;

/// The name of an HTTP header (RFC 9110).
const HEADER_NAME: &str = "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$";
/// The value of a header: visible ASCII with blanks between, and not only blanks.
const HEADER_VALUE: &str = r"^[\t\x20-\x7e]*[\x21-\x7e][\t\x20-\x7e]*$";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Team,
    Site,
}

/// What a client changes in a team's settings.
pub(super) fn of_team(schemas: &mut Schemas) -> Value {
    let mut settings = object([
        ("tools", tools(Level::Team, schemas)),
        ("request_header", header("Both null takes the header away; `{}` keeps it.")),
        ("quiet_time", quiet_time()),
        ("escalation", escalation()),
    ]);
    settings["required"] = json!(["tools"]);
    described("What is omitted stays as it is.", settings)
}

/// What a site sets differently.
pub(super) fn of_site(schemas: &mut Schemas) -> Value {
    let settings = object([
        ("tools", tools(Level::Site, schemas)),
        ("request_header", header("Both null, or `{}`, inherits the team's header.")),
        ("quiet_time", of_the_team(quiet_time())),
        ("escalation", of_the_team(escalation())),
    ]);
    let prose = "What the site sets differently from its team. It replaces all that was set \
                 before: what is omitted is inherited. A setting that a site inherits, and that is \
                 sent as it reads, stays inherited: what was read can be written back.";
    described(prose, settings)
}

/// What only a team sets.
fn of_the_team(section: Value) -> Value {
    described("Set by the team: taken where it says what the team's settings say.", section)
}

fn tools(level: Level, schemas: &mut Schemas) -> Value {
    let tools = Tool::ALL.map(|tool| {
        let mut schema = object([
            (
                "enabled",
                described("Whether the tool runs automatically and may open issues.", boolean()),
            ),
            ("cadence_minutes", cadence(tool)),
            ("settings", own_settings(tool, level, schemas)),
        ]);
        if level == Level::Team {
            schema["required"] = json!(["enabled", "cadence_minutes"]);
        }
        (tool.as_str(), schema)
    });
    let mut tools = object(tools);
    if level == Level::Team {
        tools["minProperties"] = 1.into();
    }
    tools
}

fn cadence(tool: Tool) -> Value {
    let floor = tool.cadence_floor_minutes();
    let minutes: Vec<_> = CADENCE_MINUTES.into_iter().filter(|minutes| *minutes >= floor).collect();
    json!({
        "description": "Minutes between two automatic checks; the plan may forbid the fast ones.",
        "type": "integer",
        "enum": minutes,
    })
}

fn own_settings(tool: Tool, level: Level, schemas: &mut Schemas) -> Value {
    match tool {
        Tool::Status => object([
            ("incident_status_codes", incident_codes()),
            (
                "failures_to_open",
                described("Failed checks in a row before an issue opens.", positive()),
            ),
            (
                "successes_to_resolve",
                described("Successful checks in a row before it resolves.", positive()),
            ),
            ("confirmation_retry_minutes", retry()),
            (
                "incident_follow_up_minutes",
                described(
                    "Minutes between follow-ups of an active issue.",
                    integer(INCIDENT_FOLLOW_UP_MINUTES),
                ),
            ),
        ]),
        Tool::Ssl => object([
            (
                "expiry_days",
                described("Days before expiry from which the certificate is reported.", positive()),
            ),
            (
                "failures_to_open",
                described("Failed checks in a row before an issue opens.", positive()),
            ),
            ("confirmation_retry_minutes", retry()),
        ]),
        Tool::Dns => object([
            (
                "hard_failures_only",
                described("Whether only failed lookups open an issue.", boolean()),
            ),
            (
                "failures_to_open",
                described("Failed checks in a row before an issue opens.", positive()),
            ),
            ("confirmation_retry_minutes", retry()),
            (
                "monitored_record_types",
                choices("The record types watched for changes.", &schemas.of::<DnsRecordType>()),
            ),
        ]),
        Tool::BrokenLinks => object([
            (
                "min_broken_count",
                described("Broken URLs in one crawl that make a breach.", positive()),
            ),
            ("consecutive_breaches_to_open", breaches()),
            ("ignore_paths", ignore_paths()),
            (
                "ignore_external_links",
                described("Whether links outside the site's host are left out.", boolean()),
            ),
            ("ignore_redirects", described("Whether redirect responses are left out.", boolean())),
        ]),
        Tool::Performance => object([
            ("url", page(level)),
            ("min_score", described("The lowest acceptable score.", integer(PERFORMANCE_SCORE))),
            ("max_response_time_ms", limit("The older name of `max_ttfb_ms`, which wins over it.")),
            ("max_ttfb_ms", limit("The longest acceptable time to first byte, in milliseconds.")),
            (
                "max_load_time_seconds",
                limit("The longest acceptable Time to Interactive, in seconds."),
            ),
            ("consecutive_breaches_to_open", breaches()),
        ]),
    }
}

fn incident_codes() -> Value {
    let codes = STATUS_INCIDENT_CODES.map(|option| option.code);
    choices(
        "Response codes that count as failed; no response always counts.",
        &json!({ "type": "integer", "enum": codes }),
    )
}

fn retry() -> Value {
    described("Minutes until a failure is looked at again.", integer(CONFIRMATION_RETRY_MINUTES))
}

fn breaches() -> Value {
    described("Breaches in a row before an issue opens.", positive())
}

fn ignore_paths() -> Value {
    json!({
        "description": format!(
            "Path patterns left out of the crawl, together at most {IGNORE_PATHS_BYTES_MAX} bytes."
        ),
        "type": "array",
        "maxItems": IGNORE_PATHS_MAX,
        "items": { "type": "string", "pattern": NOT_BLANK, "maxLength": IGNORE_PATH_MAX },
    })
}

fn page(level: Level) -> Value {
    match level {
        Level::Team => described("A page is set for a site, not for a team.", nothing()),
        Level::Site => json!({
            "description": "The page audited, on the site's own host; null is the site's root.",
            "anyOf": [
                { "type": "string", "format": "uri", "maxLength": PAGE_URL_MAX },
                nothing(),
            ],
        }),
    }
}

/// Name and value, or neither.
fn header(description: &str) -> Value {
    let set = json!({
        "properties": {
            "name": { "type": "string", "pattern": HEADER_NAME, "maxLength": HEADER_NAME_MAX },
            "value": { "type": "string", "pattern": HEADER_VALUE, "maxLength": HEADER_VALUE_MAX },
        },
        "required": ["name", "value"],
    });
    let unset = json!({ "properties": { "name": nothing(), "value": nothing() } });
    let forms = [set, unset].map(|mut form| {
        form["type"] = "object".into();
        form["additionalProperties"] = false.into();
        form
    });
    let unsendable = UNSENDABLE_HEADERS.map(|name| format!("`{name}`")).join(", ");
    let prose = format!(
        "A header sent with status, broken-links and performance checks; none of the connection or \
         of a body, which are {unsendable} and all that begin with `{PROXY_HEADERS}`. {description}"
    );
    json!({ "description": prose, "anyOf": forms })
}

fn quiet_time() -> Value {
    let time = |description: &str| json!({ "description": description, "type": "string", "pattern": TIME_OF_DAY });
    let mut window = object([
        ("enabled", boolean()),
        ("starts_at", time("The first quiet minute, `HH:MM` in UTC.")),
        ("ends_at", time("The first minute that is no longer quiet; differs from `starts_at`.")),
    ]);
    window["required"] = json!(["enabled"]);
    described("A daily window in which alerts are held back.", window)
}

fn escalation() -> Value {
    let minutes = ESCALATION_PRESETS.map(|preset| preset.minutes);
    let interval = json!({ "type": "integer", "enum": minutes });
    let mut reminders = object([
        ("enabled", boolean()),
        ("intervals", choices("Minutes since the issue opened; 0 reminds at once.", &interval)),
    ]);
    reminders["required"] = json!(["enabled"]);
    described("Reminders of active issues.", reminders)
}

fn limit(description: &str) -> Value {
    json!({
        "description": format!("{description} Null is no limit."),
        "type": ["integer", "null"],
        "minimum": 1,
        "maximum": INTEGER_MAX,
    })
}

fn choices(description: &str, item: &Value) -> Value {
    json!({ "description": description, "type": "array", "maxItems": CHOICES_MAX, "items": item })
}

fn positive() -> Value {
    integer(1..=INTEGER_MAX)
}

fn integer(bounds: RangeInclusive<u32>) -> Value {
    json!({ "type": "integer", "minimum": bounds.start(), "maximum": bounds.end() })
}

fn boolean() -> Value {
    json!({ "type": "boolean" })
}

fn described(description: &str, mut schema: Value) -> Value {
    schema["description"] = description.into();
    schema
}

/// Null, as which a blank string is read.
fn nothing() -> Value {
    json!({ "enum": [null, ""] })
}

/// An object with these fields and no others.
fn object<const N: usize>(properties: [(&str, Value); N]) -> Value {
    let properties = properties.map(|(name, schema)| (name.to_owned(), schema));
    json!({
        "type": "object",
        "properties": Map::from_iter(properties),
        "additionalProperties": false,
    })
}
