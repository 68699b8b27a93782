//! The bodies of requests. Some are generated from the declarations with which handlers read them. For the others, the
//! shape is written here by hand, with the limits and enumerations that the handlers use.

mod configuration;
mod input;
mod settings;

use serde_json::{Value, json};
use vedette_actions::SITES_MAX;
use vedette_domain::alerts::channel::{ChannelInput, ChannelKind};
use vedette_domain::checks::tool::Tool;
use vedette_domain::input::Input;
use vedette_domain::schema;
use vedette_domain::sites::settings::TEAM_PATH;
use vedette_domain::time_zone::ZoneChoice;

pub(crate) use self::configuration::{Form, configuration, document, exported};
pub(crate) use self::input::body;
use crate::operation::Body;
use crate::schemas::Schemas;

/// A change of a team's monitoring.
pub(crate) fn team_monitoring(schemas: &mut Schemas) -> Body {
    let schema = json!({
        "type": "object",
        "properties": { "monitoring_settings": settings::of_team(schemas) },
        "required": ["monitoring_settings"],
    });
    Body { is_required: true, schema: schemas.named("MonitoringUpdate", schema) }
}

/// A site, new or changed.
pub(crate) fn site<T: Input>(name: &str, schemas: &mut Schemas) -> Body {
    let mut schema = input::open::<T>();
    schema["properties"][TEAM_PATH] = settings::of_site(schemas);
    Body { is_required: true, schema: schemas.named(name, schema) }
}

/// A new channel: the fields of its kind, and those of all channels.
pub(crate) fn new_channel(schemas: &mut Schemas) -> Body {
    let kinds = ChannelKind::ALL.map(|kind| {
        let mut schema = schema::object(kind.description().fields, true);
        let shared = schema::object(ChannelInput::FIELDS, true);
        if let (Value::Object(of_kind), Value::Object(shared)) =
            (&mut schema["properties"], &shared["properties"])
        {
            of_kind.extend(shared.clone());
        }
        schema["title"] = kind.description().label.into();
        schema["properties"]["kind"] =
            json!({ "const": kind, "description": kind.description().about });
        if let Value::Array(required) = &mut schema["required"] {
            required.insert(0, "kind".into());
        }
        schema["additionalProperties"] = true.into();
        schema
    });
    let schema = json!({ "oneOf": kinds });
    Body { is_required: true, schema: schemas.named("ChannelCreate", schema) }
}

/// A change of a channel: the fields of all channels, and where those of some kinds lead.
pub(crate) fn channel_update(schemas: &mut Schemas) -> Body {
    let schema = schema::object(ChannelKind::edit_fields(), false);
    Body { is_required: false, schema: schemas.named("ChannelUpdate", schema) }
}

/// The time zone that a team or a user chooses.
pub(crate) fn time_zone(name: &str, schemas: &mut Schemas) -> Body {
    Body { is_required: true, schema: schemas.named(name, input::open::<ZoneChoice>()) }
}

/// Several new sites.
pub(crate) fn new_sites(schemas: &mut Schemas) -> Body {
    let site = json!({
        "type": "object",
        "properties": {
            "url": { "description": "The same as for a single site.", "type": "string" },
            "name": { "description": "The same as for a single site.", "type": "string" },
            "tags": {
                "description": "An addition to the specification: the same as for a single site.",
                "type": "array",
                "items": { "type": "string" },
            },
        },
        "required": ["url"],
    });
    let schema = json!({
        "type": "object",
        "properties": { "sites": {
            "description": "An entry whose URL or name is invalid fails without affecting the others.",
            "type": "array",
            "minItems": 1,
            "maxItems": SITES_MAX,
            "items": schemas.named("SiteEntry", site),
        } },
        "required": ["sites"],
    });
    Body { is_required: true, schema: schemas.named("SitesCreate", schema) }
}

/// The checks to run.
pub(crate) fn check_run(schemas: &mut Schemas) -> Body {
    let schema = json!({
        "type": "object",
        "properties": {
            "tools": {
                "description": "The tools to run. If omitted, these are all enabled tools of \
                                the site.",
                "type": "array",
                "minItems": 1,
                "maxItems": Tool::ALL.len(),
                "uniqueItems": true,
                "items": schemas.of::<Tool>(),
            },
            "automatic": {
                "description": "No longer used. If it is sent, it must be false.",
                "type": "boolean",
                "const": false,
                "deprecated": true,
            },
        },
    });
    Body { is_required: false, schema: schemas.named("CheckRun", schema) }
}
