//! JSON Schemas of inputs, of types with handwritten serialization, and of presets. All others are derived.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use crate::accounts::plan::{CADENCE_MINUTES, ESCALATION_PRESETS};
use crate::expectations::SEVERITIES;
use crate::input::{InputField, InputShape, InputVariant, TextKind};
use crate::issues::Fingerprint;
use crate::sites::settings::{TIME_OF_DAY, TimeOfDay};

/// The characters, as in a regular expression, for which [`disrupts_line`](crate::text::disrupts_line) is true, with
/// these control characters of ASCII.
macro_rules! disrupting {
    ($control:literal) => {
        concat!($control, r"\x7f-\x9f\u2028-\u202e\u2066-\u2069")
    };
}
macro_rules! of_line {
    () => {
        disrupting!(r"\x00-\x1f")
    };
}
/// The same, without line breaks.
macro_rules! of_text {
    () => {
        disrupting!(r"\x00-\x09\x0b\x0c\x0e-\x1f")
    };
}

/// At least one character that is not blank; surrounding blanks are trimmed.
pub const NOT_BLANK: &str = r"\S";
/// The same, but without characters that disrupt a line.
pub const NAME: &str = concat!("^[^", of_line!(), r"]*[^\s", of_line!(), "][^", of_line!(), "]*$");
/// The pattern [`NAME`], or blank, which counts as null.
const NAME_OR_BLANK: &str = concat!("^[^", of_line!(), "]*$");
/// Lines of text, each without characters that disrupt it, or blank.
const TEXT_OR_BLANK: &str = concat!("^[^", of_text!(), "]*$");
/// The same, with at least one character that is not blank.
const TEXT: &str = concat!("^[^", of_text!(), r"]*[^\s", of_line!(), "][^", of_text!(), "]*$");

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
pub(crate) fn own_settings(about: &str, settings: &[InputField], omitted: &[&str]) -> Schema {
    let mut properties = object(settings, false)["properties"].take();
    for property in properties.as_object_mut().into_iter().flat_map(Map::values_mut) {
        if property["type"] == "array"
            && let Some(list) = property.as_object_mut()
        {
            list.remove("maxItems");
            list.insert("uniqueItems".to_owned(), true.into());
        }
    }
    let names = settings.iter().flat_map(|field| [field.former.0, field.name]);
    let names = names.filter(|name| !name.is_empty() && !omitted.contains(name));
    json_schema!({
        "description": about,
        "type": "object",
        "properties": properties,
        "required": names.collect::<Vec<_>>(),
    })
}

fn described(mut schema: Value, about: &str) -> Value {
    schema["description"] = about.into();
    schema
}

/// The schema of an object with these fields, as requests send it.
pub fn object<'a>(fields: impl IntoIterator<Item = &'a InputField> + Clone, is_new: bool) -> Value {
    let all = || fields.clone().into_iter();
    let mut properties = Map::new();
    for field in all().filter(|field| field.is_part_of(is_new)) {
        let schema = property(field, is_new);
        let (former, about) = field.former;
        if !former.is_empty() {
            properties.insert(former.to_owned(), described(schema.clone(), about));
        }
        properties.insert(field.name.to_owned(), schema);
    }
    let mut schema = json!({
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    });
    let required = all().filter(|field| field.is_required(is_new));
    let required: Vec<_> = required.map(|field| field.name).collect();
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    for field in all().filter(|field| !is_new && !field.needs.is_empty()) {
        schema["dependentRequired"][field.name] = json!([field.needs]);
    }
    schema
}

/// The schema of a field.
pub fn property(field: &InputField, is_new: bool) -> Value {
    let mut schema = values(&(field.shape)(), field.is_nullable());
    schema["description"] = field.description(is_new).into();
    if field.is_nullable() {
        schema["type"] = json!([schema["type"], "null"]);
    }
    schema
}

/// The values of a shape. A text that may be blank may be null.
fn values(shape: &InputShape, or_blank: bool) -> Value {
    match shape {
        InputShape::Text { min, max, kind } => text(*min, *max, *kind, or_blank),
        InputShape::Minutes(max) => values(&InputShape::Integer(1, *max), or_blank),
        InputShape::Integer(min, max) => {
            json!({ "type": "integer", "minimum": min, "maximum": max })
        }
        InputShape::Decimal(min, max) => {
            json!({ "type": "number", "minimum": min, "maximum": max })
        }
        InputShape::Flag => json!({ "type": "boolean" }),
        InputShape::Number(values) => json!({ "type": "integer", "enum": values }),
        InputShape::Choice(values) => json!({ "type": "string", "enum": values }),
        InputShape::List { min, max, items } => {
            let items = values(items, false);
            let mut schema = json!({ "type": "array", "maxItems": max, "items": items });
            if *min > 0 {
                schema["minItems"] = json!(min);
            }
            schema
        }
        InputShape::Object(fields) => object(*fields, true),
        InputShape::Variants(variants) => {
            json!({ "oneOf": variants.iter().map(variant).collect::<Vec<_>>() })
        }
        InputShape::Scalar(max) => {
            json!({ "type": ["string", "number", "boolean", "null"], "maxLength": max })
        }
    }
}

fn variant(variant: &InputVariant) -> Value {
    let mut schema = object(variant.fields, true);
    schema["description"] = variant.about.into();
    schema["properties"]["kind"] = json!({ "type": "string", "const": variant.kind });
    let names = variant.fields.iter().map(|field| field.name);
    schema["required"] = ["kind"].into_iter().chain(names).collect();
    schema
}

fn text(min: usize, max: usize, kind: TextKind, or_blank: bool) -> Value {
    let mut schema = json!({ "type": "string" });
    let pattern = match kind {
        TextKind::Format(format) => {
            schema["format"] = format.into();
            return schema;
        }
        TextKind::Line => Some(if or_blank { NAME_OR_BLANK } else { NAME }),
        TextKind::NotBlank => Some(NOT_BLANK).filter(|_| !or_blank),
        TextKind::Lines => Some(if or_blank { TEXT_OR_BLANK } else { TEXT }),
        TextKind::Pattern(pattern) => Some(pattern),
        TextKind::Url => {
            schema["format"] = "uri".into();
            Some("^[Hh][Tt][Tt][Pp][Ss]?://").filter(|_| !or_blank)
        }
        TextKind::Secret | TextKind::SecretLines => {
            schema["writeOnly"] = true.into();
            None
        }
        TextKind::Other => None,
    };
    if let Some(pattern) = pattern {
        schema["pattern"] = match kind {
            TextKind::Pattern(_) if or_blank => format!(r"^\s*$|{pattern}").into(),
            _ => pattern.into(),
        };
    }
    if min > 0 {
        schema["minLength"] = min.into();
    }
    if max < usize::MAX {
        schema["maxLength"] = max.into();
    }
    schema
}
