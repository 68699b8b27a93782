//! `monitoring_settings` of a team, and a site's overrides.

use serde_json::{Map, Value, json};
use vedette_domain::accounts::plan::{CADENCE_MINUTES, ESCALATION_PRESETS};
use vedette_domain::checks::tool::Tool;
use vedette_domain::input::NOT_BLANK;
use vedette_domain::schema::TIME_OF_DAY;
use vedette_domain::sites::settings::{
    HEADER_NAME_MAX, HEADER_VALUE_MAX, IGNORE_PATHS_MAX, PAGE_URL_MAX, PROXY_HEADERS, Rule,
    UNSENDABLE_HEADERS, own_settings,
};
use vedette_http::settings::CHOICES_MAX;

use crate::schemas::Schemas;

/// The name of an HTTP header (RFC 9110).
const HEADER_NAME: &str = "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$";
/// The value of a header: visible ASCII, possibly with blanks in between, but not only blanks.
const HEADER_VALUE: &str = r"^[\t\x20-\x7e]*[\x21-\x7e][\t\x20-\x7e]*$";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Team,
    Site,
}

/// A change of a team's settings.
pub(super) fn of_team(schemas: &mut Schemas) -> Value {
    let mut settings = object([
        ("tools", tools(Level::Team, schemas)),
        (
            "request_header",
            described("If both are null, the header is removed; `{}` keeps it.", header(schemas)),
        ),
        ("quiet_time", quiet_time(schemas)),
        ("escalation", escalation(schemas)),
    ]);
    settings["required"] = json!(["tools"]);
    let settings = described(
        "`tools` is required and names at least one tool. All other settings that are omitted stay as they are.",
        settings,
    );
    schemas.named("MonitoringSettingsUpdate", settings)
}

/// A site's overrides.
pub(super) fn of_site(schemas: &mut Schemas) -> Value {
    let settings = object([
        ("tools", tools(Level::Site, schemas)),
        (
            "request_header",
            described(
                "If both are null, or for `{}`, the site inherits the team's header.",
                header(schemas),
            ),
        ),
        ("quiet_time", of_the_team(quiet_time(schemas))),
        ("escalation", of_the_team(escalation(schemas))),
    ]);
    let prose = "The settings in which the site differs from its team. They replace all \
                 previous ones, and omitted settings are inherited. An inherited setting that \
                 is sent as it was read stays inherited, so that you can write back what you \
                 have read.";
    schemas.named("MonitoringSettingsOverrides", described(prose, settings))
}

/// The settings that only a team has.
fn of_the_team(section: Value) -> Value {
    described(
        "Only the team can set this. It is accepted if it equals the team's settings.",
        section,
    )
}

fn tools(level: Level, schemas: &mut Schemas) -> Value {
    let suffix = if level == Level::Team { "Update" } else { "Overrides" };
    let tools = Tool::ALL.map(|tool| {
        let mut schema = object([
            (
                "enabled",
                described("Whether the tool runs automatically and may open issues.", boolean()),
            ),
            ("cadence_minutes", cadence(tool, schemas)),
            ("settings", settings_of(tool, level, schemas)),
        ]);
        if level == Level::Team {
            schema["required"] = json!(["enabled", "cadence_minutes"]);
        }
        (tool.as_str(), schemas.named(&format!("{}{suffix}", component(tool)), schema))
    });
    let mut tools = object(tools);
    if level == Level::Team {
        tools["minProperties"] = 1.into();
    }
    schemas.named(&format!("Tools{suffix}"), tools)
}

/// The tool's name in the names of components.
const fn component(tool: Tool) -> &'static str {
    match tool {
        Tool::Status => "Status",
        Tool::Ssl => "Ssl",
        Tool::Dns => "Dns",
        Tool::BrokenLinks => "BrokenLinks",
        Tool::Performance => "Performance",
    }
}

/// Not every tool has the fast cadences, so there are two enumerations.
fn cadence(tool: Tool, schemas: &mut Schemas) -> Value {
    let floor = tool.cadence_floor_minutes();
    let minutes: Vec<_> = CADENCE_MINUTES.into_iter().filter(|minutes| *minutes >= floor).collect();
    let is_slow = minutes.len() < CADENCE_MINUTES.len();
    let name = if is_slow { "SlowCadenceMinutes" } else { "CadenceMinutes" };
    schemas.named(
        name,
        json!({
            "description": "Minutes between two automatic checks. The plan may not allow the \
                            shortest ones.",
            "type": "integer",
            "enum": minutes,
        }),
    )
}

/// A tool's own settings. Teams and sites have the same ones, except for settings that only sites have.
fn settings_of(tool: Tool, level: Level, schemas: &mut Schemas) -> Value {
    let settings = own_settings(tool);
    let is_for_sites = settings.iter().any(|setting| setting.rule == Rule::Page);
    let suffix = if is_for_sites && level == Level::Site { "Overrides" } else { "Update" };
    let properties = settings.iter().map(|setting| {
        let value = values(setting.rule, level, schemas);
        (setting.name.to_owned(), described(setting.description, value))
    });
    let properties = properties.collect();
    schemas.named(&format!("{}Settings{suffix}", component(tool)), object_of(properties))
}

/// The values that a request may send for a setting, including alternative notations.
fn values(rule: Rule, level: Level, schemas: &mut Schemas) -> Value {
    let mut schema = schemas.values(rule);
    let most = match rule {
        Rule::StatusCodes | Rule::RecordTypes => CHOICES_MAX,
        Rule::Paths => {
            schema["items"]["pattern"] = NOT_BLANK.into();
            IGNORE_PATHS_MAX
        }
        Rule::Page if level == Level::Team => return nothing(),
        Rule::Page => {
            let page = json!({ "type": "string", "format": "uri", "maxLength": PAGE_URL_MAX });
            return json!({ "anyOf": [page, nothing()] });
        }
        Rule::Boolean | Rule::Integer(..) | Rule::Limit | Rule::Port => return schema,
    };
    // Duplicates are merged.
    json!({ "type": "array", "maxItems": most, "items": schema["items"] })
}

/// Both name and value, or neither.
fn header(schemas: &mut Schemas) -> Value {
    let set = json!({
        "properties": {
            "name": { "type": "string", "pattern": HEADER_NAME, "maxLength": HEADER_NAME_MAX },
            "value": { "type": "string", "pattern": HEADER_VALUE, "maxLength": HEADER_VALUE_MAX },
        },
        "required": ["name", "value"],
    });
    let unset = json!({ "properties": { "name": nothing(), "value": nothing() } });
    let forms = [("RequestHeaderSet", set), ("RequestHeaderUnset", unset)].map(|(name, form)| {
        let mut form = form;
        form["type"] = "object".into();
        form["additionalProperties"] = false.into();
        schemas.named(name, form)
    });
    let unsendable = UNSENDABLE_HEADERS.map(|name| format!("`{name}`")).join(", ");
    let prose = format!(
        "A header sent with status, broken-links and performance checks. It cannot be a header \
         for the connection or a body: {unsendable}, or any header that begins with \
         `{PROXY_HEADERS}`."
    );
    schemas.named("RequestHeaderUpdate", json!({ "description": prose, "anyOf": forms }))
}

fn quiet_time(schemas: &mut Schemas) -> Value {
    let time = |description: &str| json!({ "description": description, "type": "string", "pattern": TIME_OF_DAY });
    let mut window = object([
        ("enabled", boolean()),
        ("starts_at", time("The first quiet minute, `HH:MM` in the time zone of the team.")),
        ("ends_at", time("The first minute that is no longer quiet; differs from `starts_at`.")),
    ]);
    window["required"] = json!(["enabled"]);
    let window = described("A daily window in which alerts are held back.", window);
    schemas.named("QuietTimeUpdate", window)
}

fn escalation(schemas: &mut Schemas) -> Value {
    let minutes = ESCALATION_PRESETS.map(|preset| preset.minutes);
    let intervals = json!({
        "description": "Minutes since the issue opened; 0 sends a reminder at once.",
        "type": "array",
        "maxItems": CHOICES_MAX,
        "items": { "type": "integer", "enum": minutes },
    });
    let mut reminders = object([("enabled", boolean()), ("intervals", intervals)]);
    reminders["required"] = json!(["enabled"]);
    schemas.named("EscalationUpdate", described("Reminders of active issues.", reminders))
}

fn boolean() -> Value {
    json!({ "type": "boolean" })
}

fn described(description: &str, mut schema: Value) -> Value {
    schema["description"] = description.into();
    schema
}

/// Null, or a blank string, which is read as null.
fn nothing() -> Value {
    json!({ "type": ["string", "null"], "maxLength": 0 })
}

/// An object with exactly these fields.
fn object<const N: usize>(properties: [(&str, Value); N]) -> Value {
    object_of(properties.map(|(name, schema)| (name.to_owned(), schema)).into_iter().collect())
}

fn object_of(properties: Map<String, Value>) -> Value {
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}
