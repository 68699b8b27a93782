//! The bodies of requests about status pages and incidents.

use serde_json::{Value, json};
use vedette_domain::status_pages::{
    COMPONENTS_MAX, GROUPS_MAX, INCIDENT_TITLE_MAX, Impact, IncidentStatus, MESSAGE_MAX,
    PUBLISHED_NAME_MAX, SLUG_MAX, SLUG_MIN, UPDATE_TEXT_MAX,
};

use super::{NAME, NAME_OR_BLANK};
use crate::operation::Body;
use crate::schemas::Schemas;

/// Lowercase letters, digits, and single hyphens between them.
const SLUG: &str = "^[a-z0-9]+(-[a-z0-9]+)*$";
/// Lines of visible text, without other control characters.
const TEXT: &str = r"^[^\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f]*$";
/// The same, with at least one character that is not blank.
const TEXT_NOT_BLANK: &str = r"^[^\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f][^\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f]*$";

/// A new status page.
pub(crate) fn new_status_page(schemas: &mut Schemas) -> Body {
    let mut schema = status_page();
    schema["required"] = json!(["slug", "name"]);
    Body { is_required: true, schema: schemas.named("StatusPageCreate", schema) }
}

/// A change of a status page.
pub(crate) fn changed_status_page(schemas: &mut Schemas) -> Body {
    Body { is_required: false, schema: schemas.named("StatusPageUpdate", status_page()) }
}

/// A new incident.
pub(crate) fn new_incident(schemas: &mut Schemas) -> Body {
    let mut schema = incident();
    schema["required"] = json!(["title", "text"]);
    Body { is_required: true, schema: schemas.named("IncidentCreate", schema) }
}

/// A change of an incident.
pub(crate) fn changed_incident(schemas: &mut Schemas) -> Body {
    let mut schema = incident();
    schema["dependentRequired"] = json!({ "status": ["text"] });
    Body { is_required: false, schema: schemas.named("IncidentUpdate", schema) }
}

fn status_page() -> Value {
    let component = json!({
        "type": "object",
        "properties": {
            "uuid": {
                "description": "The component to keep. If omitted, the component that shows the \
                                site is kept or, if there is none, a new one is created.",
                "type": ["string", "null"],
                "format": "uuid",
            },
            "name": {
                "description": "The name that readers see.",
                "type": "string",
                "pattern": NAME,
                "maxLength": PUBLISHED_NAME_MAX,
            },
            "site": {
                "description": "The site whose state it shows.",
                "type": "string",
                "format": "uuid",
            },
            "response_time": {
                "description": "Whether its response time is published. The default is `false`.",
                "type": "boolean",
            },
        },
        "required": ["name", "site"],
        "additionalProperties": false,
    });
    json!({
        "type": "object",
        "properties": {
            "slug": {
                "description": "The last part of the page's address. It is unique in the service.",
                "type": "string",
                "pattern": SLUG,
                "minLength": SLUG_MIN,
                "maxLength": SLUG_MAX,
            },
            "name": {
                "description": "The page's name, usually the organization's.",
                "type": "string",
                "pattern": NAME,
                "maxLength": PUBLISHED_NAME_MAX,
            },
            "message": {
                "description": "A message to all readers; null for none.",
                "type": ["string", "null"],
                "pattern": TEXT,
                "maxLength": MESSAGE_MAX,
            },
            "unlisted": {
                "description": "Whether the page can only be opened with its secret link. A page \
                                that is listed and then unlisted again gets a new link. The \
                                default is `false`.",
                "type": "boolean",
            },
            "maintenance_names": {
                "description": "Whether planned maintenance appears under the names of the team's \
                                maintenance windows. Otherwise, it appears as \"Maintenance\". The \
                                default is `false`.",
                "type": "boolean",
            },
            "subscriptions": {
                "description": "Whether readers can subscribe to the incidents of the page by \
                                email. The default is `false`.",
                "type": "boolean",
            },
            "groups": {
                "description": format!(
                    "The components, in groups, at most {COMPONENTS_MAX} components in all."
                ),
                "type": "array",
                "maxItems": GROUPS_MAX,
                "items": {
                    "type": "object",
                    "properties": {
                        "name": {
                            "description": "The heading; null for none.",
                            "type": ["string", "null"],
                            "pattern": NAME_OR_BLANK,
                            "maxLength": PUBLISHED_NAME_MAX,
                        },
                        "components": {
                            "description": "The components, in the order in which they are \
                                            shown.",
                            "type": "array",
                            "maxItems": COMPONENTS_MAX,
                            "items": component,
                        },
                    },
                    "required": ["components"],
                    "additionalProperties": false,
                },
            },
        },
        "additionalProperties": false,
    })
}

fn incident() -> Value {
    json!({
        "type": "object",
        "properties": {
            "title": {
                "description": "What is wrong, in one sentence.",
                "type": "string",
                "pattern": NAME,
                "maxLength": INCIDENT_TITLE_MAX,
            },
            "impact": {
                "description": "How much it affects the components that it concerns. The default \
                                is `minor`.",
                "enum": Impact::ALL.map(Impact::as_str),
            },
            "components": {
                "description": "The components that it concerns.",
                "type": "array",
                "maxItems": COMPONENTS_MAX,
                "items": { "type": "string", "format": "uuid" },
            },
            "started_at": {
                "description": "When it started, which is not in the future. The default is now.",
                "type": "string",
                "format": "date-time",
            },
            "next_update_by": {
                "description": "The time by which the team promises the next update; null if it \
                                promises none.",
                "type": ["string", "null"],
                "format": "date-time",
            },
            "status": {
                "description": "The state of the work on it. A new incident is `investigating`; an \
                                update without it keeps the status.",
                "enum": IncidentStatus::ALL.map(IncidentStatus::as_str),
            },
            "text": {
                "description": "An update: what readers can do, and what the team is doing.",
                "type": "string",
                "pattern": TEXT_NOT_BLANK,
                "maxLength": UPDATE_TEXT_MAX,
            },
        },
        "additionalProperties": false,
    })
}
