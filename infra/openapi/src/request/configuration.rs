//! Documents that describe teams: as the API reads them, and as people write them in files.

use serde_json::{Map, Value, json};
use vedette_domain::alerts::channel::{ChannelInput, ChannelKind};
use vedette_domain::configuration::{KEY_PATTERN, ObjectKind};
use vedette_domain::expectations::ExpectationsInput;
use vedette_domain::heartbeats::input::NewHeartbeat;
use vedette_domain::input::{Input, InputField};
use vedette_domain::maintenance::NewWindow;
use vedette_domain::schema;
use vedette_domain::sites::group::SiteGroupInput;
use vedette_domain::sites::input::NewSite;
use vedette_domain::sites::settings::TEAM_PATH;
use vedette_domain::status_pages::NewPage;
use vedette_domain::time_zone::ZoneChoice;

use super::settings;
use crate::operation::Body;
use crate::schemas::Schemas;

/// What a document is written for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// A request, in which secrets have values.
    Request,
    /// A file, which has references to secrets, and defaults.
    File,
}

/// A document to apply.
pub(crate) fn configuration(schemas: &mut Schemas) -> Body {
    let document = document(Form::Request, schemas);
    let schema = json!({
        "type": "object",
        "properties": {
            "document": schemas.named("ConfigurationDocument", document),
            "dry_run": {
                "description": "Whether to show what would change, and change nothing.",
                "type": "boolean",
            },
            "prune": {
                "description": "Whether to delete objects that the document managed and no longer has.",
                "type": "boolean",
            },
            "prune_max": {
                "description": "The most objects that may be deleted. By default, 3 or a tenth of those that \
                                the document manages, whichever is larger.",
                "type": "integer",
                "minimum": 0,
                "maximum": 10_000,
            },
            "lease": {
                "description": "The `lease` of the previous response.",
                "type": "string",
                "minLength": 1,
                "maxLength": 64,
                "pattern": schema::NOT_BLANK,
            },
        },
        "required": ["document"],
        "additionalProperties": false,
    });
    Body { is_required: true, schema: schemas.named("ConfigurationApply", schema) }
}

/// A document in the response to an export.
pub(crate) fn exported(schemas: &mut Schemas) -> Value {
    let schema = json!({
        "type": "object",
        "properties": {
            "data": {
                "description": "The document, as `document` of a request has it, with references to secrets: \
                                `{\"env\": NAME}`.",
                "type": "object",
                "required": ["name"],
            },
        },
        "required": ["data"],
    });
    schemas.named("ConfigurationExport", schema)
}

/// A document.
pub(crate) fn document(form: Form, schemas: &mut Schemas) -> Value {
    let mut lists = Map::new();
    for kind in ObjectKind::LISTS {
        let items = object(kind, form, schemas);
        let list = json!({ "type": "array", "items": items });
        lists.insert(kind.field().to_owned(), list);
    }
    let mut properties = json!({
        "name": described("The name of the document, which is stored with the objects that it manages.", key()),
        "settings": {
            "description": "Settings of the team. An omitted field stays as it is.",
            "type": "object",
            "properties": {
                "time_zone": {
                    "description": ZoneChoice::FIELDS[0].about.trim(),
                    "type": "string",
                    "pattern": schema::NOT_BLANK,
                },
                TEAM_PATH: settings::of_team_in_document(schemas),
            },
            "additionalProperties": false,
        },
    });
    if form == Form::File {
        properties["defaults"] = json!({
            "description": "Default fields of the objects in the lists of this file.",
            "type": "object",
            "properties": lists
                .keys()
                .filter(|list| *list != ObjectKind::Group.field())
                .map(|list| (list.clone(), json!({ "type": "object" })))
                .collect::<Map<_, _>>(),
            "additionalProperties": false,
        });
    }
    if let Value::Object(properties) = &mut properties {
        properties.extend(lists);
    }
    let mut document = json!({
        "description": "The desired state of a team. The key of each object is unique in the document.",
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    });
    // One of several files has the name.
    if form == Form::Request {
        document["required"] = json!(["name"]);
    }
    document
}

fn key() -> Value {
    json!({ "type": "string", "maxLength": 64, "pattern": KEY_PATTERN })
}

fn described(about: &str, mut schema: Value) -> Value {
    schema["description"] = about.into();
    schema
}

/// The name of a site in a document.
fn site_name() -> Value {
    json!({
        "description": "The key of a site in the document, or the URL of another site of the team.",
        "type": "string",
        "pattern": schema::NOT_BLANK,
    })
}

/// A reference to a secret, or in a request its value.
fn secret(form: Form, value: Value) -> Value {
    let about = value["description"].clone();
    let part = |name: &str| {
        json!({
            "type": "object",
            "properties": { name: { "type": "string", "minLength": 1 } },
            "required": [name],
            "additionalProperties": false,
        })
    };
    let mut options = vec![part("env"), part("file")];
    if form == Form::Request {
        options.insert(0, value);
    }
    json!({ "description": about, "anyOf": options })
}

/// An object of a list.
fn object(kind: ObjectKind, form: Form, schemas: &mut Schemas) -> Value {
    match kind {
        ObjectKind::Channel => json!({ "oneOf": ChannelKind::ALL.map(|kind| channel(kind, form)) }),
        ObjectKind::Site => site(form, schemas),
        // A document contains no secrets of heartbeats.
        ObjectKind::Heartbeat => {
            keyed(NewHeartbeat::FIELDS.iter().filter(|field| field.name != "ping_uuid").collect())
        }
        ObjectKind::MaintenanceWindow => window(),
        ObjectKind::StatusPage => page(),
        ObjectKind::Group | ObjectKind::Settings => keyed(SiteGroupInput::FIELDS.iter().collect()),
    }
}

/// The fields of an object, and its key.
fn keyed(fields: Vec<&'static InputField>) -> Value {
    let mut schema = schema::object(fields, true);
    schema["properties"]["key"] = described("Identifies the object in the document.", key());
    require(&mut schema, "key");
    schema
}

fn require(schema: &mut Value, field: &str) {
    match &mut schema["required"] {
        Value::Array(required) => required.insert(0, field.into()),
        required => *required = json!([field]),
    }
}

fn channel(kind: ChannelKind, form: Form) -> Value {
    let mut schema = keyed(kind.description().fields.iter().chain(ChannelInput::FIELDS).collect());
    schema["title"] = kind.description().label.into();
    schema["properties"]["kind"] =
        json!({ "const": kind, "description": kind.description().about });
    require(&mut schema, "kind");
    for field in ["url", "token"] {
        if schema["properties"].get(field).is_some() {
            let value = schema["properties"][field].take();
            schema["properties"][field] = secret(form, value);
        }
    }
    schema
}

fn site(form: Form, schemas: &mut Schemas) -> Value {
    let mut schema = keyed(NewSite::FIELDS.iter().collect());
    schema["properties"]["pinned"] =
        json!({ "description": "Whether the team keeps the site at the top.", "type": "boolean" });
    schema["properties"][TEAM_PATH] = settings::of_site(schemas);
    let mut expectations = schema::object(ExpectationsInput::FIELDS, true);
    expectations.as_object_mut().map(|schema| schema.remove("required"));
    let body = &mut expectations["properties"]["post"]["properties"]["body"];
    let value = body.take();
    *body = secret(form, value);
    schema["properties"]["expectations"] =
        described("What the status checks of the site send and expect.", expectations);
    schema
}

fn window() -> Value {
    let mut schema = keyed(NewWindow::FIELDS.iter().collect());
    schema["properties"]["sites"] = json!({
        "description": "The sites in the window. If omitted, all sites or those that match the selector.",
        "type": "array",
        "minItems": 1,
        "maxItems": 100,
        "items": site_name(),
    });
    require(&mut schema, "starts_at");
    schema
}

fn page() -> Value {
    let mut schema = keyed(NewPage::FIELDS.iter().collect());
    let component =
        &mut schema["properties"]["groups"]["items"]["properties"]["components"]["items"];
    component["properties"].as_object_mut().map(|fields| fields.remove("uuid"));
    component["properties"]["site"] = site_name();
    component["properties"]["heartbeat"] = json!({
        "description": "The key of a heartbeat in the document, or the slug or UUID of another heartbeat of the team.",
        "type": "string",
        "pattern": schema::NOT_BLANK,
    });
    schema
}
