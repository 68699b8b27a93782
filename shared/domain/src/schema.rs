//! JSON Schemas of types with handwritten serialization, and of presets. All others are derived.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::Map;

use crate::accounts::plan::{CADENCE_MINUTES, ESCALATION_PRESETS};
use crate::expectations::SEVERITIES;
use crate::issues::Fingerprint;
use crate::sites::settings::{
    DnsRecordType, IGNORE_PATH_MAX, INTEGER_MAX, PAGE_URL_MAX, Rule, STATUS_INCIDENT_CODES,
    Setting, TimeOfDay,
};

/// The pattern of a [`TimeOfDay`].
pub const TIME_OF_DAY: &str = "^([01][0-9]|2[0-3]):[0-5][0-9]$";

impl JsonSchema for TimeOfDay {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "TimeOfDay".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": TIME_OF_DAY })
    }
}

impl JsonSchema for Fingerprint {
    fn schema_name() -> Cow<'static, str> {
        "Fingerprint".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A condition that a tool checks: `<tool>:<condition>`.",
            "type": "string",
            "enum": Self::ALL,
        })
    }
}

/// Minutes between two automatic checks.
pub(crate) fn cadence(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "integer",
        "enum": CADENCE_MINUTES,
    })
}

/// The severities that the issue of an unmet expectation may have.
pub(crate) fn severity_of_expectation(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": SEVERITIES })
}

/// A JSON value that is neither an array nor an object.
pub(crate) fn scalar(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "description": "The value.",
        "type": ["string", "number", "boolean", "null"],
    })
}

/// When reminders are sent.
pub(crate) fn intervals(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "items": { "type": "integer", "enum": ESCALATION_PRESETS.map(|preset| preset.minutes) },
        "uniqueItems": true,
    })
}

/// A tool's own settings in answers: all of them, except for additions that are unset.
pub(crate) fn own_settings(
    about: &str,
    settings: &[Setting],
    generator: &mut SchemaGenerator,
) -> Schema {
    let properties = settings.iter().map(|setting| {
        let mut schema = values(setting.rule, generator);
        schema.insert("description".to_owned(), setting.description.into());
        (setting.name.to_owned(), schema.to_value())
    });
    let required = settings.iter().filter(|setting| setting.is_always_shown);
    json_schema!({
        "description": about,
        "type": "object",
        "properties": Map::from_iter(properties),
        "required": required.map(|setting| setting.name).collect::<Vec<_>>(),
    })
}

/// The values that a setting may have.
pub fn values(rule: Rule, generator: &mut SchemaGenerator) -> Schema {
    let list =
        |items: Schema| json_schema!({ "type": "array", "items": items, "uniqueItems": true });
    match rule {
        Rule::Boolean => json_schema!({ "type": "boolean" }),
        Rule::Integer(min, max) => {
            json_schema!({ "type": "integer", "minimum": min, "maximum": max })
        }
        Rule::Limit => {
            json_schema!({ "type": ["integer", "null"], "minimum": 1, "maximum": INTEGER_MAX })
        }
        Rule::Port => {
            json_schema!({ "type": ["integer", "null"], "minimum": 1, "maximum": u16::MAX })
        }
        Rule::StatusCodes => {
            let codes = STATUS_INCIDENT_CODES.map(|option| option.code);
            list(json_schema!({ "type": "integer", "enum": codes }))
        }
        Rule::RecordTypes => list(generator.subschema_for::<DnsRecordType>()),
        Rule::Paths => list(json_schema!({ "type": "string", "maxLength": IGNORE_PATH_MAX })),
        Rule::Page => json_schema!({ "type": ["string", "null"], "maxLength": PAGE_URL_MAX }),
    }
}
