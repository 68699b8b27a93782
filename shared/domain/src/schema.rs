//! JSON Schemas of what writes itself to the wire by hand, or is one of the presets; all others are
//! derived.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::issue::Fingerprint;
use crate::plan::{CADENCE_MINUTES, ESCALATION_PRESETS};
use crate::settings::{STATUS_INCIDENT_CODES, TimeOfDay};

/// What a [`TimeOfDay`] looks like.
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
            "description": "A condition that a tool watches: `<tool>:<condition>`.",
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

/// Response codes that count as failed.
pub(crate) fn incident_codes(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "items": { "type": "integer", "enum": STATUS_INCIDENT_CODES.map(|option| option.code) },
        "uniqueItems": true,
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
