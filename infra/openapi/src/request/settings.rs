//! `monitoring_settings` of a team, and a site's overrides.

use serde_json::{Map, Value, json};
use vedette_domain::accounts::plan::CADENCE_MINUTES;
use vedette_domain::checks::tool::Tool;
use vedette_domain::input::Input as _;
use vedette_domain::schema;
use vedette_domain::sites::settings::{
    EscalationUpdate, HEADER_FIELDS, PAGE_URL_MAX, PROXY_HEADERS, QuietTimeUpdate,
    UNSENDABLE_HEADERS, own_settings,
};

use crate::schemas::Schemas;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Team,
    Site,
}

/// A change of a team's settings.
pub(super) fn of_team(schemas: &mut Schemas) -> Value {
    let mut settings = parts_of_team(schemas);
    settings["required"] = json!(["tools"]);
    let settings = described(
        "`tools` is required and names at least one tool. All other settings that are omitted stay as they are.",
        settings,
    );
    schemas.named("MonitoringSettingsUpdate", settings)
}

/// A team's settings in a document.
pub(super) fn of_team_in_document(schemas: &mut Schemas) -> Value {
    let about = "The monitoring settings that all sites of the team start from. Settings that are omitted have their \
                 defaults.";
    described(about, parts_of_team(schemas))
}

fn parts_of_team(schemas: &mut Schemas) -> Value {
    object([
        ("tools", tools(Level::Team, schemas)),
        (
            "request_header",
            described("If both are null, the header is removed; `{}` keeps it.", header(schemas)),
        ),
        ("quiet_time", quiet_time(schemas)),
        ("escalation", escalation(schemas)),
    ])
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
        Tool::Heartbeat => "Heartbeat",
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

/// A tool's own settings. Teams and sites have the same ones, except for the page to audit, which only sites have.
fn settings_of(tool: Tool, level: Level, schemas: &mut Schemas) -> Value {
    let mut settings = schema::object(own_settings(tool), false);
    let page = settings["properties"].get_mut("url");
    let is_for_sites = page.is_some();
    if let Some(page) = page {
        let about = page["description"].take();
        *page = match level {
            Level::Team => nothing(),
            Level::Site => {
                let page = json!({ "type": "string", "format": "uri", "maxLength": PAGE_URL_MAX });
                json!({ "anyOf": [page, nothing()] })
            }
        };
        page["description"] = about;
    }
    let suffix = if is_for_sites && level == Level::Site { "Overrides" } else { "Update" };
    schemas.named(&format!("{}Settings{suffix}", component(tool)), settings)
}

/// Both name and value, or neither.
fn header(schemas: &mut Schemas) -> Value {
    let set = schema::object(&HEADER_FIELDS, true);
    let unset = object(HEADER_FIELDS.map(|part| (part.name, nothing())));
    let forms = [("RequestHeaderSet", set), ("RequestHeaderUnset", unset)];
    let forms = forms.map(|(name, form)| schemas.named(name, form));
    let unsendable = UNSENDABLE_HEADERS.map(|name| format!("`{name}`")).join(", ");
    let prose = format!(
        "A header sent with status, broken-links and performance checks. It cannot be a header \
         for the connection or a body: {unsendable}, or any header that begins with \
         `{PROXY_HEADERS}`."
    );
    schemas.named("RequestHeaderUpdate", json!({ "description": prose, "anyOf": forms }))
}

fn quiet_time(schemas: &mut Schemas) -> Value {
    let window = schema::object(QuietTimeUpdate::FIELDS, true);
    let window = described("A daily window in which alerts are held back.", window);
    schemas.named("QuietTimeUpdate", window)
}

fn escalation(schemas: &mut Schemas) -> Value {
    let reminders = schema::object(EscalationUpdate::FIELDS, true);
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
    let properties: Map<_, _> =
        properties.map(|(name, schema)| (name.to_owned(), schema)).into_iter().collect();
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}
