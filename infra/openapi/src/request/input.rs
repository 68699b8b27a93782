//! The schemas of inputs, generated from their declarations.

use serde_json::{Map, Value, json};
use vedette_domain::input::{FieldPresence, Input, InputField, InputShape, TextKind};

use super::NAME;
use crate::operation::Body;
use crate::schemas::Schemas;

/// The pattern [`NAME`], or blank, which counts as null.
const NAME_OR_BLANK: &str = r"^[^\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]*$";
/// Lines of text, each without characters that disrupt it, or blank.
const TEXT_OR_BLANK: &str = r"^[^\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]*$";
/// The same, with at least one character that is not blank.
const TEXT: &str = r"^[^\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]*[^\s\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069][^\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]*$";

/// A body with an input. A change may be empty.
pub(crate) fn body<T: Input>(name: &str, schemas: &mut Schemas) -> Body {
    let schema = object(T::FIELDS, T::IS_NEW);
    Body { is_required: T::IS_NEW, schema: schemas.named(name, schema) }
}

fn object(fields: &[InputField], is_new: bool) -> Value {
    let properties = fields.iter().map(|field| (field.name.to_owned(), property(field, is_new)));
    let mut schema = json!({
        "type": "object",
        "properties": Map::from_iter(properties),
        "additionalProperties": false,
    });
    let required = fields.iter().filter(|field| field.presence == FieldPresence::Required);
    let required: Vec<_> = required.map(|field| field.name).collect();
    if is_new && !required.is_empty() {
        schema["required"] = json!(required);
    }
    for field in fields.iter().filter(|field| !is_new && !field.needs.is_empty()) {
        schema["dependentRequired"][field.name] = json!([field.needs]);
    }
    schema
}

fn property(field: &InputField, is_new: bool) -> Value {
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
        InputShape::Minutes(max) => json!({ "type": "integer", "minimum": 1, "maximum": max }),
        InputShape::Flag => json!({ "type": "boolean" }),
        InputShape::Choice(values) => json!({ "enum": values }),
        InputShape::List { min, max, items } => {
            let items = values(items, false);
            let mut schema = json!({ "type": "array", "maxItems": max, "items": items });
            if *min > 0 {
                schema["minItems"] = json!(min);
            }
            schema
        }
        InputShape::Object(fields) => object(fields, true),
    }
}

fn text(min: usize, max: usize, kind: TextKind, or_blank: bool) -> Value {
    let mut schema = json!({ "type": "string" });
    let pattern = match kind {
        TextKind::Format(format) => {
            schema["format"] = format.into();
            return schema;
        }
        TextKind::Line => Some(if or_blank { NAME_OR_BLANK } else { NAME }),
        TextKind::Lines => Some(if or_blank { TEXT_OR_BLANK } else { TEXT }),
        TextKind::Pattern(pattern) => Some(pattern),
        TextKind::Other => None,
    };
    if let Some(pattern) = pattern {
        schema["pattern"] = pattern.into();
    }
    if min > 0 {
        schema["minLength"] = min.into();
    }
    if max < usize::MAX {
        schema["maxLength"] = max.into();
    }
    schema
}
