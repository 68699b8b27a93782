//! Schemas of responses, derived from the types that handlers respond with.

use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};
use vedette_http::paging::{CursorBody, ListBody};
use vedette_http::response::Data;

/// Instants as the API writes them.
const INSTANT: &str = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\+00:00$";

/// Schemas by name, and the schemas that refer to them.
pub(crate) struct Schemas {
    generator: SchemaGenerator,
}

impl Schemas {
    pub(crate) fn new() -> Self {
        let settings = SchemaSettings::draft2020_12().for_serialize().with(|settings| {
            settings.definitions_path = "/components/schemas".into();
            settings.meta_schema = None;
        });
        Self { generator: settings.with_transform(Tidy).into_generator() }
    }

    /// The schema of a type, or a reference to it.
    pub(crate) fn of<T: JsonSchema>(&mut self) -> Value {
        let mut schema = self.generator.subschema_for::<T>();
        Tidy.transform(&mut schema);
        schema.to_value()
    }

    /// The schema of `{ "data": … }` of one resource.
    pub(crate) fn data<T: JsonSchema>(&mut self) -> Value {
        let schema = self.of::<Data<T>>();
        self.named(&format!("{}Response", T::schema_name()), schema)
    }

    /// The schema of `{ "data": [… ] }`, with all resources at once.
    pub(crate) fn list<T: JsonSchema>(&mut self) -> Value {
        let schema = self.of::<Data<Vec<T>>>();
        self.named(&format!("{}List", T::schema_name()), schema)
    }

    /// The schema of a page of a collection.
    pub(crate) fn page<T: JsonSchema + 'static>(&mut self) -> Value {
        let schema = self.of::<ListBody<'static, T>>();
        self.named(&format!("{}Page", T::schema_name()), schema)
    }

    /// The schema of a page of a collection that is read from its newest entry on.
    pub(crate) fn cursor_page<T: JsonSchema + 'static>(&mut self) -> Value {
        let schema = self.of::<CursorBody<'static, T>>();
        self.named(&format!("{}Page", T::schema_name()), schema)
    }

    /// Names a schema, and returns a reference to it.
    pub(crate) fn named(&mut self, name: &str, schema: Value) -> Value {
        self.generator.definitions_mut().insert(name.to_owned(), schema);
        json!({ "$ref": format!("#/components/schemas/{name}") })
    }

    /// All named schemas.
    pub(crate) fn into_components(mut self) -> Map<String, Value> {
        self.generator.take_definitions(true)
    }
}

/// Reduces derived schemas to what clients need.
#[derive(Debug, Clone)]
struct Tidy;

impl Transform for Tidy {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        // The default applies to stored values that lack the field; a response always has all fields.
        schema.remove("default");
        match schema.get("format").and_then(Value::as_str) {
            Some("date-time") => {
                schema.insert("pattern".to_owned(), INSTANT.into());
            }
            // Number sizes of Rust, which do not apply to the API.
            Some(format) if format.starts_with(['u', 'i']) && format.contains("int") => {
                schema.remove("format");
            }
            _ => {}
        }
        if let Some(Value::String(description)) = schema.get_mut("description") {
            *description = unwrapped(description);
        }
        gather_values(schema);
    }
}

/// A comment's paragraphs without the line breaks of the source.
fn unwrapped(comment: &str) -> String {
    let paragraphs = comment.split("\n\n").map(|paragraph| paragraph.replace('\n', " "));
    paragraphs.collect::<Vec<_>>().join("\n\n")
}

/// Turns alternatives with one value each into one enumeration, which every tool can show.
fn gather_values(schema: &mut Schema) {
    let Some(options) = schema.get("oneOf").and_then(Value::as_array) else { return };
    let read =
        |option: &Value| Some((option.get("const")?.clone(), option.get("description")?.clone()));
    let Some(options) = options.iter().map(read).collect::<Option<Vec<_>>>() else { return };
    let told = options.iter().filter_map(|(value, description)| {
        Some(format!("- `{}`: {}", value.as_str()?, description.as_str()?))
    });
    let told: Vec<_> = told.collect();
    let description = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    let description = format!("{description}\n\n{}", told.join("\n"));
    let values: Vec<_> = options.into_iter().map(|(value, _)| value).collect();
    schema.remove("oneOf");
    schema.insert("type".to_owned(), "string".into());
    schema.insert("enum".to_owned(), json!(values));
    schema.insert("description".to_owned(), description.into());
}

#[cfg(test)]
mod tests {
    use vedette_domain::accounts::plan::Plan;
    use vedette_http::resource::UserResource;

    use super::*;

    #[test]
    fn an_enumeration_is_one_schema_with_its_values_explained() {
        let mut schemas = Schemas::new();
        assert_eq!(schemas.of::<Plan>(), json!({ "$ref": "#/components/schemas/Plan" }));
        let plan = &schemas.into_components()["Plan"];
        assert_eq!(plan["enum"], json!(["starter", "growth", "agency"]));
        let description = plan["description"].as_str().expect("prose");
        assert!(description.contains("- `starter`: For one person with a few sites."));
    }

    #[test]
    fn instants_have_one_form() {
        let mut schemas = Schemas::new();
        schemas.of::<UserResource>();
        let user = &schemas.into_components()["User"];
        let verified = &user["properties"]["email_verified_at"];
        assert_eq!(verified["type"], json!(["string", "null"]));
        assert_eq!(verified["pattern"], INSTANT);
        assert_eq!(user["required"], json!(["name", "email", "email_verified_at"]));
    }
}
