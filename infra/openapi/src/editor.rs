//! The JSON schema of documents that describe teams, for editors.

use serde_json::{Value, json};

use crate::request::{Form, document};
use crate::schemas::Schemas;

/// Its file, below the root of the repository.
pub const EDITOR_SCHEMA: &str = "docs/reference/vedette.schema.json";

/// The schema of a file of a document.
pub fn editor_schema() -> Value {
    let mut schemas = Schemas::new();
    let mut schema = document(Form::File, &mut schemas);
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    schema["title"] = "Vedette".into();
    schema["$defs"] = schemas.into_components().into();
    adapt(&mut schema);
    schema.sort_all_objects();
    schema
}

/// Makes references lead to `$defs`, and lets the value of a header be a reference to a secret.
fn adapt(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(adapt),
        Value::Object(fields) => {
            if let Some(Value::String(reference)) = fields.get_mut("$ref") {
                *reference = reference.replace("#/components/schemas/", "#/$defs/");
            }
            fields.values_mut().for_each(adapt);
            if let Some(Value::Object(header)) = fields.get_mut("RequestHeaderSet")
                && let Some(properties) = header.get_mut("properties")
            {
                let value = properties["value"].take();
                let reference = json!({
                    "type": "object",
                    "properties": {
                        "env": { "type": "string", "minLength": 1 },
                        "file": { "type": "string", "minLength": 1 },
                    },
                    "minProperties": 1,
                    "maxProperties": 1,
                    "additionalProperties": false,
                });
                properties["value"] = json!({ "anyOf": [value, reference] });
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn the_schema_is_up_to_date() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(EDITOR_SCHEMA);
        let kept = fs::read_to_string(path).unwrap_or_default();
        let kept: Value = serde_json::from_str(&kept).unwrap_or_default();
        assert!(kept == editor_schema(), "{EDITOR_SCHEMA} is stale, run `make openapi`");
    }
}
